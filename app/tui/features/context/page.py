"""The page for `/context` and `/compact`: shows what fills the context window, removes large results, and compacts."""

from app.compaction.compaction_plan import NothingToCompact
from app.engine.context.summariser import SummaryFailed
from app.engine.context_breakdown import (
    BreakdownGroup,
    ContextBreakdown,
    ContextBreakdownLine,
    break_down_context,
    drop_or_restore_large_result,
    text_of_breakdown_line,
    text_of_large_result,
)
from app.engine.models.prompt_cache import has_used_prompt_cache, resend_cost_text
from app.engine.session import Session
from app.tui.features.context.context_groups import CONTEXT_GROUPS, GroupTone
from app.tui.features.context.screen import (
    FIGURE_COLUMNS,
    USAGE_BAR_CELLS,
    ContextScreenContent,
    ContextWindowScreen,
    ContextWindowShare,
)
from app.tui.features.shared_dialogs import show_card
from app.tui.page_protocols import AskOnScreen, KeyLabel, ShowMessage, ShowProgress, WriteToEditor
from tools.number_formatting import draw_thin_progress_bar, format_percentage, format_token_count
from tools.tool_result_values import Card, TextBlock
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import TextEditScreen
from widgets.screens.picker import PickerResult
from widgets.screens.preview_pane import PreviewText, make_preview_text

_LARGE_RESULT_ROW_ID_PREFIX = "large:"


class ContextWindowPage:
    """Shows what fills the context window of one session, and compacts the conversation."""

    def __init__(
        self,
        session: Session,
        ask: AskOnScreen,
        say: ShowMessage,
        write: WriteToEditor,
        key_label: KeyLabel,
        *,
        show_progress: ShowProgress,
    ) -> None:
        self._session = session
        self._ask = ask
        self._show_message = say
        self._write_to_editor = write
        self._key_label = key_label
        self._show_progress = show_progress
        self._breakdown: ContextBreakdown

    async def open(self) -> None:
        """Shows what fills the context window; Enter opens a row's content, and closing that returns to the row."""
        current = ""
        while True:
            self._breakdown = break_down_context(self._session)
            screen = ContextWindowScreen(
                make_context_screen_content(self._breakdown), preview=self._preview, current=current
            )
            picked: PickerResult | None = await self._ask(screen, on_request=self._drop_result)
            if picked is None:
                return
            if picked.action == "app.context.preview":
                return await self.edit_compaction_summary()
            current = picked.row.id
            card = Card(title=picked.row.title, blocks=(TextBlock(text=self._row_content(current)),))
            await show_card(self._ask, "In full", card)

    async def _drop_result(self, request: ContextWindowScreen.ActionRequested) -> None:
        """Removes the large result of a row from the context, or puts a removed one back, and updates the screen."""
        screen, row = request.screen, request.row
        if not isinstance(screen, ContextWindowScreen) or row is None:
            return
        if not row.id.startswith(_LARGE_RESULT_ROW_ID_PREFIX):
            screen.show_note("only large results can be dropped")
            return
        is_out = await drop_or_restore_large_result(
            self._session, row.id.removeprefix(_LARGE_RESULT_ROW_ID_PREFIX)
        )
        self._breakdown = break_down_context(self._session)
        screen.show_context(make_context_screen_content(self._breakdown), "dropped" if is_out else "restored")

    def _preview(self, row: ListRow) -> PreviewText:
        return make_preview_text(row.title, self._row_content(row.id))

    def _row_content(self, row_id: str) -> str:
        """Returns the full text that a row of the context screen stands for."""
        if row_id.startswith(_LARGE_RESULT_ROW_ID_PREFIX):
            return text_of_large_result(self._session, row_id.removeprefix(_LARGE_RESULT_ROW_ID_PREFIX))
        part = next((part for part in self._breakdown.parts if _part_row_id(part) == row_id), None)
        return text_of_breakdown_line(self._session, part) if part is not None else ""

    async def compact(self, instructions: str | None) -> None:
        try:
            await self._session.compaction.compact(instructions)
        except (NothingToCompact, SummaryFailed):
            pass  # the end event has reported it

    async def edit_compaction_summary(self, instructions: str | None = None) -> None:
        """Has the model write a summary for compaction and shows it for editing; it is applied when the user accepts
        it."""
        session = self._session
        self._show_progress("Writing a summary")
        try:
            draft = await session.compaction.draft_summary(instructions)
        except (NothingToCompact, SummaryFailed) as problem:
            self._show_message(str(problem))
            return
        finally:
            self._show_progress("")
        usage = session.stats.last_usage
        told = f"Frees about {format_token_count(draft.plan.freed_tokens)} tokens."
        state = session.state
        if state.model is not None and has_used_prompt_cache(usage):
            left = state.context_tokens - draft.plan.freed_tokens
            told += f" This discards the prompt cache: {resend_cost_text(state.model, max(0, left))}"
        key = self._key_label("tui.input.submit", "Enter")
        screen = TextEditScreen(
            f"Edit the summary: {key} applies it" if key else "Edit the summary",
            told,
            prefill=draft.summary.text,
            is_for_reading=True,
        )
        text: str | None = await self._ask(screen)
        if text is None:
            self._show_message("Nothing was compacted.")
            return
        try:
            await session.compaction.compact_with_draft(draft.with_summary_text(text))
        except (NothingToCompact, SummaryFailed):
            pass  # the end event has reported it

    async def undo_compaction(self) -> None:
        """Undoes the compaction: the conversation is in the context in full again."""
        text = await self._session.compaction.undo_compaction()
        if text:
            self._write_to_editor(text)
        self._show_message(
            "The full history is restored; messages after the compaction are on another branch (/tree). "
            "Automatic compaction waits until the context window overflows."
        )


