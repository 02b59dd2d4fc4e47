"""`# a line` in the editor: adds the line to the user's or the project's memory file."""

from collections.abc import Callable

import msgspec

from app.resources.context_files import MemoryFile, add_line, appended_item_text, memory_files
from app.resources.paths import Paths
from app.resources.text_files import read_text
from app.tui.page_protocols import AskPerson, ShowMessage
from app.tui.status.header_and_footer import short_path
from app.values.user_errors import UserError
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.screens.preview import PreviewPart, PreviewText
from widgets.transcript.blocks import NoteKind

_SEND = "send"
_SHOWN = 3


class NotesPage(msgspec.Struct, frozen=True):
    """Saves notes to memory files; they count for later sessions, and for this one from its next
    request."""

    paths: Callable[[], Paths]
    ask: AskPerson
    say: ShowMessage
    reload: Callable[[], None]
    """Reads the context files again."""

    async def note(self, text: str) -> str:
        """Saves the note and returns the outcome: `noted`, `kept` (cancelled, the text stays in the
        editor) or `send` (it is a prompt)."""
        line, paths = text[1:].strip(), self.paths()
        files = memory_files(paths)
        rows = [
            *(
                ListRow(
                    id=str(number), title=f"add to {short_path(file.path, paths.home)}", detail=file.label
                )
                for number, file in enumerate(files)
            ),
            ListRow(id=_SEND, title="send it to the model", detail="cancel"),
        ]
        answer = await self.ask(
            QuestionScreen("Save as a note for every session", _shown(files, line, paths), rows)
        )
        if answer is None:
            return "kept"
        if answer.id == _SEND:
            return "send"
        file = files[int(answer.id)]
        try:
            add_line(file, line, paths)
        except UserError as problem:
            self.say(str(problem), NoteKind.ERROR)
            return "kept"
        self.reload()
        self.say(f"Saved in {short_path(file.path, paths.home)}; it applies from the next request.")
        return "noted"


def _shown(files: tuple[MemoryFile, ...], line: str, paths: Paths) -> PreviewText:
    """Returns a preview: the ends of both memory files with the new line."""
    parts: list[PreviewPart] = []
    for file in files:
        parts.append(PreviewPart(text=short_path(file.path, paths.home), is_heading=True))
        try:
            text = read_text(file.path) or ""
        except UserError as problem:
            parts.append(PreviewPart(text=str(problem), tone="error"))
            continue
        tail = text.rstrip().splitlines()[-_SHOWN:]
        parts += [PreviewPart(text=f"  {one}", tone="dim") for one in tail]
        parts.append(PreviewPart(text=f"+ {appended_item_text(text, line).strip()}", tone="success"))
    return PreviewText(parts=tuple(parts))
