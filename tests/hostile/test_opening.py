"""Opening runs nothing: a person goes to a folder that came from elsewhere and starts bayou there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.tui.status.status_lines import query_git_state
from tests.hostile.conftest import Put, program
from tests.hostile.repositories import git, make_stale, repository
from tests.support.terminals import terminal
from tools.filemap import ctags_outline
from tools.git.git_command import make_read_only_git_command
from tools.git.git_repository import find_repository
from tools.running.programs_outside_project import find_program_outside_project
from tools.searching.ripgrep import find_bundled_ripgrep
from widgets.completion.file_index import FileIndex

Attack = Callable[[Path, Path], Path]
"""Prepares a folder so that git starts a program, and says where bayou is opened."""


def fsmonitor(folder: Path, trap: Path) -> Path:
    repository(folder)
    git(folder, "config", "core.fsmonitor", str(trap))
    return folder


def embedded_bare_repository(folder: Path, trap: Path) -> Path:
    """What a clone can bring along: files that are a repository if one stands among them."""
    inner = folder / "docs"
    repository(folder)
    git(folder, "init", "--quiet", "--bare", str(inner))
    (inner / "work").mkdir()
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(inner / "work"))
    git(inner, "config", "core.fsmonitor", str(trap))
    return inner / "work" if (inner / "work" / ".git").exists() else inner


def include(folder: Path, trap: Path) -> Path:
    repository(folder)
    (folder / "innocent.txt").write_text(f'[core]\n\tfsmonitor = "{trap}"\n')
    git(folder, "config", "include.path", "../innocent.txt")
    return folder


def conditional_include(folder: Path, trap: Path) -> Path:
    repository(folder)
    (folder / "innocent.txt").write_text(f'[core]\n\tfsmonitor = "{trap}"\n')
    git(folder, "config", f"includeIf.gitdir:{folder}/.path", "../innocent.txt")
    return folder


def work_tree_configuration(folder: Path, trap: Path) -> Path:
    repository(folder)
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "config", "--worktree", "core.fsmonitor", str(trap))
    return folder


def file_that_leads_elsewhere(folder: Path, trap: Path) -> Path:
    fsmonitor(folder / "assets", trap)
    (folder / "assets" / ".git").rename(folder / "assets" / "data")
    (folder / "assets" / ".git").write_text("gitdir: data\n")
    return folder / "assets"


def filter_by_attributes(folder: Path, trap: Path) -> Path:
    repository(folder)
    (folder / ".gitattributes").write_text("* filter=boats\n")
    git(folder, "config", "filter.boats.clean", str(trap))
    make_stale(folder)
    return folder


def filter_as_a_process(folder: Path, trap: Path) -> Path:
    repository(folder)
    (folder / ".gitattributes").write_text("* filter=boats\n")
    git(folder, "config", "filter.boats.process", str(trap))
    make_stale(folder)
    return folder


def submodule(folder: Path, trap: Path) -> Path:
    repository(folder)
    fsmonitor(folder / "part", trap)
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{_commit(folder / 'part')},part")
    return folder


def _commit(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


ATTACKS = [
    fsmonitor,
    embedded_bare_repository,
    include,
    conditional_include,
    work_tree_configuration,
    file_that_leads_elsewhere,
    filter_by_attributes,
    filter_as_a_process,
    submodule,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
async def test_the_status_line_starts_nothing_of_a_repository(
    attack: Attack, folder: Path, trap: Path, mark: Path
) -> None:
    opened = attack(folder, trap)
    git(opened, "status")
    assert mark.exists(), "the attack itself does not work, so that this would prove nothing"
    mark.unlink()
    await query_git_state(opened, home=folder.parent, is_vouched=lambda: False)
    assert not mark.exists()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
async def test_nor_does_it_after_the_yes(attack: Attack, folder: Path, trap: Path, mark: Path) -> None:
    opened = attack(folder, trap)
    await query_git_state(opened, home=folder.parent, is_vouched=lambda: True)
    assert not mark.exists()


@pytest.mark.parametrize("attack", [fsmonitor, embedded_bare_repository], ids=lambda attack: attack.__name__)
def test_opening_the_full_screen_runs_nothing(attack: Attack, folder: Path, trap: Path, mark: Path) -> None:
    opened = attack(folder, trap)
    with terminal(opened) as page:
        page.until("Trust this project?")
        page.press("\x1b")
        page.until(lambda: "Trust this project?" not in page.screen)
        page.press("/quit\r")
        page.ended()
    assert not mark.exists()


async def test_the_branch_is_reported_all_the_same(folder: Path, trap: Path) -> None:
    fsmonitor(folder, trap)
    (folder / "new.txt").write_text("not committed")
    assert await query_git_state(folder, home=folder.parent, is_vouched=lambda: False) == "harbour"
    assert await query_git_state(folder, home=folder.parent, is_vouched=lambda: True) == "harbour*"


def test_the_branch_of_every_kind_of_repository(folder: Path) -> None:
    repository(folder)
    assert _head(folder) == "harbour"
    git(folder, "pack-refs", "--all")
    assert _head(folder) == "harbour"
    git(folder, "worktree", "add", "--quiet", "-b", "bay/side", str(folder.parent / "linked"))
    assert _head(folder.parent / "linked") == "bay/side"
    git(folder, "checkout", "--quiet", "--detach")
    assert _head(folder) == _commit(folder)[:7]
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")  # as reftable leaves it
    assert _head(folder) == "git"
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/\x1b[31mred\n")
    assert _head(folder) == "git"
    (folder / ".git" / "HEAD").unlink()
    os.mkfifo(folder / ".git" / "HEAD")
    assert _head(folder) == "git"


def _head(folder: Path) -> str:
    found = find_repository(folder)
    assert found is not None
    return found.branch_or_commit_name()


def test_repositories_as_git_makes_them_raise_no_question(folder: Path, tmp_path: Path) -> None:
    """Clones, linked work trees and submodules lead elsewhere in ways that lead back."""
    repository(folder)
    git(folder, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    git(tmp_path, "clone", "--quiet", str(folder), "copy")
    git(
        folder,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "copy"),
        "sub",
    )
    for place in (folder, tmp_path / "linked", tmp_path / "copy", folder / "sub"):
        found = find_repository(place)
        assert found is not None
        assert found.risky_settings(folder.parent) == (), place


def test_what_leads_elsewhere_is_reported(folder: Path, tmp_path: Path) -> None:
    repository(folder)
    git(tmp_path, "clone", "--quiet", "--shared", str(folder), "shared")
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / ".git").write_text(f"gitdir: {folder}/.git\n")
    told = {place: _oddities(tmp_path / place) for place in ("shared", "loose")}
    assert "takes objects from" in told["shared"][0]
    assert "leads to" in told["loose"][0]
    git(folder, "config", "core.worktree", "/etc")
    git(folder, "config", "url.https://example.org/.insteadOf", "https://example.com/")
    assert {"core.worktree = /etc", "url.https://example.org/.insteadof = https://example.com/"} <= set(
        _oddities(folder)
    )


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = true\f\n",
        "[CORE]fsMonitor=./x",
        '[core]\n\tfsmonitor = "./x" ; # y\n',
        "[core]\n\tfsmonitor = \\\n  ./x\n",
        "\ufeff[core]\r\n\tfsmonitor = ./x\r\n",
        '[filter "a.b\\"c"]\n\tprocess = x\n',
        "[filter.old]\n\tsmudge = x\n",
        "[alias]\n\tst = !x\n",
        "[include]\n\tpath = nowhere\n",
        '[submodule "x"]\n\tupdate = !x\n',
        '[remote "x"]\n\turl = ext::x\n',
        "[core\n",
    ],
)
def test_however_it_is_written_it_is_reported(text: str, folder: Path) -> None:
    repository(folder)
    (folder / ".git" / "config").write_text(text, newline="")
    assert len(_oddities(folder)) == 1


def _oddities(folder: Path) -> list[str]:
    found = find_repository(folder)
    assert found is not None
    return [oddity.text for oddity in found.risky_settings(Path("/nobody"))]


async def test_lazy_fetching_starts_nothing(folder: Path, trap: Path, mark: Path) -> None:
    """A partial clone fetches what it misses, from where its configuration says, by the program it says."""
    repository(folder)
    for name, value in (
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(folder.parent / "nowhere")),
        ("remote.origin.uploadpack", str(trap)),
    ):
        git(folder, "config", name, value)
    for tree in (folder / ".git" / "objects").glob("??/*"):
        if git(folder, "cat-file", "-t", tree.parent.name + tree.name).strip() == "tree":
            tree.unlink()
    await query_git_state(folder, home=folder.parent, is_vouched=lambda: True)
    assert not mark.exists()


def test_programs_of_the_folder_are_not_taken_for_the_machines_own(
    folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder / "git", f"touch '{mark}'")
    program(folder / "bin" / "git", f"touch '{mark}'")
    monkeypatch.setenv("PATH", f":.:./bin:{folder}/bin:{os.environ['PATH']}")
    found = find_program_outside_project("git", outside=folder)
    assert found is not None
    assert not found.startswith(str(folder))


async def test_the_status_line_does_not_run_a_git_of_the_folder(
    folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(folder)
    program(folder / "git", f"touch '{mark}'")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    await query_git_state(folder, home=folder.parent, is_vouched=lambda: False)
    assert not mark.exists()


def test_every_git_is_disarmed_and_reads_only(folder: Path, put: Put) -> None:
    repository(folder)
    put(folder.parent / ".gitconfig", '[filter "mine"]\n\tclean = mine\n')
    git(folder, "config", "filter.theirs.clean", "theirs")
    found = find_repository(folder)
    assert found is not None
    home = folder.parent
    command = make_read_only_git_command(folder, "status", repository=found.configuration(home), home=home)
    assert command is not None
    settings = {word for before, word in zip(command.argv, command.argv[1:], strict=False) if before == "-c"}
    assert {
        *(
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "diff.external=",
            "safe.bareRepository=explicit",
        ),
        *("filter.mine.clean=", "filter.theirs.clean=", "filter.lfs.process=", "credential.helper="),
        *("core.sshCommand=false", "protocol.allow=never", "core.pager=cat"),
    } <= settings
    assert command.environment["GIT_OPTIONAL_LOCKS"] == "0"


@pytest.mark.skipif(ctags_outline._find_ctags() is None, reason="universal-ctags is not installed")
def test_options_files_of_ctags_do_not_count(folder: Path, monkeypatch: pytest.MonkeyPatch, put: Put) -> None:
    """It reads `.ctags.d` of the folder it is started in, before it even says what it can do."""
    put(folder / ".ctags.d" / "mine.ctags", "--_force-quit=7\n")
    monkeypatch.chdir(folder)
    ctags_outline._find_ctags.cache_clear()
    assert ctags_outline._find_ctags() is not None


async def test_options_files_of_the_search_do_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch, put: Put
) -> None:
    """The user's `RIPGREP_CONFIG_PATH` may be relative, and so name a file of the project."""
    put(folder / "boats.txt", "oars")
    put(folder / ".ripgreprc", "--no-such-option\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", ".ripgreprc")
    monkeypatch.chdir(folder)
    index = FileIndex(folder, rg=find_bundled_ripgrep() or "rg")
    await index.refresh_files()
    assert index.contains_path("boats.txt")
