"""Applies edits to one or several files: computes and writes them under the locks of all files, all or none.

The dialects define what an edit means; this module does what all of them share."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from tools.edits.edited_text import EditedText
from tools.edits.shown_lines import LinesShownToModel
from tools.edits.syntax_checks import FileSyntaxCheck
from tools.files.file_changes import AppliedFileChange, FileStateBeforeChange, NewFileContent
from tools.files.file_errors import make_file_error
from tools.files.path_arguments import find_withheld_files, resolve_path_argument, workspace_path_exists
from tools.files.paths import display_path
from tools.files.shown_file_versions import ShownFileVersionText
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolContext, ToolError


class FileToEdit(msgspec.Struct, frozen=True, kw_only=True):
    """A file that an edit call changes, with its path in several forms."""

    path: str
    """The absolute path of the file to edit."""
    real_path: str
    display_path: str
    """The path of the file as shown to people and models."""
    is_notebook: bool

    @property
    def cache_key(self) -> str:
        """The key under which the read cache has the lines of this file."""
        return notebook_cache_key(self.real_path) if self.is_notebook else self.real_path


class FileLockedForEdit:
    """A file that is locked for an edit: its content, and the lines of it that the model was shown."""

    def __init__(
        self, workspace: SessionWorkspace, file: FileToEdit, state: FileStateBeforeChange | None
    ) -> None:
        self._workspace = workspace
        self.file = file
        self._file_state = state

    @property
    def exists(self) -> bool:
        return self._file_state is not None

    @property
    def data(self) -> bytes:
        """Returns the content of the locked file. Raises `FileNotFoundError`."""
        if self._file_state is None:
            raise FileNotFoundError(2, "No such file", self.file.path)
        return self._file_state.data

    @property
    def shown_lines(self) -> LinesShownToModel:
        cache = self._workspace.read_cache
        return LinesShownToModel(
            lines=dict(cache.lines(self.file.cache_key)),
            applied_edits=cache.recent_edits(self.file.real_path),
        )

    @property
    def shown_versions(self) -> tuple[ShownFileVersionText, ...]:
        """Returns the versions of the locked file that the model was shown, newest first."""
        return self._workspace.read_cache.snapshots.shown_versions_of(self.file.cache_key)

    def record_shown_lines(self, text: str, numbers: Sequence[int]) -> None:
        """Records lines that the model is shown with their anchors."""
        self._workspace.read_cache.snapshots.record(self.file.cache_key, text, numbers)

    def syntax_check_of(self, text: str) -> FileSyntaxCheck:
        """Returns the syntax check for this text of the file."""
        return self._workspace.syntax.check_file("" if self.file.is_notebook else self.file.path, text)


ComputeEdits = Callable[[Sequence[FileLockedForEdit]], Sequence[EditedText]]
"""A function that computes the new content of each locked file."""


class FinishedFileEdit(msgspec.Struct, frozen=True, kw_only=True):
    file: FileToEdit
    edited: EditedText
    is_content_withheld: bool = False
    """Whether the model may not read the file, so that the result reports none of its lines."""


async def resolve_edit_target(raw: str, context: ToolContext) -> FileToEdit:
    workspace = workspace_of_context(context)

    def found() -> FileToEdit:
        path = resolve_path_argument(workspace, raw, context)
        return FileToEdit(
            path=path,
            real_path=workspace.files.real_path(path),
            display_path=display_path(path, context.cwd),
            is_notebook=path.lower().endswith(".ipynb"),
        )

    return await asyncio.to_thread(found)


def notebook_cache_key(real: str) -> str:
    """Returns the cache key for a notebook, whose shown lines differ from those of the file."""
    return f"{real}\0cells"


async def edit_files(
    context: ToolContext, files: Sequence[FileToEdit], make: ComputeEdits
) -> tuple[FinishedFileEdit, ...]:
    """Applies the edits of one call to all its files or to none. Raises `ToolError` with every file unchanged."""
    workspace = workspace_of_context(context)
    made: list[EditedText] = []

    def compute(states: Sequence[FileStateBeforeChange | None]) -> list[NewFileContent | None]:
        made[:] = make(
            [FileLockedForEdit(workspace, file, state) for file, state in zip(files, states, strict=True)]
        )
        return [_make_edited_content(edited) for edited in made]

    hidden = await asyncio.to_thread(_find_withheld_files, workspace, files)
    try:
        changes = await workspace.mutations.change_files_together(
            [file.path for file in files], context.call_id, compute
        )
    except OSError as problem:
        named = problem.filename if isinstance(problem.filename, str) else files[0].path
        raise make_file_error(problem, "edit", named, workspace.files) from None
    except ToolError:
        if not hidden:
            raise
        # Its message contains lines of the file.
        named = ", ".join(one_line(file.display_path) for file in files if file.real_path in hidden)
        raise ToolError(
            f"The edit was not made, and the reason is hidden: the lines of {named} may be secret, or a "
            f"permission rule hides them. Read it first, if the user allows it, or ask the user to change "
            f"it. Nothing was changed."
        ) from None
    done = tuple(
        FinishedFileEdit(
            file=file,
            edited=_remove_withheld_lines(edited) if file.real_path in hidden else edited,
            is_content_withheld=file.real_path in hidden,
        )
        for file, edited in zip(files, made, strict=True)
    )
    for one, change in zip(done, changes, strict=True):
        _record_known_text(workspace, one, change)
    return done


def _find_withheld_files(workspace: SessionWorkspace, files: Sequence[FileToEdit]) -> frozenset[str]:
    """Returns the edited files that exist and that the model may not read."""
    kept = find_withheld_files(workspace, ((file.real_path, file.cache_key) for file in files))
    return frozenset(real for real in kept if workspace_path_exists(workspace, real))


def _remove_withheld_lines(edited: EditedText) -> EditedText:
    """Returns the result of an edit without the content of a file that the model may not read; code that the model
    runs would get the result too."""
    diff = msgspec.structs.replace(edited.diff, patch="", display="")
    warning = "The file has syntax errors now that it had not before." if edited.syntax_warning else ""
    return msgspec.structs.replace(edited, diff=diff, notes=(), syntax_warning=warning)


def _make_edited_content(edited: EditedText) -> NewFileContent | None:
    if edited.data is None and not edited.is_removed:
        return None
    return NewFileContent(data=edited.data, added=edited.diff.added, removed=edited.diff.removed)


def _record_known_text(
    workspace: SessionWorkspace, done: FinishedFileEdit, change: AppliedFileChange | None
) -> None:
    """Records that the model knows the whole text of the changed file, so that later edits can refer to it."""
    file, edited, cache = done.file, done.edited, workspace.read_cache
    if change is None:
        return
    cache.record_applied_edits(file.real_path, edited.applied_texts)
    cache.forget(file.real_path)
    if change.stat is not None and not done.is_content_withheld:
        cache.record_whole_text(
            file.cache_key if not edited.is_as_stored else file.real_path, change.version, edited.text
        )
