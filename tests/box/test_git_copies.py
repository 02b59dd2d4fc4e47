"""What of git a command destroys and nothing else brings back is put back behind it; what git did stays done."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.tools.conftest import until
from tools.box.git_backups import GitBackups

Boxed = Callable[..., BoxedCommands]


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=x", "-c", "user.email=x@y")
    return subprocess.run(
        ["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(project: Path) -> Path:
    """With packed and loose commits, a branch, a stash, and something staged."""
    git(project, "config", "user.name", "x")
    git(project, "config", "user.email", "x@y")
    for number in range(3):
        (project / f"f{number}").write_text(f"{number}\n")
        git(project, "add", "-A")
        git(project, "commit", "-qm", str(number))
        if number == 1:
            git(project, "gc", "-q")
            git(project, "pack-refs", "--all")
    git(project, "branch", "other")
    (project / "f0").write_text("put aside\n")
    git(project, "stash", "-q")
    (project / "staged").write_text("staged\n")
    git(project, "add", "staged")
    return project


def told(folder: Path) -> tuple[str, ...]:
    """All that is in the repository."""
    asked = ("log --all --format=%H%s", "stash list", "status --porcelain", "branch -v", "reflog", "fsck")
    return tuple(git(folder, *words.split()) for words in asked)


def python(text: str) -> str:
    return f'python3 -c "{text}"'


EVERY = (
    "import glob, os; files = [one for one in glob.glob('.git/**', recursive=True) if os.path.isfile(one)]"
)
DESTROYED = {
    "objects": "import shutil; shutil.rmtree('.git/objects', ignore_errors=True)",
    "all of git's folder": "import shutil; shutil.rmtree('.git', ignore_errors=True)",
    "references": "import shutil; shutil.rmtree('.git/refs')",
    "branches": "import shutil; shutil.rmtree('.git/refs/heads')",
    "the index": "import os; os.remove('.git/index')",
    "HEAD and reflogs": "import os, shutil; os.remove('.git/HEAD'); shutil.rmtree('.git/logs')",
    "a moved folder": "import os; os.rename('.git/refs', '.git/refs2')",
    "the branch that is checked out": "import glob, os; [os.remove(one) for one in glob.glob('.git/refs/heads/ma*')]",
}


@pytest.mark.parametrize("text", DESTROYED.values(), ids=DESTROYED)
async def test_what_a_program_removes_is_put_back(boxed: Boxed, repository: Path, text: str) -> None:
    before = told(repository)
    outcome = await boxed().outcome(python(text))
    assert outcome.restored_git_files
    assert told(repository) == before


@pytest.mark.parametrize("text", ["x", ""])
async def test_what_a_program_overwrites_is_put_back(boxed: Boxed, repository: Path, text: str) -> None:
    before = told(repository)
    spoils = (
        f"{EVERY}\ntext = '{text}'\nfor one in files:\n try:\n  os.chmod(one, 0o644)\n"
        "  open(one, 'w').write(text)\n except OSError: pass"
    )
    outcome = await boxed().outcome(python(spoils))
    assert outcome.restored_git_files[0].objects > 3
    assert "HEAD" in outcome.restored_git_files[0].files and "index" in outcome.restored_git_files[0].files
    assert told(repository) == before


GITS_OWN = {
    "commits": "echo 1 > n; git add n; git commit -qm n; git commit -q --amend -m m",
    "gc": "git gc -q; git repack -adq; git pack-refs --all",
    "commits that are packed": "echo 1 > n; git add n; git commit -qm n; git gc -q",
    "resets that are packed": "git reset -q --hard HEAD~1; git pack-refs --all; git update-ref refs/heads/new HEAD",
    "branches": "git checkout -qb third; git branch -D other; git tag t; git tag -d t; git checkout -q -",
    "stashes": "git stash pop -q; git stash -q; git stash clear",
    "rebases": (
        "git checkout -q other; echo 2 > n; git add n; git commit -qm n; git rebase -q HEAD~1; "
        "git reset -q --hard HEAD~1"
    ),
    "a branch without a commit": "git checkout -q --orphan bare; git rm -rqf --cached .",
    "fetches": (
        "git clone -q . $TMPDIR/copy; cd $TMPDIR/copy; "
        "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m new; cd -; git fetch -q $TMPDIR/copy"
    ),
}


@pytest.mark.parametrize("command", GITS_OWN.values(), ids=GITS_OWN)
async def test_what_git_does_itself_stays_done(boxed: Boxed, repository: Path, command: str) -> None:
    outcome = await boxed().outcome(f"set -e; {command}")
    assert outcome.exit_code == 0, outcome.output.text
    assert outcome.restored_git_files == (), outcome.restored_git_files
    assert "put back" not in outcome.output.text
    git(repository, "fsck", "--strict")


CACHES = ("info/commit-graph", "info/commit-graphs/commit-graph-chain", "pack/multi-pack-index")
BROKEN = {
    "other content": "echo CGPH > $f",
    "a byte more": "chmod u+w $f; echo >> $f",
    "a pipe": "rm -f $f; mkfifo $f",
    "a folder": "rm -f $f; mkdir -p $f/a",
    "a link": "rm -f $f; ln -s $HOME/.ssh/id_ed25519 $f",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("name", CACHES)
async def test_a_cache_of_git_that_a_command_breaks_is_removed(
    boxed: Boxed, repository: Path, name: str, text: str
) -> None:
    before, place = told(repository), repository / ".git/objects" / name
    if name.endswith("chain"):
        git(repository, "commit-graph", "write", "--reachable", "--split")
    elif "graph" in name:
        git(repository, "commit-graph", "write", "--reachable")
    outcome = await boxed().outcome(f"f=.git/objects/{name}; {text}; ls -l .git/objects/*")
    assert outcome.restored_git_files[0].removed == (f"objects/{name}",), outcome.output.text
    assert not os.path.lexists(place) and told(repository) == before


async def test_caches_that_git_makes_stay(boxed: Boxed, repository: Path) -> None:
    outcome = await boxed().outcome(
        "set -e; git repack -qd; git multi-pack-index write --bitmap; git commit-graph write --reachable --split; "
        "git commit -q --allow-empty -m more; git commit-graph write --reachable --split=no-merge"
    )
    assert outcome.exit_code == 0 and outcome.restored_git_files == (), outcome.output.text
    made = repository / ".git/objects"
    assert (made / "pack/multi-pack-index").exists()
    assert len([*(made / "info/commit-graphs").iterdir()]) == 3


async def test_packs_cannot_be_removed_and_gc_itself_removes_them(boxed: Boxed, repository: Path) -> None:
    packs = repository / ".git/objects/pack"
    before = sorted(packs.glob("*.pack"))
    hands = boxed()
    await hands.outcome("rm -rf .git/objects/pack; git gc -q")
    assert set(before) <= set(packs.glob("*.pack"))
    hands.let_run("gc", is_repack_only=True)
    assert await hands.code("git gc -q", "gc") == 0
    assert len([*packs.glob("*.pack")]) == 1 and git(repository, "fsck") == ""


async def test_a_job_that_begins_meanwhile_forgets_nothing(boxed: Boxed, repository: Path) -> None:
    before, hands = told(repository), boxed()
    first = await hands.started("rm -rf .git/objects/??; touch gone; sleep 1.5")
    await until((repository / "gone").exists)
    (repository / "gone").unlink()
    assert (await hands.outcome("true")).restored_git_files
    await first.finish(60)
    assert told(repository) == before


def test_objects_that_git_pruned_are_not_put_back(repository: Path, tmp_path: Path) -> None:
    written = git(repository, "hash-object", "-w", "staged").strip()
    (repository / "old").write_text("old\n")
    old = git(repository, "hash-object", "-w", "old").strip()
    place = repository / ".git/objects" / old[:2] / old[2:]
    os.utime(place, (1, 1))
    copies = GitBackups(lambda kind: private(tmp_path))
    copies.back_up_git_folders([str(repository / ".git")])
    git(repository, "gc", "-q")
    assert copies.put_back([str(repository / ".git")]) == ()
    assert not place.exists() and git(repository, "cat-file", "-t", written) == "blob\n"
    copies.close()


def private(folder: Path) -> Path:
    made = folder / "private"
    made.mkdir()
    return made


def test_links_lead_neither_copies_nor_what_is_put_back_elsewhere(repository: Path, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    held = next((repository / ".git/objects").glob("[0-9a-f][0-9a-f]/*"))
    name, count = held.parent, len([*held.parent.iterdir()])
    copies, folder = GitBackups(lambda kind: private(tmp_path)), str(repository / ".git")
    copies.back_up_git_folders([folder])
    (secret / held.name).write_text("a secret")
    name.rename(tmp_path / "moved")
    name.symlink_to(secret)
    (found,) = copies.put_back([folder])
    assert found.objects == count and not name.is_symlink()
    assert (secret / held.name).read_text() == "a secret"
    assert held.read_bytes() == (tmp_path / "moved" / held.name).read_bytes()
    copies.close()


@pytest.mark.long
def test_a_command_costs_little_among_fifty_thousand_objects(repository: Path, tmp_path: Path) -> None:
    """The best of some: others work on this machine, too."""
    objects = repository / ".git/objects"
    for number in range(256):
        (objects / f"{number:02x}").mkdir(exist_ok=True)
        for other in range(195):
            os.close(os.open(objects / f"{number:02x}" / f"{other:038x}", os.O_CREAT | os.O_WRONLY))
    copies, folder = GitBackups(lambda kind: private(tmp_path)), str(repository / ".git")
    copies.back_up_git_folders([folder])
    copies.put_back([folder])
    time.sleep(0.1)  # a folder that changed just now is looked at twice
    spent: list[float] = []
    for _ in range(8):
        began = time.process_time()
        copies.back_up_git_folders([folder])
        copies.put_back([folder])
        spent.append(time.process_time() - began)
    assert min(spent) < 0.010
    copies.close()


async def test_without_a_repository_nothing_is_copied(boxed: Boxed, project: Path) -> None:
    shutil.rmtree(project / ".git")
    assert (await boxed().outcome("git init -q; rm -rf .git")).restored_git_files == ()
    assert not (project / ".git").exists()
