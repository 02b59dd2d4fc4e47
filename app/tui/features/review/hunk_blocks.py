"""Draws the hunks of a reviewed file as blocks, each with its decision and its remarks."""

from collections.abc import Mapping, Sequence

import msgspec

from app.undo.change_lists import FileDifference
from app.undo.review.review_records import Decisions, Remark
from app.undo.review.reviewed_files import ReviewedFile, ReviewedHunk
from tools.amounts import changed_lines
from tools.results import Block as CardPart
from tools.results import Card, DiffBlock, TextBlock
from tools.text import escape_controls, one_line
from widgets.transcript.blocks import Block, CustomBlock, CustomKind, NoteBlock, NoteKind

FOLD_BLOCK_ID = "fold"
"""The id of the block that stands for all hunks of a folded file."""


class ShownFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file on the review desk, with its hunks, their conflicts, and the reason if it is folded."""

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
        """Returns the hunks that a transcript block shows."""
        return (
            self.hunks
            if block_id == FOLD_BLOCK_ID
            else tuple(one for one in self.hunks if one.key == block_id)
        )


def is_decided(
    hunk: ReviewedHunk, taken: frozenset[str], kept: frozenset[str], remarks: Sequence[Remark]
) -> bool:
    return hunk.key in taken or hunk.key in kept or any(one.key == hunk.key for one in remarks)


def file_blocks(shown: ShownFile, kept: frozenset[str], remarks: Sequence[Remark]) -> list[Block]:
    file = shown.file
    if shown.fold_reason:
        return [_folded_file_block(shown, kept)]
    blocks: list[Block] = [
        _hunk_block(file, hunk, kept, [one for one in remarks if one.key == hunk.key], shown.conflicts)
        for hunk in shown.hunks
    ]
    if not blocks:
        count = "1 change" if shown.hidden_hunk_count == 1 else f"{shown.hidden_hunk_count} changes"
        blocks = [NoteBlock(id="hidden", text=f"{count} of whitespace hidden; w shows them.")]
    if shown.text_below:
        blocks.append(NoteBlock(id="words", text=escape_controls(shown.text_below), kind=NoteKind.WARNING))
    return blocks


def following_file_blocks(file: ReviewedFile, fold_reason: str, decided: Decisions, rows: int) -> list[Block]:
    """Returns the heading of a file and what fits into `rows` rows of its hunks, to be shown below another file."""
    shown = ShownFile(file=file, conflicts={}, fold_reason=fold_reason, hunks=file.hunks[:rows])
    figures = changed_lines(sum(one.added for one in file.hunks), sum(one.removed for one in file.hunks))
    heading = CustomBlock(
        id="heading", kind=CustomKind.HUNK, card=Card(title=one_line(file.path), summary=figures)
    )
    blocks: list[Block] = [heading]
    for block in file_blocks(shown, decided.kept, decided.remarks):
        if rows <= 0:
            break
        if isinstance(block, CustomBlock):
            parts = tuple(_cut_part(part, rows) for part in block.card.blocks)
            rows -= sum(part.diff.count("\n") for part in parts if isinstance(part, DiffBlock))
            block = msgspec.structs.replace(block, card=msgspec.structs.replace(block.card, blocks=parts))
        blocks.append(block)
    return [msgspec.structs.replace(block, id=f"{file.path}\n{block.id}") for block in blocks]


def _cut_part(part: CardPart, rows: int) -> CardPart:
    """Cuts a diff to its first rows, because no more of it is visible."""
    if not isinstance(part, DiffBlock):
        return part
    return msgspec.structs.replace(part, diff="\n".join(part.diff.split("\n", rows + 1)[: rows + 1]))


def _hunk_block(
    file: ReviewedFile,
    hunk: ReviewedHunk,
    kept: frozenset[str],
    remarks: Sequence[Remark],
    conflicts: Mapping[str, str],
) -> CustomBlock:
    label, tone = _decision_label(file, hunk, kept, conflicts.get(hunk.key, ""))
    why = conflicts.get(hunk.key, "")
    words = [why] if why and label != why else []
    parts: list[DiffBlock | TextBlock] = []
    if hunk.patch:
        diff = escape_controls(hunk.patch)
        parts.append(DiffBlock(path=one_line(file.path), diff=diff, added=hunk.added, removed=hunk.removed))
    parts += [TextBlock(text=f"❯ {remark.text.strip()}") for remark in remarks]
    return CustomBlock(
        id=hunk.key,
        kind=CustomKind.HUNK,
        card=Card(title=_hunk_title(hunk), summary=" · ".join(words), blocks=tuple(parts)),
        label=label or ("comment" if remarks else ""),
        tone=tone,
    )


def _decision_label(
    file: ReviewedFile, hunk: ReviewedHunk, kept: frozenset[str], conflict: str
) -> tuple[str, NoteKind | None]:
    if hunk.key in file.taken_back_hunks:
        return "reverted", NoteKind.WARNING
    if hunk.key in kept:
        return "kept", NoteKind.SUCCESS
    return (conflict, NoteKind.ERROR) if conflict else ("", None)


def _hunk_title(hunk: ReviewedHunk) -> str:
    if not hunk.first_line:
        return hunk.note or {"file": "whole file"}.get(hunk.kind, hunk.kind)
    return (
        f"line {hunk.first_line}"
        if hunk.first_line == hunk.last_line
        else f"lines {hunk.first_line}–{hunk.last_line}"
    )


def _folded_file_block(shown: ShownFile, kept: frozenset[str]) -> CustomBlock:
    keys = shown.hunk_keys
    decided = (
        ("reverted", NoteKind.WARNING)
        if keys <= shown.file.taken_back_hunks
        else ("kept", NoteKind.SUCCESS)
        if keys <= kept
        else ("", None)
    )
    added, removed = sum(one.added for one in shown.hunks), sum(one.removed for one in shown.hunks)
    count = f"{len(shown.hunks)} hunk{'' if len(shown.hunks) == 1 else 's'}"
    return CustomBlock(
        id=FOLD_BLOCK_ID,
        kind=CustomKind.HUNK,
        card=Card(
            title=f"Folded: {shown.fold_reason}",
            summary=f"{count} · {changed_lines(added, removed)}",
            blocks=(TextBlock(text="o unfolds it; space keeps and x reverts the whole file."),),
        ),
        label=decided[0],
        tone=decided[1],
    )


def no_content_note(difference: FileDifference, why: str) -> NoteBlock:
    """Returns a note for a changed file whose content cannot be shown."""
    words = " · ".join(word for word in (difference.deed, difference.why, difference.changed_by) if word)
    return NoteBlock(
        id="nothing",
        text="\n".join(
            word for word in (f"{difference.path} · {words}", why if why != difference.why else "") if word
        ),
        kind=NoteKind.INFO,
    )
