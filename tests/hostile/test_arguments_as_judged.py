"""What is judged is what runs: a value in another shape (a list of one, JSON text) is the plain value to every rule.

In whole processes, with a model that makes exactly these calls.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import text_of
from tests.modes.processes import CALLS, results_of, write_settings

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"
HOOK = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+touch caught\n*** End Patch"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    project = home / "project"
    (project / ".git" / "hooks").mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text(SECRET)
    (home / ".ssh" / "list").mkdir()
    (project / "notes.txt").write_text("plain notes\n")
    return project


async def told(project: Path, mode: str, tool: str, arguments: Mapping[str, Any], *options: str) -> str:
    flags = ["-e", CALLS, "--permissions", mode, "--no-session", *options]
    asked: list[Mapping[str, Any]] = []

    async def deny(data: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(data)
        return {"value": "Deny"}

    async with RpcClient(cwd=project, arguments=flags, answer_question=deny) as client:
        (result,) = await results_of(client, (tool, arguments))
    return f"{len(asked)} asked: {text_of(result.content)}"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": ["~/.ssh/id_rsa"]}),
        ("read", {"file_path": ["~/.ssh/id_rsa"]}),
        ("write", {"path": [".git/hooks/pre-commit"], "content": "touch caught"}),
        ("write", {"path": ".git/hooks/pre-commit", "content": ["touch caught"]}),
        ("edit", {"path": ["../.ssh/id_rsa"], "edits": json.dumps([{"oldText": "BEGIN", "newText": "END"}])}),
        ("bash", {"command": ["cat", "../.ssh/id_rsa"]}),
        ("bash", {"command": "cat id_rsa", "cwd": ["../.ssh"]}),
        ("grep", {"pattern": ["BEGIN"], "path": ["~/.ssh/id_rsa"]}),
    ],
    ids=str,
)
async def test_another_shape_of_a_value_is_asked_about_like_the_plain_one(
    project: Path, tool: str, arguments: dict[str, Any]
) -> None:
    said = await told(project, "auto-edit", tool, arguments)
    assert said.startswith("1 asked: The user denied it"), said
    assert "b3Blbn" not in said and not (project / ".git" / "hooks" / "pre-commit").exists()


async def test_a_patch_in_a_list_is_asked_about_like_the_plain_one(project: Path) -> None:
    write_settings({"edit": {"mode": "patch"}})
    said = await told(project, "auto-edit", "apply_patch", {"input": [HOOK]})
    assert said.startswith("1 asked: The user denied it"), said
    assert not (project / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("path", ["notes.txt", ["notes.txt"]], ids=str)
async def test_a_deny_rule_holds_for_every_shape_of_a_value(project: Path, path: Any) -> None:
    write_settings({"permissions": {"deny": ["read: notes.txt"]}})
    said = await told(project, "full", "read", {"path": path})
    assert said.startswith("0 asked: This was refused by deny") and "plain notes" not in said, said


async def test_an_argument_that_no_tool_has_is_refused_by_its_name(project: Path) -> None:
    said = await told(project, "full", "read", {"path": "notes.txt", "as_root": True})
    assert "as_root" in said and "plain notes" not in said, said
