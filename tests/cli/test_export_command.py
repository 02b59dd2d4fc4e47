"""`bayou export` in a separate process: the entries in each format."""

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest

from app.sessions.session_log import SessionLog
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from app.values.messages import BashExecutionMessage, SystemMessage
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry
from tests.support import warm_bayou


def bayou(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_bayou.run("export", *words, cwd=cwd)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    log = SessionLog.create(tmp_path, tmp_path)
    for entry in (
        ModelChangeEntry(parent_id=None, provider="p", model_id="m-9"),
        ThinkingLevelChangeEntry(parent_id=None, thinking_level="high"),
        MessageEntry(parent_id=None, message=SystemMessage(content="be brief")),
        user_entry("mend the boat"),
        assistant_entry("with tar", "c1"),
        tool_result_entry("c1", "tarred"),
        MessageEntry(parent_id=None, message=BashExecutionMessage(command="ls hull", output="plank")),
        CustomMessageEntry(parent_id=None, custom_type="harbour", content="tide", display=True),
        CustomMessageEntry(parent_id=None, custom_type="hidden", content="ebb", display=False),
        CustomEntry(parent_id=None, custom_type="kept", data={"a": 1}),
        CompactionEntry(parent_id=None, summary="much rowing", first_kept_entry_id="", tokens_before=1),
        BranchSummaryEntry(parent_id=None, summary="a leak", from_id=""),
        SessionInfoEntry(parent_id=None, name="Boat"),
        user_entry("and then"),
    ):
        log.append(entry)
    log.close()
    assert log.path is not None
    return log.path


def test_markdown_has_the_conversation_and_its_models(session: Path, tmp_path: Path) -> None:
    done = bayou(str(session), "boat.md", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "boat.md").read_text()
    head, _, rest = text.partition("\n\n*Model: p/m-9*\n\n")
    assert head.startswith("# Boat\n\n- Session: ")
    assert rest == (
        "## You\n\nmend the boat\n\n## m\n\nwith tar\n\n**bash**\n\n```json\n{}\n```\n\n"
        "Result of `bash`:\n\n```\ntarred\n```\n\n## You ran\n\n```sh\n$ ls hull\n```\n\n```\nplank\n```\n\n"
        "## harbour\n\ntide\n\n## Summary of what was before\n\nmuch rowing\n\n"
        "## Summary of another branch\n\na leak\n\n## You\n\nand then\n"
    )


def test_a_page_has_a_row_for_each_entry_and_an_article_for_what_is_shown(
    session: Path, tmp_path: Path
) -> None:
    done = bayou(str(session), "boat.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "boat.html").read_text()
    rows = [unescape(row) for row in re.findall(r"<li[^>]*><a [^>]*>([^<]*)</a></li>", page)]
    assert rows == [
        *("Model p/m-9", "Thinking high", "System prompt", "mend the boat", "with tar", "bash", "$ ls hull"),
        *("harbour", "hidden", "kept", "Summary of what was before", "Summary of another branch"),
        *("Name, cost or state", "and then"),
    ]
    heads = [unescape(head) for head in re.findall(r'<h2 class="who">([^<]*) <small>', page)]
    assert heads == [
        *("Model p/m-9", "Thinking high", "System prompt", "You", "m", "You ran", "harbour", "hidden"),
        *("Summary of what was before", "Summary of another branch", "You"),
    ]
    articles = re.findall(r"<article [^>]*>(.*?)</article>", page, re.DOTALL)
    for said in ("be brief", "with tar", "tarred", "plank", "tide", "ebb", "much rowing", "a leak"):
        assert any(said in article for article in articles), said


def test_json_lines_are_a_session_with_the_same_entries(session: Path, tmp_path: Path) -> None:
    assert bayou(str(session), "boat.jsonl", cwd=tmp_path).returncode == 0
    entries = SessionLog.open(tmp_path / "boat.jsonl", read_only=True).entries
    assert entries == SessionLog.open(session, read_only=True).entries


def test_without_a_file_it_is_a_page_in_this_folder(session: Path, tmp_path: Path) -> None:
    done = bayou(str(session), cwd=tmp_path)
    assert done.stdout == f"{tmp_path / f'bayou-session-{session.stem}.html'}\n"
    assert Path(done.stdout.strip()).read_text().startswith("<!DOCTYPE html>")


def test_there_is_no_notebook(session: Path, tmp_path: Path) -> None:
    done = bayou(str(session), "--notebook", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no --notebook. usage: bayou export SESSION [FILE]" in done.stderr
