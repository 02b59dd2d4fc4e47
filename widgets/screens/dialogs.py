"""Dialogs: yes or no, one of several answers, a line, a longer text, lines of a file. Each returns its answer, or None
on Escape.

A dialog that opens while the user types ignores keys for a grace period; each ignored key restarts the period, and a
letter that is no key of the dialog makes it longer, since the Enter of a text often comes after a pause."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from widgets.editor.line_input import LineInput
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.lists.list_rows import ListRow
from widgets.lists.row_filter import MatchedListRow
from widgets.lists.row_list import RowList
from widgets.row_builder import cells
from widgets.screens.preview_pane import Preview, PreviewText, make_preview_text
from widgets.screens.screen_parts import KeyHint, KeyHints, QuestionEdge, RuleTitle
from widgets.status.input_guard import MIN_QUESTION_VISIBLE_SECONDS, TYPING_PAUSE_SECONDS
from widgets.textual_internals import ClosableModalScreen

DIALOG_GRACE_SECONDS = 0.35
"""Seconds without a key before a dialog accepts keys."""
ROOMY_DIALOG_MIN_ROWS = 16
"""Rows of a terminal from which a blank row separates the text from the question."""
SPACIOUS_DIALOG_MIN_ROWS = 30
"""Rows of a terminal from which there are blank rows below the title and above the keys too."""
_MAX_DIALOG_ANSWER_ROWS = 12
_DIALOG_ROWS_AROUND_ANSWERS = 3
"""The title, the keys, and a row of the conversation."""
T = TypeVar("T")


class DialogBaseScreen(ClosableModalScreen[T]):
    """The base of dialogs: a sheet with a title, a possibly long text, the question, and key hints."""

    HAS_EDGE: ClassVar[bool] = False
    """Whether a coloured edge shows that somebody is asked."""

    def __init__(self, title: str, text: str | PreviewText = "") -> None:
        super().__init__()
        self._heading = title
        self._text = (
            text if isinstance(text, PreviewText) else make_preview_text("", text) if text else PreviewText()
        )
        self._is_scrolled = False
        self.add_class("dialog")
        self.set_class(self.HAS_EDGE, "question")

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            if self.HAS_EDGE:
                yield QuestionEdge()
            yield RuleTitle(self._heading, indent=0 if self.HAS_EDGE else 2, id="title")
            yield Preview(id="text")
            yield from self.compose_question()
            yield KeyHints(self.hints(), id="keys")

    def compose_question(self) -> ComposeResult:
        yield from ()

    def hints(self) -> Sequence[KeyHint]:
        return (
            KeyHint("enter", "confirm", 9, "tui.select.confirm"),
            KeyHint("escape", "cancel", 8, "tui.select.cancel"),
        )

    def on_mount(self) -> None:
        self.query_one("#text", Preview).show(self._text)
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)  # the text is wrapped again by then

    def _fit(self) -> None:
        text = self.query_one("#text", Preview)
        text.display = bool(self._text.parts or self._text.title)
        height = max(1, min(text.row_count, self.max_rows()))
        text.styles.height = height
        text.styles.margin = (self.outer_gap_rows, 0, int(self.app.size.height >= ROOMY_DIALOG_MIN_ROWS), 0)
        self._is_scrolled = text.display and text.row_count > height
        self.query_one("#keys", KeyHints).show(self.hints())

    @property
    def outer_gap_rows(self) -> int:
        """The number of blank rows below a dialog's title and above its keys: 1 in a high terminal, else 0."""
        return int(self.app.size.height >= SPACIOUS_DIALOG_MIN_ROWS)

    def max_rows(self) -> int:
        """The maximum number of rows for a dialog's text; a longer text is scrolled."""
        return self.app.size.height // 2

    def action_scroll_text(self, delta: int) -> None:
        self.query_one("#text", Preview).scroll_relative(y=delta, animate=False)


