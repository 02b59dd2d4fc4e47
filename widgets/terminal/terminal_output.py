"""Sends only the cells of a frame that differ from the terminal's content.

Textual sends each changed region with a full style before every piece: 125 bytes for one
streamed character. This module remembers what was written, scrolls rows in the terminal when
most of a frame moved up or down, and sends the changed parts of the rest. It depends on no
widget: moved rows are found by comparing them.

`TerminalOutputDiff(app).install()` puts it between the app and its driver; `is_on = False` disables
it. Full repaints (a resize, a new screen) are always sent whole."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

from tools.lazy_patterns import lazy_regex
from widgets.graphics.image_overlay import ImageOverlay
from widgets.terminal.written_cell_runs import WrittenCellRun, WrittenScreenRow
from widgets.textual_internals import (
    ChopsUpdate,
    CompositorUpdate,
    DisplayFrameFunction,
    LayoutUpdate,
    cache_strip_encoding,
    cached_strip_encoding,
    route_display_through,
    terminal_driver_of,
)
from widgets.transcript.painting.sgr_encoding import color_system, encode_strip

_SINGLE_CELL_TEXT_PATTERN = lazy_regex("[ -~\u00a1-\u00ac\u00ae-\u02ff\u2500-\u257f–…›←↑→↓−≡▲◆◇○●◐◑◒◓✓✗⊘]*")
"""Characters that terminals draw one cell wide, and the marks of cards and of running work, which change most often."""
_MIN_MOVED_ROWS_TO_SCROLL_REGION = 4
_MIN_MOVED_SHARE_TO_SCROLL = 0.3


class _DeferredUpdate(CompositorUpdate):
    """A screen update of Textual's compositor that is encoded only when it is sent to the terminal."""

    def __init__(self, output: "TerminalOutputDiff", update: ChopsUpdate | LayoutUpdate) -> None:
        self._output = output
        self._update = update

    def render_segments(self, console: Console) -> str:
        return self._output.encode_screen_update(self._update, console)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._update.__rich_console__(console, options)


