"""Edits of one or several files carried out: computed and written under the locks of all of them, all or none.

What an edit means is the dialects' business; here stands what every one of them does around it.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from tools.base import ToolContext, ToolError
from tools.edits.editing import EditedText
from tools.edits.shown import ShownLines
from tools.edits.syntax import FileSyntax
from tools.files.failures import file_error
from tools.files.mutations import AppliedChange, FileState, NewContent
from tools.files.paths import display_path
from tools.files.places import exists, resolve_argument, withheld_files
from tools.files.snapshots import FileSnapshot
from tools.text import one_line
from tools.workspace import Workspace, workspace_of


class EditedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is to be edited."""

    path: str
    """Absolute."""
    real: str
    shown: str
    """As people and models read it."""
    is_notebook: bool

    @property
    def key(self) -> str:
        """Under which it is known what the model saw of it."""
        return notebook_key(self.real) if self.is_notebook else self.real


class LockedFile:
    """What an edit finds, under the lock of its file."""

    def __init__(self, workspace: Workspace, file: EditedFile, state: FileState | None) -> None:
        self._workspace = workspace
        self.file = file
        self._state = state

    @property
    def is_there(self) -> bool:
        return self._state is not None

    @property
    def data(self) -> bytes:
        """Raises `FileNotFoundError`."""
        if self._state is None:
            raise FileNotFoundError(2, "No such file", self.file.path)
        return self._state.data

    @property
    def shown(self) -> ShownLines:
        cache = self._workspace.read_cache
        return ShownLines(lines=dict(cache.lines(self.file.key)), sent=cache.sent(self.file.real))

    @property
    def versions(self) -> tuple[FileSnapshot, ...]:
        """What was shown of it, the newest first."""
        return self._workspace.read_cache.snapshots.of(self.file.key)

    def note_shown(self, text: str, numbers: Sequence[int]) -> None:
        """Lines of its text that the model is shown with their anchors."""
        self._workspace.read_cache.snapshots.record(self.file.key, text, numbers)

    def syntax(self, text: str) -> FileSyntax:
        """The check of syntax for this text of it."""
        return self._workspace.syntax.of("" if self.file.is_notebook else self.file.path, text)


ComputeEdits = Callable[[Sequence[LockedFile]], Sequence[EditedText]]
"""What becomes of each of some files."""


class EditDone(msgspec.Struct, frozen=True, kw_only=True):
    file: EditedFile
    edited: EditedText
    is_withheld: bool = False
    """Nobody has let the model read it: no line of it is told."""


async def resolve_file(raw: str, context: ToolContext) -> EditedFile:
    workspace = workspace_of(context)

    def found() -> EditedFile:
        path = resolve_argument(workspace, raw, context)
        return EditedFile(
            path=path,
            real=workspace.files.real_path(path),
            shown=display_path(path, context.cwd),
            is_notebook=path.lower().endswith(".ipynb"),
        )

    return await asyncio.to_thread(found)


def notebook_key(real: str) -> str:
    """What was shown of a notebook are other lines than those of the file."""
    return f"{real}\0cells"


async def edit_files(
    context: ToolContext, files: Sequence[EditedFile], make: ComputeEdits
) -> tuple[EditDone, ...]:
    """Raises `ToolError`, with every file as it was."""
    workspace = workspace_of(context)
    made: list[EditedText] = []

    def compute(states: Sequence[FileState | None]) -> list[NewContent | None]:
        made[:] = make(
            [LockedFile(workspace, file, state) for file, state in zip(files, states, strict=True)]
        )
        return [_new_content(edited) for edited in made]

    hidden = await asyncio.to_thread(_withheld_files, workspace, files)
    try:
        changes = await workspace.mutations.change_all(
            [file.path for file in files], context.call_id, compute
        )
    except OSError as problem:
        named = problem.filename if isinstance(problem.filename, str) else files[0].path
        raise file_error(problem, "edit", named, workspace.files) from None
    except ToolError:
        if not hidden:
            raise
        # Its words have lines of the file in them.
        named = ", ".join(one_line(file.shown) for file in files if file.real in hidden)
        raise ToolError(
            f"The edit was not made, and why is not told: a permission rule or what may be secret keeps the lines of "
            f"{named} back. Read it first, if the user lets you; or ask the user to change it. Nothing was changed."
        ) from None
    done = tuple(
        EditDone(
            file=file,
            edited=_without_file_lines(edited) if file.real in hidden else edited,
            is_withheld=file.real in hidden,
        )
        for file, edited in zip(files, made, strict=True)
    )
    for one, change in zip(done, changes, strict=True):
        _record_known_text(workspace, one, change)
    return done


def _withheld_files(workspace: Workspace, files: Sequence[EditedFile]) -> frozenset[str]:
    """Of files that are there."""
    kept = withheld_files(workspace, ((file.real, file.key) for file in files))
    return frozenset(real for real in kept if exists(workspace, real))


def _without_file_lines(edited: EditedText) -> EditedText:
    """What was done without a line of the file: results go to programs of the model too."""
    diff = msgspec.structs.replace(edited.diff, patch="", display="")
    warning = "The file has syntax errors now that it had not before." if edited.warning else ""
    return msgspec.structs.replace(edited, diff=diff, notes=(), warning=warning)


def _new_content(edited: EditedText) -> NewContent | None:
    if edited.data is None and not edited.is_removed:
        return None
    return NewContent(data=edited.data, added=edited.diff.added, removed=edited.diff.removed)


def _record_known_text(workspace: Workspace, done: EditDone, change: AppliedChange | None) -> None:
    """The model knows all of what it changed."""
    file, edited, cache = done.file, done.edited, workspace.read_cache
    if change is None:
        return
    cache.note_edits(file.real, edited.sent)
    cache.forget(file.real)
    if change.stat is not None and not done.is_withheld:
        cache.record_whole(file.key if not edited.is_as_stored else file.real, change.version, edited.text)
