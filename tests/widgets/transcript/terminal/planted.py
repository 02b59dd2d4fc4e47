"""Bugs planted into the terminal output and the painting, to show that the fuzz would find such ones."""

from collections.abc import Callable, Iterable

from rich.color import ColorSystem
from textual._compositor import ChopsUpdate
from textual.geometry import Region
from textual.strip import Strip

from widgets.terminal import terminal_output
from widgets.terminal.terminal_output import (
    MovedScreenRows,
    TerminalOutputDiff,
    WrittenCellRun,
    WrittenScreenRow,
)
from widgets.textual_internals import _CroppedCompositor
from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.painting.transcript_painter import Painter


def scrolls_one_row_too_far() -> None:
    find = terminal_output.find_moved_screen_rows

    def wrong(
        rows: dict[int, WrittenScreenRow], wanted: dict[int, list[WrittenCellRun]]
    ) -> MovedScreenRows | None:
        move = find(rows, wanted)
        return move and move._replace(top=move.top + 1)

    def scroll(
        self: TerminalOutputDiff,
        move: MovedScreenRows,
        wanted: dict[int, list[WrittenCellRun]],
        out: list[str],
    ) -> None:
        right(self, move._replace(top=move.top - 1), wanted, out)
        out[-1] = out[-1].replace(f"\x1b[{move.top};", f"\x1b[{move.top + 1};")

    right = TerminalOutputDiff._scroll_moved_rows
    terminal_output.find_moved_screen_rows = wrong
    TerminalOutputDiff._scroll_moved_rows = scroll  # type: ignore[method-assign]


def sends_one_cell_too_few() -> None:
    part = terminal_output.find_changed_cells

    def wrong(known: WrittenCellRun, run: WrittenCellRun) -> object:
        found = part(known, run)
        if found is None or found[1].cell_length < 2:
            return found
        x, strip = found
        return x, strip.crop(0, strip.cell_length - 1)

    terminal_output.find_changed_cells = wrong  # type: ignore[assignment]


def remembers_rows_as_they_were() -> None:
    right = TerminalOutputDiff._encode_changes

    def wrong(self: TerminalOutputDiff, update: ChopsUpdate, system: ColorSystem) -> list[str]:
        before = {y: dict(row) for y, row in self._written_rows.items()}
        out = right(self, update, system)
        if len(out) > 3:
            self._written_rows = {**self._written_rows, **{y: row for y, row in before.items() if y % 5 == 0}}
        return out

    TerminalOutputDiff._encode_changes = wrong  # type: ignore[method-assign]


def repaints_too_little() -> None:
    """All but the first of the rows that changed."""
    right = Painter.repaint_changed

    def wrong(self: Painter, first: int) -> None:
        widget = self._widget
        refresh = widget.refresh
        widget.refresh = lambda *regions: refresh(*regions[1:]) if regions[1:] else widget  # type: ignore[method-assign]
        right(self, first)
        del widget.refresh

    Painter.repaint_changed = wrong  # type: ignore[method-assign]


def keeps_old_rows() -> None:
    """The rows of code that goes on."""
    right = CodeLeaf.extend

    def wrong(self: CodeLeaf, text: str) -> None:
        strips = dict(self.strips)
        right(self, text)
        self.strips = {row: strip for row, strip in strips.items() if row < len(self._rows)}

    CodeLeaf.extend = wrong  # type: ignore[method-assign]


def asks_too_few_widgets() -> None:
    """Of those where something changed only the one in front."""
    right = _CroppedCompositor._get_renders

    def wrong(
        self: _CroppedCompositor, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        found = list(right(self, crop))
        return found[:1] if crop is not None and crop.height < self.size.height else found

    _CroppedCompositor._get_renders = wrong  # type: ignore[method-assign]


PLANTED: dict[str, Callable[[], None]] = {
    "scroll": scrolls_one_row_too_far,
    "cells": sends_one_cell_too_few,
    "memory": remembers_rows_as_they_were,
    "regions": repaints_too_little,
    "strips": keeps_old_rows,
    "renders": asks_too_few_widgets,
}