class QuestionScreen(DialogBaseScreen[ListRow | None]):
    """A dialog with several answers, chosen by arrows and Enter or by number; returns the chosen row."""

    HAS_EDGE = True
    IMMEDIATE_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Keys accepted during the grace period, because they decide nothing or ask again."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", show=False, id="tui.select.confirm"),
        Binding("up,k,shift+tab", "move(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down,j,tab", "move(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup", "scroll_text(-8)", "Scroll up", show=False, id="tui.select.pageUp"),
        Binding("pagedown", "scroll_text(8)", "Scroll down", show=False, id="tui.select.pageDown"),
    ]

    def __init__(
        self,
        title: str,
        text: str | PreviewText = "",
        answers: Sequence[ListRow] = (),
        *,
        grace: float = 0.0,
        returns_early_letters: bool = False,
        default: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates the dialog. `default`: the index of the answer that Enter chooses at first. `grace`: seconds without
        a key before it accepts keys. `returns_early_letters`: a letter pressed in that time closes it with a row that
        has no id, because the user was typing something else."""
        super().__init__(title, text)
        self.answers = tuple(answers)
        self._default_answer = default
        self._returns_early_letters = returns_early_letters
        self._grace = grace
        self._clock = clock
        self._armed_at = 0.0

    def compose_question(self) -> ComposeResult:
        rows = [
            MatchedListRow(
                msgspec.structs.replace(row, prefix=f"{number} ") if len(self.answers) < 10 else row
            )
            for number, row in enumerate(self.answers, 1)
        ]
        titles = [cells(row.row.title) for row in rows if row.row.detail]
        answers = RowList(title_cells=max(titles, default=0), id="rows")
        answers.visible_rows = rows
        answers.styles.height = max(1, min(len(rows), _MAX_DIALOG_ANSWER_ROWS))
        yield answers

    def max_rows(self) -> int:
        """The maximum number of rows for the question's text, which leaves room for the answers, and in a high terminal
        for some rows of the conversation."""
        height = self.app.size.height
        answers = min(len(self.answers), _MAX_DIALOG_ANSWER_ROWS)
        around = _DIALOG_ROWS_AROUND_ANSWERS + int(height >= ROOMY_DIALOG_MIN_ROWS) + 2 * self.outer_gap_rows
        return min(height * 2 // 3, height - answers - around)

    def _fit(self) -> None:
        super()._fit()
        self.query_one("#rows", RowList).styles.margin = (0, 0, self.outer_gap_rows, 0)

    def hints(self) -> Sequence[KeyHint]:
        numbers = f"1-{len(self.answers)}" if 1 < len(self.answers) < 10 else ""
        own = [KeyHint(numbers, "pick", 7)] if numbers else []
        paging = KeyHint("pageup/pagedown", "scroll", 4, "tui.select.pageUp/tui.select.pageDown")
        scroll = [paging] if self._is_scrolled else []
        return (
            KeyHint("enter", "choose", 9, "tui.select.confirm"),
            *own,
            *scroll,
            KeyHint("escape", "cancel", 8, "tui.select.cancel"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        self._armed_at = self._clock() + (MIN_QUESTION_VISIBLE_SECONDS if self._grace else 0.0)
        answers = self.query_one("#rows", RowList)
        answers.show_rows(
            answers.visible_rows, keep=self.answers[self._default_answer].id if self.answers else ""
        )

    def on_key(self, event: events.Key) -> None:
        if event.key in self.IMMEDIATE_KEYS:
            return
        now = self._clock()
        is_early = now < self._armed_at
        is_text = event.is_printable and not event.key.isdigit() and event.key not in ("j", "k")
        if self._grace and (is_early or is_text):
            self._armed_at = max(self._armed_at, now + (TYPING_PAUSE_SECONDS if is_text else self._grace))
        if is_early:
            event.stop()
            event.prevent_default()
            if self._returns_early_letters and event.character is not None and event.character.isalpha():
                self.dismiss(ListRow(id="", title=event.character))
        elif event.key.isdigit() and 1 <= int(event.key) <= len(self.answers) < 10:
            event.stop()
            event.prevent_default()
            self.dismiss(self.answers[int(event.key) - 1])

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        if self._clock() >= self._armed_at:
            self.action_choose()

    def action_move(self, delta: int) -> None:
        self.query_one("#rows", RowList).action_move(delta)

    def action_choose(self) -> None:
        at = self.query_one("#rows", RowList).index
        if 0 <= at < len(self.answers):
            self.dismiss(self.answers[at])


class ConfirmScreen(DialogBaseScreen[bool | None]):
    """A dialog for yes or no. Enter means yes, but no if yes would lose something."""

    HAS_EDGE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", show=False, id="app.confirm.yes"),
        Binding("n", "answer(False)", "No", show=False, id="app.confirm.no"),
        Binding("enter", "default", "Default answer", show=False, id="tui.select.confirm"),
    ]

    def __init__(
        self,
        title: str,
        text: str | PreviewText = "",
        *,
        yes: str = "yes",
        no: str = "no",
        is_dangerous: bool = False,
    ) -> None:
        super().__init__(title, text)
        self.set_class(is_dangerous, "dangerous")
        self._yes, self._no = yes, no
        self._default = not is_dangerous

    def hints(self) -> Sequence[KeyHint]:
        default = self._yes if self._default else self._no
        return (
            KeyHint("y", self._yes, 9, "app.confirm.yes"),
            KeyHint("n", self._no, 9, "app.confirm.no"),
            KeyHint("enter", default, 6, "tui.select.confirm"),
            KeyHint("escape", "cancel", 8, "tui.select.cancel"),
        )

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_default(self) -> None:
        self.dismiss(self._default)


class WaitingDialog(DialogBaseScreen[None]):
    """A dialog shown while the user does something elsewhere, such as signing in; Escape cancels."""

    def hints(self) -> Sequence[KeyHint]:
        return (KeyHint("escape", "cancel", 8, "tui.select.cancel"),)


class TextInputDialog(DialogBaseScreen[str | None]):
    """A dialog that asks for one line of text; secrets are shown as dots."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer", "Confirm", show=False, id="tui.select.confirm")
    ]

    def __init__(
        self,
        title: str,
        text: str | PreviewText = "",
        *,
        placeholder: str = "",
        prefill: str = "",
        is_secret: bool = False,
        check: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(title, text)
        self._line = LineInput(prefill, placeholder=placeholder, is_secret=is_secret, id="filter")
        self._check = check

    def compose_question(self) -> ComposeResult:
        yield self._line

    def on_mount(self) -> None:
        super().on_mount()
        self._line.focus()

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()
        self.query_one(RuleTitle).show(note="")

    def action_answer(self) -> None:
        """Closes the dialog with the typed text; if `check` returns an error, shows that and stays open."""
        problem = self._check(self._line.text) if self._check else ""
        if problem:
            self.query_one(RuleTitle).show(note=problem)
        else:
            self.dismiss(self._line.text)


class TextEditScreen(DialogBaseScreen[str | None]):
    """A dialog that asks for a longer text, in an editor like the prompt editor."""

    def __init__(
        self,
        title: str,
        text: str | PreviewText = "",
        *,
        prefill: str = "",
        is_for_reading: bool = False,
    ) -> None:
        """Creates the dialog with the text `prefill` to edit. `is_for_reading`: that text is shown from its beginning
        and gets more room."""
        super().__init__(title, text)
        self._editor = PromptEditor(id="editor")
        self._prefill = prefill
        self._is_for_reading = is_for_reading
        self._editor.surface.has_shared_upper_rule = not text
        if is_for_reading:
            self._editor.surface.screen_share = 2 / 3

    def compose_question(self) -> ComposeResult:
        yield self._editor

    def hints(self) -> Sequence[KeyHint]:
        return (
            KeyHint("enter", "confirm", 9, "tui.input.submit"),
            KeyHint("shift+enter", "new line", 6, "tui.input.newLine"),
            KeyHint("escape", "cancel", 8, "tui.select.cancel"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        if self._prefill and self._is_for_reading:
            self._editor.reset(UnsentPrompt(text=self._prefill))
        elif self._prefill:
            self._editor.set_text(self._prefill)
        self._editor.focus()

    def on_prompt_editor_submitted(self, event: PromptEditor.Submitted) -> None:
        event.stop()
        self.dismiss(event.text)

    def on_prompt_editor_changed(self, event: PromptEditor.Changed) -> None:
        event.stop()


class LinesEditScreen(ClosableModalScreen[str | None]):
    """A dialog that edits some lines of a file, shown with their line numbers; returns the new lines, or None if
    unchanged."""

    AUTO_FOCUS: ClassVar[str | None] = "TextArea"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True, id="app.editLines.save"),
        Binding("escape", "cancel", "Cancel", show=False, priority=True, id="app.editLines.cancel"),
    ]

    def __init__(self, title: str, text: str, first_line: int) -> None:
        super().__init__(classes="full-height")
        self._heading = title
        self._text = text
        self._area = TextArea(
            text,
            theme="css",
            soft_wrap=False,
            show_line_numbers=True,
            line_number_start=max(1, first_line),
            tab_behavior="indent",
            id="lines",
        )
        self._area.cursor_blink = False  # a page at rest sends nothing
        self._is_warned = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._heading, "", id="title")
            yield self._area
            yield KeyHints(
                [
                    KeyHint("ctrl+s", "save", 9, "app.editLines.save"),
                    KeyHint("escape", "cancel", 8, "app.editLines.cancel"),
                ],
                id="keys",
            )

    def action_save(self) -> None:
        text = self._area.text.replace("\r\n", "\n")
        self.dismiss(text if text != self._text else None)

    def action_cancel(self) -> None:
        """Closes the editor without saving; if lines were changed, the first Escape only warns."""
        is_changed = self._area.text.replace("\r\n", "\n") != self._text
        if is_changed and not self._is_warned:
            self._is_warned = True
            self.query_one("#title", RuleTitle).show(note="not saved: escape again discards your changes")
        else:
            self.dismiss(None)
