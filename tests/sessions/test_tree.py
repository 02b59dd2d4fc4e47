"""Adding many entries at once gives the same tree as adding them one by one, for any file."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.entry_tree import POSITION_ABOVE_ROOTS, SessionTree
from app.sessions.session_stats import SessionCounts
from app.values.entries import CustomEntry, Entry, LabelEntry, MessageEntry, SessionInfoEntry, UnknownEntry
from app.values.messages import AssistantMessage
from app.values.usage import Cost, Usage
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry

_IDS = [f"e{number}" for number in range(12)]


def _spent(entry: Entry, number: int) -> Entry:
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        usage = Usage(input=number, output=1, cost=Cost(input=0.25 * number, total=0.5 * number))
        reason = "error" if number % 5 == 0 else "stop"
        message = msgspec.structs.replace(entry.message, usage=usage, stop_reason=reason)
        return msgspec.structs.replace(entry, message=message)
    return entry


@st.composite
def lines(draw: st.DrawFn) -> list[Entry]:
    """Draws mostly chains, with duplicate ids, missing or later parents, and lines without an id."""
    found: list[Entry] = []
    last: str | None = None
    for number in range(draw(st.integers(0, 30))):
        kind = draw(
            st.sampled_from(
                [
                    user_entry("a question"),
                    assistant_entry("an answer", "call"),
                    tool_result_entry("call"),
                    CustomEntry(parent_id=None, custom_type="t", data=number),
                    LabelEntry(parent_id=None, target_id="e1", label=f"label {number}"),
                    SessionInfoEntry(parent_id=None, name=f"name {number}"),
                    UnknownEntry(raw={"type": "hologram"}),
                ]
            )
        )
        entry_id = draw(st.sampled_from([f"n{number}", f"n{number}", f"n{number}", *_IDS]))
        parent = draw(st.sampled_from([last, last, last, last, None, "gone", *_IDS]))
        if not isinstance(kind, UnknownEntry):
            kind = msgspec.structs.replace(kind, id=entry_id, parent_id=parent)
            last = entry_id
        found.append(_spent(kind, number))
    return found


@given(lines(), st.integers(1, 7), st.dictionaries(st.just("gone"), st.sampled_from([None, *_IDS])))
def test_many_at_once_and_one_by_one_are_the_same(
    entries: list[Entry], size: int, links: dict[str, str | None]
) -> None:
    at_once, one_by_one = SessionTree(), SessionTree()
    for start in range(0, len(entries), size):
        at_once.append_read_entries(entries[start : start + size])
    for entry in entries:
        one_by_one.add(entry)
    at_once.find_parents_of_orphans(links)
    one_by_one.find_parents_of_orphans(links)
    assert at_once.entries == one_by_one.entries == entries
    assert (at_once.name, at_once.labels) == (one_by_one.name, one_by_one.labels)
    assert at_once.duplicates == one_by_one.duplicates
    assert [at_once.position_of_id(i) for i in _IDS] == [one_by_one.position_of_id(i) for i in _IDS]
    for place in range(len(entries)):
        assert at_once.parent_position(place) == one_by_one.parent_position(place)
        assert at_once.children(place) == one_by_one.children(place)


@given(lines(), st.integers(1, 7))
def test_ways_up_are_the_parents_one_after_the_other(entries: list[Entry], size: int) -> None:
    tree = SessionTree()
    for start in range(0, len(entries), size):
        tree.append_read_entries(entries[start : start + size])
    tree.find_parents_of_orphans({"gone": "e1"})
    for place in range(len(entries)):
        above, at = list[int](), place
        while at != POSITION_ABOVE_ROOTS:
            above.append(at)
            at = tree.parent_position(at)
        way = [tree.entries[at] for at in above]
        assert list(tree.entries_to_root(place)) == way
        assert tree.path_entries(place) == way[::-1]
        assert list(tree.state_entries_to_root(place)) == [
            one for one in way if not isinstance(one, MessageEntry)
        ]


@given(lines(), st.integers(1, 7))
def test_entries_counted_together_add_up_to_what_each_adds(entries: list[Entry], size: int) -> None:
    together, each = SessionCounts(), SessionCounts()
    for start in range(0, len(entries), size):
        together.add_all(entries[start : start + size])
    for entry in entries:
        each.add_all((entry,))
    assert together == each
