"""What a safe name may start: programs that a repository names, and files of the workspace that PATH finds."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.sandbox.command_context import CommandPlaceFacts
from app.permits.shell.command_line import judge_command_line

ATTACKS: dict[str, tuple[str, str]] = {
    "a monitor of its own": ("git config core.fsmonitor {evil}", "git status"),
    "a monitor of an embedded repository": (
        "git init -q sub; cd sub; git config core.fsmonitor {evil}; touch f; git add f; "
        "git -c user.name=a -c user.email=a commit -qm a; cd ..; git -c advice.addEmbeddedRepo=false add sub",
        "git status",
    ),
    "the hook behind a refreshed index": (
        "cp {evil} .git/hooks/post-index-change; touch -d yesterday f",
        "git status",
    ),
    "an external diff": ("git config diff.external {evil}; echo b >> f", "git diff"),
    "a filter": ("git config filter.x.clean {evil}; echo 'f filter=x' > .gitattributes; touch f", "git diff"),
}


LEADS: dict[str, str] = {
    "a file of another place as a list of commits": "ln -s ../../home/.netrc .git/shallow",
    "a link in a folder of git's folder": "ln -s ../../../home/.netrc .git/info/attributes",
    "a remote that has the missing objects": "git config remote.o.partialclonefilter blob:none",
    "a format that checks signatures": "git config format.pretty %GG",
    "a file of commits to ignore": "git config blame.ignoreRevsFile ../home/.netrc",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    home, folder = tmp_path / "home", tmp_path / "project"
    for each in (home, folder):
        each.mkdir()
    monkeypatch.setenv("HOME", str(home))
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\ncat\n")
    evil.chmod(0o755)

    def prepared(preparation: str) -> Path:
        start = "git init -q; echo a > f; git add f; git -c user.name=a -c user.email=a commit -qm a"
        _run(f"{start}; {preparation.format(evil=evil)}", folder)
        (tmp_path / "canary").unlink(missing_ok=True)
        return folder

    return prepared


def _run(text: str, folder: Path) -> None:
    subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )


def _risk(command: str, folder: Path) -> str:
    home = folder.parent / "home"
    return judge_command_line(
        command, CommandPlaceFacts(home, home / ".bayou" / "agent").describe_command_place(folder)
    ).risk


@pytest.mark.parametrize("attack", ATTACKS)
def test_git_that_starts_a_named_program_is_not_safe(attack: str, project: Callable[[str], Path]) -> None:
    preparation, command = ATTACKS[attack]
    folder = project(preparation)
    _run(command, folder)
    assert (folder.parent / "canary").exists()
    assert _risk(command, folder) == "contained"


@pytest.mark.parametrize("lead", LEADS)
def test_git_that_a_repository_leads_elsewhere_is_not_safe(lead: str, project: Callable[[str], Path]) -> None:
    folder = project(LEADS[lead])
    for command in ("git log", "git status", "git show --stat HEAD", "git branch -a"):
        assert _risk(command, folder) == "contained", command


def test_git_in_a_repository_as_git_makes_it_is_safe(project: Callable[[str], Path]) -> None:
    folder = project(
        "git config user.name me; git branch topic; git remote add o https://host.example/x.git; "
        "git config branch.topic.remote o; git config pull.rebase true"
    )
    for command in (
        "git status -s",
        "git diff --stat",
        "git log --oneline -3",
        "git show --stat HEAD",
        "git branch -v",
    ):
        assert _risk(command, folder) == "safe", command


def test_a_name_that_the_workspace_folder_of_path_has_is_not_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bin/git", "ls", "sub/rg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found: dict[str, list[str]] = {}
    for path in ("/usr/bin:/bin", f"{tmp_path}/bin:/usr/bin", ".:/usr/bin", ":/usr/bin"):
        monkeypatch.setenv("PATH", path)
        place = CommandPlaceFacts(tmp_path / "home", tmp_path / "home" / "agent").describe_command_place(
            tmp_path, has_box=True
        )
        lines = ("git status", "ls", "cd sub && rg x", "cat f")
        found[path.replace(str(tmp_path), "W")] = [judge_command_line(line, place).risk for line in lines]
    assert found == {
        "/usr/bin:/bin": ["safe", "safe", "safe", "safe"],
        "W/bin:/usr/bin": ["contained", "safe", "safe", "safe"],
        ".:/usr/bin": ["safe", "contained", "contained", "safe"],
        ":/usr/bin": ["safe", "contained", "contained", "safe"],
    }
