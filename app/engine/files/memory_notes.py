"""Writes notes of the user into context files, as dated lines.

A note is a separate file change of the session, so `/undo` takes it back alone.
"""

import asyncio
import uuid
from datetime import date

import msgspec

from app.engine.core.delivery import SendMessage
from app.engine.secrets.session_mask import SessionSecretMask
from app.resources.context_files import AppendableContextFile, append_list_item_to_content
from app.resources.paths import BayouPaths
from app.undo.change_records import MEMORY_NOTE_CALL_ID_PREFIX
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tools.files.file_changes import FileStateBeforeChange, NewFileContent
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

MEMORY_NOTE_MESSAGE_TYPE = "memory-note"
MAX_MEMORY_NOTE_CHARS = 2_000


class MemoryNoteRefused(UserError):
    """Raised if a note could not be written into a context file; the text says why."""


class MemoryNoteWriter(msgspec.Struct, frozen=True):
    """Writes a session's notes into the context files that every session reads."""

    workspace: SessionWorkspace
    masking: SessionSecretMask
    send: SendMessage

    async def add_note(self, file: AppendableContextFile, line: str, paths: BayouPaths) -> str:
        """Appends a note as a dated line to a context file and returns the line. Raises `MemoryNoteRefused`, with
        nothing written."""
        line = " ".join(line.split())
        if not line or len(line) > MAX_MEMORY_NOTE_CHARS:
            raise MemoryNoteRefused(f"A note is one line of 1 to {MAX_MEMORY_NOTE_CHARS:,} characters.")
        if not self.workspace.has_local_files:
            raise MemoryNoteRefused(
                "Notes are not saved, because this session's files are on another machine."
            )
        if await asyncio.to_thread(self._contains_secret, line):
            raise MemoryNoteRefused(
                "The note contains a secret, which every later session would send to the model. Remove it and "
                "save again."
            )
        if file.path.parent != paths.agent_dir and (problem := paths.symlink_escape(file.path)):
            raise MemoryNoteRefused(f"{file.path} was not changed: {problem}.")
        dated = f"{line} ({date.today().isoformat()})"

        def compute(state: FileStateBeforeChange | None) -> NewFileContent:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                data = append_list_item_to_content(state.data if state is not None else b"", dated)
            except UnicodeDecodeError:
                raise MemoryNoteRefused(
                    f"The note was not saved: {file.path} is not UTF-8. Convert the file, then save again."
                ) from None
            return NewFileContent(data=data, added=1)

        try:
            await self.workspace.mutations.change_file(
                str(file.path), f"{MEMORY_NOTE_CALL_ID_PREFIX}{uuid.uuid4().hex[:12]}", compute
            )
        except OSError as problem:
            raise MemoryNoteRefused(
                f"{file.path} could not be written: {problem.strerror or problem}."
            ) from None
        except ToolError as problem:
            raise MemoryNoteRefused(f"{file.path} was not changed: {problem}") from None
        return dated

    async def announce_note(self, file: AppendableContextFile, line: str) -> None:
        """Shows the note that the user saved, in the transcript and to the agent."""
        text = f"The user saved a note for every session in {file.path}:\n\n- {line}"
        details = {"path": str(file.path), "line": line}
        await self.send(
            CustomMessage(custom_type=MEMORY_NOTE_MESSAGE_TYPE, content=text, details=details),
            deliver_as="aside",
        )

    def _contains_secret(self, line: str) -> bool:
        self.masking.search_files(line)
        return self.masking.masked_text(line, "") != line
