"""The tree of a session's entries in memory; modules of `file` read and write it.

Positions address entries inside, ids outside: a damaged or hand-made file may hold an id twice. A
parent is then the last entry with that id *before* its child, so that no order of lines makes a cycle."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from app.values.content import Text, UserContent, text_of
from app.values.entries import (
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    SessionInfoEntry,
    usage_of_entry,
)
from app.values.messages import ToolResultMessage, UserMessage

LEAF_ENTRY_TYPE = "bayou.leaf"
"""The type of a custom entry that marks its parent as the leaf; written when the user moves, so that
resuming returns there."""

POSITION_ABOVE_ROOTS = -1
"""The position that stands for the parent of every root."""


class SessionSubtreeStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and cost of a session entry with its descendants."""

    entries: int = 0
    messages: int = 0
    user_messages: int = 0
    tool_results: int = 0
    branches: int = 0
    """Entries without children, the ends of branches."""
    cost: float = 0.0


class TreeNavigationTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The result of navigating to a session entry: the new leaf, and the text that returns to the editor."""

    leaf_id: str | None
    text: str | None = None
    content: str | tuple[UserContent, ...] | None = None


class SessionTree:
    """The tree of a session's entries in file order, with parents, labels and the session's name."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self.labels: dict[str, str] = {}
        self.name: str | None = None
        self.duplicates: list[str] = []
        self._index: dict[str, int] = {}
        self._parents: list[int] = []
        self._starts: list[int] = []
        """The positions whose parent is not the position before; each begins a run of consecutive positions."""
        self._states: list[int] = []
        """The positions of all entries that are not messages."""
        self._children: dict[int, list[int]] | None = None
        self._links: Mapping[str, str | None] = {}
        self._path: tuple[int, list[Entry]] = (POSITION_ABOVE_ROOTS, [])
        """The last computed path and its end position, cached because the same path is needed several times in a
        row."""
        self._orphans: list[int] = []
        """The positions of entries whose parent has not been found yet."""
        self.append_read_entries(entries)
        self.find_parents_of_orphans({})

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._index

    def add(self, entry: Entry) -> int:
        """Appends a session entry and returns its position."""
        position = len(self.entries)
        self._append_entries((entry,))
        if self._children is not None:
            self._children.setdefault(self._parents[position], []).append(position)
        return position

    def append_read_entries(self, entries: Sequence[Entry]) -> None:
        """Appends session entries that were read from a file; call `find_parents_of_orphans` after the last. When the
        entries form a chain with unique ids, as nearly always, they are added without a loop over each."""
        base, last = len(self.entries), self.entries[-1].id if self.entries else None
        ids, parents = [entry.id for entry in entries], [entry.parent_id for entry in entries]
        fresh = dict(zip(ids, range(base, base + len(ids)), strict=True))
        is_run = parents == [last, *ids[:-1]] and len(fresh) == len(ids) and last != ""
        if not is_run or "" in fresh or not self._index.keys().isdisjoint(fresh):
            self._append_entries(entries)
            return
        self._index.update(fresh)
        self._parents += range(base - 1, base + len(ids) - 1)
        self._children = None
        if not base:
            self._starts.append(0)
        self._states += [
            place for place, entry in enumerate(entries, base) if type(entry) is not MessageEntry
        ]
        self.entries += entries
        for place in self._states[bisect_left(self._states, base) :]:
            self._record_labels_and_name(self.entries[place])

    def _append_entries(self, fresh: Sequence[Entry]) -> None:
        """Appends session entries one by one."""
        index, parents = self._index, self._parents
        for position, entry in enumerate(fresh, len(self.entries)):
            entry_id, parent_id = entry.id, entry.parent_id
            parent = POSITION_ABOVE_ROOTS
            if parent_id is not None:
                parent = index.get(parent_id, POSITION_ABOVE_ROOTS)
                if parent == POSITION_ABOVE_ROOTS:
                    parent = self._position_of_parent(entry)
                    if parent == POSITION_ABOVE_ROOTS:
                        self._orphans.append(position)
            parents.append(parent)
            if parent != position - 1 or not position:
                self._starts.append(position)
            if entry_id and index.setdefault(entry_id, position) != position:
                self.duplicates.append(entry_id)
                index[entry_id] = position
            if not isinstance(entry, MessageEntry):
                self._states.append(position)
                self._record_labels_and_name(entry)
        self.entries += fresh

    def _record_labels_and_name(self, entry: Entry) -> None:
        """Records labels and the session's name, which the newest entry decides wherever it is in the
        tree."""
        if isinstance(entry, SessionInfoEntry):
            self.name = one_line_session_name(entry.name or "") or None
        elif isinstance(entry, LabelEntry):
            if entry.label:
                self.labels[entry.target_id] = entry.label
            else:
                self.labels.pop(entry.target_id, None)

    def _position_of_parent(self, entry: Entry) -> int:
        wanted = entry.parent_id
        if wanted is None:
            return POSITION_ABOVE_ROOTS
        found = self._index.get(wanted)
        if found is not None or not self._links:
            return POSITION_ABOVE_ROOTS if found is None else found
        return self._position_by_links(wanted)

    def _position_by_links(self, wanted: str | None) -> int:
        seen: set[str] = set()
        while wanted is not None:
            found = self._index.get(wanted)
            if found is not None:
                return found
            if wanted in seen or wanted not in self._links:
                return POSITION_ABOVE_ROOTS
            seen.add(wanted)
            wanted = self._links[wanted]
        return POSITION_ABOVE_ROOTS

    def find_parents_of_orphans(self, links: Mapping[str, str | None]) -> None:
        """Finds the parents of orphans once all entries are there: parents that stand behind their child,
        or that only `links` (id → parent id of lost entries) knows."""
        self._links = links
        orphans, self._orphans = self._orphans, []
        for position in orphans:
            found = self._position_of_parent(self.entries[position])
            if found != POSITION_ABOVE_ROOTS and position not in self._positions_to_root(found):
                self._parents[position] = found

    def _positions_to_root(self, position: int) -> Iterator[int]:
        while position != POSITION_ABOVE_ROOTS:
            yield position
            position = self._parents[position]

    def _runs_of_positions_to_root(self, position: int) -> Iterator[tuple[int, int]]:
        """Yields the path from a position up to the root as runs of consecutive positions (first and last of each),
        lowest run first."""
        while position != POSITION_ABOVE_ROOTS:
            first = self._starts[bisect_right(self._starts, position) - 1]
            yield first, position
            position = self._parents[first]

    def position_of_id(self, entry_id: str) -> int | None:
        return self._index.get(entry_id)

    def parent_position(self, position: int) -> int:
        return self._parents[position]

    def entries_to_root(self, position: int) -> Iterator[Entry]:
        return (self.entries[place] for place in self._positions_to_root(position))

    def path_entries(self, position: int) -> Sequence[Entry]:
        """Returns the entries from the root to a position. The list is cached; callers must not change it."""
        known, found = self._path
        if known != position or not found:
            found = []
            for first, last in reversed(list(self._runs_of_positions_to_root(position))):
                found += self.entries[first : last + 1]
            self._path = (position, found)
        return found

    def state_entries_to_root(self, position: int) -> Iterator[Entry]:
        """Yields the entries from a position up to the root that are not messages, without visiting messages."""
        for first, last in self._runs_of_positions_to_root(position):
            lowest, end = bisect_left(self._states, first), bisect_right(self._states, last)
            for place in reversed(range(lowest, end)):
                yield self.entries[self._states[place]]

    def path_since_compaction(self, position: int) -> list[Entry]:
        """Returns the end of the path to a position: from the first entry that the last compaction kept, or the
        whole path without one."""
        found: list[Entry] = []
        first_kept: str | None = None
        for place in self._positions_to_root(position):
            entry = self.entries[place]
            found.append(entry)
            if first_kept is None and isinstance(entry, CompactionEntry):
                first_kept = entry.first_kept_entry_id
            elif first_kept is not None and entry.id == first_kept:
                break
        found.reverse()
        return found

    def children(self, position: int) -> list[int]:
        """Returns the child entries of a position in file order, without leaf marks that have no children."""
        below = self._child_positions()
        return [
            child
            for child in below.get(position, ())
            if child in below or not is_leaf_mark_entry(self.entries[child])
        ]

    def _child_positions(self) -> dict[int, list[int]]:
        if self._children is None:
            self._children = {}
            for position, parent in enumerate(self._parents):
                self._children.setdefault(parent, []).append(position)
        return self._children

    def common_ancestor(self, one: int, other: int) -> int:
        """Returns the lowest position at or above both positions; a special value when they have different roots."""
        above = set(self._positions_to_root(one))
        for position in self._positions_to_root(other):
            if position in above:
                return position
        return POSITION_ABOVE_ROOTS

    def subtree(self, position: int) -> Iterator[Entry]:
        """Yields the entry at a position and its descendants, parents first."""
        waiting = (
            [position]
            if position != POSITION_ABOVE_ROOTS
            else list(reversed(self.children(POSITION_ABOVE_ROOTS)))
        )
        while waiting:
            place = waiting.pop()
            yield self.entries[place]
            waiting.extend(reversed(self.children(place)))

    def stats(self, position: int) -> SessionSubtreeStats:
        """Returns counts and cost of the entry at a position and its descendants."""
        ends = sum(
            1
            for entry in self.subtree(position)
            if not self.children(self._index.get(entry.id, POSITION_ABOVE_ROOTS))
        )
        return msgspec.structs.replace(count_session_entries(self.subtree(position)), branches=ends)

    def navigation(self, position: int) -> TreeNavigationTarget:
        """Returns the new leaf when the user goes to an entry: for a user message the place before it, with its
        text for the editor."""
        entry = self.entries[position]
        above = self._parents[position]
        leaf_id = None if above == POSITION_ABOVE_ROOTS else self.entries[above].id
        said = entry.message if isinstance(entry, MessageEntry) else entry
        if isinstance(said, UserMessage | CustomMessageEntry):
            return TreeNavigationTarget(leaf_id=leaf_id, text=_plain_text(said.content), content=said.content)
        return TreeNavigationTarget(leaf_id=entry.id)


def is_leaf_mark_entry(entry: Entry) -> bool:
    return isinstance(entry, CustomEntry) and entry.custom_type == LEAF_ENTRY_TYPE


def count_session_entries(entries: Iterable[Entry]) -> SessionSubtreeStats:
    """Returns counts and cost of session entries."""
    count = messages = users = results = 0
    cost = 0.0
    for entry in entries:
        count += 1
        if isinstance(entry, MessageEntry):
            messages += 1
            users += isinstance(entry.message, UserMessage)
            results += isinstance(entry.message, ToolResultMessage)
        if usage := usage_of_entry(entry):
            cost += usage.cost.total
    return SessionSubtreeStats(
        entries=count,
        messages=messages,
        user_messages=users,
        tool_results=results,
        cost=cost,
    )


def one_line_session_name(name: str) -> str:
    """Returns a session name with spaces instead of line feeds."""
    return re.sub(r"[\r\n]+", " ", name).strip()


def _plain_text(content: str | tuple[UserContent, ...]) -> str:
    if isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(content[0], Text):
        return content[0].text
    return text_of(content)
