"""Where git goes that the repository does not say itself, and what it writes through."""

import subprocess
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.conftest import skip_below
from tests.box.test_confined import Boxed

IDENTITY = "git -c user.name=x -c user.email=x@y"


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


@pytest.mark.parametrize(
    "name",
    [
        "COMMIT_EDITMSG",
        "logs/HEAD",
        "logs/refs/heads/main",
        "rr-cache/aa/thisimage",
        "rebase-merge/done",
        "sequencer/todo",
        "info/sparse-checkout",
        "refs/heads/z",
        "remotes/x",
        "objects/info/packs",
        "objects/pack/multi-pack-index",
        "modules/new/COMMIT_EDITMSG",
        "worktrees/new",
    ],
)
async def test_a_link_that_git_would_write_through_is_taken_out_of_its_folder(
    boxed: Boxed, project: Path, home: Path, name: str
) -> None:
    (home / ".bashrc").write_text("mine\n")
    hands = boxed()
    await hands.outcome("git -c user.name=x -c user.email=x@y commit -q --allow-empty -m one")
    outcome = await hands.outcome(
        f"mkdir -p $(dirname .git/{name}); rm -f .git/{name}; ln -s ~/.bashrc .git/{name}; echo evil > .git/MERGE_MSG"
    )
    assert outcome.moved_autorun_files or outcome.restored_git_files
    assert not (project / ".git" / name).is_symlink()
    hands.let_run("o", kind="outside")
    await hands.outcome("GIT_EDITOR=true git -c user.name=x -c user.email=x@y commit --allow-empty", "o")
    assert (home / ".bashrc").read_text() == "mine\n"


async def test_a_head_that_leads_to_its_branch_as_git_can_make_it_stays(boxed: Boxed, project: Path) -> None:
    hands = boxed()
    await hands.outcome(f"{IDENTITY} commit -q --allow-empty -m one")
    outcome = await hands.outcome(
        "git branch two; ln -sf refs/heads/two .git/HEAD; git branch --show-current"
    )
    assert (
        outcome.output.text == "two\n" and not outcome.moved_autorun_files and not outcome.restored_git_files
    )
    assert (project / ".git/HEAD").is_symlink()
    outcome = await hands.outcome("ln -sf ../../.ssh/x .git/HEAD")
    assert outcome.moved_autorun_files or outcome.restored_git_files
    assert not (project / ".git/HEAD").is_symlink()


async def test_links_in_the_work_tree_of_a_bare_repository_stay(boxed: Boxed, project: Path) -> None:
    hands = boxed()
    made = f"{IDENTITY} commit -q --allow-empty -m one; git clone -q --bare . all; git -C all worktree add -q here"
    await hands.outcome(made)
    outcome = await hands.outcome(
        "mkdir all/here/bin; ln -s ../x all/here/bin/tool; ln -s ~/.bashrc all/description2"
    )
    assert [one.path for one in outcome.moved_autorun_files] == [f"{project}/all/description2"]
    assert (project / "all/here/bin/tool").is_symlink()


@pytest.mark.parametrize(
    "evil",
    [
        "printf '#!/bin/sh\\n' > $git/hooks/post-checkout; chmod +x $git/hooks/post-checkout",
        "git --git-dir=$git config core.fsmonitor 'touch ran'",
        "git --git-dir=$git config core.hooksPath /tmp",
    ],
    ids=["hook", "fsmonitor", "hooksPath"],
)
async def test_a_prepared_folder_of_a_submodule_is_named(boxed: Boxed, project: Path, evil: str) -> None:
    hands = boxed()
    make = "git=.git/modules/lib; git init -q --bare $git; git --git-dir=$git config core.bare false"
    assert not (await hands.outcome(make)).new_autorun_files
    outcome = await hands.outcome(f"{make.replace('lib', 'other')}; {evil}")
    assert outcome.new_autorun_files and all(
        path.startswith(f"{project}/.git/modules/other/") for path in outcome.new_autorun_files
    )


def leave_a_rebase_waiting(project: Path, top: Path) -> None:
    commits = "; ".join(f"{IDENTITY} commit -q --allow-empty -m {number}" for number in range(2))
    script = f"{commits}; mkdir sub; git worktree add -q --detach ~/outside; cd {top}; "
    script += f"{IDENTITY} -c sequence.editor='sed -i 1s/pick/edit/' rebase -q -i --keep-empty HEAD~1"
    subprocess.run(["sh", "-c", script], cwd=project, check=True)


@pytest.mark.parametrize("where", ["project", "outside"])
async def test_an_exec_line_of_a_waiting_rebase_is_named_beside_the_searched_folder(
    project: Path, home: Path, where: str
) -> None:
    skip_below("namespaces")
    leave_a_rebase_waiting(project, home / "outside" if where == "outside" else project)
    hands = BoxedCommands(home, project / "sub", "namespaces")
    try:
        git = project / ".git" / ("worktrees/outside" if where == "outside" else ".")
        todo = git / "rebase-merge/git-rebase-todo"
        assert todo.exists()
        assert not (await hands.outcome(f"echo '# nothing' >> {todo}")).new_autorun_files
        outcome = await hands.outcome(f"echo 'exec touch ran' >> {todo}", "d")
        assert outcome.new_autorun_files == (str(todo),)
    finally:
        hands.close()


async def test_a_bare_repository_with_its_parts_in_another_folder_is_named(
    boxed: Boxed, project: Path
) -> None:
    outcome = await boxed().outcome(
        "mkdir -p docs lib/data; git init -q --bare lib/data; mv lib/data/HEAD docs; "
        "echo ../lib/data > docs/commondir; "
        "git --git-dir=lib/data config core.pager x"
    )
    assert f"{project}/docs/HEAD" in outcome.new_autorun_files, outcome.new_autorun_files


@pytest.mark.parametrize("name", ["remotes", "branches"])
async def test_a_file_that_names_another_repository_in_the_old_form_is_named(
    boxed: Boxed, project: Path, name: str
) -> None:
    outcome = await boxed().outcome(f"mkdir -p .git/{name}; echo 'URL: /tmp/x' > .git/{name}/origin")
    assert outcome.new_autorun_files == (f"{project}/.git/{name}/origin",)


async def test_files_that_run_later_by_their_ending_are_held_and_moved_away(
    boxed: Boxed, project: Path
) -> None:
    (project / "a.code-workspace").write_text("mine")
    outcome = await boxed().outcome(
        "echo evil > a.code-workspace; mkdir sub; echo evil > sub/b.code-workspace; echo evil > c.sublime-project"
    )
    assert (project / "a.code-workspace").read_text() == "mine"
    assert {Path(one.path).name for one in outcome.moved_autorun_files} == {
        "b.code-workspace",
        "c.sublime-project",
    }
