"""The session tree screen: every branch of a conversation, with a preview of the current entry.

It only requests navigation, forks and merges; the application performs them. Some letters are keys; any other letter
starts a search, and `/` starts one for text that begins with those letters."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from widgets.editor.line_input import LineInput
from widgets.fuzzy_matching import FuzzyQuery
from widgets.key_labels import key_label
from widgets.lists.list_rows import make_column_heads
from widgets.lists.row_list import RowList
from widgets.lists.tree_rows import (
    TREE_FILTER_LABELS,
    TREE_FILTERS,
    SessionEntryTree,
    SessionTreeEntry,
    SessionTreeLine,
    SessionTreeRows,
    TreeFilter,
)
from widgets.screens.picker import PICKER_PREVIEW_MIN_WIDTH
from widgets.screens.preview_pane import Preview, PreviewText
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle, ScreenSheet, ScreenSheetBody
from widgets.screens.screen_request import ScreenRequest
from widgets.screens.text_pages import show_all_keys
from widgets.textual_internals import ClosableModalScreen, app_keymap

ALL_TREE_KEYS_HINT = KeyHint("?", "all keys", 10, "app.tree.keys")
TREE_KEY_HINTS = (
    KeyHint("enter", "go to", 10, "tui.select.confirm"),
    KeyHint("f", "fork", 7, "app.tree.fork"),
    KeyHint("c", "clone", 5, "app.tree.clone"),
    KeyHint("m", "merge", 5, "app.tree.merge"),
    KeyHint("d", "compare", 5, "app.tree.compare"),
    KeyHint("z", "restore files", 5, "app.tree.files"),
    KeyHint("L", "label", 6, "app.tree.editLabel"),
    KeyHint("y", "copy", 3, "app.tree.copy"),
    KeyHint("/", "search", 8, "app.tree.search"),
    KeyHint("left/right", "fold", 4, "app.tree.foldOrUp/app.tree.unfoldOrDown"),
    KeyHint("[/]", "branches", 4, "app.tree.previousBranch/app.tree.nextBranch"),
    KeyHint("tab", "filter", 6, "app.tree.filter.cycleForward"),
    KeyHint("escape", "close", 9, "tui.select.cancel"),
)
TREE_SEARCH_KEY_HINTS = (
    KeyHint("enter", "back to list", 9, "tui.select.confirm"),
    KeyHint("up/down", "move", 7, "tui.select.up/tui.select.down"),
    KeyHint("escape", "close search", 8, "tui.select.cancel"),
)


def _binding(id_: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=id_)


def _empty_text(own: Mapping[str, str]) -> str:
    tab = key_label(own, "app.tree.filter.cycleForward", "tab")
    return f"no entries here; {tab} changes the filter" if tab else "no entries here"


class SessionTreeScreen(ClosableModalScreen[None]):
    """The screen with a session's tree; it posts the actions that the user requests."""

    AUTO_FOCUS: ClassVar[str | None] = ""  # single letters are keys until a search starts
    BINDINGS: ClassVar[list[BindingType]] = [
        _binding("tui.select.confirm", "enter", "enter", "Go to the entry"),
        _binding("tui.select.up", "up", "move(-1)", "Up"),
        _binding("tui.select.down", "down", "move(1)", "Down"),
        _binding("app.tree.up", "k", "move(-1)", "Up"),
        _binding("app.tree.down", "j", "move(1)", "Down"),
        _binding("tui.select.pageUp", "pageup", "page(-1)", "Page up"),
        _binding("tui.select.pageDown", "pagedown", "page(1)", "Page down"),
        _binding("tui.select.first", "home", "edge(False)", "First entry"),
        _binding("tui.select.last", "end", "edge(True)", "Last entry"),
        _binding(
            "app.tree.foldOrUp", "left,ctrl+left,alt+left", "fold", "Fold the branch, or go to its start"
        ),
        _binding(
            "app.tree.unfoldOrDown", "right,ctrl+right,alt+right", "unfold", "Unfold the branch, or go down"
        ),
        _binding("app.tree.nextBranch", "right_square_bracket", "branch(1)", "Next branch"),
        _binding("app.tree.previousBranch", "left_square_bracket", "branch(-1)", "Previous branch"),
        _binding(
            "app.tree.nextSibling", "shift+down,alt+down", "sibling(1)", "Next entry with the same parent"
        ),
        _binding(
            "app.tree.previousSibling",
            "shift+up,alt+up",
            "sibling(-1)",
            "Previous entry with the same parent",
        ),
        _binding("app.tree.parent", "backspace", "parent", "Go to the parent entry"),
        _binding("app.tree.here", "full_stop", "here", "Go to the current entry"),
        _binding("app.tree.search", "slash", "search", "Search the tree"),
        _binding("app.tree.fork", "f", "ask('fork')", "Fork into a new session"),
        _binding("app.tree.clone", "c", "ask('clone')", "Clone this branch"),
        _binding(
            "app.tree.merge", "m", "ask('merge')", "Merge a summary of this branch into the current one"
        ),
        _binding("app.tree.compare", "d", "compare", "Compare with another branch"),
        _binding("app.tree.files", "z", "ask('files')", "Restore files to this point"),
        _binding("app.tree.review", "v", "ask('review')", "Review changes since this point"),
        _binding("app.tree.editLabel", "L", "ask('label')", "Label the entry"),
        _binding("app.tree.copy", "y,ctrl+x", "ask('copy')", "Copy the entry's text"),
        _binding("app.tree.toggleLabelTimestamp", "T", "times", "Show or hide times"),
        _binding("app.tree.keys", "question_mark,f1", "all_keys", "All keys of the tree"),
        _binding("app.tree.filter.cycleForward", "tab,ctrl+o", "cycle(1)", "Next filter of entries"),
        _binding(
            "app.tree.filter.cycleBackward",
            "shift+tab,ctrl+shift+o",
            "cycle(-1)",
            "Previous filter of entries",
        ),
        _binding("app.tree.filter.default", "ctrl+d", "filter('default')", "Default filter of entries"),
        _binding("app.tree.filter.noTools", "ctrl+t", "filter('no-tools')", "Hide tool calls"),
        _binding("app.tree.filter.userOnly", "ctrl+u", "filter('user-only')", "Show prompts only"),
        _binding(
            "app.tree.filter.labeledOnly", "ctrl+l", "filter('labeled-only')", "Show labelled entries only"
        ),
        _binding("app.tree.filter.all", "ctrl+a", "filter('all')", "Show all entries"),
    ]

    class ActionRequested(ScreenRequest["SessionTreeScreen"]):
        """Message: the user requests an action on an entry: go, fork, clone, merge, files, review, label, copy or
        compare. The application closes the tree if needed."""

        def __init__(
            self, screen: "SessionTreeScreen", action: str, entry_id: str, other_id: str = ""
        ) -> None:
            super().__init__(screen)
            self.action = action
            self.entry_id = entry_id
            self.other_id = other_id

    def __init__(
        self,
        entries: Sequence[SessionTreeEntry],
        *,
        leaf: str | None = None,
        describe: Callable[[SessionTreeEntry], SessionTreeEntry] | None = None,
        preview: Callable[[str], PreviewText] | None = None,
        filter: TreeFilter = "default",
    ) -> None:
        super().__init__(classes="full-height")
        self.entry_tree = SessionEntryTree(entries, leaf, describe)
        self._describe_entry = describe
        self.filter: TreeFilter = filter
        self._preview = preview
        self._folded_ids: frozenset[str] = frozenset()
        self._lines: list[SessionTreeLine] = []
        self._shows_time = True
        self._compared_id = ""
        self._note_text = ""

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def entry_id(self) -> str:
        row = self.query_one(RowList).current
        return row.id if row else ""

    def show_entries(self, entries: Sequence[SessionTreeEntry], leaf: str | None = None) -> None:
        """Replaces the entries of the tree, for example after a label was set; cursor, filter and folds stay."""
        self.entry_tree = SessionEntryTree(
            entries, leaf or self.entry_tree.current_entry_id, self._describe_entry
        )
        self._apply_filter()

    def show_note(self, text: str) -> None:
        self._note_text = text
        self._show_status()

    # -- screen --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        self._fit()
        with ScreenSheet(id="sheet"):
            yield RuleTitle("Session tree", id="title")
            yield LineInput(
                placeholder="search for words, or re: and a regular expression", mark="/ ", id="filter"
            )
            with ScreenSheetBody(id="body"):
                yield RowList(
                    empty=_empty_text(app_keymap(self.app)),
                    scatters=False,
                    heads=make_column_heads("Entry", right="time"),
                    id="rows",
                )
                yield Preview(id="preview")
            yield KeyHints(TREE_KEY_HINTS, all_keys=ALL_TREE_KEYS_HINT, id="keys")

    def on_mount(self) -> None:
        self.query_one("#filter").display = False
        self.set_focus(None)
        self._apply_filter(
            self.entry_tree.current_entry_id
            or (self.entry_tree.entries[-1].id if self.entry_tree.entries else "")
        )

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        size = self.app.size
        self.set_class(self._preview is not None and size.width >= PICKER_PREVIEW_MIN_WIDTH, "beside")
        self.set_class(
            self._preview is not None and size.width < PICKER_PREVIEW_MIN_WIDTH and size.height >= 20, "below"
        )

    def _apply_filter(self, keep: str = "") -> None:
        query = self.query_one("#filter", LineInput).text
        keep = keep or self.entry_id
        self._lines = self.entry_tree.visible_lines(self.filter, query, self._folded_ids)
        rows = SessionTreeRows(self.entry_tree, self._lines, shows_time=self._shows_time)
        self.query_one(RowList).show_lazy_rows(rows, self._nearest_visible_line(keep), query=query)
        self._show_status()

    def _nearest_visible_line(self, entry_id: str) -> int:
        """Returns the index of the line with an entry, or with its nearest visible ancestor; 0 if none is visible."""
        places = {line.entry.id: place for place, line in enumerate(self._lines)}
        at: str | None = entry_id
        while at and at not in places:
            entry = self.entry_tree.entry_by_id.get(at)
            at = entry.parent if entry else None
        return places[at] if at else 0

    def _show_status(self) -> None:
        problem = FuzzyQuery(self.query_one("#filter", LineInput).text).problem
        compared = "d on another entry compares" if self._compared_id else ""
        count = f"{len(self._lines):,} of {len(self.entry_tree.entries):,}"
        note = " · ".join(
            filter(None, (problem, self._note_text, compared, TREE_FILTER_LABELS[self.filter], count))
        )
        self.query_one(RuleTitle).show(note=note)

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()
        self._apply_filter()

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        if self._note_text:
            self.show_note("")
        if self._preview is not None:
            self.query_one(Preview).show(self._preview(event.row.id) if event.row else PreviewText())

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_ask("go")

    def on_key(self, event: events.Key) -> None:
        """Starts a search with a letter that is no key of the tree; letters typed right after it join
        the search."""
        if not event.is_printable or event.character is None:
            return
        is_late = isinstance(self.focused, LineInput)
        if is_late or (self.focused is None and event.key not in self.active_bindings):
            event.stop()
            event.prevent_default()
            if is_late and self.focused is not None:
                self.focused.post_message(events.Key(event.key, event.character))
            else:
                self.action_search(event.character)

    # -- actions -------------------------------------------------------------------------------------------

    @property
    def _row_list(self) -> RowList:
        return self.query_one(RowList)

    def action_all_keys(self) -> None:
        show_all_keys(self)

    def action_move(self, delta: int) -> None:
        self._row_list.action_move(delta)

    def action_page(self, direction: int) -> None:
        self._row_list.action_page(direction)

    def action_edge(self, is_end: bool) -> None:
        self._row_list.action_edge(is_end)

    def action_enter(self) -> None:
        if self.focused is not None:  # the search is done and its result stays
            self.set_focus(None)
            self.query_one(KeyHints).show(TREE_KEY_HINTS)
        else:
            self.action_ask("go")

    def action_ask(self, action: str) -> None:
        if self.entry_id:
            self.post_message(self.ActionRequested(self, action, self.entry_id))

    def action_compare(self) -> None:
        if not self.entry_id:
            return
        if self._compared_id and self._compared_id != self.entry_id:
            self.post_message(self.ActionRequested(self, "compare", self._compared_id, self.entry_id))
            self._compared_id = ""
        else:
            self._compared_id = "" if self._compared_id else self.entry_id
        self._show_status()

    def action_search(self, begin: str = "") -> None:
        line = self.query_one("#filter", LineInput)
        line.display = True
        line.focus()
        self.query_one(KeyHints).show(TREE_SEARCH_KEY_HINTS)
        if begin:
            line.set_text(line.text + begin)
            self._apply_filter()

    def action_cancel(self) -> None:
        line = self.query_one("#filter", LineInput)
        if line.display:
            line.display = False
            self.set_focus(None)
            line.set_text("")
            self._apply_filter()
            self.query_one(KeyHints).show(TREE_KEY_HINTS)
        else:
            self.dismiss(None)

    def action_filter(self, kind: TreeFilter) -> None:
        self.filter = kind
        self._apply_filter()

    def action_cycle(self, delta: int) -> None:
        self.action_filter(TREE_FILTERS[(TREE_FILTERS.index(self.filter) + delta) % len(TREE_FILTERS)])

    def action_times(self) -> None:
        self._shows_time = not self._shows_time
        self._apply_filter()

    def action_fold(self) -> None:
        """Folds the entries below the current one; on a folded entry or one without children, moves to the start of its
        branch."""
        at = self._row_list.index
        if not self._lines:
            return
        line = self._lines[at]
        has_below = at + 1 < len(self._lines) and self._lines[at + 1].parent == at
        if has_below and not line.is_folded and (line.is_branch or line.parent < 0):
            self._folded_ids |= {line.entry.id}
            self._apply_filter()
        else:
            self._row_list.move_to(self._branch_start(at))

    def action_unfold(self) -> None:
        if self.entry_id in self._folded_ids:
            self._folded_ids -= {self.entry_id}
            self._apply_filter()
        else:
            self._row_list.action_move(1)

    def _branch_start(self, at: int) -> int:
        place = self._lines[at].parent
        while place > 0 and not self._lines[place].is_branch:
            place = self._lines[place].parent
        return max(0, place)

    def action_branch(self, delta: int) -> None:
        at = self._row_list.index + delta
        while 0 <= at < len(self._lines):
            if self._lines[at].is_branch:
                self._row_list.move_to(at)
                return
            at += delta

    def action_sibling(self, delta: int) -> None:
        if not self._lines:
            return
        start = at = self._row_list.index
        while at > 0 and not self._lines[at].is_branch:
            at = self._lines[at].parent
        parent = self._lines[at].parent if at >= 0 else -1
        places = [place for place, line in enumerate(self._lines) if line.is_branch and line.parent == parent]
        wanted = [place for place in places if (place > at if delta > 0 else place < at)]
        if wanted:
            self._row_list.move_to(wanted[0] if delta > 0 else wanted[-1])
        else:
            self._row_list.move_to(start)

    def action_parent(self) -> None:
        if self._lines and self._lines[self._row_list.index].parent >= 0:
            self._row_list.move_to(self._lines[self._row_list.index].parent)

    def action_here(self) -> None:
        if self.entry_tree.current_entry_id:
            self._row_list.move_to(self._nearest_visible_line(self.entry_tree.current_entry_id))
