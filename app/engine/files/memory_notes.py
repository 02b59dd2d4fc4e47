"""Writes notes of the user into context files, as dated lines.

A note is a separate file change of the session, so `/undo` takes it back alone.
"""

import asyncio
import uuid
from datetime import date

import msgspec

from app.engine.core.delivery import SendMessage
from app.engine.secrets.session_mask import SessionMask
from app.resources.context_files import MemoryFile, append_list_item
from app.resources.paths import Paths
from app.undo.change_records import NOTE_CALL_PREFIX
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tools.base import ToolError
from tools.files.mutations import FileState, NewContent
from tools.workspace import Workspace

NOTE_MESSAGE_TYPE = "memory-note"
MAX_NOTE_CHARS = 2_000


class NoteRefused(UserError):
    """Raised if a note could not be written into a context file; the text says why."""


class MemoryNotes(msgspec.Struct, frozen=True):
    """Writes a session's notes into the context files that every session reads."""

    workspace: Workspace
    masking: SessionMask
    send: SendMessage

    async def add_note(self, file: MemoryFile, line: str, paths: Paths) -> str:
        """Appends a note as a dated line to a context file and returns the line. Raises `NoteRefused`, with
        nothing written."""
        line = " ".join(line.split())
        if not line or len(line) > MAX_NOTE_CHARS:
            raise NoteRefused(f"A note is one line of 1 to {MAX_NOTE_CHARS:,} characters.")
        if not self.workspace.has_local_files:
            raise NoteRefused("Notes are not saved, because this session's files are on another machine.")
        if await asyncio.to_thread(self._contains_secret, line):
            raise NoteRefused(
                "The note contains a secret, which every later session would send to the model. Remove it and "
                "save again."
            )
        if file.path.parent != paths.agent_dir and (problem := paths.symlink_escape(file.path)):
            raise NoteRefused(f"{file.path} was not changed: {problem}.")
        dated = f"{line} ({date.today().isoformat()})"

        def compute(state: FileState | None) -> NewContent:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                data = append_list_item(state.data if state is not None else b"", dated)
            except UnicodeDecodeError:
                raise NoteRefused(
                    f"The note was not saved: {file.path} is not UTF-8. Convert the file, then save again."
                ) from None
            return NewContent(data=data, added=1)

        try:
            await self.workspace.mutations.change_file(
                str(file.path), f"{NOTE_CALL_PREFIX}{uuid.uuid4().hex[:12]}", compute
            )
        except OSError as problem:
            raise NoteRefused(f"{file.path} could not be written: {problem.strerror or problem}.") from None
        except ToolError as problem:
            raise NoteRefused(f"{file.path} was not changed: {problem}") from None
        return dated

    async def announce_note(self, file: MemoryFile, line: str) -> None:
        """Shows the note that the user saved, in the transcript and to the agent."""
        text = f"The user saved a note for every session in {file.path}:\n\n- {line}"
        details = {"path": str(file.path), "line": line}
        await self.send(
            CustomMessage(custom_type=NOTE_MESSAGE_TYPE, content=text, details=details), deliver_as="aside"
        )

    def _contains_secret(self, line: str) -> bool:
        self.masking.search_files(line)
        return self.masking.masked_text(line, "") != line