def make_context_screen_content(contents: ContextBreakdown) -> ContextScreenContent:
    whole = contents.window_tokens or contents.tokens
    used = (
        f"{format_token_count(contents.tokens)} of {format_token_count(contents.window_tokens)} tokens"
        if contents.window_tokens
        else ""
    )
    about = "" if contents.is_exact else "about "
    return ContextScreenContent(
        shares=tuple(
            ContextWindowShare(
                name=CONTEXT_GROUPS[group][0],
                tokens=contents.count_items(group),
                tone=CONTEXT_GROUPS[group][1],
            )
            for group in CONTEXT_GROUPS
        ),
        window=contents.window_tokens,
        reserve=contents.reserved_tokens,
        total=" · ".join(filter(None, (f"{about}{used}", _percent(contents.tokens, whole)))),
        advice=f"/compact would free about {format_token_count(contents.tokens_freed)}"
        if contents.tokens_freed
        else "nothing to compact yet",
        rows=(*_table_rows(contents, whole), *_large_result_rows(contents, whole)),
    )


def _part_row_id(part: ContextBreakdownLine) -> str:
    return f"{part.group}:{part.title}"


def _table_rows(contents: ContextBreakdown, whole: int) -> list[ListRow]:
    rows: list[ListRow] = []
    last: BreakdownGroup | None = None
    most = _largest_amount(contents)
    for part in contents.parts:
        if part.group != last:
            rows.append(_heading_row(CONTEXT_GROUPS[part.group][0].capitalize()))
        last = part.group
        count = f"{part.count_items:,}" if part.count_items > 1 else ""
        tone = CONTEXT_GROUPS[part.group][1]
        rows.append(
            ListRow(
                id=_part_row_id(part),
                title=part.title,
                lead_word=_bar(part.tokens, most),
                lead_tone=tone,
                right=_token_figures(part.tokens, whole, count),
                right_tones=_figure_tones(tone),
            )
        )
    return rows


def _largest_amount(contents: ContextBreakdown) -> int:
    """Returns the tokens of the largest row, to which the bars of all rows are drawn."""
    return max((one.tokens for one in (*contents.parts, *contents.large_results)), default=0)


def _bar(amount: int, most: int) -> str:
    return f"{draw_thin_progress_bar(amount, most, USAGE_BAR_CELLS)}  "


def _figure_tones(tone: GroupTone) -> tuple[tuple[int, GroupTone], ...]:
    """Returns the tones of a row's figures: items, tokens, and the share in the colour of the group."""
    return tuple(zip(FIGURE_COLUMNS, ("muted", "text", tone), strict=True))


def _large_result_rows(contents: ContextBreakdown, whole: int) -> list[ListRow]:
    rows = [_heading_row("Large results")] if contents.large_results else []
    most, tone = _largest_amount(contents), CONTEXT_GROUPS["results"][1]
    rows += [
        ListRow(
            id=f"{_LARGE_RESULT_ROW_ID_PREFIX}{large.entry_id}",
            title=large.title,
            lead_word=_bar(0 if large.is_dropped else large.tokens, most),
            lead_tone=tone,
            right=_token_figures(large.tokens, whole),
            right_tones=_figure_tones("dim" if large.is_dropped else tone),
            detail="dropped" if large.is_dropped else "",
            tone="dim" if large.is_dropped else "text",
        )
        for large in contents.large_results
    ]
    return rows


def _heading_row(title: str) -> ListRow:
    return ListRow(id=f"heading:{title}", title=title, is_heading=True)


def _token_figures(count_of_tokens: int, whole: int, count: str = "") -> str:
    texts = count, format_token_count(count_of_tokens), _percent(count_of_tokens, whole)
    return "".join(f"{text:>{size}}" for text, size in zip(texts, FIGURE_COLUMNS, strict=True))


def _percent(tokens: int, whole: int) -> str:
    """Formats a share in per cent; empty if it would round to zero, so that small rows do not
    distract."""
    percent = 100 * tokens / whole if whole else 0
    return format_percentage(percent) if percent >= 0.05 else ""
