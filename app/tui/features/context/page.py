"""`/context` and `/compact`: what fills the context window, removing large results, and compaction."""

from app.compaction.compaction_plan import NothingToCompact
from app.engine.context.summariser import SummaryFailed
from app.engine.context_breakdown import (
    BreakdownGroup,
    ContextBreakdown,
    ContextPart,
    context_breakdown,
    drop_or_restore,
    text_of_large,
    text_of_part,
)
from app.engine.models.prompt_cache import is_in_use, resend_cost_text
from app.engine.session import Session
from app.tui.features.context.screen import ContextScreen, ContextView, Share
from app.tui.features.shared_dialogs import read_card
from app.tui.page_protocols import AskPerson, KeyLabel, ShowMessage, ShowProgress, Write
from tools.amounts import percentage, tokens
from tools.results import Card, TextBlock
from widgets.lists.rows import ListRow, Tone
from widgets.screens.dialogs import TextScreen
from widgets.screens.picker import Picked
from widgets.screens.preview import PreviewText, preview_of

_GROUPS: dict[BreakdownGroup, tuple[str, Tone]] = {
    "prompt": ("prompt", "dim"),
    "files": ("context files", "success"),
    "skills": ("skills", "muted"),
    "tools": ("tools", "text"),
    "messages": ("messages", "accent"),
    "results": ("results", "warning"),
}
_LARGE = "large:"


class ContextPage:
    """Shows and compacts the context window of one session."""

    def __init__(
        self,
        session: Session,
        ask: AskPerson,
        say: ShowMessage,
        write: Write,
        key_label: KeyLabel,
        *,
        show_progress: ShowProgress,
    ) -> None:
        self._session = session
        self._ask = ask
        self._say = say
        self._write = write
        self._key_label = key_label
        self._under_way = show_progress
        self._contents: ContextBreakdown

    async def open(self) -> None:
        """Shows the context; Enter opens a row's content, and closing that returns to the row."""
        current = ""
        while True:
            self._contents = context_breakdown(self._session)
            screen = ContextScreen(context_view(self._contents), preview=self._preview, current=current)
            picked: Picked | None = await self._ask(screen, on_request=self._drop_result)
            if picked is None:
                return
            if picked.action == "app.context.preview":
                return await self.preview()
            current = picked.row.id
            card = Card(title=picked.row.title, blocks=(TextBlock(text=self._text(current)),))
            await read_card(self._ask, "In full", card)

    async def _drop_result(self, request: ContextScreen.ActionRequested) -> None:
        """Removes the row's large result from the context, or puts the result back."""
        screen, row = request.screen, request.row
        if not isinstance(screen, ContextScreen) or row is None:
            return
        if not row.id.startswith(_LARGE):
            screen.show_note("only large results can be dropped")
            return
        is_out = await drop_or_restore(self._session, row.id.removeprefix(_LARGE))
        self._contents = context_breakdown(self._session)
        screen.show_context(context_view(self._contents), "dropped" if is_out else "put back")

    def _preview(self, row: ListRow) -> PreviewText:
        return preview_of(row.title, self._text(row.id))

    def _text(self, row_id: str) -> str:
        """Returns the full content behind a row."""
        if row_id.startswith(_LARGE):
            return text_of_large(self._session, row_id.removeprefix(_LARGE))
        part = next((part for part in self._contents.parts if _part_id(part) == row_id), None)
        return text_of_part(self._session, part) if part is not None else ""

    async def compact(self, instructions: str | None) -> None:
        try:
            await self._session.compaction.run(instructions)
        except (NothingToCompact, SummaryFailed):
            pass  # the end event has reported it

    async def preview(self, instructions: str | None = None) -> None:
        """Shows the summary for editing; it is applied when the user accepts it."""
        session = self._session
        self._under_way("Writing a summary")
        try:
            draft = await session.compaction.draft(instructions)
        except (NothingToCompact, SummaryFailed) as problem:
            self._say(str(problem))
            return
        finally:
            self._under_way("")
        usage = session.stats.last_usage
        told = f"Frees about {tokens(draft.preparation.freed_tokens)} tokens."
        state = session.state
        if state.model is not None and is_in_use(usage):
            left = state.context_tokens - draft.preparation.freed_tokens
            told += f" This discards the prompt cache: {resend_cost_text(state.model, max(0, left))}"
        key = self._key_label("tui.input.submit", "Enter")
        screen = TextScreen(
            f"Summary: {key} makes it count" if key else "Summary",
            told,
            prefill=draft.written.text,
            is_for_reading=True,
        )
        text: str | None = await self._ask(screen)
        if text is None:
            self._say("Nothing was compacted.")
            return
        try:
            await session.compaction.accept(draft.with_text(text))
        except (NothingToCompact, SummaryFailed):
            pass  # the end event has reported it

    async def undo(self) -> None:
        """Restores the full history."""
        text = await self._session.compaction.undo()
        if text:
            self._write(text)
        self._say(
            "This is the full history again; what followed the compaction is a branch of its own (/tree). "
            "It is not compacted by itself until the window overflows."
        )


def context_view(contents: ContextBreakdown) -> ContextView:
    whole = contents.window or contents.tokens
    used = f"{tokens(contents.tokens)} of {tokens(contents.window)} tokens" if contents.window else ""
    about = "" if contents.is_exact else "about "
    return ContextView(
        shares=tuple(
            Share(name=_GROUPS[group][0], tokens=contents.of(group), tone=_GROUPS[group][1])
            for group in _GROUPS
        ),
        window=contents.window,
        reserve=contents.reserve,
        total=" · ".join(filter(None, (f"{about}{used}", _percent(contents.tokens, whole)))),
        advice=f"/compact would free about {tokens(contents.freed)}"
        if contents.freed
        else "nothing to compact yet",
        rows=(*_parts(contents, whole), *_large(contents, whole)),
    )


def _part_id(part: ContextPart) -> str:
    return f"{part.group}:{part.title}"


def _parts(contents: ContextBreakdown, whole: int) -> list[ListRow]:
    rows: list[ListRow] = []
    last: BreakdownGroup | None = None
    for part in contents.parts:
        if part.group != last:
            rows.append(_heading(_GROUPS[part.group][0].capitalize()))
        last = part.group
        count = f"{part.count:,}" if part.count > 1 else ""
        figures = _figures(part.tokens, whole, count)
        rows.append(ListRow(id=_part_id(part), title=part.title, right=figures, right_tone="muted"))
    return rows


def _large(contents: ContextBreakdown, whole: int) -> list[ListRow]:
    rows = [_heading("Large results")] if contents.large else []
    rows += [
        ListRow(
            id=f"{_LARGE}{large.entry_id}",
            title=large.title,
            right=_figures(large.tokens, whole),
            right_tone="muted",
            detail="dropped" if large.is_dropped else "",
            tone="dim" if large.is_dropped else "text",
        )
        for large in contents.large
    ]
    return rows


def _heading(title: str) -> ListRow:
    return ListRow(id=f"heading:{title}", title=title, is_heading=True)


def _figures(count_of_tokens: int, whole: int, count: str = "") -> str:
    amount, percent = tokens(count_of_tokens), _percent(count_of_tokens, whole)
    return f"{count:>5}  {amount:>6}  {percent:>6}".lstrip()


def _percent(tokens: int, whole: int) -> str:
    """Formats a share in per cent; empty if it would round to zero, so that small rows do not
    distract."""
    percent = 100 * tokens / whole if whole else 0
    return percentage(percent) if percent >= 0.05 else ""
