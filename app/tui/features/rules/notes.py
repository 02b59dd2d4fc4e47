"""Handles a line that begins with `#` in the editor: adds it as a note to the user's or the project's memory file."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from app.engine.session import Session
from app.resources.context_files import (
    AppendableContextFile,
    appendable_context_files,
    text_of_appended_list_item,
)
from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.tui.status.header_and_footer import short_path
from app.values.user_errors import UserError
from tools.number_formatting import format_byte_count
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.transcript.transcript_blocks import AppNoteKind

_SEND_AS_PROMPT_CHOICE = "send"
_MAX_SHOWN_MEMORY_FILE_LINES = 3


class MemoryNotesPage(msgspec.Struct, frozen=True):
    """Saves notes to memory files, which every later session reads, and this one from its next request on."""

    session: Session
    paths: Callable[[], BayouPaths]
    context_files: Callable[[], Sequence[Path]]
    """Returns the context files of this session."""
    edit: Callable[[Path], str]
    """Opens a file in the user's editor; returns an error message or an empty text."""
    ask: AskOnScreen
    show_message: ShowMessage
    reload: Callable[[], None]
    """Reads the context files again."""

    async def save_note(self, text: str) -> str:
        """Asks where to save a note and saves it. Returns `noted`, `kept` (cancelled, the text stays in the editor) or
        `send` (it is a prompt)."""
        line, paths = text[1:].strip(), self.paths()
        files = appendable_context_files(paths)
        rows = [
            *(
                ListRow(
                    id=str(number), title=f"add to {short_path(file.path, paths.home)}", detail=file.label
                )
                for number, file in enumerate(files)
            ),
            ListRow(id=_SEND_AS_PROMPT_CHOICE, title="send it to the model", detail="cancel"),
        ]
        answer = await self.ask(
            QuestionScreen("Save as a note for every session", _note_preview(files, line, paths), rows)
        )
        if answer is None:
            return "kept"
        if answer.id == _SEND_AS_PROMPT_CHOICE:
            return "send"
        file = files[int(answer.id)]
        try:
            dated = await self.session.memory.add_note(file, line, paths)
        except UserError as problem:
            self.show_message(str(problem), AppNoteKind.ERROR)
            return "kept"
        self.reload()
        await self.session.memory.announce_note(file, dated)
        return "noted"

    async def open(self) -> None:
        """Runs `/memory`: lists the context files of this session and the memory files for notes; Enter opens one in
        the user's editor."""
        paths = self.paths()
        labels = {file.path: file.label for file in appendable_context_files(paths)}
        places = dict.fromkeys((*self.context_files(), *labels))
        rows = [
            ListRow(
                id=str(place),
                title=short_path(place, paths.home),
                detail=", ".join(filter(None, (labels.get(place, ""), _size_text(place)))),
            )
            for place in places
        ]
        picked = await pick_list_row(
            self.ask, "Memory", rows, order="given", choose="edit", note="# saves a line in one of them"
        )
        if picked is None or picked.row is None:
            return
        place = Path(picked.row.id)
        place.parent.mkdir(parents=True, exist_ok=True)
        if problem := self.edit(place):
            self.show_message(problem, AppNoteKind.ERROR)
        self.reload()


def _size_text(place: Path) -> str:
    try:
        return format_byte_count(place.stat().st_size)
    except OSError:
        return "does not exist yet"


def _note_preview(files: tuple[AppendableContextFile, ...], line: str, paths: BayouPaths) -> PreviewText:
    """Returns a preview of a note: the ends of both memory files with the new line."""
    parts: list[PreviewParagraph] = []
    for file in files:
        parts.append(PreviewParagraph(text=short_path(file.path, paths.home), is_heading=True))
        try:
            text = read_text(file.path) or ""
        except UserError as problem:
            parts.append(PreviewParagraph(text=str(problem), tone="error"))
            continue
        tail = text.rstrip().splitlines()[-_MAX_SHOWN_MEMORY_FILE_LINES:]
        parts += [PreviewParagraph(text=f"  {one}", tone="dim") for one in tail]
        parts.append(
            PreviewParagraph(text=f"+ {text_of_appended_list_item(text, line).strip()}", tone="success")
        )
    return PreviewText(parts=tuple(parts))
