"""The texts of the review desk besides the hunks: the changed files as rows of a list, the title, and the key hints."""

from collections.abc import Sequence

import msgspec

from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.row_builder import cells
from widgets.screens.screen_parts import KeyHint
from widgets.transcript.leaves.safe_text import cut_end_to_fit

_MAX_REVIEW_PATH_CELLS = 56
_MIN_CELLS_FOR_CHANGED_LINES_BARS = 100
_CHANGED_LINES_BAR_CELLS = 12
_DECIDED_COLUMN_HEAD = "done"


class ReviewDeskFileRow(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file in the list of the review desk: its kind of change, counts of lines, and how much is decided."""

    path: str
    change: str
    """The kind of change: `new`, `removed` or `changed`."""
    added_lines: int = 0
    removed_lines: int = 0
    changed_by: str = ""
    why: str = ""
    """A remark about the file."""
    progress: str = ""
    """How many of its hunks are decided: `2/5`, or a mark when all are."""

    @property
    def added(self) -> str:
        return f"+{self.added_lines:,}" if self.added_lines else ""

    @property
    def removed(self) -> str:
        return f"−{self.removed_lines:,}" if self.removed_lines else ""


class ReviewDeskContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the review desk: its title, the changed files, and the answers if it shows what a question is
    about."""

    title: str
    files: tuple[ReviewDeskFileRow, ...]
    note: str = ""
    empty_text: str = "no changed files"
    first_file: str = ""
    """The file to begin with; empty: the one at the cursor."""
    applies_files: bool = False
    """Whether a file can be applied by itself."""
    answers: tuple[str, str, str] = ("", "", "")
    """Labels of yes, always and no, where the desk shows what a question is about; an empty one is no answer here."""


_APPLY_REVIEW_ACTION = "app.review.apply"
REVIEW_KEY_HINTS = (
    KeyHint("space", "keep", 9, "app.review.keep"),
    KeyHint("x", "revert", 9, "app.review.takeBack"),
    KeyHint("a", "apply file", 9, _APPLY_REVIEW_ACTION),
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


_REVIEW_QUESTION_KEY_HINTS = (
    KeyHint("x", "exclude", 8, "app.review.takeBack"),
    KeyHint("e", "edit", 8, "app.review.edit"),
    KeyHint("c", "comment", 8, "app.review.comment"),
    KeyHint("space", "include", 5, "app.review.keep"),
)
"""Of changes that are not made yet."""
_REVIEW_QUESTION_ACTIONS = {hint.id for hint in _REVIEW_QUESTION_KEY_HINTS}
_REVIEW_ACTIONS_WITHOUT_QUESTION = {
    "app.review.scope",
    "app.review.older/app.review.newer",
    "app.review.copy/app.review.copyAll",
}
_REVIEW_ACTIONS_WITHOUT_FILES = {"app.review.scope", "app.review.older/app.review.newer", "tui.select.cancel"}


def review_key_hints(view: ReviewDeskContent) -> list[KeyHint]:
    """Returns the key hints of the review desk; those for a file only if there is one."""
    hints = [
        hint
        for hint in REVIEW_KEY_HINTS
        if (view.files or hint.id in _REVIEW_ACTIONS_WITHOUT_FILES)
        and (hint.id != _APPLY_REVIEW_ACTION or view.applies_files)
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
        *_REVIEW_QUESTION_KEY_HINTS,
        *(
            hint
            for hint in hints
            if hint.id not in _REVIEW_ACTIONS_WITHOUT_QUESTION | _REVIEW_QUESTION_ACTIONS
        ),
    ]


def fit_review_title(view: ReviewDeskContent, note: str, width: int) -> str:
    """Returns the review desk's title, cut so that the note beside it has room."""
    return cut_end_to_fit(view.title, max(24, width - cells(note) - 10))


class _Columns(msgspec.Struct, frozen=True, kw_only=True):
    """The widths in cells of the columns after the path in the list of files; 0 for a column that is empty in every
    row."""

    progress: int
    change: int
    added: int
    removed: int
    bar: int
    most_lines: int
    """The changed lines of the file with the longest bar."""


def _columns_of(view: ReviewDeskContent, width: int) -> _Columns:
    def widest(head: str, texts: Sequence[str]) -> int:
        most = max(map(cells, texts), default=0)
        return max(most, cells(head)) if most else 0

    files = view.files
    figures = [file.added_lines + file.removed_lines for file in files]
    has_bars = width >= _MIN_CELLS_FOR_CHANGED_LINES_BARS and len([lines for lines in figures if lines]) > 1
    return _Columns(
        progress=widest(_DECIDED_COLUMN_HEAD, [file.progress for file in files]),
        change=widest("change", [file.change for file in files]),
        added=widest("+", [file.added for file in files]),
        removed=widest("−", [file.removed for file in files]),
        bar=_CHANGED_LINES_BAR_CELLS if has_bars else 0,
        most_lines=max(figures, default=0),
    )


def review_list_heads(view: ReviewDeskContent, width: int) -> ListRow | None:
    """Returns the column heads for the review desk's list of files; None for a single file, which needs none."""
    if len(view.files) < 2:
        return None
    columns = _columns_of(view, width)
    badges = [
        f"{head:<{room}}" if head != "+" and head != "−" else f"{head:>{room}}"
        for head, room in (
            (_DECIDED_COLUMN_HEAD, columns.progress),
            ("change", columns.change),
            ("+", columns.added),
            ("−", columns.removed),
            ("", columns.bar),
        )
        if room
    ]
    return make_column_heads("File", badges=badges, detail="note" if any(map(_detail, view.files)) else "")


def review_list_rows(view: ReviewDeskContent, width: int) -> list[ListRow]:
    """Returns the rows of the review desk's list of files with aligned columns: how much is decided, the kind of
    change, lines added and removed, and on wide pages both as a bar."""
    columns = _columns_of(view, width)
    return [_list_row(file, columns) for file in view.files]


def _list_row(file: ReviewDeskFileRow, columns: _Columns) -> ListRow:
    tones: dict[str, RowTone] = {"new": "success", "removed": "error"}
    badges = [RowBadge(text=f"{file.progress:<{columns.progress}}")] if columns.progress else []
    badges += [RowBadge(text=f"{file.change:<{columns.change}}", tone=tones.get(file.change, "muted"))]
    badges += [RowBadge(text=f"{file.added:>{columns.added}}", tone="success")] if columns.added else []
    badges += [RowBadge(text=f"{file.removed:>{columns.removed}}", tone="error")] if columns.removed else []
    badges += _bar(file, columns) if columns.bar else []
    return ListRow(id=file.path, title=file.path, detail=_detail(file), badges=tuple(badges))


def _detail(file: ReviewDeskFileRow) -> str:
    return " · ".join(word for word in (file.changed_by, file.why) if word)


def _bar(file: ReviewDeskFileRow, columns: _Columns) -> list[RowBadge]:
    """Returns the badges that draw a file's bar: as long as its changed lines are in proportion to the file with the
    most."""
    scale = columns.bar / columns.most_lines
    added, removed = (
        max(1, round(lines * scale)) if lines else 0 for lines in (file.added_lines, file.removed_lines)
    )
    removed = min(removed, columns.bar - min(added, columns.bar - 1)) if removed else 0
    added = min(added, columns.bar - removed)
    return [
        RowBadge(text="━" * added, tone="success"),
        RowBadge(text="━" * removed, tone="error", gap=0),
        RowBadge(text=" " * (columns.bar - added - removed), gap=0),
    ]


def title_cells(view: ReviewDeskContent) -> int:
    return min(_MAX_REVIEW_PATH_CELLS, max((cells(file.path) for file in view.files), default=0))
