"""The screen with the trust question: its text must be read to the end first, and the trust key cannot be pressed by
accident."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key

from widgets.key_labels import key_label
from widgets.lists.list_rows import ListRow
from widgets.lists.row_list import RowList
from widgets.screens.dialogs import QuestionScreen
from widgets.screens.preview_pane import Preview, PreviewText
from widgets.screens.screen_parts import KeyHint, RuleTitle
from widgets.textual_internals import app_keymap

TRUST_KEY_GRACE_SECONDS = 1.0
"""Seconds without a key before the trust key is accepted."""
_ROWS_OUTSIDE_TRUST_TEXT = 7
"""Rows of the screen outside the text: title, answers and keys."""


class ProjectTrustScreen(QuestionScreen):
    """The screen that asks whether a project is trusted; the first answer that does not trust is the default. The
    trust key, and Enter on the answer that trusts, work only after the whole text was visible and no key was pressed
    for a while; a number or a click only moves to that answer."""

    IMMEDIATE_KEYS = frozenset(("escape", "pageup", "pagedown"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "trust", "Trust the folder", show=False, id="app.trust.yes", priority=True),
    ]

    def __init__(
        self,
        title: str,
        text: PreviewText,
        answers: Sequence[ListRow],
        *,
        yes: ListRow | None,
        grace: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates the screen. `yes`: the answer that trusts the project; None if the folder's content cannot be
        verified."""
        rows = answers if yes is None else (yes, *answers)
        super().__init__(title, text, rows, grace=grace, default=len(rows) - len(answers), clock=clock)
        self._yes = yes
        self.has_seen_end = False
        self._trust_key_from = 0.0
        self._was_ready = False
        """Whether an answer that trusts was accepted before the key that is handled, which restarts the wait."""

    def hints(self) -> Sequence[KeyHint]:
        own = [KeyHint("ctrl+y", "trust", 8, "app.trust.yes")] if self._yes is not None else []
        return (
            *own,
            *(hint for hint in super().hints() if hint.label != "cancel"),
            KeyHint("escape", "later", 8, "tui.select.cancel"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        self._restart_grace()
        self.watch(self.query_one("#text", Preview), "scroll_y", self._note_end_visible, init=False)

    def max_rows(self) -> int:
        return self.app.size.height - _ROWS_OUTSIDE_TRUST_TEXT - len(self.answers)

    def _fit(self) -> None:
        super()._fit()
        self.call_after_refresh(self._note_end_visible)

    def _note_end_visible(self) -> None:
        """Records whether the end of the text has been visible, and shows the key for more if not."""
        if not self.is_current:
            return  # the question was answered meanwhile, and its widgets may be gone
        text = self.query_one("#text", Preview)
        self.has_seen_end = self.has_seen_end or text.scroll_offset.y + text.size.height >= text.row_count
        self.query_one(RuleTitle).show(note="" if self.has_seen_end else self._page_down_hint("more below"))

    def _page_down_hint(self, what: str) -> str:
        key = key_label(app_keymap(self.app), "tui.select.pageDown", "PgDn")
        return f"{what}: {key}" if key else what

    def _restart_grace(self) -> None:
        self._trust_key_from = self._clock() + max(self._grace, TRUST_KEY_GRACE_SECONDS)

    def on_key(self, event: Key) -> None:
        self._was_ready = self.accepts_trust_key
        self._restart_grace()
        if self._yes is not None and event.key == "1" and self._clock() >= self._armed_at:
            event.stop()
            event.prevent_default()
            self.query_one("#rows", RowList).move_to(0)
            self.query_one(RuleTitle).show(note="enter trusts this folder")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        if event.row.id == "yes":
            event.stop()
            event.prevent_default()

    def action_choose(self) -> None:
        if self._yes is not None and self.query_one("#rows", RowList).index == 0:
            self._trust(is_accepted=self._was_ready)
        else:
            super().action_choose()

    @property
    def accepts_trust_key(self) -> bool:
        """Returns whether the trust key counts now: the whole text was visible, and no key was pressed for a while."""
        self._note_end_visible()
        return self._yes is not None and self.has_seen_end and self._clock() >= self._trust_key_from

    def action_trust(self) -> None:
        self._trust(is_accepted=self.accepts_trust_key)

    def _trust(self, *, is_accepted: bool) -> None:
        self._restart_grace()
        if self._yes is None:
            self.query_one(RuleTitle).show(note="too large to check")
        elif not self.has_seen_end:
            self.query_one(RuleTitle).show(note=self._page_down_hint("scroll to the end first"))
        elif not is_accepted:
            self.query_one(RuleTitle).show(note="too early: press the key again")
        else:
            self.dismiss(self._yes)
