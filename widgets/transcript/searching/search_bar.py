"""The transcript's search line; every key updates the search."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from widgets.editor.line_input import LineInput
from widgets.key_labels import format_key_hints, key_label, split_key_hints
from widgets.textual_internals import app_keymap
from widgets.transcript.messages import SearchChanged
from widgets.transcript.searching.text_search import REGEX_PREFIX
from widgets.transcript.view import Transcript


class SearchBar(Horizontal):
    """The input line for searching one transcript; hidden while no search is active."""

    DEFAULT_CSS = "SearchBar { height: 1; display: none; } SearchBar.is-open { display: block; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "step(1)", "Next match", id="search.next"),
        Binding("up,ctrl+p", "step(-1)", "Previous match", id="search.previous"),
        Binding("enter", "accept", "Go to the match", id="search.accept"),
        Binding("escape", "cancel", "Close the search, back to where it began", id="search.cancel"),
    ]

    class Left(Message):
        """Message: the search line was left; the focus should go to the block found, or return to where it was
        before."""

        def __init__(self, *, is_accepted: bool) -> None:
            super().__init__()
            self.is_accepted = is_accepted

    def __init__(self, transcript: Transcript, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._finder = transcript.finder
        self._line = LineInput(mark="/ ", placeholder=f"words, or {REGEX_PREFIX}pattern")
        self._count = Static(id="search-count", markup=False)

    def compose(self) -> ComposeResult:
        yield self._line
        yield self._count

    def open_or_step(self) -> None:
        """Opens the search line and starts a search; if it already has a text and the focus, moves to the next hit."""
        if self._line.has_focus and self._line.text:
            self.action_step(1)
            return
        if not self.has_class("is-open"):
            self._line.clear()
        self.add_class("is-open")
        self._finder.start_search()
        self._line.focus()

    @on(LineInput.Changed)
    def _query_changed(self, message: LineInput.Changed) -> None:
        message.stop()
        if self.has_class("is-open"):
            self._finder.search(message.text)

    def show_search_state(self, found: SearchChanged) -> None:
        """Shows how many hits the search has and which is shown, or what is wrong with it; hides the line after the
        search unless the user types in it."""
        is_typing = self._line.has_focus
        if not is_typing and not self._finder.is_on:
            self.remove_class("is-open")
        if found.problem:
            told = Content(found.problem)
        elif found.count:
            keys = [
                (piece, "$accent") if is_key else piece
                for piece, is_key in split_key_hints(self._key_hints(is_typing))
            ]
            told = Content.assemble(f"{found.current} of {found.count:,}", " · " if keys else "", *keys)
        else:
            told = Content("nothing found" if self._line.text and found.is_done else "")
        self._count.update(Content.assemble(" ", told, " "))

    def _key_hints(self, is_typing: bool) -> str:
        own = app_keymap(self.app)
        if not is_typing:
            return format_key_hints(
                (
                    (key_label(own, "transcript.next-hit", "n"), "next"),
                    (key_label(own, "transcript.previous-hit", "N"), "previous"),
                    (key_label(own, "transcript.leave", "Esc"), "close"),
                )
            )
        others = key_label(own, "search.previous", "↑"), key_label(own, "search.next", "↓")
        return format_key_hints(
            (
                ("/".join(filter(None, others)), "other matches"),
                (key_label(own, "search.accept", "Enter"), "go to"),
            )
        )

    def action_step(self, direction: int) -> None:
        self._finder.step(direction)

    def action_accept(self) -> None:
        if self._finder.hit_count:
            self.post_message(self.Left(is_accepted=True))
        else:
            self.action_cancel()

    def action_cancel(self) -> None:
        self.remove_class("is-open")
        self._finder.cancel()
        self.post_message(self.Left(is_accepted=False))
