"""Files with further names elsewhere: what a command in the box writes in place does not change there."""

import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.box.test_confined import Boxed
from tests.box.users import USERS, User, boxed_user
from tools.box.hard_link_search import MAX_HARD_LINKED_FILES_PER_FOLDER
from tools.running.sandbox_notes import format_sandbox_notes, make_sandbox_details


def packages(folder: Path, cache: Path, *, count: int, files: int) -> list[Path]:
    """As uv and pnpm install: a set of files in a cache, with names in the project."""
    made: list[Path] = []
    for package in range(count):
        (cache / f"p{package}").mkdir(parents=True)
        (folder / f"p{package}").mkdir(parents=True)
        for number in range(files):
            kept = cache / f"p{package}" / f"m{number}.py"
            kept.write_text("old\n")
            made.append(folder / f"p{package}" / f"m{number}.py")
            made[-1].hardlink_to(kept)
    return made


@pytest.mark.parametrize(
    "writes",
    ["echo evil >> name", "echo evil > name", "truncate -s 0 name", "python3 -c \"open('name','r+').write('x')\"",
     "chmod 777 name", "ln name other; echo evil >> other", "mv name other; echo evil >> other",
     "mkdir d; mv name d/; echo evil >> d/name", "cp /etc/hostname name"],
)  # fmt: skip
async def test_another_name_outside_stays_as_it_is(
    boxed: Boxed, project: Path, home: Path, writes: str
) -> None:
    outside = home / ".bashrc"
    outside.write_text("old\n")
    (project / "name").hardlink_to(outside)
    mode = outside.stat().st_mode
    await boxed().outcome(writes)
    assert outside.read_text() == "old\n" and outside.stat().st_mode == mode


async def test_the_result_names_the_reason_and_what_to_ask_for(
    boxed: Boxed, project: Path, home: Path
) -> None:
    (home / "notes").write_text("old\n")
    (project / "name").hardlink_to(home / "notes")
    hands = boxed()
    for command in ("echo evil >> name", "sed -i s/old/new/ name"):
        outcome = await hands.outcome(command)
        (note,) = format_sandbox_notes(outcome, outcome.output.text)
        assert "a hard link" in note and 'allow: ["write ~/project/name"]' in note, note
        (refused,) = make_sandbox_details(outcome, outcome.output.text)["sandbox"]["refused"]
        assert refused["allow"] == "write ~/project/name"
    asked = hands.boxes.check_sandbox_request("write ~/project/name")
    assert asked is not None and not asked.danger_reason and not asked.problem
    hands.let_run("w", writable=frozenset({"~/project/name"}))
    await hands.outcome("echo meant >> name", "w")
    assert (home / "notes").read_text() == "old\nmeant\n"


async def test_names_that_all_lie_in_the_workspace_are_written(boxed: Boxed, project: Path) -> None:
    """As cargo has them below `target`."""
    (project / "target/deps").mkdir(parents=True)
    (project / "target/deps/a").write_text("old\n")
    (project / "target/a").hardlink_to(project / "target/deps/a")
    assert await boxed().code("echo new > target/a && rm target/deps/a && echo more >> target/a") == 0
    assert (project / "target/a").read_text() == "new\nmore\n"


