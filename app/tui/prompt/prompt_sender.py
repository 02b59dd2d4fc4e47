"""Decides what a sent text of the editor is and runs it: a shell command, a Python cell, a slash command, a note, or a
prompt."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from app.engine.session import Session
from app.engine.user_runs.user_cells import UserCells
from app.resources.settings.settings import Settings
from app.tui.background_tasks import action_failure_text
from app.tui.page_protocols import KeyLabel
from app.tui.prompt.attachments import load_attached_images
from app.tui.prompt.unsent_draft import UnsentDraft
from app.tui.status.status_lines import StatusLines
from app.tui.transcript.presenter import TranscriptPresenter
from app.values.content import Image
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex
from widgets.editor.prompt_chips import ImageAttachment, UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.transcript.transcript_blocks import AppNoteKind

_SLASH_COMMAND_PATTERN = lazy_regex(r"/([A-Za-z][\w:-]*)(?=\s|$)")
"""Matches a slash command; a path has more slashes or a dot."""
_PYTHON_CELL_PREFIX_PATTERN = lazy_regex(r"\$\$?(?:\s+|$)")
"""Matches the prefix of a Python cell: a dollar followed by a blank, unlike `$HOME` or `$5`."""
_SLASH_COMMAND_ALIASES = {
    **{"q": "quit", "config": "settings", "vi": "settings", "vim": "settings"},
    **{"share": "export", "history": "resume", "sessions": "resume", "rewind": "tree"},
}
"""Aliases for commands of other agents."""
_COMMAND_BY_FOREIGN_NAME = {
    **{"cost": "usage", "stats": "usage", "status": "session", "doctor": "session", "agents": "tasks"},
    **{"skills": "context", "tools": "context"},
}
"""Pages of other agents, each with the page here that has the same."""
_SLASH_COMMAND_BY_WORD = {"?": "/help", "exit": "/quit", "quit": "/quit", ":q": "/quit", ":wq": "/quit"}
BusyDelivery = Literal["steer", "follow_up"]
"""How a prompt is delivered while the agent works: into the current run or after it."""


class PromptSender(msgspec.Struct, frozen=True):
    """Sends what the user entered in one editor to one session."""

    session: Session
    cells: UserCells
    editor: PromptEditor
    presenter: TranscriptPresenter
    status: StatusLines
    unsent_draft: UnsentDraft
    settings: Callable[[], Settings]
    wait_until_ready: Callable[[], Awaitable[object]]
    """Waits until extensions are loaded."""
    expand_suggestion: Callable[[str], str]
    """Replaces a number of the welcome screen by its suggested request."""
    run_slash_command: Callable[[str], Awaitable[bool]]
    """Runs the text as a slash command of bayou; returns False if it is none."""
    save_note: Callable[[str], Awaitable[str]]
    """Asks which memory file a `# line` goes to."""
    slash_command_descriptions: Callable[[], Sequence[tuple[str, str]]]
    key_label: KeyLabel

    async def send(
        self, draft: UnsentPrompt, text: str, attachments: Sequence[ImageAttachment], how: BusyDelivery
    ) -> None:
        """Runs a sent text as command, cell or note, or sends it as a prompt. It waits until extensions are loaded,
        because they may change or handle the text."""
        with self.unsent_draft.keep_until_accepted(text, how=how):
            await self.wait_until_ready()
        text = self.expand_suggestion(text)
        if not attachments:
            text = self._command_for_word(text)
        if text.startswith("!"):
            await self._run_shell_command(text)
            return
        if (cell := _PYTHON_CELL_PREFIX_PATTERN.match(text)) is not None:
            await self._run_cell(text, text[cell.end() :], exclude=cell[0].startswith("$$"))
            return
        if is_memory_note(text) and (became := await self.save_note(text)) != "send":
            if became == "kept":
                self._restore_draft(draft)
            return
        if text.startswith("/") and await self.run_slash_command(self._translate_foreign_command(text)):
            self.status.refresh_all()
            return
        if (unknown := self._unknown_command_error(text)) is not None:
            self.presenter.add_note(unknown, AppNoteKind.WARNING)
            self._restore_draft(draft)
            return
        settings = self.settings().images
        try:
            if attachments and settings.block_images:
                raise UserError(
                    "Images are blocked (images.blockImages). Remove them, or change it in /settings."
                )
            images = (
                await asyncio.to_thread(load_attached_images, attachments, resizes=settings.auto_resize)
                if attachments
                else ()
            )
            with self.unsent_draft.keep_until_accepted(text, images, how):
                await self.session.prompt(text, images, while_running=how)
        except UserError as problem:
            self.presenter.add_note(action_failure_text(problem, self.key_label), AppNoteKind.ERROR)
            self._restore_draft(draft)

    async def send_command_line_prompt(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Sends the prompt that the command line gave at the start."""
        try:
            await self.session.prompt(text, images, while_running="steer")
        except UserError as problem:
            self.presenter.add_note(action_failure_text(problem, self.key_label), AppNoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))

    def _command_for_word(self, text: str) -> str:
        """Returns the slash command for a single word that shells or other agents use for it (`exit`), and
        tells the user its name."""
        command = _SLASH_COMMAND_BY_WORD.get(text.strip().casefold())
        if command is None:
            return text
        self.presenter.add_note(f"In bayou this command is {command}.")
        return command

    def _translate_foreign_command(self, text: str) -> str:
        """Returns bayou's name for a slash command that other agents name differently, and tells the user
        the name."""
        found = _SLASH_COMMAND_PATTERN.match(text)
        page = _COMMAND_BY_FOREIGN_NAME.get(found[1]) if found is not None else None
        if (
            found is None
            or page is None
            or found[1] in [name for name, _ in self.slash_command_descriptions()]
        ):
            return text
        self.presenter.add_note(f"In bayou this command is /{page}.")
        return f"/{page}"

    def _unknown_command_error(self, text: str) -> str | None:
        """Returns the error for a mistyped slash command, so that it is not sent to the model; None if the text is no
        such command."""
        found = _SLASH_COMMAND_PATTERN.match(text)
        names = [name for name, _ in self.slash_command_descriptions()]
        if found is None or found[1] in names:
            return None
        if found[1] == "editor" and (key := self.key_label("app.editor.external", "Ctrl+G")):
            return f"There is no command /editor. {key} opens the prompt in your editor."
        usual = [_SLASH_COMMAND_ALIASES[found[1]]] if found[1] in _SLASH_COMMAND_ALIASES else []
        near = usual or difflib.get_close_matches(found[1], names, 1)
        meant = f" Did you mean /{near[0]}?" if near else " /help lists them."
        return f"There is no command /{found[1]}.{meant} To send it as a prompt, put a word before it."

    async def _run_shell_command(self, text: str) -> None:
        exclude = text.startswith("!!")
        command = text.lstrip("!").strip()
        if not command:
            return
        from app.tui.entry_texts import one_line  # noqa: PLC0415  (only needed here)

        self.status.show_stoppable_activity(f"$ {one_line(command.splitlines()[0], 60)}")
        own = self.presenter.own_commands
        is_first = not self.session.state.is_shell_running
        if is_first:
            own.start_command(command, exclude=exclude)
        try:
            own.end_command(await self.session.shell.run_command(command, exclude=exclude))
        except UserError as problem:
            if is_first:
                own.end_command(None)
            self.presenter.add_note(action_failure_text(problem, self.key_label), AppNoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))
        self.status.show_agent_activity()

    async def _run_cell(self, text: str, code: str, *, exclude: bool) -> None:
        if not code.strip():
            return
        first = next(line for line in code.splitlines() if line.strip())
        from app.tui.entry_texts import one_line  # noqa: PLC0415  (only needed here)

        self.status.show_stoppable_activity(f"$ {one_line(first, 60)}")
        try:
            await self.cells.run_cell(code, exclude=exclude)
        except UserError as problem:
            self.presenter.add_note(action_failure_text(problem, self.key_label), AppNoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))
        self.status.show_agent_activity()

    def _restore_draft(self, draft: UnsentPrompt) -> None:
        """Puts a text that could not be sent back into the editor if it is empty; the history has the
        text in any case."""
        if self.editor.model.is_blank:
            self.editor.restore(draft)


def is_memory_note(text: str) -> bool:
    """Returns whether the text is a note: one line after one `#`. A heading followed by more lines is
    a prompt."""
    return (
        text.startswith("#")
        and not text.startswith("##")
        and "\n" not in text.strip()
        and bool(text[1:].strip())
    )
