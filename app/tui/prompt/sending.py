"""Dispatches what the user sends: a shell command, a Python cell, a slash command, a note, or a prompt."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from app.engine.session import Session
from app.engine.user_runs.user_cells import UserCells
from app.resources.settings.settings import Settings
from app.tui.page_protocols import KeyLabel
from app.tui.prompt.attachments import images_of
from app.tui.prompt.unsent_draft import UnsentDraft
from app.tui.status.status_lines import StatusLines
from app.tui.tasks import failure_text_of
from app.tui.transcript.presenter import Presenter
from app.values.content import Image
from app.values.user_errors import UserError
from tools.patterns import late
from widgets.editor.chips import Attachment, UnsentPrompt
from widgets.editor.prompt import PromptEditor
from widgets.transcript.blocks import NoteKind

_COMMAND = late(r"/([A-Za-z][\w:-]*)(?=\s|$)")
"""Matches a slash command; a path has more slashes or a dot."""
_CELL = late(r"\$\$?(?:\s+|$)")
"""Matches the prefix of a Python cell: a dollar followed by a blank, unlike `$HOME` or `$5`."""
_OTHER_AGENTS_ALIASES = {
    **{"q": "quit", "config": "settings", "vi": "settings", "vim": "settings"},
    **{"share": "export", "history": "resume", "sessions": "resume", "rewind": "tree"},
}
"""Aliases for commands of other agents."""
_FOREIGN_COMMANDS = {
    **{"cost": "usage", "stats": "usage", "status": "session", "doctor": "session", "agents": "tasks"},
    **{"skills": "context", "tools": "context"},
}
"""Pages of other agents, each with the page here that has the same."""
DeliverWhenBusy = Literal["steer", "follow_up"]
"""How a prompt is delivered while the agent works: into the current run or after it."""


class PromptSender(msgspec.Struct, frozen=True):
    """Sends the text of one editor to one session."""

    session: Session
    cells: UserCells
    editor: PromptEditor
    presenter: Presenter
    status: StatusLines
    unsent: UnsentDraft
    settings: Callable[[], Settings]
    may_begin: Callable[[], Awaitable[object]]
    """Waits until extensions are loaded."""
    meant: Callable[[str], str]
    """Replaces a number of the welcome screen by its suggested request."""
    run_slash: Callable[[str], Awaitable[bool]]
    """Runs the text as a slash command of bayou; returns False if it is none."""
    note: Callable[[str], Awaitable[str]]
    """Asks which memory file a `# line` goes to."""
    command_names: Callable[[], Sequence[tuple[str, str]]]
    key_label: KeyLabel

    async def send(
        self, draft: UnsentPrompt, text: str, attachments: Sequence[Attachment], how: DeliverWhenBusy
    ) -> None:
        """Sends a text. It waits until extensions are loaded, because they may change or handle the
        text."""
        with self.unsent.on_its_way(text, how=how):
            await self.may_begin()
        text = self.meant(text)
        if text.startswith("!"):
            await self._shell(text)
            return
        if (cell := _CELL.match(text)) is not None:
            await self._cell(text, text[cell.end() :], exclude=cell[0].startswith("$$"))
            return
        if is_note(text) and (became := await self.note(text)) != "send":
            if became == "kept":
                self._restore_draft(draft)
            return
        if text.startswith("/") and await self.run_slash(self._own_command(text)):
            self.status.refresh_all()
            return
        if (unknown := self._unknown_command(text)) is not None:
            self.presenter.note(unknown, NoteKind.WARNING)
            self._restore_draft(draft)
            return
        settings = self.settings().images
        try:
            if attachments and settings.block_images:
                raise UserError(
                    "Images are blocked (images.blockImages). Remove them, or change it in /settings."
                )
            images = (
                await asyncio.to_thread(images_of, attachments, resizes=settings.auto_resize)
                if attachments
                else ()
            )
            with self.unsent.on_its_way(text, images, how):
                await self.session.prompt(text, images, while_running=how)
        except UserError as problem:
            self.presenter.note(failure_text_of(problem, self.key_label), NoteKind.ERROR)
            self._restore_draft(draft)

    async def prompt(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Sends the prompt from the command line."""
        try:
            await self.session.prompt(text, images, while_running="steer")
        except UserError as problem:
            self.presenter.note(failure_text_of(problem, self.key_label), NoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))

    def _own_command(self, text: str) -> str:
        """Returns the command for a page that other agents have under another name, and says which it is."""
        found = _COMMAND.match(text)
        page = _FOREIGN_COMMANDS.get(found[1]) if found is not None else None
        if found is None or page is None or found[1] in [name for name, _ in self.command_names()]:
            return text
        self.presenter.note(f"/{found[1]} is /{page} here.")
        return f"/{page}"

    def _unknown_command(self, text: str) -> str | None:
        """Returns an error for a mistyped command, so that it is not sent to the model."""
        found = _COMMAND.match(text)
        names = [name for name, _ in self.command_names()]
        if found is None or found[1] in names:
            return None
        if found[1] == "editor" and (key := self.key_label("app.editor.external", "Ctrl+G")):
            return f"There is no command /editor. {key} opens the prompt in your own editor."
        usual = [_OTHER_AGENTS_ALIASES[found[1]]] if found[1] in _OTHER_AGENTS_ALIASES else []
        near = usual or difflib.get_close_matches(found[1], names, 1)
        meant = f" Did you mean /{near[0]}?" if near else " /help lists them."
        return f"There is no command /{found[1]}.{meant} Put a word in front to send it to the model."

    async def _shell(self, text: str) -> None:
        exclude = text.startswith("!!")
        command = text.lstrip("!").strip()
        if not command:
            return
        from app.tui.entry_texts import one_line  # noqa: PLC0415  (only needed here)

        self.status.say_stoppable(f"$ {one_line(command.splitlines()[0], 60)}")
        own = self.presenter.own_commands
        is_first = not self.session.state.is_shell_running
        if is_first:
            own.begin(command, exclude=exclude)
        try:
            own.end(await self.session.shell.run(command, exclude=exclude))
        except UserError as problem:
            if is_first:
                own.end(None)
            self.presenter.note(failure_text_of(problem, self.key_label), NoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))
        self.status.say_what_runs()

    async def _cell(self, text: str, code: str, *, exclude: bool) -> None:
        if not code.strip():
            return
        first = next(line for line in code.splitlines() if line.strip())
        from app.tui.entry_texts import one_line  # noqa: PLC0415  (only needed here)

        self.status.say_stoppable(f"$ {one_line(first, 60)}")
        try:
            await self.cells.run(code, exclude=exclude)
        except UserError as problem:
            self.presenter.note(failure_text_of(problem, self.key_label), NoteKind.ERROR)
            self._restore_draft(UnsentPrompt(text=text))
        self.status.say_what_runs()

    def _restore_draft(self, draft: UnsentPrompt) -> None:
        """Puts a text that could not be sent back into the editor if it is empty; the history has the
        text in any case."""
        if self.editor.model.is_blank:
            self.editor.restore(draft)


def is_note(text: str) -> bool:
    """Returns whether the text is a note: one line after one `#`. A heading followed by more lines is
    a prompt."""
    return (
        text.startswith("#")
        and not text.startswith("##")
        and "\n" not in text.strip()
        and bool(text[1:].strip())
    )