async def test_a_second_name_of_what_is_guarded_or_hidden_is_so_too(
    boxed: Boxed, project: Path, home: Path
) -> None:
    (project / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (project / ".envrc").write_text("old\n")
    (project / ".env").write_text("TOKEN=hunter2hunter2\n")
    for name, target in {
        "c": ".git/config", "h": ".git/hooks/pre-commit", "e": ".envrc", "s": ".env", "k": "../.ssh/id_ed25519"
    }.items():  # fmt: skip
        (project / name).hardlink_to(project / target)
    before = (project / ".git/config").read_text()
    hands = boxed()
    text = await hands.text("for f in c h e; do echo evil >> $f; done; cat s k")
    assert (project / ".git/config").read_text() == before and (project / ".envrc").read_text() == "old\n"
    assert (project / ".git/hooks/pre-commit").read_text() == "#!/bin/sh\n"
    assert "hunter2" not in text and "a key" not in text
    hands.let_run("r", kind="read")
    text = await hands.text("cat s k", "r")
    assert "hunter2" not in text and "a key" not in text


@pytest.mark.parametrize("place", [".venv/lib/python3.12/site-packages", "node_modules/.pnpm"])
async def test_installed_packages_are_held_as_a_whole_and_all_else_is_not(
    boxed: Boxed, project: Path, home: Path, place: str
) -> None:
    names = packages(
        project / place, home / ".cache/store", count=MAX_HARD_LINKED_FILES_PER_FOLDER + 6, files=2
    )
    hands = boxed()
    outcome = await hands.outcome(
        f"for f in {place}/p*/m1.py; do echo evil >> $f; done; touch {place}/../new"
    )
    assert {name.read_text() for name in names} == {"old\n"}
    assert (project / place / "../new").exists()
    assert outcome.command is not None and outcome.command.box is not None
    assert f"{project}/{place}" in outcome.command.box.linked
    (note,) = format_sandbox_notes(outcome, outcome.output.text)
    assert f'allow: ["write ~/project/{place}"]' in note


async def test_a_package_manager_that_was_let_run_puts_new_files_in_their_place(
    boxed: Boxed, project: Path, home: Path
) -> None:
    place = "node_modules/.pnpm"
    packages(project / place, home / ".cache/store", count=MAX_HARD_LINKED_FILES_PER_FOLDER + 6, files=2)
    (home / ".local/share/pnpm/store").mkdir(parents=True)
    hands = boxed()
    command = f"rm -r {place}/p1 && echo new > ~/.local/share/pnpm/store/x"
    assert await hands.code(command) != 0
    assert (project / place / "p1").exists()
    hands.let_run("i", uses_network=True, programs=frozenset({"pnpm"}))
    assert await hands.code(command, "i") == 0


async def test_what_was_installed_since_the_last_command_is_held(
    boxed: Boxed, project: Path, home: Path
) -> None:
    hands = boxed()
    site = project / ".venv/lib/python3.12/site-packages"
    packages(site, home / ".cache/store", count=2, files=1)
    await hands.outcome("true")
    (site / "p1/m0.py").unlink()
    (home / "new").write_text("old\n")
    (site / "p1/m0.py").hardlink_to(home / "new")
    (site / "later").mkdir()
    (site / "later/x.py").hardlink_to(home / "new")
    await hands.outcome("echo evil >> .venv/lib/python3.12/site-packages/later/x.py")
    await hands.outcome("echo evil >> .venv/lib/python3.12/site-packages/p1/m0.py")
    assert (home / "new").read_text() == "old\n"


async def test_the_look_at_an_installed_environment_costs_little(project: Path, home: Path) -> None:
    from tools.box.hard_link_search import HardLinkFinder

    packages(project / ".venv/lib/python3.12/site-packages", home / ".cache/store", count=60, files=50)
    look = HardLinkFinder()
    assert look.find(str(project)).linked_elsewhere == (f"{project}/.venv/lib/python3.12/site-packages",)
    begun = time.process_time()
    for _ in range(20):
        look.find(str(project))
    assert (time.process_time() - begun) / 20 < 0.03


@pytest.mark.parametrize("user", USERS)
def test_in_the_whole_program_for_each_user(user: User) -> None:
    with boxed_user(user) as person:
        setting_up = "echo old > ../kept; ln ../kept name; ln .git/config c; cp .git/config ../before"
        person.run("sh", "-c", setting_up)
        said = person.tries("echo ran; echo evil >> name; echo evil >> c; true")
        assert "ran" in said and said.count("Read-only file system") == 2
        assert (person.home / "kept").read_text() == "old\n"
        assert (person.project / ".git/config").read_text() == (person.home / "before").read_text()


async def test_with_landlock_alone_what_a_command_writes_elsewhere_is_named(
    boxed: Boxed, project: Path, home: Path
) -> None:
    (home / "notes").write_text("old\n")
    (project / "name").hardlink_to(home / "notes")
    hands = boxed("landlock")
    assert (await hands.outcome("cat name; echo new > other")).files_written_by_links == ()
    outcome = await hands.outcome("echo evil >> name")
    assert outcome.files_written_by_links == (f"{project}/name",)
    moved = await hands.outcome("mv name moved; echo more >> moved")
    assert moved.files_written_by_links == (f"{project}/moved",)
    (note,) = format_sandbox_notes(outcome, outcome.output.text)
    assert "this command wrote" in note and "the file changed there too" in note
    assert make_sandbox_details(outcome, outcome.output.text)["sandbox"]["writtenThrough"] == [
        f"{project}/name"
    ]


async def test_a_job_that_began_before_a_hard_link_is_named_for_writing_it(
    boxed: Boxed, project: Path, home: Path
) -> None:
    for name in ("done", "gate"):
        os.mkfifo(project / name)
    hands = boxed()
    job = await hands.started("read x <gate; echo new > name; echo >done; read x <gate", "job")
    (home / "notes").write_text("old\n")
    (project / "name").hardlink_to(home / "notes")
    assert (await job.find_unprevented_changes_so_far()).written_through == ()
    await asyncio.to_thread((project / "gate").write_text, "\n")
    await asyncio.to_thread((project / "done").read_text)
    assert (await job.find_unprevented_changes_so_far()).written_through == (f"{project}/name",)
    await asyncio.to_thread((project / "gate").write_text, "\n")
    assert (await job.finish(60)).files_written_by_links == (f"{project}/name",)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()
    }


