"""Shows a session's entries as lines of a tree: connectors, folding, filters. Pure and without recursion.

A sequence of entries without a fork is not indented; branches are indented where the conversation forks. Children of
hidden entries are attached to the nearest visible ancestor."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

from widgets.fuzzy_matching import FuzzyQuery
from widgets.lists.list_rows import ListRow, RowBadge, RowTone
from widgets.lists.row_filter import MatchedListRow

TreeEntryKind = Literal[
    "user", "assistant", "tool", "shell", "compaction", "summary", "custom", "change", "label"
]
TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
TREE_FILTERS: tuple[TreeFilter, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")
TREE_FILTER_LABELS: dict[TreeFilter, str] = {
    "default": "prompts, answers and tools",
    "no-tools": "no tools",
    "user-only": "prompts only",
    "labeled-only": "labelled",
    "all": "everything",
}
_CONVERSATION_ENTRY_KINDS: tuple[TreeEntryKind, ...] = ("user", "assistant", "compaction", "summary")
_ENTRY_KINDS_BY_TREE_FILTER: dict[TreeFilter, tuple[TreeEntryKind, ...]] = {
    "default": (*_CONVERSATION_ENTRY_KINDS, "tool", "shell"),
    "no-tools": _CONVERSATION_ENTRY_KINDS,
    "user-only": ("user",),
    "all": get_args(TreeEntryKind),
}
_MAX_TREE_INDENT_DEPTH = 36
_SPEAKER_PREFIX_BY_KIND: dict[str, str] = {"user": "you: "}
"""Names of speakers, since colours alone are not visible on every terminal."""
_TONE_BY_ENTRY_KIND: dict[str, RowTone] = {
    "user": "strong",
    "assistant": "text",
    "compaction": "warning",
    "summary": "warning",
}


class SessionTreeEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry of a session as the tree shows it."""

    id: str
    parent: str | None = None
    kind: TreeEntryKind = "assistant"
    lead: str = ""
    """The verb of a call, drawn in the colour of its kind."""
    lead_tone: RowTone = "strong"
    text: str = ""
    label: str = ""
    time: str = ""
    """An ISO time stamp."""
    badges: tuple[RowBadge, ...] = ()
    """Model change, compaction, files changed, cost."""
    is_minor: bool = False
    """Hidden by the default filter although its kind is shown, for example a turn with only tool calls."""


class SessionTreeLine(msgspec.Struct, frozen=True, gc=False):
    """A visible line of a session's tree: an entry with its connectors and fold state."""

    entry: SessionTreeEntry
    prefix: str
    parent: int
    """The index of the parent line; -1 if there is none."""
    is_branch: bool
    """Whether the line starts a branch, which means it has siblings."""
    is_folded: bool
    hidden_count: int
    """The number of entries folded away below."""


