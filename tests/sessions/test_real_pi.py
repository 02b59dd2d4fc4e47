"""pi itself opens what bayou writes, and bayou goes on with what pi then appends.

pi 0.74.2 is installed from npm, the last release that node 20 runs. BAYOU_PI_PACKAGE may name the unpacked package
of another release instead, and BAYOU_NODE the node to run it with (those after 1.0 need version 22).
"""

import atexit
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.sessions.fork import clone_session_path, copy_session
from app.sessions.session_log import SessionLog
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
    UsageEntry,
)
from app.values.messages import BashExecutionMessage, SystemMessage
from app.values.usage import Usage
from app.values.wire import to_wire
from tests.conftest import OUTSIDE
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry
from tests.support.npm import why_npm_cannot

PACKAGE = OUTSIDE.get("BAYOU_PI_PACKAGE", "")
NODE = OUTSIDE.get("BAYOU_NODE") or shutil.which("node") or ""
NAME = "@earendil-works/pi-coding-agent"
pytestmark = [] if PACKAGE else [pytest.mark.installs]


@cache
def folder_of_package() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="pi-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def package() -> Path:
    """Returns the folder of pi; skips the test if pi is unavailable."""
    if not NODE:
        pytest.skip("there is no node to run pi with")
    if PACKAGE:
        return Path(PACKAGE)
    folder = folder_of_package()
    words = (
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder),
        f"{NAME}@0.74.2",
    )
    problem = why_npm_cannot(folder, *words)
    if problem:
        pytest.skip(f"pi cannot be installed: {problem}")
    return folder / "node_modules" / NAME


def is_old() -> bool:
    return json.loads((package() / "package.json").read_text())["version"].startswith("0.")


def ask_pi(path: Path, append: str = "") -> dict[str, Any]:
    script = Path(__file__).with_name("ask_pi.mjs")
    done = subprocess.run(
        [NODE, str(script), str(package()), str(path), append],
        capture_output=True,
        text=True,
        timeout=120,
        env=OUTSIDE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_same(log: SessionLog, *, leaf: str | None = None) -> None:
    assert log.path is not None
    pis, ours = ask_pi(log.path), log.project_context()
    assert pis["id"] == log.session_id and pis["name"] == log.name
    assert pis["leafId"] == (leaf or log.leaf_id)
    rows = [(entry.id, entry.parent_id, to_wire(entry)["type"], log.label(entry.id)) for entry in log.entries]
    assert sorted(map(str, rows)) == sorted(str(tuple(row)) for row in pis["rows"])
    assert pis["model"] == {"provider": ours.model[0], "modelId": ours.model[1]} if ours.model else True
    assert pis["thinkingLevel"] == ours.thinking_level
    assert pis["messages"] == [to_wire(message) for message in ours.messages]


def rich(folder: Path) -> SessionLog:
    """Writes a session with every kind of entry that both programs know."""
    log = SessionLog.create(folder, folder)
    log.append(ModelChangeEntry(parent_id=None, provider="p", model_id="m"))
    log.append(ThinkingLevelChangeEntry(parent_id=None, thinking_level="high"))
    first = log.append(user_entry("hej \u2028 \ud83d 😀"))
    log.append(assistant_entry("", "one", "two"))
    log.append(tool_result_entry("one"))
    log.append(tool_result_entry("two"))
    log.append(
        MessageEntry(parent_id=None, message=BashExecutionMessage(command="ls", output="a", exit_code=1))
    )
    log.append(CustomMessageEntry(parent_id=None, custom_type="note", content="read this"))
    log.append(CustomEntry(parent_id=None, custom_type="bayou.state", data={"a": [1, None]}))
    log.set_label(first.id, "here")
    log.rename("a name")
    kept = log.append(user_entry("kept"))
    log.append(assistant_entry("yes"))
    log.append(
        CompactionEntry(parent_id=None, summary="what was", first_kept_entry_id=kept.id, tokens_before=9)
    )
    log.append(user_entry("after"))
    log.append(BranchSummaryEntry(parent_id=None, summary="elsewhere", from_id="root"))
    return log


def add_what_newer_releases_know(log: SessionLog) -> None:
    log.append(MessageEntry(parent_id=None, message=SystemMessage(sections={"a": "A", "b": "B"})))
    log.append(MessageEntry(parent_id=None, message=SystemMessage(sections={"a": None})))
    usage = Usage(input=5, total_tokens=5)
    log.append(UsageEntry(parent_id=None, kind="cache_warm", provider="p", model="m", usage=usage))
    failed, edited, called = (
        log.append(assistant_entry("failed")),
        log.append(user_entry("long")),
        log.append(assistant_entry("", "x")),
    )
    output = log.append(tool_result_entry("x", "too long"))
    log.append(ContextEditEntry(parent_id=None, target_id=failed.id, replacement=None))
    for target, content in ((edited, "short"), (called, "said"), (output, "cut"), (output, "cut again")):
        log.append(ContextEditEntry(parent_id=None, target_id=target.id, replacement={"content": content}))


def test_pi_reads_the_same_session(tmp_path: Path) -> None:
    log = rich(tmp_path)
    if not is_old():
        add_what_newer_releases_know(log)
    log.close()
    check_same(log)


def test_pi_stands_where_the_person_had_gone(tmp_path: Path) -> None:
    log = rich(tmp_path)
    log.move_leaf(log.entries[3].id)
    log.close()
    check_same(log, leaf=log.entries[-1].id)
    pis = ask_pi(log.path or Path(), append="from pi")
    again = SessionLog.open(log.path or Path())
    assert again.leaf_id == pis["leafId"]
    assert [to_wire(message) for message in again.project_context().messages] == pis["messages"]
    again.append(assistant_entry("from bayou"))
    again.close()
    check_same(again)


def test_entries_that_an_older_pi_does_not_know_do_not_disturb_it(tmp_path: Path) -> None:
    log = rich(tmp_path)
    log.append(ContextEditEntry(parent_id=None, target_id=log.entries[0].id, replacement=None))
    log.close()
    assert ask_pi(log.path or Path())["leafId"] == log.leaf_id


def test_pi_reads_forks_clones_and_copies(tmp_path: Path) -> None:
    log = rich(tmp_path)
    assert log.path is not None
    copy = clone_session_path(log, tmp_path)
    copy.close()
    check_same(copy)
    check_same(SessionLog.open(copy_session(log.path, tmp_path / "there", tmp_path), read_only=True))


@pytest.mark.parametrize("name", ["05-compaction", "10-label", "14-custom-entries", "27-two-processes"])
def test_pi_reads_its_own_files_after_bayou_wrote_into_them(name: str, sample: Callable[[str], Path]) -> None:
    log = SessionLog.open(sample(name))
    log.append(user_entry("on"))
    log.append(assistant_entry("on it"))
    log.close()
    assert log.path is not None
    pis = ask_pi(log.path)
    assert pis["leafId"] == log.leaf_id
    assert pis["messages"][-1] == to_wire(log.project_context().messages[-1])
    assert len(pis["rows"]) == len(log.entries)
