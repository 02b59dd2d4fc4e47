"""The page for `/pending`: shows changes that tools or helpers have staged, and applies or discards them."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.session import Session
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.values.events import Event
from app.values.pending import PendingChanged
from app.values.user_errors import UserError
from tools.edits.staged_actions import StagedAction, StagedActionResolution, StagedFile
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Card, DiffBlock, TextBlock
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.transcript.transcript_blocks import AppNoteKind


class StagedChangesScreen(PickerScreen):
    """A picker of staged changes; Enter opens the chosen one for review, other keys apply or discard it."""

    ACTIONS = (
        PickerAction(
            id="app.pending.apply",
            keys="ctrl+s",
            label="apply",
            help="Apply the staged changes",
            closes=False,
            importance=8,
        ),
        PickerAction(
            id="app.pending.discard",
            keys="ctrl+x",
            label="discard",
            help="Discard the staged changes",
            closes=False,
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], files: Callable[[ListRow], PreviewText]) -> None:
        """Creates the list. `files`: returns, for the preview of a row, the changed files with their numbers of added
        and removed lines."""
        super().__init__(
            "Staged changes",
            rows,
            order="given",
            choose="review",
            empty="no staged changes",
            preview=files,
        )


_MAX_SHOWN_STAGED_FILES = 50
_STAGED_RESOLUTION_BY_ACTION: dict[str, StagedActionResolution] = {
    "app.pending.apply": "apply",
    "app.pending.discard": "discard",
}


class StagedChangesPage(msgspec.Struct, frozen=True):
    """Shows the staged changes of one session, and applies or discards them."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage
    review: Callable[[StagedAction], Awaitable[None]]
    """Opens the review desk for staged changes."""

    async def open(self) -> None:
        if not self.session.pending.waiting_actions:
            self.show_message("There are no staged changes.")
            return
        while self.session.pending.waiting_actions:
            picked = await self._pick_change()
            if picked is None:
                return
            found = self._find_waiting(picked.row.id)
            if found is not None:
                await self.review(found)

    async def apply_staged_file(self, words: str) -> None:
        """Runs `/pending apply FILE`: applies one file of a helper's staged changes; the other files stay
        staged."""
        verb, _, path = words.partition(" ")
        action: StagedActionResolution | None = (
            "apply" if verb == "apply" else "discard" if verb == "discard" else None
        )
        if action is None or not path.strip():
            raise UserError("Name a file: /pending apply FILE, or /pending discard FILE. /pending shows all.")
        shown = path.strip()
        holders = [
            one
            for one in self.session.pending.waiting_actions
            if any(file.display_path == shown for file in one.files)
        ]
        if len(holders) != 1:
            found = f"{len(holders)} staged changes have" if holders else "No staged change has"
            raise UserError(f"{found} the file {shown}. /pending shows all.")
        await self._resolve_change(holders[0].id, action, (shown,))

    async def _resolve_change(
        self, id: str, action: StagedActionResolution, files: Sequence[str] = ()
    ) -> None:
        resolved = await self.session.pending.apply_or_discard(id, action, "", files=files)
        self.show_message(
            one_line(resolved.text), AppNoteKind.INFO if resolved.is_done else AppNoteKind.WARNING
        )

    async def _pick_change(self) -> PickerResult | None:
        """Shows the list of staged changes, updated while changes are staged or resolved; returns the user's choice."""
        screen = StagedChangesScreen(self._rows(), self._files_preview)

        def follow(event: Event) -> None:
            if isinstance(event, PendingChanged) and screen.is_there:
                screen.show_rows(self._rows())

        leave = self.session.subscribe(follow)
        try:
            return await self.ask(screen, on_request=self._handle_request)
        finally:
            leave()

    async def _handle_request(self, request: StagedChangesScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, StagedChangesScreen) or row is None:
            return
        try:
            await self._resolve_change(row.id, _STAGED_RESOLUTION_BY_ACTION[request.action])
        except UserError as problem:
            self.show_message(str(problem), AppNoteKind.WARNING)
        screen.show_rows(self._rows())

    def _rows(self) -> list[ListRow]:
        return [
            ListRow(id=one.id, title=one_line(one.label), detail=one_line(one.source_tool), right=one.id)
            for one in self.session.pending.waiting_actions
        ]

    def _files_preview(self, row: ListRow) -> PreviewText:
        staged = self._find_waiting(row.id)
        files = [
            f"{one_line(file.display_path)}  +{file.diff.added} -{file.diff.removed}"
            f"{'  in conflict' if file.conflict_text else ''}"
            for file in (staged.files if staged is not None else ())
        ]
        text = "\n".join(files) or "changes no files; applying it runs an action of its tool"
        return PreviewText(parts=(PreviewParagraph(text=text, tone="muted"),))

    def _find_waiting(self, staged_id: str) -> StagedAction | None:
        return next((one for one in self.session.pending.waiting_actions if one.id == staged_id), None)


def staged_changes_card(staged: StagedAction) -> Card:
    """Returns a card for a staged change with the diffs of its files."""
    blocks = [block for file in staged.files[:_MAX_SHOWN_STAGED_FILES] for block in _file_blocks(file)]
    nothing = TextBlock(text="No file changes: applying runs an action of the tool that staged it.")
    return Card(
        title=one_line(staged.source_tool),
        subject=one_line(staged.label),
        blocks=(*blocks,) or (nothing,),
    )


def _file_blocks(file: StagedFile) -> Iterator[DiffBlock | TextBlock]:
    yield DiffBlock(
        path=one_line(file.display_path),
        diff=escape_controls(file.diff.patch),
        added=file.diff.added,
        removed=file.diff.removed,
    )
    if file.conflict_text:
        yield TextBlock(
            text=f"Not merged, because the file also changed here:\n{escape_controls(file.conflict_text)}"
        )
