"""Settings, rules and session files from before the three classes are read as they are, and nothing is said of them."""

import json
from pathlib import Path

import pytest

from app.cli.commands.permissions_command import run
from app.engine.permissions.verdict_log import read_permission_verdicts
from app.values.entries import CustomEntry

LETTERS = {
    "R": "safe",
    "E": "contained",
    "X": "contained",
    "N": "contained",
    "U": "contained",
    "F": "forbidden",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "proj"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BAYOU_AGENT_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


def written(file: Path, permissions: dict[str, object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"permissions": permissions}))


def test_files_of_the_user_and_the_project_from_before_count_as_they_did(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = [
        "bash: git push origin *",
        "bash: frobnicate **",
        "edit: docs/**",
        "write: out/**",
        "tool: todo",
    ]
    mine = {
        "mode": "auto-edit",
        "allow": [*allowed, "read: notes/**", "net: *.example.org:443"],
        "ask": ["bash: make deploy"],
        "deny": ["bash: rm **"],
        "allowIn": {str(project): ["bash: npm test"]},
        "floorExceptions": ["git push --force origin main"],
        "timeoutSeconds": 60,
    }
    written(project.parent / ".bayou/agent/settings.json", mine)
    written(project / ".bayou/settings.json", {"ask": ["bash: cargo **"], "deny": ["read: secrets/**"]})
    commands = {
        "git push origin topic": "allow “bash: git push origin *” (user)",
        "frobnicate --all": "allow “bash: frobnicate **” (user)",
        "npm test": "allow “bash: npm test” (folder)",
        "rm x": "deny “bash: rm **” (user)",
        "make deploy": "ask “bash: make deploy” (user)",
        "git push --force origin main": "floorExceptions",
    }
    assert run(["check", "--json", *commands]) == 0
    told = capsys.readouterr()
    decided = {one["command"]: one["decided_by"] for one in map(json.loads, told.out.splitlines())}
    assert decided == commands
    assert told.err == ""


@pytest.mark.parametrize("letter", LETTERS)
def test_letters_in_a_session_file_are_shown_as_classes(letter: str) -> None:
    part = {"text": "make", "letter": letter, "why": "said so"}
    data = {
        "callId": "c",
        "tool": "bash",
        "letter": letter,
        "parts": [part],
        "decision": "run",
        "by": "mode ask",
    }
    entry = CustomEntry(id="1", parent_id=None, timestamp="", custom_type="bayou.permit", data=data)
    (past,) = read_permission_verdicts([entry])
    assert past.decision.verdict.risk == LETTERS[letter]
