"""Where git goes that the repository does not say itself, and what it writes through."""

from pathlib import Path

import pytest

from tests.box.test_confined import Boxed


@pytest.mark.parametrize("way", ["system", "xdg", "global", "count"])
async def test_hooks_that_the_machine_or_the_environment_names_are_held(
    boxed: Boxed, project: Path, home: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = project / "myhooks/pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")
    named = home / "named"
    (home / ".cfg/git").mkdir(parents=True)
    for file in (named, home / ".cfg/git/config"):
        file.write_text("[core]\n\thooksPath = myhooks\n")
    said = {
        "system": {"GIT_CONFIG_SYSTEM": str(named)},
        "xdg": {"XDG_CONFIG_HOME": str(home / ".cfg")},
        "global": {"GIT_CONFIG_GLOBAL": str(named)},
        "count": {
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "myhooks"
        },
    }  # fmt: skip
    for name, value in said[way].items():
        monkeypatch.setenv(name, value)
    await boxed().outcome(
        "echo evil >> myhooks/pre-commit; mv myhooks old; mkdir myhooks; echo evil > myhooks/x"
    )
    assert hook.read_text() == "#!/bin/sh\n" and [one.name for one in hook.parent.iterdir()] == ["pre-commit"]


@pytest.mark.parametrize("name", ["COMMIT_EDITMSG", "logs/HEAD", "logs/refs/heads/main"])
async def test_a_link_that_git_would_write_through_is_taken_out_of_its_folder(
    boxed: Boxed, project: Path, home: Path, name: str
) -> None:
    (home / ".bashrc").write_text("mine\n")
    hands = boxed()
    await hands.outcome("git -c user.name=x -c user.email=x@y commit -q --allow-empty -m one")
    outcome = await hands.outcome(
        f"mkdir -p .git/logs/refs/heads; rm -f .git/{name}; ln -s ~/.bashrc .git/{name}; echo evil > .git/MERGE_MSG"
    )
    assert outcome.set_aside or outcome.put_back
    assert not (project / ".git" / name).is_symlink()
    hands.let_run("o", kind="outside")
    await hands.outcome("GIT_EDITOR=true git -c user.name=x -c user.email=x@y commit --allow-empty", "o")
    assert (home / ".bashrc").read_text() == "mine\n"


async def test_files_that_run_later_by_their_ending_are_held_and_moved_away(
    boxed: Boxed, project: Path
) -> None:
    (project / "a.code-workspace").write_text("mine")
    outcome = await boxed().outcome(
        "echo evil > a.code-workspace; mkdir sub; echo evil > sub/b.code-workspace; echo evil > c.sublime-project"
    )
    assert (project / "a.code-workspace").read_text() == "mine"
    assert {Path(one.path).name for one in outcome.set_aside} == {"b.code-workspace", "c.sublime-project"}
