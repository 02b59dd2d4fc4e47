"""Applies edits to one or several files: computes and writes them under the locks of all files, all or none.

The dialects define what an edit means; this module does what all of them share."""

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
    """A file to be edited."""

    path: str
    """Absolute path."""
    real: str
    shown: str
    """The path as shown to people and models."""
    is_notebook: bool

    @property
    def key(self) -> str:
        """The key of the file's lines in the read cache."""
        return notebook_key(self.real) if self.is_notebook else self.real


class LockedFile:
    """The state of a file under its lock."""

    def __init__(self, workspace: Workspace, file: EditedFile, state: FileState | None) -> None:
        self._workspace = workspace
        self.file = file
        self._state = state

    @property
    def is_there(self) -> bool:
        return self._state is not None

    @property
    def data(self) -> bytes:
        """Returns the content. Raises `FileNotFoundError`."""
        if self._state is None:
            raise FileNotFoundError(2, "No such file", self.file.path)
        return self._state.data

    @property
    def shown(self) -> ShownLines:
        cache = self._workspace.read_cache
        return ShownLines(lines=dict(cache.lines(self.file.key)), sent=cache.sent(self.file.real))

    @property
    def versions(self) -> tuple[FileSnapshot, ...]:
        """Returns the shown versions of the file, newest first."""
        return self._workspace.read_cache.snapshots.of(self.file.key)

    def note_shown(self, text: str, numbers: Sequence[int]) -> None:
        """Records lines that the model is shown with their anchors."""
        self._workspace.read_cache.snapshots.record(self.file.key, text, numbers)

    def syntax(self, text: str) -> FileSyntax:
        """Returns the syntax check for this text of the file."""
        return self._workspace.syntax.of("" if self.file.is_notebook else self.file.path, text)


ComputeEdits = Callable[[Sequence[LockedFile]], Sequence[EditedText]]
"""Computes the new content of each file."""


class EditDone(msgspec.Struct, frozen=True, kw_only=True):
    file: EditedFile
    edited: EditedText
    is_withheld: bool = False
    """Whether the model may not read the file: then no line of it is reported."""


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
    """Returns the cache key for a notebook, whose shown lines differ from those of the file."""
    return f"{real}\0cells"


async def edit_files(
    context: ToolContext, files: Sequence[EditedFile], make: ComputeEdits
) -> tuple[EditDone, ...]:
    """Edits the files. Raises `ToolError` with every file unchanged."""
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
        # Its message contains lines of the file.
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
    """Returns the existing files that the model may not read."""
    kept = withheld_files(workspace, ((file.real, file.key) for file in files))
    return frozenset(real for real in kept if exists(workspace, real))


def _without_file_lines(edited: EditedText) -> EditedText:
    """Removes lines of the file from the result, which programs of the model get too."""
    diff = msgspec.structs.replace(edited.diff, patch="", display="")
    warning = "The file has syntax errors now that it had not before." if edited.warning else ""
    return msgspec.structs.replace(edited, diff=diff, notes=(), warning=warning)


def _new_content(edited: EditedText) -> NewContent | None:
    if edited.data is None and not edited.is_removed:
        return None
    return NewContent(data=edited.data, added=edited.diff.added, removed=edited.diff.removed)


def _record_known_text(workspace: Workspace, done: EditDone, change: AppliedChange | None) -> None:
    """Records that the model knows the whole text of a file it changed."""
    file, edited, cache = done.file, done.edited, workspace.read_cache
    if change is None:
        return
    cache.note_edits(file.real, edited.sent)
    cache.forget(file.real)
    if change.stat is not None and not done.is_withheld:
        cache.record_whole(file.key if not edited.is_as_stored else file.real, change.version, edited.text)
