"""After random operations and reopenings of a session, memory and disk are equal."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.sessions.file.session_reader import read_session
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.entries import CustomEntry, Entry, MessageEntry
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry

entries = st.one_of(
    st.builds(user_entry, st.text(max_size=10)),
    st.builds(assistant_entry, st.text(max_size=10), st.sampled_from(["a", "b"])),
    st.builds(tool_result_entry, st.sampled_from(["a", "b"])),
    st.builds(lambda data: CustomEntry(parent_id=None, custom_type="t", data=data), st.text(max_size=5)),
)
places = st.integers(0, 1000)


class Session(RuleBasedStateMachine):
    """Model: a list of (entry id, parent id), the leaf, labels and name, as plain values."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.log = SessionLog.create(Path(self.folder.name), Path(self.folder.name))
        self.parents: dict[str, str | None] = {}
        self.leaf: str | None = None
        self.labels: dict[str, str] = {}
        self.name: str | None = None

    def took(self, entry: Entry) -> None:
        assert entry.parent_id == self.leaf
        self.parents[entry.id] = entry.parent_id
        self.leaf = entry.id

    def some(self, place: int) -> str | None:
        known = [None, *self.parents]
        return known[place % len(known)]

    @rule(entry=entries)
    def append(self, entry: Entry) -> None:
        self.took(self.log.append(entry))

    @rule(entry=entries, place=places)
    def append_with_a_taken_id(self, entry: MessageEntry, place: int) -> None:
        taken = self.some(place)
        if taken is not None:
            stored = self.log.append(type(entry)(**{**fields(entry), "id": taken}))
            assert stored.id not in self.parents
            self.took(stored)

    @rule(place=places)
    def move(self, place: int) -> None:
        self.leaf = self.some(place)
        self.log.move_leaf(self.leaf)

    @rule(place=places, label=st.sampled_from(["one", "two", ""]))
    def label(self, place: int, label: str) -> None:
        target = self.some(place)
        if target is not None:
            self.took(self.log.set_label(target, label))
            self.labels.pop(target, None)
            if label:
                self.labels[target] = label

    @rule(name=st.sampled_from(["a name", ""]))
    def rename(self, name: str) -> None:
        self.took(self.log.rename(name))
        self.name = name or None

    @rule()
    def open_again(self) -> None:
        assert self.log.path is not None
        if self.log.is_on_disk:
            self.log.close()
            self.log = SessionLog.open(self.log.path)
            assert self.log.problems == []

    @rule(foreign=st.text(max_size=5))
    def another_program_appends(self, foreign: str) -> None:
        assert self.log.path is not None
        if not self.log.is_on_disk:
            return
        entry = MessageEntry(parent_id=self.leaf, message=user_entry(foreign).message)
        with self.log.path.open("ab") as file:
            file.write(encode(entry) + b"\n")
        self.took(self.log.append(user_entry("mine")))  # ours hangs below our leaf, not below theirs
        self.parents[entry.id] = entry.parent_id

    @invariant()
    def memory_is_what_the_model_says(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.leaf_id == self.leaf
        assert self.log.labels == self.labels and self.log.name == self.name
        path: list[str] = []
        at = self.leaf
        while at is not None:
            path.insert(0, at)
            at = self.parents[at]
        assert [entry.id for entry in self.log.path_to()] == path
        assert set(self.parents) <= {entry.id for entry in self.log.entries}

    @invariant()
    def memory_is_what_is_on_disk(self) -> None:
        if hasattr(self, "log") and self.log.is_on_disk and self.log.path is not None:
            assert read_session(self.log.path).entries == self.log.entries

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            self.folder.cleanup()


def fields(entry: MessageEntry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in entry.__struct_fields__}


TestSession = Session.TestCase
TestSession.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
