"""Draws the hunks of a reviewed file as blocks, each with its decision and its remarks."""

from collections.abc import Mapping, Sequence

import msgspec

from app.undo.change_lists import ChangedFileRow
from app.undo.review.review_records import ReviewDecisions, ReviewRemark
from app.undo.review.reviewed_files import ReviewedFile, ReviewedHunk
from tools.edits.diffs import DIFF_CONTEXT_LINES
from tools.number_formatting import format_changed_lines
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Block as CardPart
from tools.tool_result_values import Card, DiffBlock, TextBlock
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    AppNoteKind,
    Block,
    CustomBlock,
    CustomBlockKind,
)

FOLDED_FILE_BLOCK_ID = "fold"
"""The id of the block that stands for all hunks of a folded file."""


class ShownReviewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the review desk shows it: its hunks, conflicts, and the reason if it is folded."""

    file: ReviewedFile
    conflicts: Mapping[str, str]
    """Why hunks cannot be taken or put back."""
    fold_reason: str = ""
    hidden_hunk_count: int = 0
    """Hunks left out in which only blanks differ."""
    text_below: str = ""
    """A text below the hunks."""
    hunks: tuple[ReviewedHunk, ...]

    @property
    def hunk_keys(self) -> frozenset[str]:
        return frozenset(hunk.key for hunk in self.hunks)

    def hunks_of_block(self, block_id: str) -> tuple[ReviewedHunk, ...]:
        """Returns the hunks that a block of the review desk shows: one, or all of a folded file."""
        return (
            self.hunks
            if block_id == FOLDED_FILE_BLOCK_ID
            else tuple(one for one in self.hunks if one.key == block_id)
        )


def is_hunk_decided(
    hunk: ReviewedHunk, taken: frozenset[str], kept: frozenset[str], remarks: Sequence[ReviewRemark]
) -> bool:
    return hunk.key in taken or hunk.key in kept or any(one.key == hunk.key for one in remarks)


def selected_file_blocks(
    shown: ShownReviewFile, decided: ReviewDecisions, *, context: int = DIFF_CONTEXT_LINES
) -> list[Block]:
    """Returns the blocks of a file on the review desk, with up to `context` unchanged lines around each hunk. The first
    hunk is titled with the path."""
    if shown.fold_reason:
        return [_with_path(_folded_file_block(shown, decided.kept), shown)]
    patches = shown.file.patches_with_context(context) if context > DIFF_CONTEXT_LINES else {}
    blocks: list[Block] = [
        _hunk_block(shown, hunk, decided, patches.get(hunk.key, hunk.patch)) for hunk in shown.hunks
    ]
    if blocks and isinstance(blocks[0], CustomBlock):
        blocks[0] = _with_path(blocks[0], shown)
    if not blocks:
        count = "1 change" if shown.hidden_hunk_count == 1 else f"{shown.hidden_hunk_count} changes"
        blocks = [AppNoteBlock(id="hidden", text=f"{count} of whitespace hidden; w shows them.")]
    if shown.text_below:
        blocks.append(
            AppNoteBlock(id="words", text=escape_controls(shown.text_below), kind=AppNoteKind.WARNING)
        )
    return blocks


def following_file_blocks(
    shown: ShownReviewFile, decided: ReviewDecisions, lines: int, *, context: int = DIFF_CONTEXT_LINES
) -> list[Block]:
    """Returns the first blocks of a file below the selected one, with at most `lines` lines of its hunks."""
    path = shown.file.path
    blocks: list[Block] = []
    for block in selected_file_blocks(shown, decided, context=context):
        if lines <= 0:
            break
        if isinstance(block, CustomBlock):
            parts = tuple(_cut_part(part, lines) for part in block.card.blocks)
            lines -= sum(part.diff.count("\n") for part in parts if isinstance(part, DiffBlock))
            block = msgspec.structs.replace(block, card=msgspec.structs.replace(block.card, blocks=parts))
        blocks.append(msgspec.structs.replace(block, id=f"{path}\n{block.id}"))
    return blocks


def _with_path(block: CustomBlock, shown: ShownReviewFile) -> CustomBlock:
    title = f"{one_line(shown.file.path)} · {block.card.title}"
    return msgspec.structs.replace(block, card=msgspec.structs.replace(block.card, title=title))


def _cut_part(part: CardPart, lines: int) -> CardPart:
    """Returns a part of a card with its diff cut to the first `lines` lines, because no more is visible; other parts
    are unchanged."""
    if not isinstance(part, DiffBlock):
        return part
    return msgspec.structs.replace(part, diff="\n".join(part.diff.split("\n", lines + 1)[: lines + 1]))


def _hunk_block(
    shown: ShownReviewFile, hunk: ReviewedHunk, decided: ReviewDecisions, patch: str
) -> CustomBlock:
    conflict = shown.conflicts.get(hunk.key, "")
    label, tone = _decision_label(shown.file, hunk, decided.kept, conflict)
    remarks = [one for one in decided.remarks if one.key == hunk.key]
    is_one_of_many = len(shown.file.hunks) > 1
    words = [
        conflict if label != conflict else "",
        format_changed_lines(hunk.added, hunk.removed) if is_one_of_many else "",
    ]
    parts: list[DiffBlock | TextBlock] = []
    if patch:
        diff, path = escape_controls(patch), one_line(shown.file.path)
        parts.append(DiffBlock(path=path, diff=diff, added=hunk.added, removed=hunk.removed))
    parts += [TextBlock(text=f"❯ {remark.text.strip()}") for remark in remarks]
    return CustomBlock(
        id=hunk.key,
        kind=CustomBlockKind.HUNK,
        card=Card(
            title=_hunk_title(hunk), summary=" · ".join(word for word in words if word), blocks=tuple(parts)
        ),
        label=label or ("comment" if remarks else ""),
        tone=tone,
    )


def _decision_label(
    file: ReviewedFile, hunk: ReviewedHunk, kept: frozenset[str], conflict: str
) -> tuple[str, AppNoteKind | None]:
    if hunk.key in file.taken_back_hunks:
        return "reverted", AppNoteKind.WARNING
    if hunk.key in kept:
        return "kept", AppNoteKind.SUCCESS
    return (conflict, AppNoteKind.ERROR) if conflict else ("", None)


def _hunk_title(hunk: ReviewedHunk) -> str:
    if not hunk.first_line:
        return hunk.note or {"file": "whole file"}.get(hunk.kind, hunk.kind)
    return (
        f"line {hunk.first_line}"
        if hunk.first_line == hunk.last_line
        else f"lines {hunk.first_line}–{hunk.last_line}"
    )


def _folded_file_block(shown: ShownReviewFile, kept: frozenset[str]) -> CustomBlock:
    keys = shown.hunk_keys
    decided = (
        ("reverted", AppNoteKind.WARNING)
        if keys <= shown.file.taken_back_hunks
        else ("kept", AppNoteKind.SUCCESS)
        if keys <= kept
        else ("", None)
    )
    added, removed = sum(one.added for one in shown.hunks), sum(one.removed for one in shown.hunks)
    count = f"{len(shown.hunks)} hunk{'' if len(shown.hunks) == 1 else 's'}"
    return CustomBlock(
        id=FOLDED_FILE_BLOCK_ID,
        kind=CustomBlockKind.HUNK,
        card=Card(
            title=f"Folded: {shown.fold_reason}",
            summary=f"{count} · {format_changed_lines(added, removed)}",
            blocks=(TextBlock(text="o unfolds it; space keeps and x reverts the whole file."),),
        ),
        label=decided[0],
        tone=decided[1],
    )


def unshowable_file_note(difference: ChangedFileRow, why: str) -> AppNoteBlock:
    """Returns a note for a changed file whose content the review desk cannot show."""
    words = " · ".join(word for word in (difference.deed, difference.why, difference.changed_by) if word)
    return AppNoteBlock(
        id="nothing",
        text="\n".join(
            word for word in (f"{difference.path} · {words}", why if why != difference.why else "") if word
        ),
        kind=AppNoteKind.INFO,
    )
