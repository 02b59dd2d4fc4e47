"""A command is judged by what the shell makes of it, in whole processes with a model that makes exactly these calls."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import text_of
from tests.modes.processes import CALLS, results_of

SECRET = "sixteen-parrots-on-a-mast"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    project = home / "project"
    project.mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text(SECRET)
    for name in ("f", "g"):
        (project / name).write_text("a\na\nb\n")
    return project


async def answers(project: Path, mode: str, *lines: str) -> dict[str, str]:
    """What each line's result says, where every question is denied."""

    async def deny(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"value": "Deny"}

    flags = ["-e", CALLS, "--permissions", mode, "--no-session"]
    async with RpcClient(cwd=project, arguments=flags, answer_question=deny) as client:
        results = await results_of(client, *(("bash", {"command": line}) for line in lines))
    return {line: text_of(result.content) for line, result in zip(lines, results, strict=True)}


async def test_lines_that_may_change_files_are_asked_about_in_ask(project: Path) -> None:
    said = await answers(
        project,
        "ask",
        "sh -c ls",
        "env sh -c 'ls'",
        "uniq [fg]",
        "find . -name '?' -exec uniq {} +",
        "echo f g | xargs uniq",
        "for _ in ls; do echo f; $_; done",
        "read _ <<< g; uniq f $_",
    )
    assert {line: text for line, text in said.items() if not text.startswith("The user denied it")} == {}
    assert (project / "g").read_text() == "a\na\nb\n"


async def test_secrets_in_a_script_for_another_shell_are_asked_about_in_full(project: Path) -> None:
    said = await answers(
        project, "full", "sh -c 'cat ~/.ssh/id_rsa'", "printf 'cat ~/.ssh/id_rsa' | dash", "sh -c 'cat f'"
    )
    *denied, read = said.values()
    assert all(text.startswith("The user denied it") for text in denied), denied
    assert read.startswith("a\na\nb") and SECRET not in str(said)


async def test_private_files_behind_patterns_and_folders_are_asked_about_in_full(project: Path) -> None:
    private = project.parent / ".config" / "newprogram" / "s.json"
    private.parent.mkdir(parents=True)
    private.write_text(SECRET)
    private.chmod(0o600)
    *denied, read = (
        await answers(
            project,
            "full",
            "cat ~/.config/*/s.json",
            "cd ~; cat .config/*/s.json",
            "find ~/.config -name 's.json' -exec cat {} +",
            "find ~/.config -name s.json | xargs cat",
            "grep -r o ~/.config",
            "cp -r ~/.config copy",
            "cat ../p*/f",
        )
    ).values()
    assert all(text.startswith("The user denied it") for text in denied), denied
    assert read.startswith("a\na\nb") and SECRET not in str(denied)


async def test_variables_of_the_shell_do_not_lead_a_command_elsewhere(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "away").mkdir()
    linked = project.parent / "away" / "linked"
    linked.symlink_to(project)
    for name, value in (("PWD", linked), ("CDPATH", project.parent), ("BASHOPTS", "dotglob")):
        monkeypatch.setenv(name, str(value))
    (project / ".hidden").write_text("")
    said = await answers(project, "full", "cd ..; pwd", "cd .ssh; pwd", "echo *")
    up, away, names = said.values()
    assert up.startswith(str(project.parent)) and "away" not in up
    assert str(project.parent / ".ssh") not in away and ".hidden" not in names
