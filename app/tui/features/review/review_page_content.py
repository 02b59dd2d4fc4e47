"""Decides how much of several files fills one page of the review desk: below the selected file the next ones, and more
unchanged lines around the hunks where rows are left."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from app.tui.features.review.hunk_blocks import ShownReviewFile, following_file_blocks, selected_file_blocks
from app.undo.review.review_records import ReviewDecisions
from tools.edits.diffs import DIFF_CONTEXT_LINES
from widgets.transcript.transcript_blocks import Block

CountRows = Callable[[Sequence[Block]], int]


class ReviewPageContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a page of the review desk: the blocks of the selected file, and those of the files below it, each
    with its path."""

    blocks: Sequence[Block]
    following: Sequence[tuple[str, Block]] = ()

    @property
    def all_blocks(self) -> list[Block]:
        return [*self.blocks, *(block for _, block in self.following)]


def fill_review_page(
    files: Sequence[ShownReviewFile], decided: ReviewDecisions, *, page_rows: int, count_rows: CountRows
) -> ReviewPageContent:
    """Returns a page of the review desk with the first file whole and as much of the others as fits. `count_rows`:
    returns the rows that blocks take."""

    def page(context: int, lines: int, selected_context: int = 0) -> ReviewPageContent:
        """`lines`: the most lines of the last file below the selected one."""
        selected, *others = files
        allowed = [*[page_rows] * (len(others) - 1), lines]
        return ReviewPageContent(
            blocks=selected_file_blocks(selected, decided, context=max(context, selected_context)),
            following=[
                (one.file.path, block)
                for one, count in zip(others, allowed[len(allowed) - len(others) :], strict=True)
                for block in following_file_blocks(one, decided, count, context=context)
            ],
        )

    def rows(context: int, lines: int, selected_context: int = 0) -> int:
        return count_rows(page(context, lines, selected_context).all_blocks)

    if rows(DIFF_CONTEXT_LINES, page_rows) <= page_rows:
        contexts = range(DIFF_CONTEXT_LINES, max(page_rows, DIFF_CONTEXT_LINES + 1))
        widest = _last_that_fits(contexts, page_rows, lambda context: rows(context, page_rows))
        selected = _last_that_fits(contexts, page_rows, lambda context: rows(widest, page_rows, context))
        return page(widest, page_rows, selected)
    if len(files) == 1:
        return page(DIFF_CONTEXT_LINES, 0)
    lines = bisect_right(range(1, page_rows), page_rows, key=lambda count: rows(DIFF_CONTEXT_LINES, count))
    if not lines:
        return fill_review_page(files[:-1], decided, page_rows=page_rows, count_rows=count_rows)
    return page(DIFF_CONTEXT_LINES, lines)


def _last_that_fits(contexts: Sequence[int], page_rows: int, rows: Callable[[int], int]) -> int:
    """Returns the largest number of unchanged lines around hunks with which the page still fits; the first of
    `contexts` if none does."""
    return contexts[max(0, bisect_right(contexts, page_rows, key=rows) - 1)]
