"""`/diff`: file changes of the session, of one prompt, or since the last commit; viewed, opened, copied."""

import asyncio
from pathlib import Path

import msgspec

from app.engine.files.session_files import DiffSource, GitDiff, PromptDiff, SessionDiff
from app.engine.session import Session
from app.tui.features.diff.screen import DiffFile, DiffScreen, DiffView
from app.tui.page_protocols import AskPerson, Copy, OpenInEditor
from app.undo.change_lists import Differences, FileDifference
from app.undo.patches import FilePatch
from app.values.user_errors import UserError
from tools.amounts import changed_lines
from tools.files.presence import exists
from tools.results import Card, DiffBlock, TextBlock
from widgets.transcript.blocks import Block, CardBlock, NoteBlock, NoteKind

_SCOPES: tuple[str, ...] = ("session", "prompt", "git")
_DIFF_SOURCES: dict[str, DiffSource] = {"session": SessionDiff(), "prompt": PromptDiff(), "git": GitDiff()}
_EMPTY_TEXTS = {
    "session": "This session changed no files.",
    "prompt": "No prompt on this branch changed files.",
    "git": "No uncommitted changes.",
}
_NO_SCOPE = (
    "Unknown comparison. /diff shows the session's changes, /diff prompt those of the last "
    "prompt, /diff git the uncommitted ones."
)


class DiffPage(msgspec.Struct, frozen=True):
    """Opens the diff screen for one session."""

    session: Session
    ask: AskPerson
    copy: Copy
    edit: OpenInEditor

    async def open(self, scope: str = "session") -> None:
        if scope not in _SCOPES:
            raise UserError(_NO_SCOPE)
        await _OpenDiff(self.session, scope, copy=self.copy, edit=self.edit).open(self.ask)


class _OpenDiff:
    """The state of one opened diff screen."""

    def __init__(self, session: Session, scope: str, *, copy: Copy, edit: OpenInEditor) -> None:
        self._session = session
        self._copy = copy
        self._edit = edit
        self._scope = scope
        self._prompt_id: str | None = None
        self._shown: Differences | None = None

    async def open(self, ask: AskPerson) -> None:
        await ask(DiffScreen(await self._view()), on_request=self._requested)

    async def _view(self) -> DiffView:
        """Computes the files to show; if that fails, the view contains the reason."""
        of = PromptDiff(entry_id=self._prompt_id) if self._scope == "prompt" else _DIFF_SOURCES[self._scope]
        try:
            self._shown = shown = await self._session.files.differences(of)
        except UserError as problem:
            self._shown = None
            return DiffView(title=_title(self._scope), files=(), empty=str(problem))
        figures = changed_lines(shown.added, shown.removed)
        return DiffView(
            title=shown.title,
            files=tuple(_file(file) for file in shown.files),
            note=" · ".join(word for word in (shown.note, figures) if word),
            empty=_EMPTY_TEXTS[self._scope],
        )

    async def _requested(self, message: DiffScreen.ActionRequested) -> None:
        screen, path = message.screen, message.path
        match message.action:
            case "file":
                await self._show(screen, path)
            case "scope" | "scope-back":
                step = 1 if message.action == "scope" else -1
                self._scope = _SCOPES[(_SCOPES.index(self._scope) + step) % len(_SCOPES)]
                self._prompt_id = None
                screen.show_view(await self._view())
            case "older" | "newer":
                await self._other_prompt(screen, is_older=message.action == "older")
            case "edit":
                await self._open_editor(screen, path)
            case "copy":
                await self._copy_one(screen, path)
            case "copy-all":
                await self._copy_all(screen)

    async def _show(self, screen: DiffScreen, path: str) -> None:
        shown = self._shown
        file = self._file(path)
        if shown is None or file is None:
            return
        patch = await asyncio.to_thread(shown.patch, path)
        if shown is self._shown:
            screen.show_file(path, _block(file, patch))

    async def _other_prompt(self, screen: DiffScreen, *, is_older: bool) -> None:
        shown = self._shown
        if self._scope != "prompt":
            self._scope, self._prompt_id = "prompt", None
        elif shown is not None:
            other = shown.older if is_older else shown.newer
            if other is None:
                screen.show_note("the first prompt that changed files" if is_older else "the last one")
                return
            self._prompt_id = other
        screen.show_view(await self._view())

    async def _open_editor(self, screen: DiffScreen, path: str) -> None:
        shown, file = self._shown, self._file(path)
        if shown is None or file is None:
            return
        if not file.place or not exists(Path(file.place)):
            screen.show_note(
                "the file does not exist any more" if file.place else file.why or "the file cannot be opened"
            )
            return
        line = screen.line or (await asyncio.to_thread(shown.patch, path)).first_line
        if problem := self._edit(Path(file.place), line):
            screen.show_note(problem)
            return
        screen.show_view(await self._view())

    async def _copy_one(self, screen: DiffScreen, path: str) -> None:
        shown, file = self._shown, self._file(path)
        if shown is None or file is None:
            return
        patch = await asyncio.to_thread(shown.patch, path)
        if not patch.text:
            screen.show_note(f"no patch copied: {patch.why or file.why or 'nothing is held of it'}")
            return
        self._copy(patch.text, f"patch of {path}")
        screen.show_note("copied" if patch.is_whole else f"copied a part of the patch: {patch.why}")

    async def _copy_all(self, screen: DiffScreen) -> None:
        if self._shown is None:
            return
        text, lacking = await asyncio.to_thread(self._shown.patches)
        if not text:
            screen.show_note("no patch copied: these changes cannot be written as a patch")
            return
        self._copy(text, "patch of all files")
        screen.show_note(f"copied all except {len(lacking)}: {lacking[0]}" if lacking else "copied all files")

    def _file(self, path: str) -> FileDifference | None:
        files = self._shown.files if self._shown is not None else ()
        return next((file for file in files if file.path == path), None)


def _title(scope: str) -> str:
    return {
        "session": "Changed by this session",
        "prompt": "Changed by the last prompt",
        "git": "Changed since the last commit",
    }[scope]


def _file(file: FileDifference) -> DiffFile:
    return DiffFile(
        path=file.path,
        deed=file.deed,
        added=f"+{file.added:,}" if file.added else "",
        removed=f"−{file.removed:,}" if file.removed else "",
        by=file.by,
        why=file.why,
    )


def _block(file: FileDifference, patch: FilePatch) -> Block:
    """Returns a file's diff as a block; without lines, a text that says why."""
    words = " · ".join(word for word in (file.deed, file.why, file.by) if word)
    why = patch.why if patch.why != file.why else ""
    if "\n@@ " not in patch.text:
        lacking = why or ("" if patch.text else "its old content is not stored")
        return NoteBlock(
            id=file.path,
            text="\n".join(word for word in (f"{file.path} · {words}", lacking) if word),
            kind=NoteKind.INFO,
        )
    parts = [DiffBlock(path=file.path, diff=patch.text, added=patch.added, removed=patch.removed)]
    return CardBlock(
        id=file.path,
        card=Card(
            title=file.path, summary=words, blocks=(*parts, *([TextBlock(text=f"… {why}")] if why else []))
        ),
    )