class SessionEntryTree:
    """A session's entries as a tree; computes the visible lines whenever the filter or the query changes.

    With `describe`, entries need no text: the function is called for entries that become visible, and for all in a
    search."""

    def __init__(
        self,
        entries: Sequence[SessionTreeEntry],
        leaf: str | None = None,
        describe: Callable[[SessionTreeEntry], SessionTreeEntry] | None = None,
    ) -> None:
        self.entries = list(entries)
        self._describe = describe
        self._described: dict[str, SessionTreeEntry] = {}
        self.entry_by_id = {entry.id: entry for entry in entries}
        self.current_entry_id = self._nearest_conversation_entry(leaf)
        self.path_entry_ids: set[str] = set()
        at = self.current_entry_id
        while at is not None and at not in self.path_entry_ids:
            self.path_entry_ids.add(at)
            at = self.entry_by_id[at].parent if at in self.entry_by_id else None

    def _nearest_conversation_entry(self, leaf: str | None) -> str | None:
        """Returns the id of the message at or above an entry: labels and model changes are skipped. None if the entry
        is unknown."""
        while (
            (entry := self.entry_by_id.get(leaf or "")) and entry.kind in ("label", "change") and entry.parent
        ):
            leaf = entry.parent
        return leaf if leaf in self.entry_by_id else None

    def visible_lines(
        self, kind: TreeFilter = "default", query: str = "", folded: frozenset[str] = frozenset()
    ) -> list[SessionTreeLine]:
        """Returns the visible lines of a session's tree, from the top."""
        asked = FuzzyQuery(query.strip())
        children = self._visible_children(self._visibility_test(kind, None if asked.is_empty else asked))
        found: list[SessionTreeLine] = []
        roots = children.get("", [])
        stack = [(*item, -1, len(roots) > 1) for item in reversed(_add_prefixes(roots, ""))]
        while stack:
            entry, own, rest, parent, is_branch = stack.pop()
            while True:  # follows a branch to its end or next fork, nearly always in sessions of thousands
                below = children.get(entry.id, ())
                if below and entry.id in folded:
                    found.append(
                        SessionTreeLine(
                            entry, own, parent, is_branch, True, _count_descendants(entry.id, children)
                        )
                    )
                    break
                index = len(found)
                found.append(SessionTreeLine(entry, own, parent, is_branch, False, 0))
                if len(below) != 1:
                    for child, prefix, further in reversed(_add_prefixes(below, rest)):
                        stack.append((child, prefix, further, index, len(below) > 1))
                    break
                entry, own, parent, is_branch = below[0], rest, index, False
        return found

    def list_row(self, line: SessionTreeLine, *, shows_time: bool = False) -> ListRow:
        entry = self._describe_entry(line.entry)
        mark = "• " if entry.id in self.path_entry_ids else "  "
        fold = f"▸{line.hidden_count} " if line.is_folded else ""
        prefix = (
            line.prefix
            if len(line.prefix) <= _MAX_TREE_INDENT_DEPTH
            else "…" + line.prefix[-_MAX_TREE_INDENT_DEPTH:]
        )
        label = (RowBadge(text=f"[{entry.label}]", tone="success"),) if entry.label else ()
        here = (RowBadge(text="← here", tone="accent"),) if entry.id == self.current_entry_id else ()
        return ListRow(
            id=entry.id,
            title=entry.text[:500],
            prefix=prefix + mark + fold,
            lead_word=_SPEAKER_PREFIX_BY_KIND.get(entry.kind, entry.lead),
            lead_tone="accent" if entry.kind in _SPEAKER_PREFIX_BY_KIND else entry.lead_tone,
            badges=(*here, *label, *entry.badges),
            right=format_time_of_day(entry.time) if shows_time else "",
            tone=_TONE_BY_ENTRY_KIND.get(entry.kind, "muted") if not entry.is_minor else "dim",
            search_words=entry.label,
        )

    def _describe_entry(self, entry: SessionTreeEntry) -> SessionTreeEntry:
        if self._describe is None:
            return entry
        found = self._described.get(entry.id)
        if found is None:
            found = self._described[entry.id] = self._describe(entry)
        return found

    def _visibility_test(
        self, kind: TreeFilter, asked: FuzzyQuery | None
    ) -> Callable[[SessionTreeEntry], bool]:
        """Returns a function that tells whether an entry is visible with this filter and query; it is prepared once,
        because it is called thousands of times."""
        if kind == "labeled-only":
            of_kind: Callable[[SessionTreeEntry], bool] = lambda entry: bool(entry.label)  # noqa: E731
        else:
            kinds, leaf = _ENTRY_KINDS_BY_TREE_FILTER[kind], self.current_entry_id if asked is None else None
            minor = kind in ("user-only", "all")
            of_kind = lambda entry: (  # noqa: E731
                (entry.kind in kinds and (minor or not entry.is_minor)) or entry.id == leaf
            )
        return (
            of_kind if asked is None else lambda entry: of_kind(entry) and self._matches_query(entry, asked)
        )

    def _matches_query(self, entry: SessionTreeEntry, asked: FuzzyQuery) -> bool:
        entry = self._describe_entry(entry)
        return asked.is_match(f"{entry.lead}{entry.text} {entry.label}", 0)

    def _visible_children(
        self, shows: Callable[[SessionTreeEntry], bool]
    ) -> dict[str, list[SessionTreeEntry]]:
        """Returns the visible entries of a session, grouped by the id of their nearest visible ancestor. It relies on
        parents preceding their children."""
        anchor: dict[str, str] = {}
        found: dict[str, list[SessionTreeEntry]] = {}
        for entry in self.entries:
            above = anchor.get(entry.parent or "", "")
            if not shows(entry):
                anchor[entry.id] = above
                continue
            anchor[entry.id] = entry.id
            if (beside := found.get(above)) is not None:
                beside.append(entry)
            else:
                found[above] = [entry]
        return found


class SessionTreeRows:
    """The list rows for the lines of a session's tree, each created on first access, because a screen shows forty of
    thousands."""

    def __init__(self, tree: SessionEntryTree, lines: Sequence[SessionTreeLine], *, shows_time: bool) -> None:
        self._tree = tree
        self._lines = lines
        self._shows_time = shows_time
        self._created: dict[int, MatchedListRow] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, at: int) -> MatchedListRow:
        found = self._created.get(at)
        if found is None:
            row = self._tree.list_row(self._lines[at], shows_time=self._shows_time)
            found = self._created[at] = MatchedListRow(row)
        return found

    def __iter__(self) -> Iterator[MatchedListRow]:
        return (self[at] for at in range(len(self)))


def format_time_of_day(stamp: str) -> str:
    """Formats an ISO time stamp in local time, such as `14:02`, with the date if it is not today; empty if it is
    none."""
    try:
        then = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return ""
    return then.strftime("%H:%M" if then.date() == datetime.now().astimezone().date() else "%d %b %H:%M")


def _add_prefixes(entries: Sequence[SessionTreeEntry], above: str) -> list[tuple[SessionTreeEntry, str, str]]:
    """Returns each sibling entry with the connectors of its line and the indent of the lines below it."""
    if len(entries) == 1:
        return [(entries[0], above, above)]
    last = len(entries) - 1
    return [
        (entry, above + ("└─ " if at == last else "├─ "), above + ("   " if at == last else "│  "))
        for at, entry in enumerate(entries)
    ]


def _count_descendants(entry_id: str, children: dict[str, list[SessionTreeEntry]]) -> int:
    count = 0
    waiting = [entry_id]
    while waiting:
        below = children.get(waiting.pop(), [])
        count += len(below)
        waiting.extend(child.id for child in below)
    return count
