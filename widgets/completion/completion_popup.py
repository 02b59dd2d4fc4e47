"""The completion list above the editor: it asks its completion sources while the user types, and drops answers to an
older text."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from widgets.completion.completion_source import (
    CompletionRequest,
    CompletionResult,
    CompletionSource,
    CompletionSuggestion,
)
from widgets.editor.prompt_editor import PromptEditor
from widgets.lists.list_rows import ListRow, RowTone
from widgets.lists.row_filter import MatchedListRow
from widgets.lists.row_list import RowList
from widgets.row_builder import cells

_MAX_SUGGESTION_TITLE_CELLS = 24
"""The maximum width of the first column, in cells."""


class CompletionPopup(RowList):
    """The widget that lists completions for the prompt editor. It is drawn as an overlay in front of it, so it takes no
    space in the layout."""

    DEFAULT_CSS: ClassVar[str] = """
    CompletionPopup {
        display: none; overlay: screen; constrain: none inside; height: 1; width: 100%;
        overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1;
    }
    """

    def __init__(
        self,
        editor: PromptEditor,
        sources: Sequence[CompletionSource] = (),
        *,
        max_rows: int = 8,
        on_chosen: Callable[[CompletionSuggestion], None] = lambda _: None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.editor = editor
        self.sources: list[CompletionSource] = list(sources)
        """The sources; the first that accepts a request answers. Sources of extensions come first."""
        self.max_rows = max_rows
        self._on_chosen = on_chosen
        self.problem = ""
        """Why the last source failed."""
        self._completions: CompletionResult | None = None
        self._answered_position: tuple[str, int, int] = ("", 0, 0)
        """Line, row and column that the answer belongs to."""
        self._ask_task: asyncio.Task[None] | None = None
        self._dismissed_position: tuple[int, int] | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.editor.popup = self

    def on_unmount(self) -> None:
        self._stop_query()

    # -- editor keys ---------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._completions is not None

    def move(self, delta: int) -> None:
        self.action_move(delta)

    def page(self, direction: int) -> None:
        self.action_page(direction)

    def accept(self, *, accepts_prefix_answer: bool = False) -> bool:
        """Replaces the word at the cursor by the chosen completion; if nothing is chosen or the text has changed since,
        only closes the list. Returns whether Enter should then send the prompt. `accepts_prefix_answer`: a suggestion
        for a shorter prefix may be inserted too, if it begins with the text typed now."""
        if accepts_prefix_answer and self.current is None:
            self.move_to(0)
        chosen, answer = self.chosen, self._completions
        is_late = self._answered_position != self._cursor_place()
        if (
            chosen is None
            or answer is None
            or (
                is_late
                and not (
                    accepts_prefix_answer
                    and _is_suggestion_still_valid(
                        chosen, answer, self._answered_position, self._cursor_place()
                    )
                )
            )
        ):
            self.close()  # nothing is chosen, or the text has changed since: the typed text counts
            return True
        row, column = self.editor.model.cursor
        end = column if is_late else answer.end
        typed = self.editor.model.lines[row][answer.start : end]
        rest = self.editor.model.lines[row][end:]
        tail = "" if rest[:1] == chosen.text_after else chosen.text_after
        self._hide_list()
        if is_late:
            self._stop_query()  # a pending answer would open the list again
        if typed != chosen.text or tail:
            self.editor.replace(answer.start, end, chosen.text + tail)
        self._on_chosen(chosen)
        return chosen.sends_prompt

    def _cursor_place(self) -> tuple[str, int, int]:
        row, column = self.editor.model.cursor
        return self.editor.model.current_line, row, column

    def close(self) -> None:
        """Hides the completion list, and keeps it hidden until another word begins."""
        if self._completions is not None:
            self._dismissed_position = (self.editor.model.cursor[0], self._completions.start)
        self._hide_list()

    def force_completion(self) -> None:
        self._dismissed_position = None
        self._query_sources(is_forced=True)

    def update(self) -> None:
        self._query_sources(is_forced=False)

    @property
    def chosen(self) -> CompletionSuggestion | None:
        if self._completions is None or self.current is None:
            return None
        return self._completions.items[int(self.current.id)]

    # -- requests ------------------------------------------------------------------------------------------

    def _query_sources(self, *, is_forced: bool) -> None:
        row, column = self.editor.model.cursor
        request = CompletionRequest(
            line=self.editor.model.current_line, column=column, row=row, is_forced=is_forced
        )
        source = next((source for source in self.sources if source.accepts(request)), None)
        self._stop_query()
        if source is None:
            self._hide_list()
            self._dismissed_position = None
            return
        self._ask_task = asyncio.create_task(self._show_answers_of(source, request))

    async def _show_answers_of(self, source: CompletionSource, request: CompletionRequest) -> None:
        got_any = False
        try:
            async for answer in source.complete(request):
                got_any = True
                self._show_completions(answer, request)
        except Exception as error:  # noqa: BLE001 (a source may be an extension's; typing must go on)
            self.problem = f"{type(error).__name__}: {error}"
        if not got_any:
            self._hide_list()

    def _show_completions(self, answer: CompletionResult, request: CompletionRequest) -> None:
        self._answered_position = (request.line, request.row, request.column)
        if not answer.items or (
            not request.is_forced and self._dismissed_position == (request.row, answer.start)
        ):
            self._hide_list()
            return
        if request.is_forced and len(answer.items) == 1 and answer.items[0].kind in ("path", "folder"):
            self._completions = answer
            self.show_rows([MatchedListRow(_make_suggestion_row(0, answer.items[0]))])
            self.accept()
            return
        keep = self.chosen
        self._completions = answer
        is_kept = self.index > 0 and keep in answer.items
        at = answer.items.index(keep) if is_kept and keep is not None else 0
        self._place_above_editor(len(answer.items))
        self.display = True
        rows = [_make_suggestion_row(number, item) for number, item in enumerate(answer.items)]
        self.title_cells = min(_MAX_SUGGESTION_TITLE_CELLS, max(cells(row.title) for row in rows))
        self.show_rows(
            [MatchedListRow(row) for row in rows],
            query=answer.query,
            keep=str(at),
            is_chosen=is_kept or not answer.items[0].is_guess,
        )

    def _place_above_editor(self, count: int) -> None:
        height = min(count, self.max_rows, max(1, self.editor.region.y))
        self.styles.height = height
        self.styles.offset = (0, -height)

    def on_resize(self) -> None:
        super().on_resize()
        if self._completions is not None:  # until then the editor has its new position
            self.call_after_refresh(self._place_above_editor, len(self._completions.items))

    def _stop_query(self) -> None:
        if self._ask_task is not None and not self._ask_task.done():
            self._ask_task.cancel()
        self._ask_task = None

    def _hide_list(self) -> None:
        self._completions = None
        if self.display:
            self.display = False


def _is_suggestion_still_valid(
    chosen: CompletionSuggestion,
    answer: CompletionResult,
    then: tuple[str, int, int],
    now: tuple[str, int, int],
) -> bool:
    """Returns whether a suggestion for an earlier text can still be inserted: since then only letters were typed at the
    cursor, and the suggestion begins with them. `then` and `now` are the line, row and column of the cursor."""
    (line, row, column), (text, at, to) = then, now
    return (
        (at, text[: answer.start], text[to:]) == (row, line[: answer.start], line[column:])
        and to > column == answer.end
        and chosen.text.startswith(text[answer.start : to])
    )


def _make_suggestion_row(number: int, item: CompletionSuggestion) -> ListRow:
    title = item.label or item.text
    tone: RowTone = "accent" if title.startswith("/") else "text"
    return ListRow(id=str(number), title=title, detail=item.detail, right=item.right_text, tone=tone)