class TerminalOutputDiff:
    """Remembers what the terminal shows and encodes only the differences of each frame."""

    def __init__(self, app: App[Any], over: ImageOverlay | None = None) -> None:
        """Creates the encoder for an application. `over`: the images that the terminal draws over cells."""
        self._app = app
        self._image_overlay = over
        self._send_full_frame: DisplayFrameFunction | None = None
        self._written_rows: dict[int, WrittenScreenRow] = {}
        self._is_on = True
        self.bytes_sent = 0
        """Characters encoded so far, for measuring."""

    def install_output_diff(self) -> "TerminalOutputDiff":
        route_display_through(self._app, self._send_frame)
        return self

    def _send_frame(self, send: DisplayFrameFunction) -> DisplayFrameFunction:
        self._send_full_frame = send
        return self._display_frame

    @property
    def is_on(self) -> bool:
        return self._is_on

    @is_on.setter
    def is_on(self, value: bool) -> None:
        self._is_on = value
        self.forget_terminal_content()

    def forget_terminal_content(self) -> None:
        """Forgets what the terminal shows, because other code wrote to it, so that the next frame is sent whole."""
        self._written_rows = {}

    def _display_frame(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        assert self._send_full_frame is not None
        driver = terminal_driver_of(self._app)
        is_inline = driver is not None and driver.is_inline
        if self._is_on and not is_inline and isinstance(renderable, ChopsUpdate | LayoutUpdate):
            renderable = _DeferredUpdate(self, renderable)
        elif renderable is not None:
            self.forget_terminal_content()
        self._send_full_frame(screen, renderable)

    def encode_screen_update(self, update: ChopsUpdate | LayoutUpdate, console: Console) -> str:
        """Returns the output that changes the terminal from its remembered content to that of a screen update."""
        system = color_system(console)
        if isinstance(update, LayoutUpdate):
            out = self._encode_all(update, system)
        else:
            out = self._encode_changes(update, system)
        if self._image_overlay is not None:
            self._image_overlay.schedule_drawing(self._written_rows)
        text = "".join(out)
        self.bytes_sent += len(text)
        return text

    def _encode_all(self, update: LayoutUpdate, system: ColorSystem) -> list[str]:
        self.forget_terminal_content()
        out: list[str] = [self._image_overlay.remove_all_images()] if self._image_overlay is not None else []
        for y, strips in enumerate(update.strips, update.region.y):
            row: WrittenScreenRow = {}
            x = update.region.x
            out.append(_move_cursor_sequence(x, y))
            for strip in strips:
                end = x + strip.cell_length
                row[x] = WrittenCellRun(x, end, strip)
                out.append(_encode_strip(strip, system))
                x = end
            self._written_rows[y] = row
        return out

    def _encode_changes(self, update: ChopsUpdate, system: ColorSystem) -> list[str]:
        wanted = _runs_of_update(update)
        out: list[str] = (
            [self._image_overlay.clear_images_before_write(self._written_rows, wanted)]
            if self._image_overlay is not None
            else []
        )
        move = find_moved_screen_rows(self._written_rows, wanted)
        if move is not None and not (
            self._image_overlay is not None and self._image_overlay.covers_rows(move.top, move.bottom)
        ):
            self._scroll_moved_rows(move, wanted, out)
        for y, runs in wanted.items():
            row = self._written_rows.setdefault(y, {})
            for run in runs:
                known = row.get(run.x)
                if known is not None and known.end == run.end:
                    if known.strip is run.strip or known.strip == run.strip:
                        continue
                    part = find_changed_cells(known, run)
                    if part is not None:
                        x, strip = part
                        if strip.cell_length:
                            out.append(_move_cursor_sequence(x, y) + _encode_strip(strip, system))
                        row[run.x] = run
                        continue
                out.append(_move_cursor_sequence(run.x, y) + _encode_strip(run.strip, system))
                _remember_run(row, run)
        return out

    def _scroll_moved_rows(
        self, move: "MovedScreenRows", wanted: dict[int, list[WrittenCellRun]], out: list[str]
    ) -> None:
        """Adds the sequence that scrolls rows in the terminal, and moves the remembered rows alike; cells that must not
        move are added to those to be written."""
        rows = self._written_rows
        count = abs(move.rows_up)
        code = "S" if move.rows_up > 0 else "T"
        out.append(f"\x1b[0m\x1b[{move.top + 1};{move.bottom}r\x1b[{count}{code}\x1b[r")
        before = {y: rows.get(y, {}) for y in range(move.top, move.bottom)}
        for y in range(move.top, move.bottom):
            source = y + move.rows_up
            rows[y] = dict(before[source]) if move.top <= source < move.bottom else {}
            covered = wanted.setdefault(y, [])
            ends = {run.x: run.end for run in covered}
            for run in before[y].values():
                is_covered = ends.get(run.x) == run.end
                if not is_covered and not any(new.x < run.end and new.end > run.x for new in covered):
                    covered.append(run)


class MovedScreenRows(NamedTuple):
    """A range of screen rows whose content moved up or down, so that the terminal can scroll it."""

    top: int
    bottom: int
    rows_up: int
    """The number of rows upwards; negative for downwards."""


def find_moved_screen_rows(
    rows: dict[int, WrittenScreenRow], wanted: dict[int, list[WrittenCellRun]]
) -> MovedScreenRows | None:
    """Returns the range of rows to scroll and by how much, if most of the wanted rows are already on the screen at
    another height; None otherwise."""
    if len(wanted) < 2 * _MIN_MOVED_ROWS_TO_SCROLL_REGION:
        return None
    shown: dict[int, int | None] = {}
    for y in wanted:
        for run in rows.get(y, {}).values():
            key = id(run.strip)
            shown[key] = None if key in shown else y  # a row that occurs twice does not identify a move
    steps: dict[int, int] = {}
    width = 0
    for y, runs in wanted.items():
        for run in runs:
            size = run.end - run.x
            width = max(size, width)
            source = shown.get(id(run.strip))
            if source is not None:
                steps[source - y] = steps.get(source - y, 0) + size
    if not steps:
        return None
    up = max(steps, key=steps.__getitem__)
    fewest = max(_MIN_MOVED_ROWS_TO_SCROLL_REGION, _MIN_MOVED_SHARE_TO_SCROLL * len(wanted) - abs(up)) * width
    if up == 0 or steps[up] <= steps.get(0, 0) or steps[up] < fewest:
        return None
    top, bottom = min(wanted), max(wanted) + 1
    if (
        bottom - top != len(wanted)
        or abs(up) >= bottom - top
        or not _is_already_shown(rows, top, bottom, wanted)
    ):
        return None
    return MovedScreenRows(top, bottom, up)


def _is_already_shown(
    rows: dict[int, WrittenScreenRow], top: int, bottom: int, wanted: dict[int, list[WrittenCellRun]]
) -> bool:
    """Returns whether every cell of these screen rows is wanted now or remembered as written, so that it can be
    restored after scrolling."""
    width = max((run.end for y in range(top, bottom) for run in rows.get(y, {}).values()), default=0)
    for y in range(top, bottom):
        row = rows.get(y, {})
        runs = wanted.get(y, [])
        cells = sorted([(run.x, run.end) for run in (*row.values(), *runs)])
        reached = 0
        for start, end in cells:
            if start > reached:
                return False
            reached = max(reached, end)
        if reached < width or _cuts_written_run(row, runs):
            return False
    return True


def _cuts_written_run(row: WrittenScreenRow, runs: Iterable[WrittenCellRun]) -> bool:
    """Returns whether the wanted cells cover some remembered run of a row only in part, so that the rest could not be
    restored."""
    wanted = list(runs)
    for known in row.values():
        overlapping = [run for run in wanted if run.x < known.end and run.end > known.x]
        if overlapping:
            covered = sum(min(run.end, known.end) - max(run.x, known.x) for run in overlapping)
            if covered < known.end - known.x:
                return True
    return False


def _runs_of_update(update: ChopsUpdate) -> dict[int, list[WrittenCellRun]]:
    """Returns the runs of cells that a screen update contains, by screen row."""
    wanted: dict[int, list[WrittenCellRun]] = {}
    for y, x1, x2 in update.spans:
        runs = wanted.get(y)
        is_fresh = runs is None
        if runs is None:
            runs = wanted[y] = []
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= x2 or end <= x1:
                continue
            if not is_fresh and any(run.x == x for run in runs):
                continue
            if end > x2:
                strip = strip.crop(0, x2 - x)
            runs.append(WrittenCellRun(x, min(end, x2), strip))
    return wanted


def _remember_run(row: WrittenScreenRow, run: WrittenCellRun) -> None:
    """Stores a run of cells as written: as a part of a longer run that contains it, else in place of the runs that it
    covers."""
    for known in row.values():
        if known.x <= run.x and run.end <= known.end and known.end - known.x > run.end - run.x:
            whole = _replace_part_of_run(known, run)
            if whole is not None:
                row[known.x] = whole
                return
    for known in [known for known in row.values() if known.x < run.end and known.end > run.x]:
        del row[known.x]
    row[run.x] = run


def _replace_part_of_run(known: WrittenCellRun, run: WrittenCellRun) -> WrittenCellRun | None:
    """Returns a written run with a part of its cells replaced by another run; None unless all its cells are known to be
    one column wide."""
    if _split_narrow_segments(known.strip) is None or _split_narrow_segments(run.strip) is None:
        return None
    size, start, end = known.end - known.x, run.x - known.x, run.end - known.x
    strip = Strip([*known.strip.crop(0, start), *run.strip, *known.strip.crop(end, size)], size)
    return WrittenCellRun(known.x, known.end, strip)


def find_changed_cells(known: WrittenCellRun, run: WrittenCellRun) -> tuple[int, Strip] | None:
    """Compares the written and the wanted run for the same cells; returns the column where they begin to differ and the
    new cells up to the last difference. None if all cells have to be sent.

    Only runs of narrow characters are cut, because terminals disagree about the width of others."""
    old, new = _split_narrow_segments(known.strip), _split_narrow_segments(run.strip)
    if old is None or new is None:
        return None
    start = _count_equal_cells(old, new, 0)
    if start >= run.end - run.x:
        return run.x, Strip([], 0)
    back = _count_equal_cells(_reverse_segments(old), _reverse_segments(new), 0)
    size = run.end - run.x
    end = max(start + 1, size - back)
    return run.x + start, Strip(run.strip.crop(start, end), end - start)


def _split_narrow_segments(strip: Strip) -> list[Segment] | None:
    segments = list(strip)
    for text, style, _ in segments:
        if not _SINGLE_CELL_TEXT_PATTERN.fullmatch(text) or (style is not None and style.link):
            return None
    return segments


def _reverse_segments(segments: list[Segment]) -> list[Segment]:
    return [Segment(text[::-1], style) for text, style, _ in reversed(segments)]


def _count_equal_cells(old: list[Segment], new: list[Segment], at: int) -> int:
    """Returns the number of equal cells at the start of two rows."""
    index_old = index_new = offset_old = offset_new = 0
    while index_old < len(old) and index_new < len(new):
        text_old, style_old, _ = old[index_old]
        text_new, style_new, _ = new[index_new]
        if style_old is not style_new and style_old != style_new:
            break
        size = min(len(text_old) - offset_old, len(text_new) - offset_new)
        if text_old[offset_old : offset_old + size] != text_new[offset_new : offset_new + size]:
            while text_old[offset_old] == text_new[offset_new]:
                offset_old += 1
                offset_new += 1
                at += 1
            break
        at += size
        offset_old += size
        offset_new += size
        if offset_old == len(text_old):
            index_old, offset_old = index_old + 1, 0
        if offset_new == len(text_new):
            index_new, offset_new = index_new + 1, 0
    return at


def _encode_strip(strip: Strip, system: ColorSystem) -> str:
    """Returns a strip's output for the terminal, which is computed once and cached."""
    found = cached_strip_encoding(strip)
    if found is None:
        found = encode_strip(strip, system)
        cache_strip_encoding(strip, found)
    return found


def _move_cursor_sequence(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"