GIT = "git -c user.name=n -c user.email=n@example.com"


def copied(project: Path, home: Path) -> Path:
    """The project with commits and branches, and the copy of it that `cp -al` makes."""
    made = (
        f"git add -A; {GIT} commit -qm one; git branch data/a; git branch b; git pack-refs --all; git tag t"
    )
    subprocess.run(f"echo 1 > f; {made}; git checkout -q b", shell=True, cwd=project, check=True)
    for name in ("dirstate", "store/phaseroots"):
        file = project / ".hg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("old\n")
    subprocess.run(["cp", "-al", project, home / "copy"], check=True)
    return home / "copy"


@pytest.mark.parametrize(
    "command",
    [
        "for f in .git/index .git/HEAD .git/packed-refs .git/logs/HEAD .git/logs/refs/heads/data/a "
        ".git/refs/tags/t .git/COMMIT_EDITMSG .git/description .git/info/exclude .git/config "
        ".hg/dirstate .hg/store/phaseroots; do echo evil >> $f; truncate -s 1 $f; chmod 777 $f; done",
        "mv .git/index i; echo evil >> i; ln .git/HEAD h; echo evil >> h; cp /etc/hostname .git/ORIG_HEAD",
        "echo 2 > g; git add -A && "
        + GIT
        + " commit -qm two && git branch -m data/a data/c && git reflog expire --all",
    ],
)
async def test_a_repository_that_shares_its_files_with_a_copy_changes_alone(
    boxed: Boxed, project: Path, home: Path, command: str
) -> None:
    copy = copied(project, home)
    before = files_of(copy)
    await boxed().outcome(command)
    assert files_of(copy) == before


async def test_git_works_on_where_files_are_shared_with_a_copy(
    boxed: Boxed, project: Path, home: Path
) -> None:
    copy = copied(project, home)
    status = project / ".git/index"
    time_before = status.stat().st_mtime_ns
    hands = boxed()
    await hands.outcome("true")
    assert status.stat().st_nlink == 1 and status.stat().st_mtime_ns == time_before
    assert not [*project.glob(".git/**/*.lock")]
    assert await hands.text("git status --porcelain -uno") == ""
    assert await hands.code("echo 2 > g; git add -A && " + GIT + " commit -qm two && git fsck") == 0
    assert await hands.code(f"git -C {copy} fsck") == 0
    (project / ".git/HEAD").unlink()
    (project / ".git/HEAD").hardlink_to(copy / ".git/HEAD")
    (project / ".git/HEAD.lock").touch()
    await hands.outcome("true")
    assert (project / ".git/HEAD").stat().st_nlink > 1, "git holds the lock, and would write over the copy"
