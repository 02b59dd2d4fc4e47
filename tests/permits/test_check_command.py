"""`bayou permissions check` says what the gate would say here, and runs nothing."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.assembly.command_line_options import UsageError
from app.cli.commands.permissions_command import run
from tests.permits.by_doing.measure import everything, without_sandbox


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "proj"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BAYOU_AGENT_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_it_judges_its_arguments(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--json", "touch made && npm ci", "rm -rf ~"]) == 0
    first, second = lines(capsys)
    assert first == {
        "command": "touch made && npm ci",
        "letter": "contained",
        "parts": [
            {"text": "touch made", "letter": "contained", "why": "writes made"},
            {
                "text": "npm ci",
                "letter": "contained",
                "why": "npm ci uses the network",
            },
        ],
        "outcome": "ask",
        "decided_by": "mode ask",
    }
    assert (second["letter"], second["decided_by"]) == ("forbidden", "the built-in safety rule")
    assert not (project / "made").exists()


def test_it_judges_lines_of_its_input(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(
        monkeypatch,
        b'{"command": "ls"}\n\nrm -rf build\n{"no": 1}\n{ ls; }\n{"command": "l\\ud800s"}\n\xff\xfe\n',
    )
    assert run(["check", "--json"]) == 1
    told = lines(capsys)
    assert [one["letter"] for one in told] == ["safe", "contained", "safe", "contained", "contained"]


def test_without_namespaces_and_landlock_every_contained_command_asks(tmp_path: Path) -> None:
    """All harmful and everyday commands, and nothing of them runs."""
    told = without_sandbox(everything(), tmp_path)
    assert len(told) == len(everything()) > 900
    assert {one["outcome"] for one in told if one["letter"] == "safe"} == {"run"}
    assert [one["command"] for one in told if one["letter"] != "safe" and one["outcome"] != "ask"] == []
    assert sum(1 for one in told if one["letter"] == "contained") > 600


def test_rules_of_the_settings_decide_and_are_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.parent / ".bayou" / "agent" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(
        json.dumps({"permissions": {"deny": ["bash: rm **"], "allow": ["bash: git push origin *"]}})
    )
    run(["check", "--json", "sudo rm x", "git push origin topic", "git push --force origin topic"])
    assert [one["decided_by"] for one in lines(capsys)] == [
        "deny “bash: rm **” (user)",
        "allow “bash: git push origin *” (user)",
        "the built-in safety rule",
    ]


def test_a_project_allows_nothing_before_its_text_was_accepted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = project / ".bayou" / "settings.json"
    own.parent.mkdir()
    own.write_text(json.dumps({"permissions": {"allow": ["bash: npm **"], "deny": ["bash: make **"]}}))
    run(["check", "--json", "npm ci"])
    assert lines(capsys)[0]["decided_by"] == "mode ask"


def test_other_words_are_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="permissions check"):
        run(["delete"])
    with pytest.raises(UsageError, match="--loud"):
        run(["check", "--loud"])
