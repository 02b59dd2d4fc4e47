"""Changes of files by other programs are detected."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tools.files.watched_files import ReloadedFile, WatchedFiles

names = st.sampled_from(("one", "two", "three"))


class Watching(RuleBasedStateMachine):
    """Beside what is held, what is worked out from the files anew."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.reads = 0
        self.watched = WatchedFiles()
        self.noted: dict[str, str | None] = {}
        self.followed = {name: ReloadedFile(self.path(name), self.reader(name)) for name in ("one", "two")}
        self.number = 0

    def path(self, name: str) -> Path:
        return Path(self.folder.name, name)

    def text(self, name: str) -> str | None:
        return self.path(name).read_text() if self.path(name).exists() else None

    def reader(self, name: str):
        def read() -> str | None:
            self.reads += 1
            return self.text(name)

        return read

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(name=names, is_same_size=st.booleans())
    def write(self, name: str, is_same_size: bool) -> None:
        self.number += 1
        self.path(name).write_text(f"{self.number:05}" if is_same_size else "x" * self.number)
        os.utime(self.path(name), ns=(self.number * 10**9, self.number * 10**9))

    @rule(name=names)
    def remove(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    @rule(name=names)
    def note(self, name: str) -> None:
        self.watched.record_file_state(self.path(name))
        self.noted[name] = self.text(name)

    @rule(name=names)
    def leave(self, name: str) -> None:
        self.watched.forget(self.path(name))
        self.noted.pop(name, None)

    @rule()
    def forget_what_was_read(self) -> None:
        self.followed["two"].mark_changed()

    @invariant()
    def others_are_known_as_others(self) -> None:
        others = {name for name, text in self.noted.items() if self.text(name) != text}
        assert self.watched.has_any_file_changed() is bool(others)
        assert {name for name in self.noted if self.watched.has_changed(self.path(name))} == others

    @invariant()
    def what_is_said_is_what_is_there_and_read_no_more_often_than_it_changed(self) -> None:
        for name, file in self.followed.items():
            assert file.current() == self.text(name)
        before = self.reads
        assert [file.current() for file in self.followed.values()] and self.reads == before


def test_what_another_thread_forgets_meanwhile_is_reported_all_the_same(tmp_path: Path) -> None:
    class Forgetful(ReloadedFile[str]):
        """Is forgotten right behind each time that it was kept."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "_last" and value is not None:
                self.mark_changed()

    followed = Forgetful(tmp_path / "file", lambda: "said")
    assert followed.current() == "said"


TestWatching = Watching.TestCase
TestWatching.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
