"""Sessions of other agents keep their messages, calls with results, thinking, images, times, titles and usage."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.imports import claude_sessions, codex_sessions, opencode_sessions
from app.imports.session_builder import ImportedSession, SessionNotImportable
from app.sessions.file.session_reader import read_session
from app.sessions.session_log import SessionLog
from app.values.content import Image, Text, Thinking, text_of
from app.values.entries import CompactionEntry, CustomMessageEntry, Entry, MessageEntry, SessionInfoEntry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from tests.imports import foreign_homes as homes


def messages(session: ImportedSession) -> list[Any]:
    return [entry.message for entry in session.entries if isinstance(entry, MessageEntry)]


def path_to_leaf(session: ImportedSession) -> list[Entry]:
    by_id = {entry.id: entry for entry in session.entries}
    found: list[Entry] = []
    at: str | None = session.entries[-1].id
    while at is not None:
        found.insert(0, by_id[at])
        at = by_id[at].parent_id
    return found


def test_a_session_of_claude_keeps_answers_calls_branches_and_summary(tmp_path: Path) -> None:
    session = claude_sessions.read_session(homes.claude_home(tmp_path), tmp_path)
    assert (session.id, session.cwd, session.title) == (
        homes.CLAUDE_ID,
        "/home/rower/boats",
        "Counting the oars",
    )
    first = messages(session)[1]
    assert isinstance(first, AssistantMessage)
    thinking = first.content[0]
    assert isinstance(thinking, Thinking) and (thinking.thinking, thinking.thinking_signature) == (
        "I should look.",
        "c2ln",
    )
    assert [call.name for call in first.tool_calls] == ["bash", "read"]
    assert first.tool_calls[0].arguments == {"command": "grep -c oar fleet.py", "timeout": 5.0}
    assert (first.provider, first.model, first.stop_reason) == ("anthropic", "claude-opus-4-5", "toolUse")
    assert (first.usage.input, first.usage.output, first.usage.cache_read) == (4, 40, 200)
    results = [one for one in messages(session) if isinstance(one, ToolResultMessage)]
    assert [(one.tool_name, text_of(one.content), one.is_error) for one in results] == [
        ("bash", "7", False),
        ("read", "1 oars: int = 2", False),
        ("edit", "File has not been read yet.", True),
    ]
    assert isinstance(results[1].content[1], Image)
    edit = messages(session)[-2].tool_calls[0].arguments
    assert edit["edits"] == [{"oldText": "oars: int = 2", "newText": "oars: int = 4"}]

    path = path_to_leaf(session)
    prompts = [
        text_of(one.message.content)
        for one in path
        if isinstance(one, MessageEntry) and isinstance(one.message, UserMessage)
    ]
    assert prompts == ["How many oars has the fleet?", "Draw a galley, like this.", "/review the galley"]
    assert any(
        text_of(one.content) == "Draw the wrong one."
        for one in messages(session)
        if isinstance(one, UserMessage)
    )
    summary = next(one for one in path if isinstance(one, CompactionEntry))
    assert (summary.summary, summary.tokens_before) == ("The fleet was counted and a galley drawn.", 2048)
    hidden = next(one for one in path if isinstance(one, CustomMessageEntry))
    assert not hidden.display and "skill" in str(hidden.content)
    assert isinstance(path[-1], SessionInfoEntry)
    assert set(session.left_out) == {
        "copies of files for its undo",
        "attachments for the model",
        "messages of helpers",
        "documents and other attachments",
        "output of its own commands",
        "lines that cannot be read",
    }


def test_a_session_of_codex_keeps_calls_usage_and_what_was_rolled_back(tmp_path: Path) -> None:
    session = codex_sessions.read_session(homes.codex_home(tmp_path), tmp_path, {homes.CODEX_ID: "The mast"})
    assert (session.id, session.title) == (homes.CODEX_ID, "The mast")
    answers = [one for one in messages(session) if isinstance(one, AssistantMessage)]
    assert answers[0].thinking == "**Looking at the mast**"
    assert answers[0].tool_calls[0].arguments == {"command": "cat mast.py"}
    assert (answers[0].usage.input, answers[0].usage.cache_read, answers[0].usage.reasoning) == (400, 600, 40)
    assert answers[1].tool_calls[0].name == "apply_patch"
    results = [one for one in messages(session) if isinstance(one, ToolResultMessage)]
    assert [(text_of(one.content), one.is_error) for one in results] == [
        ("cat: mast.py: No such file", True),
        ("Success.", False),
    ]
    told = [
        text_of(one.message.content)
        for one in path_to_leaf(session)
        if isinstance(one, MessageEntry) and isinstance(one.message, UserMessage)
    ]
    assert told == ["Fix the mast", "Paint it green"]
    assert "Pink." in [one.text for one in answers]
    assert isinstance(session.entries[-2], CompactionEntry)
    assert session.left_out["messages of the program to the model"] == 2


def test_the_form_of_codex_from_before_is_read_too(tmp_path: Path) -> None:
    lines = [
        {"id": "11111111-2222-3333-4444-555555555555", "timestamp": "2025-06-01T10:00:00Z", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hoist"}]},
        {
            "type": "local_shell_call",
            "call_id": "c",
            "action": {"type": "exec", "command": ["ls", "-l a b"]},
        },
        {"type": "function_call_output", "call_id": "c", "output": "sail"},
    ]
    file = homes.write(tmp_path / "old.jsonl", "\n".join(map(json.dumps, lines)))
    session = codex_sessions.read_session(file, tmp_path, {})
    assert session.id == "11111111-2222-3333-4444-555555555555"
    assert messages(session)[1].tool_calls[0].arguments == {"command": "ls '-l a b'"}
    assert session.cwd == str(tmp_path)


@pytest.mark.parametrize("fill", [homes.opencode_files, homes.opencode_database])
def test_a_session_of_opencode_is_read_from_files_and_from_its_database(
    tmp_path: Path, fill: Callable[[Path], Path]
) -> None:
    fill(tmp_path)
    problems: list[str] = []
    (stored,) = opencode_sessions.stored_opencode_sessions(
        tmp_path / ".local" / "share" / "opencode", problems
    )
    session = opencode_sessions.read_session(stored, tmp_path)
    assert not problems
    assert (session.id, session.cwd, session.title) == (homes.OPENCODE_ID, "/home/rower/boats", "The keel")
    prompt, answer, result = messages(session)
    assert isinstance(prompt.content[0], Text) and isinstance(prompt.content[1], Image)
    assert answer.thinking == "Barnacles?" and answer.text == "It is clean."
    assert answer.tool_calls[0].arguments == {"path": "keel.md"}
    assert (answer.usage.input, answer.usage.output, answer.usage.cost.total) == (10, 25, 0.25)
    assert (result.tool_name, text_of(result.content)) == ("read", "barnacles")


def test_conversations_of_helpers_are_not_sessions(tmp_path: Path) -> None:
    header = {"type": "session_meta", "payload": {"id": "a", "source": {"subagent": "review"}}}
    file = homes.write(tmp_path / "x.jsonl", json.dumps(header))
    with pytest.raises(SessionNotImportable, match="helper"):
        codex_sessions.read_session(file, tmp_path, {})


def test_a_written_session_opens_with_its_time_and_is_never_written_twice(tmp_path: Path) -> None:
    session = claude_sessions.read_session(homes.claude_home(tmp_path), tmp_path)
    file = session.write(tmp_path / "sessions")
    assert file.stat().st_mtime == session.ended / 1000
    before = file.read_bytes()
    with pytest.raises(SessionNotImportable, match="already exists"):
        session.write(tmp_path / "sessions")
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
    log = SessionLog.open(file)
    assert not log.problems and log.header.id == homes.CLAUDE_ID


JUNK: list[Any] = [
    None, True, -1, 1e308, "", "\ud800", "../../x", "\0", [], {}, [[]], {"type": "text"}, [{"type": "tool_use"}],
    10**30, "data:image/png;base64,%%", "9999-99-99", {"a": {"b": [{}]}}, ["x"] * 3, "x" * 5000,
]  # fmt: skip


def _spoil(value: Any, chance: random.Random) -> Any:
    """Returns the value with random parts replaced, removed or repeated."""
    if chance.random() < 0.04:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {key: _spoil(one, chance) for key, one in value.items() if chance.random() > 0.02}
    if isinstance(value, list):
        kept = [_spoil(one, chance) for one in value if chance.random() > 0.02]
        return kept + kept[:1] if chance.random() < 0.05 else kept
    return value


def _spoiled_lines(name: str, chance: random.Random) -> bytes:
    lines = (homes.FIXTURES / name).read_text().splitlines()[:-1]
    chance.shuffle(lines) if chance.random() < 0.3 else None
    data = "\n".join(json.dumps(_spoil(json.loads(line), chance)) for line in lines).encode()
    cut = chance.randrange(len(data))
    return data[:cut] if chance.random() < 0.3 else data + b"\xff\xfe\0{" + b"[" * 3000


@pytest.mark.parametrize("seed", range(40))
def test_no_lines_crash_an_import_or_leave_half_a_session(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    claude = tmp_path / "claude.jsonl"
    claude.write_bytes(_spoiled_lines("claude.jsonl", chance))
    codex = tmp_path / f"rollout-{homes.CODEX_ID}.jsonl"
    codex.write_bytes(_spoiled_lines("codex.jsonl", chance))
    homes.opencode_files(tmp_path)
    data = tmp_path / ".local" / "share" / "opencode"
    for file in data.rglob("*.json"):
        file.write_text(json.dumps(_spoil(json.loads(file.read_text()), chance)))
    reads: list[Callable[[], ImportedSession]] = [
        lambda: claude_sessions.read_session(claude, tmp_path),
        lambda: codex_sessions.read_session(codex, tmp_path, {}),
        *(
            lambda stored=stored: opencode_sessions.read_session(stored, tmp_path)
            for stored in opencode_sessions.stored_opencode_sessions(data, [])
        ),
    ]
    for read in reads:
        try:
            session = read()
        except SessionNotImportable:
            continue
        written = read_session(session.write(tmp_path / "sessions"))
        assert not written.bad_lines and written.has_torn_line is None
        assert len(written.entries) == len(session.entries)
        ids = [entry.id for entry in written.entries]
        assert len(set(ids)) == len(ids)
        assert all(
            entry.parent_id is None or entry.parent_id in ids[:at] for at, entry in enumerate(written.entries)
        )
        calls = {
            call.id
            for one in messages(session)
            if isinstance(one, AssistantMessage)
            for call in one.tool_calls
        }
        assert all(
            one.tool_call_id in calls for one in messages(session) if isinstance(one, ToolResultMessage)
        )
