"""What the review desk shows besides the hunks: the changed files as rows of a list, the title, and the key hints."""

import msgspec

from widgets.line import cells
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.screen_parts import KeyHint
from widgets.transcript.leaves.safe_text import cut_end_to_fit

_MAX_PATH_CELLS = 56


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file as a row of the list."""

    path: str
    change: str
    """The kind of change: `new`, `removed` or `changed`."""
    added: str = ""
    """The number of added lines, such as `+12`."""
    removed: str = ""
    changed_by: str = ""
    why: str = ""
    """A remark about the file."""
    progress: str = ""
    """How many of its hunks are decided: `2/5`, or a mark when all are."""


class ReviewView(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the review desk: the changed files, and what they are compared with."""

    title: str
    files: tuple[FileRow, ...]
    note: str = ""
    empty_text: str = "no changed files"
    first_file: str = ""
    """The file to begin with; empty: the one at the cursor."""
    applies_files: bool = False
    """Whether a file can be applied by itself."""
    answers: tuple[str, str, str] = ("", "", "")
    """Labels of yes, always and no, where the desk shows what a question is about; an empty one is no answer here."""


_APPLY_ACTION = "app.review.apply"
HINTS = (
    KeyHint("space", "keep", 9, "app.review.keep"),
    KeyHint("x", "revert", 9, "app.review.takeBack"),
    KeyHint("a", "apply file", 9, _APPLY_ACTION),
    KeyHint("c", "comment", 8, "app.review.comment"),
    KeyHint("u", "undo", 7, "app.review.undo"),
    KeyHint("j/k", "hunk", 8, "app.review.next/app.review.previous"),
    KeyHint("J/K", "file", 7, "app.review.nextFile/app.review.previousFile"),
    KeyHint("e", "edit", 6, "app.review.edit"),
    KeyHint("E", "open editor", 2, "app.review.ownEditor"),
    KeyHint("tab", "compare with", 4, "app.review.scope"),
    KeyHint("less_than_sign/greater_than_sign", "prompt", 3, "app.review.older/app.review.newer"),
    KeyHint("w", "whitespace", 2, "app.review.spacing"),
    KeyHint("y/Y", "copy patch", 3, "app.review.copy/app.review.copyAll"),
    KeyHint("slash", "search", 2, "tui.altScreen.search"),
    KeyHint("escape", "close", 9, "tui.select.cancel"),
)


_QUESTION_HINTS = (
    KeyHint("x", "exclude", 8, "app.review.takeBack"),
    KeyHint("e", "edit", 8, "app.review.edit"),
    KeyHint("c", "comment", 8, "app.review.comment"),
    KeyHint("space", "include", 5, "app.review.keep"),
)
"""Of changes that are not made yet."""
_QUESTION_ACTIONS = {hint.id for hint in _QUESTION_HINTS}
_ACTIONS_WITHOUT_QUESTION = {
    "app.review.scope",
    "app.review.older/app.review.newer",
    "app.review.copy/app.review.copyAll",
}
_ACTIONS_WITHOUT_FILES = {"app.review.scope", "app.review.older/app.review.newer", "tui.select.cancel"}


def key_hints(view: ReviewView) -> list[KeyHint]:
    """Returns the key hints; those for a file only if there is one."""
    hints = [
        hint
        for hint in HINTS
        if (view.files or hint.id in _ACTIONS_WITHOUT_FILES)
        and (hint.id != _APPLY_ACTION or view.applies_files)
    ]
    if not any(view.answers):
        return hints
    asked = [
        KeyHint(key, label, 10, f"app.review.{id}")
        for key, label, id in zip("yan", view.answers, ("allow", "always", "deny"), strict=True)
        if label
    ]
    return [
        *asked,
        *_QUESTION_HINTS,
        *(hint for hint in hints if hint.id not in _ACTIONS_WITHOUT_QUESTION | _QUESTION_ACTIONS),
    ]


def fitted_title(view: ReviewView, note: str, width: int) -> str:
    """Returns the title, shortened so that the note has room."""
    return cut_end_to_fit(view.title, max(24, width - cells(note) - 10))


def list_rows(view: ReviewView) -> list[ListRow]:
    """Returns the list's rows with aligned columns: what happened to the file, lines added, lines
    removed, and how much is decided."""
    columns = [
        max((cells(text) for text in texts), default=0)
        for texts in (
            [file.progress for file in view.files],
            [file.change for file in view.files],
            [file.added for file in view.files],
            [file.removed for file in view.files],
        )
    ]
    return [_list_row(file, *columns) for file in view.files]


def _list_row(file: FileRow, progress: int, deed: int, added: int, removed: int) -> ListRow:
    tones: dict[str, Tone] = {"new": "success", "removed": "error"}
    badges = [Badge(text=f"{file.progress:<{progress}}", tone="muted")] if progress else []
    badges += [Badge(text=f"{file.change:<{deed}}", tone=tones.get(file.change, "muted"))]
    badges += [Badge(text=f"{file.added:>{added}}", tone="success")] if added else []
    badges += [Badge(text=f"{file.removed:>{removed}}", tone="error")] if removed else []
    return ListRow(
        id=file.path,
        title=file.path,
        detail=" · ".join(word for word in (file.why, file.changed_by) if word),
        badges=tuple(badges),
    )


def title_cells(view: ReviewView) -> int:
    return min(_MAX_PATH_CELLS, max((cells(file.path) for file in view.files), default=0))
