"""What changed in files, by the session and by one prompt: told by entries, shown by contents, and to be applied."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.undo.change_lists import ChangedFileList, ChangedFileListBuilder, PromptWithoutFileChanges
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FileChangesData,
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    file_data_to_entry_data,
)
from app.undo.file_history import count_file_changes, prompts_with_file_changes
from app.values.entries import CustomEntry
from tests.undo.undo_session import UndoSession

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture
def stage(tmp_path: Path) -> UndoSession:
    return UndoSession(tmp_path)


def differing(stage: UndoSession) -> ChangedFileListBuilder:
    return ChangedFileListBuilder(stage.log, stage.recorder)


def told(found: ChangedFileList) -> dict[str, tuple[str, int, int]]:
    return {file.path: (file.deed, file.added, file.removed) for file in found.files}


def test_the_session_diff_goes_from_the_beginning_to_the_last_change(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("a", "1\n2\n3\n"), stage.write("b", "b\n"))
    stage.prompt("change")
    stage.record(stage.write("a", "1\n3\n4\n"), stage.write("b", None), stage.write("c", "c\n"))
    stage.prompt("once more")
    stage.record(stage.write("a", "1\n3\n4\n5\n"), tool="edit")
    found = differing(stage).session_differences()
    assert told(found) == {"a": ("new", 4, 0), "c": ("new", 0, 0)}
    assert [file.changed_by for file in found.files] == ["2 × write, edit", "write"]
    assert found.patch("a").text == (
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,4 @@\n+1\n+3\n+4\n+5\n"
    )


def test_a_taken_back_change_leaves_the_session_diff_but_not_the_prompts(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("a", "1\n"))
    stage.prompt("change")
    stage.record(stage.write("a", "2\n"))
    stage.restore(stage.undo())
    assert differing(stage).session_differences().patch("a").text.endswith("+1\n")
    assert "-1\n+2\n" in differing(stage).prompt_differences().patch("a").text
    stage.restore(stage.undo())
    assert differing(stage).session_differences().files == ()


def test_each_prompt_that_changed_files_and_its_neighbours(stage: UndoSession) -> None:
    first = stage.prompt("make")
    stage.record(stage.write("a", "1\n"))
    stage.prompt("ask something")
    second = stage.prompt("change")
    stage.record(stage.write("a", "2\n"))
    last = differing(stage).prompt_differences()
    assert (last.title, last.note) == ("Changed by “change”", "prompt 2 of 2")
    assert (last.older, last.newer) == (first, None)
    assert differing(stage).prompt_differences(first).newer == second
    with pytest.raises(PromptWithoutFileChanges):
        differing(stage).prompt_differences("nobody")


def test_a_session_that_changed_nothing(stage: UndoSession) -> None:
    assert differing(stage).session_differences().files == ()
    assert differing(stage).prompt_differences().files == ()
    stage.prompt("hello")
    assert differing(stage).prompt_differences().patches() == ("", ())


def test_changes_by_other_programs_are_named(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("a", "1\n"), stage.write("b", "1\n"))
    (stage.root / "a").write_text("1\nmine\n")
    stage.prompt("change")
    stage.record(stage.write("a", "1\nmine\nits\n"))
    (stage.root / "b").write_text("mine\n")
    found = {file.path: file.why for file in differing(stage).session_differences().files}
    assert found == {"a": "it was changed outside the session in between", "b": "you changed it since"}


def test_what_is_not_held_is_named_and_the_rest_is_there(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("kept", "k\n"), stage.write("gone", "g\n"))
    data = FileChangesData(
        call_id="c", tool="bash", uncovered=(FileWithoutStoredContent(path="build/", why="ignored"),)
    )
    stage.log.append(
        CustomEntry(parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    for blob in stage.contents.store.blobs():
        if Path(blob.path).read_bytes() == b"g\n":
            Path(blob.path).unlink()
    found = differing(stage).session_differences()
    assert [(file.path, file.deed, file.why) for file in found.files] == [
        ("gone", "new", ""),
        ("kept", "new", ""),
        ("build/", "unknown", "ignored"),
    ]
    text, lacking = found.patches()
    assert "+k" in text and "+g" not in text
    assert lacking == ("gone (its content is no longer stored)", "build/ (ignored)")


KINDS = {
    "changed": ("1\n2\n3\n", "1\n2\n4\n"),
    "no end of line": ("1\n2", "1\n3"),
    "end of line comes": ("1\n2", "1\n2\n"),
    "emptied": ("1\n", ""),
    "crlf": ("1\r\n2\r\n", "1\r\n3\r\n"),
    "made": (None, "x\n"),
    "made empty": (None, ""),
    "removed": ("x\n", None),
}


@needs_git
@pytest.mark.parametrize(
    "name", ["plain.txt", "with blank", 'quote".txt', "naïve ☃.txt", "tab\tand\nline", "sub/d.x"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_does_what_was_done(stage: UndoSession, kind: str, name: str) -> None:
    before, after = KINDS[kind]
    stage.prompt("begin")
    if before is not None:
        stage.record(stage.write(name, before))
    stage.prompt("go on")
    stage.record(stage.write(name, after))
    found = differing(stage).prompt_differences()
    (patch, lacking) = found.patches()
    assert lacking == ()
    place = stage.root / name
    if before is None:
        place.unlink(missing_ok=True)
    else:
        place.write_bytes(before.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=stage.root, input=patch.encode(), check=True
    )
    assert (place.read_bytes().decode() if place.exists() else None) == after


@needs_git
def test_modes_links_and_what_became_the_other_can_be_applied(stage: UndoSession) -> None:
    stage.prompt("begin")
    stage.record(stage.write("run", "x\n"), stage.write("file", "f\n"), stage.write("other", "o\n"))
    stage.prompt("go on")
    changed = [stage.write("run", "x\n", mode=0o755)]
    for name, target in (("file", "other"), ("new-link", "run")):
        before = stage.write(name, "f\n").after if name == "file" else None
        (stage.root / name).unlink(missing_ok=True)
        (stage.root / name).symlink_to(target)
        stage.contents.store.put(target.encode())
        after = StoredFileState(kind="link", hash=_hash(target), mode=0, size=len(target))
        changed.append(RecordedFileChange(path=name, before=before, after=after))
    stage.record(*changed)
    found = differing(stage).prompt_differences()
    assert {file.path: file.deed for file in found.files} == {
        "run": "mode 644 → 755",
        "file": "now a link",
        "new-link": "a new link",
    }
    patch, lacking = found.patches()
    assert lacking == ()
    for name in ("file", "new-link"):
        (stage.root / name).unlink()
    (stage.root / "file").write_text("f\n")
    (stage.root / "run").chmod(0o644)
    subprocess.run(["git", "apply", "-"], cwd=stage.root, input=patch.encode(), check=True)
    assert (stage.root / "file").readlink() == Path("other")
    assert (stage.root / "new-link").readlink() == Path("run")
    assert (stage.root / "run").stat().st_mode & 0o100


def _hash(text: str) -> str:
    from app.undo.content_store import blob_hash

    return blob_hash(text.encode())


def test_binary_files_are_named_as_such(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("a.png", b"\x89PNG\0" * 300), stage.write("big.txt", "x" * (2 << 20)))
    found = differing(stage).prompt_differences()
    assert found.patch("a.png").incomplete_reason == "no text: 1.5 kB"
    assert found.patch("big.txt").incomplete_reason == "larger than 1 MB"
    assert found.patches()[1] == ("a.png (no text: 1.5 kB)", "big.txt (larger than 1 MB)")


def test_the_line_that_changed_first(stage: UndoSession) -> None:
    lines = [f"{number}\n" for number in range(1, 41)]
    stage.prompt("make")
    stage.record(stage.write("a", "".join(lines)))
    stage.prompt("change")
    lines[29] = "thirty\n"
    stage.record(stage.write("a", "".join(lines)))
    assert differing(stage).prompt_differences().patch("a").first_line == 30


def test_figures_are_those_of_the_entries(stage: UndoSession) -> None:
    assert count_file_changes([]).files == 0
    stage.prompt("make")

    def change(path: str, added: int, removed: int) -> RecordedFileChange:
        image = StoredFileState(hash=f"{added}{removed}{path}".ljust(64, "0"))
        return RecordedFileChange(path=path, before=None, after=image, added=added, removed=removed)

    def record(*changes: RecordedFileChange, more: str | None = None, count: int = 0) -> None:
        data = FileChangesData(
            call_id="c",
            tool="edit",
            changes=changes,
            added=sum(one.added for one in changes) or 7,
            removed=sum(one.removed for one in changes),
            more=more,
            count=count,
        )
        stage.log.append(
            CustomEntry(
                parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
            )
        )

    record(change("a", 3, 1), change("b", 1, 0))
    record(change("a", 2, 2))
    (turn,) = prompts_with_file_changes(stage.log.path_to())
    assert count_file_changes(turn.entries).summary == "2 files +6 −3"
    record(more="0" * 64, count=900)
    (turn,) = prompts_with_file_changes(stage.log.path_to())
    assert count_file_changes(turn.entries).summary == "at least 900 files +13 −3"
    stage.prompt("next")
    record(change("c", 0, 0))
    assert [
        count_file_changes(turn.entries).summary for turn in prompts_with_file_changes(stage.log.path_to())
    ][-1] == "1 file"
