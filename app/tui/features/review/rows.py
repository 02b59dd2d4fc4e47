"""Draws the hunks of a reviewed file as blocks, each with its decision and its remarks."""

from collections.abc import Mapping, Sequence

import msgspec

from app.undo.change_lists import FileDifference
from app.undo.review.review_records import Remark
from app.undo.review.reviewed_files import ReviewedFile, ReviewedHunk
from tools.amounts import changed_lines
from tools.results import Card, DiffBlock, TextBlock
from tools.text import escape_controls, one_line
from widgets.transcript.blocks import Block, CustomBlock, CustomKind, NoteBlock, NoteKind

FOLD_ID = "fold"
"""The id of the block that stands for all hunks of a folded file."""


class ShownFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the desk with everything that is known of its hunks."""

    file: ReviewedFile
    conflicts: Mapping[str, str]
    """Why hunks cannot be taken or put back."""
    folded: str = ""
    hidden: int = 0
    """Hunks left out in which only blanks differ."""
    words: str = ""
    """A text below the hunks."""
    hunks: tuple[ReviewedHunk, ...]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(hunk.key for hunk in self.hunks)

    def chosen(self, block_id: str) -> tuple[ReviewedHunk, ...]:
        """Returns the hunks that a block stands for."""
        return self.hunks if block_id == FOLD_ID else tuple(one for one in self.hunks if one.key == block_id)


def is_decided(
    hunk: ReviewedHunk, taken: frozenset[str], kept: frozenset[str], remarks: Sequence[Remark]
) -> bool:
    return hunk.key in taken or hunk.key in kept or any(one.key == hunk.key for one in remarks)


def blocks_of(shown: ShownFile, kept: frozenset[str], remarks: Sequence[Remark]) -> list[Block]:
    file = shown.file
    if shown.folded:
        return [_fold(shown, kept)]
    blocks: list[Block] = [
        _hunk(file, hunk, kept, [one for one in remarks if one.key == hunk.key], shown.conflicts)
        for hunk in shown.hunks
    ]
    if not blocks:
        count = "1 change" if shown.hidden == 1 else f"{shown.hidden} changes"
        blocks = [NoteBlock(id="hidden", text=f"{count} of blanks hidden; w shows them.")]
    if shown.words:
        blocks.append(NoteBlock(id="words", text=escape_controls(shown.words), kind=NoteKind.WARNING))
    return blocks


def _hunk(
    file: ReviewedFile,
    hunk: ReviewedHunk,
    kept: frozenset[str],
    remarks: Sequence[Remark],
    conflicts: Mapping[str, str],
) -> CustomBlock:
    label, tone = _decision(file, hunk, kept, conflicts.get(hunk.key, ""))
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
        card=Card(title=_title(hunk), summary=" · ".join(words), blocks=tuple(parts)),
        label=label or ("comment" if remarks else ""),
        tone=tone,
    )


def _decision(
    file: ReviewedFile, hunk: ReviewedHunk, kept: frozenset[str], conflict: str
) -> tuple[str, NoteKind | None]:
    if hunk.key in file.taken:
        return "taken back", NoteKind.WARNING
    if hunk.key in kept:
        return "kept", NoteKind.SUCCESS
    return (conflict, NoteKind.ERROR) if conflict else ("", None)


def _title(hunk: ReviewedHunk) -> str:
    if not hunk.first:
        return hunk.note or {"file": "whole file"}.get(hunk.kind, hunk.kind)
    return f"line {hunk.first}" if hunk.first == hunk.last else f"lines {hunk.first}–{hunk.last}"


def _fold(shown: ShownFile, kept: frozenset[str]) -> CustomBlock:
    keys = shown.keys
    decided = (
        ("taken back", NoteKind.WARNING)
        if keys <= shown.file.taken
        else ("kept", NoteKind.SUCCESS)
        if keys <= kept
        else ("", None)
    )
    added, removed = sum(one.added for one in shown.hunks), sum(one.removed for one in shown.hunks)
    count = f"{len(shown.hunks)} hunk{'' if len(shown.hunks) == 1 else 's'}"
    return CustomBlock(
        id=FOLD_ID,
        kind=CustomKind.HUNK,
        card=Card(
            title=f"Folded: {shown.folded}",
            summary=f"{count} · {changed_lines(added, removed)}",
            blocks=(TextBlock(text="o opens it; space keeps and x takes back all of it."),),
        ),
        label=decided[0],
        tone=decided[1],
    )


def nothing_to_show(difference: FileDifference, why: str) -> NoteBlock:
    """Returns a text for a file of which no content is known."""
    words = " · ".join(word for word in (difference.deed, difference.why, difference.by) if word)
    return NoteBlock(
        id="nothing",
        text="\n".join(
            word for word in (f"{difference.path} · {words}", why if why != difference.why else "") if word
        ),
        kind=NoteKind.INFO,
    )
