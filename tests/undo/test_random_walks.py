"""Random walks over a session and its folder: the files are what is recorded, or it was said that they stay."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.undo.machine import World

NAMES = st.sampled_from(("a", "b", "sub/c", "sub/d", "new/er/e", "f g"))
TEXTS = st.sampled_from(("", "one\n", "two\n", "one\ntwo\nthree\n", "\x00binary"))
COMMANDS = (
    "echo more >> {0}",
    "rm -f {0}",
    "mv {0} {1}",
    "cp {0} {1}",
    "chmod +x {0}",
    "chmod -x {0}",
    "rm -rf sub",
    "mkdir -p sub/deep && echo d > sub/deep/x",
    "ln -sfn a {0}",
    "touch {0}",
    "rm -f {0}; ln -s nowhere {0}",
    "touch -d 2020-01-01 {0}",
    "printf changed > {0}; touch -d 2020-01-01 {0}",
    "true",
    "mv sub moved && mv moved sub",
    "ln -f {0} {1}",
    "rm -f {0}; mkdir -p {0} && echo in > {0}/in",
    "rm -rf sub && ln -s new sub",
    "rm -rf new && ln -s sub new",
    "mv sub moved",
    "mv new sub/within",
    "mv moved sub",
    "mkdir -p empty/er",
    "rmdir empty/er empty",
    "rmdir sub new/er new",
    "rm -rf {0}; mkdir -p {0}",
)
WITH_GIT = (
    "git add -A",
    "git commit -qam more",
    "echo x > {0}; git add -A; git commit -qm all",
    "git stash -q",
    "git stash pop -q",
    "git checkout -q -- .",
    "git checkout -q -B other; echo other > {0}; git commit -qam other",
    "git checkout -q -f HEAD~1",
    "git rm -q --cached {0}",
    "git mv {0} {1}",
    "git reset -q --hard",
    "printf '{0}\\n' > .gitignore",
)
IS_LONG = bool(os.environ.get("BAYOU_LONG"))


class Walk(RuleBasedStateMachine):
    has_git = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="bayou-walk-"))
        self.world = World(self.folder, has_git=self.has_git)

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @initialize()
    def begins(self) -> None:
        self.world.prompt()

    @rule(writes=st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=4))
    def turn(self, writes: list[tuple[str, str]]) -> None:
        self.world.prompt()
        for name, text in writes:
            self.world.write(name, text)

    @rule(data=st.data(), one=NAMES, other=NAMES)
    def command(self, data: st.DataObject, one: str, other: str) -> None:
        known = (*COMMANDS, *WITH_GIT) if self.has_git else COMMANDS
        chosen = data.draw(st.sampled_from(known))
        self.world.command(chosen.format(f"'{one}'", f"'{other}'"))

    @rule(name=st.sampled_from(("b", "sub/d")), text=st.sampled_from(("mine\n", "one\nmine\n")))
    def person(self, name: str, text: str) -> None:
        self.world.person(name, text)

    @rule(count=st.integers(1, 3))
    def undo(self, count: int) -> None:
        self.world.undo(count)

    @rule()
    def redo(self) -> None:
        self.world.redo()

    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        self.world.put_back(data.draw(st.sampled_from(self.world.entries())))

    @rule(data=st.data(), luck=st.integers(0, 7))
    def go(self, data: st.DataObject, luck: int) -> None:
        self.world.go(data.draw(st.sampled_from(self.world.entries())), takes_files=luck > 0)


class WalkWithGit(Walk):
    has_git = True


def walk(machine: type[Walk], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
            ],
            print_blob=False,
        ),
    )


def test_without_git() -> None:
    walk(Walk, 25, 15)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_with_git() -> None:
    walk(WalkWithGit, 8, 12)


@pytest.mark.long
@pytest.mark.skipif(not IS_LONG, reason="only with BAYOU_LONG=1")
@pytest.mark.parametrize("machine", [Walk, WalkWithGit])
def test_long(machine: type[Walk]) -> None:
    walk(machine, 250, 50)
