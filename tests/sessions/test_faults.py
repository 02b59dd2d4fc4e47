"""The disk refuses, at any write: memory and file still hold the same, and the next append works."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.sessions.drafts import DraftFile, SavedDraft
from app.sessions.errors import SessionWriteError
from app.sessions.file import session_file
from app.sessions.file.session_file import SyncTiming
from app.sessions.file.session_reader import read_session
from app.sessions.session_log import SessionLog
from app.values import codec
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry


class Disk:
    """System calls of which one fails: the n-th write, after `part` of its bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
        self.fail_at: int | None = None
        self.part = 0
        self.can_truncate = True
        self.writes = 0
        self._code = code
        self._real_write, self._real_truncate = os.write, os.ftruncate
        monkeypatch.setattr(codec, "_ENCODED_CHUNK_CHARACTERS", 5)  # lines come in pieces
        monkeypatch.setattr(session_file.os, "writev", lambda at, pieces: self.write(at, b"".join(pieces)))
        monkeypatch.setattr(session_file.os, "ftruncate", self.truncate)

    def write(self, descriptor: int, data: bytes) -> int:
        self.writes += 1
        if self.fail_at is None or self.writes < self.fail_at:
            return self._real_write(descriptor, data)
        if self.writes == self.fail_at and self.part:
            return self._real_write(descriptor, data[: self.part])
        raise OSError(self._code, os.strerror(self._code))

    def truncate(self, descriptor: int, size: int) -> None:
        if not self.can_truncate:
            raise OSError(self._code, os.strerror(self._code))
        self._real_truncate(descriptor, size)

    def heal(self) -> None:
        self.fail_at, self.can_truncate = None, True


def same_on_disk(log: SessionLog) -> bool:
    assert log.path is not None
    return read_session(log.path).entries == log.entries


SCRIPT: list[Callable[[SessionLog], object]] = [
    lambda log: log.append(user_entry("hello")),
    lambda log: log.append(assistant_entry("one", "a", "b")),
    lambda log: log.append(tool_result_entry("b")),
    lambda log: log.append(tool_result_entry("a")),
    lambda log: log.set_label(log.entries[0].id, "start"),
    lambda log: log.move_leaf(log.entries[0].id),
    lambda log: log.append(assistant_entry("other")),
    lambda log: log.rename("a name"),
]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("part", [0, 1, 40])
@pytest.mark.parametrize("can_truncate", [True, False])
@pytest.mark.parametrize("step", range(len(SCRIPT)))
def test_a_failed_write_changes_neither_memory_nor_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, part: int, can_truncate: bool, step: int
) -> None:
    disk = Disk(monkeypatch, code)
    log = SessionLog.create(tmp_path, tmp_path)
    for do in SCRIPT[:step]:
        do(log)
    entries, leaf = list(log.entries), log.leaf_id
    disk.writes, disk.fail_at, disk.part, disk.can_truncate = 0, 1, part, can_truncate
    with pytest.raises(SessionWriteError, match=os.strerror(code).lower()):
        SCRIPT[step](log)
    assert log.entries == entries and log.leaf_id == leaf
    if step == 0:
        assert list(tmp_path.iterdir()) == []
    elif can_truncate:
        assert same_on_disk(log)
    disk.heal()
    for do in SCRIPT[step:]:
        do(log)
    assert same_on_disk(log)
    log.close()
    again = SessionLog.open(log.path or Path())
    assert again.entries == log.entries and again.leaf_id == log.leaf_id and not again.problems


def test_on_a_full_disk_every_append_is_refused_and_leaves_no_partial_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch, errno.ENOSPC)
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))
    disk.writes, disk.fail_at, disk.part, disk.can_truncate = 0, 1, 7, False
    for _ in range(3):
        with pytest.raises(SessionWriteError):
            log.append(assistant_entry("lost"))
    disk.heal()
    kept = log.append(assistant_entry("kept"))
    assert same_on_disk(log) and log.leaf_id == kept.id


def test_a_failed_fsync_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))

    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(session_file.os, "fsync", refuse)
    with pytest.raises(SessionWriteError, match="may not be saved"):
        log.end_turn()


@pytest.mark.parametrize(
    ("policy", "of_entries", "of_turns"), [("entry", 3, 0), ("turn", 0, 1), ("off", 0, 0)]
)
def test_the_disk_is_waited_for_as_the_setting_says(
    policy: SyncTiming, of_entries: int, of_turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog.create(tmp_path, tmp_path, fsync=lambda: policy)
    log.append(user_entry("hello"))
    log.end_turn()
    forced: list[int] = []
    monkeypatch.setattr(session_file.os, "fsync", forced.append)
    for number in range(3):
        log.append(assistant_entry(str(number)))
    assert len(forced) == of_entries
    log.end_turn()
    log.end_turn()
    assert len(forced) == of_entries + of_turns


@pytest.mark.parametrize(
    ("policy", "at_once", "at_the_end"), [("entry", 1, 1), ("turn", 0, 1), ("off", 0, 0)]
)
def test_the_name_of_a_new_file_is_as_safe_as_what_is_in_it_and_no_sooner(
    policy: SyncTiming, at_once: int, at_the_end: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe: list[Path] = []
    monkeypatch.setattr(session_file, "flush_folder_to_disk", safe.append)
    log = SessionLog.create(tmp_path, tmp_path, fsync=lambda: policy)
    log.append(user_entry("hello"))
    assert safe == [tmp_path] * at_once
    log.end_turn()
    log.append(assistant_entry("and on"))
    log.end_turn()
    assert safe == [tmp_path] * at_the_end


LIMITED = """
import resource, signal, sys
from pathlib import Path
from app.sessions.errors import SessionWriteError
from app.sessions.session_log import SessionLog
from app.sessions.file.session_reader import read_session
from app.values import codec
from tests.sessions.make_entries import assistant_entry, user_entry
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = SessionLog.create(Path(sys.argv[1]), Path(sys.argv[1]))
log.append(user_entry("hello"))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
try:
    while True:
        log.append(assistant_entry("x" * 300))
except SessionWriteError as problem:
    print(problem)
assert read_session(log.path).entries == log.entries
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(assistant_entry("on"))
assert read_session(log.path).entries == log.entries
assert log.path.read_bytes().endswith(b"\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file size exist on POSIX only")
def test_a_real_limit_of_file_size_leaves_no_torn_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIMITED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "too large" in done.stdout and "Free some disk space" in done.stdout


def test_a_draft_that_cannot_be_saved_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = DraftFile(tmp_path / "s.jsonl")
    drafts.save(SavedDraft(text="old"))

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SessionWriteError, match="no space left"):
        drafts.save(SavedDraft(text="new"))
    monkeypatch.undo()
    found = drafts.load()
    assert found is not None and found.text == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl.draft"]


def test_a_deleted_file_is_written_again_and_a_replaced_one_left_alone(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))
    assert log.path is not None
    log.path.unlink()
    log.append(assistant_entry("hi"))
    assert same_on_disk(log) and "written again" in log.problems[0]
    (tmp_path / "other").write_bytes(b"someone else's\n")
    (tmp_path / "other").replace(log.path)
    with pytest.raises(SessionWriteError, match="replaced this file"):
        log.append(user_entry("on"))
    assert log.path.read_bytes() == b"someone else's\n"


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be renamed there")
def test_a_renamed_file_is_followed(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))
    assert log.path is not None
    before = log.path
    log.path.rename(tmp_path / "renamed.jsonl")
    log.append(assistant_entry("hi"))
    assert log.path == tmp_path / "renamed.jsonl" and not before.exists()
    assert same_on_disk(log) and "renamed" in log.problems[0]
