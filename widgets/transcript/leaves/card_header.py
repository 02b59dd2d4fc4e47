"""Draws the header of a tool call's card: mark, action and subject (such as a path), and figures aligned at the right.

The subject is shortened last. A subject too long for the row gets a separate row."""

from tools.lazy_patterns import lazy_regex
from tools.tool_result_values import Card, CommandBlock, FileBlock
from widgets.diffstat import split_diffstat
from widgets.key_labels import find_key_and_command_spans
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import (
    cells,
    clean,
    cut_end_to_fit,
    cut_start_to_fit,
    wrap_line_into_ranges,
)

MAX_CARD_FIGURE_CELLS = 16
"""The maximum cells of figures next to a subject that is longer than the row."""
MIN_SUBJECT_WRAP_CELLS = 16
"""The minimum width for wrapping a subject."""
MAX_CARD_HEADER_CELLS = 134
"""The width at which figures are aligned on wider pages: that of a page of 200 columns with its side panel."""
_TIME_CELLS = len("0.3 s")
"""The width of the column of times at the right edge; longer times are rare, and reach into the figures before it."""
_REGEX_SUBJECT_PATTERN = lazy_regex(r"/.*/(?: in | \(|\Z)")
_AND_MORE_SUFFIX_PATTERN = lazy_regex(r" and \d+ more\Z")
_COMMAND_LIKE_TEXT_PATTERN = lazy_regex(r" [-/~.\"']|[|&;<>$=]")
_FIGURE_SEPARATOR = " · "
_CARD_VERB_STYLES = {
    **dict.fromkeys(("read", "search", "fetch"), "look"),
    "execute": "run",
    **dict.fromkeys(("edit", "delete", "move"), "change"),
}
"""The style of a title by what the call does."""


class CardHeader(LayoutLeaf):
    """The header of a card: one or two rows, or as many as its subject needs if the card is open."""

    __slots__ = (
        "_figures",
        "_figures_start",
        "_glyph",
        "_is_at_work",
        "_is_below",
        "_is_open",
        "_shown",
        "_subject",
        "_timing",
        "_title_text",
        "_verb",
        "_wrapped",
    )

    def __init__(
        self,
        glyph: tuple[str, str],
        title: str,
        subject: str,
        figures: list[tuple[str, str]],
        *,
        timing: str,
        verb: str,
        is_open: bool,
        is_at_work: bool,
    ) -> None:
        """Creates the header from its parts. `timing`: how long it took, which follows the figures; `verb`: the style
        of the title."""
        super().__init__("", link="toggle")
        self._verb = verb
        self._glyph = glyph
        self._title_text = f"{title} " if title and subject else title
        self._subject = subject
        self._timing = timing
        self._figures = [piece for text, key in figures for piece in _style_figures(text, key)]
        if timing:
            between = [(_FIGURE_SEPARATOR, "summary")] if figures else []
            self._figures += [*between, (timing, "summary")]
        told = "".join(text for text, _ in self._figures)
        self.plain = f"{glyph[0]}{self._title_text}{subject}{_FIGURE_SEPARATOR if told else ''}{told}"
        self._figures_start = len(self.plain) - len(told)
        self._shown = self._figures
        self._is_at_work = is_at_work and bool(told)
        """Whether the call runs: its time, the last figure, is also shown above the editor and pushes nothing
        away."""
        self._is_open = is_open
        self._is_below = False
        self._wrapped: list[tuple[int, int]] = []
        """The part of the subject in each row, if it needs several."""

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        end = len(self.plain)
        lead = cells(self._glyph[0]) + cells(self._title_text)
        takes = lead + cells(self._subject)
        fits_alone = takes <= width
        self._wrapped = []
        self._shown = self._figures
        if self._is_at_work and takes + 2 + self._cell_count(self._figures) > width:
            self._shown = self._figures[:-2]  # without what separates it
        right = self._cell_count(self._shown)
        is_name_cut = self._name_cells() > width - lead - right - 2
        self._is_below = (
            right > 0
            and takes + 2 + right > width
            and (fits_alone or right > MAX_CARD_FIGURE_CELLS or is_name_cut)
        )
        start = len(self._glyph[0]) + len(self._title_text)
        rows = [(0, start + len(self._subject))]
        if self._is_open and not fits_alone and width - lead >= MIN_SUBJECT_WRAP_CELLS:
            self._is_below = right > 0
            self._wrapped = wrap_line_into_ranges(self._subject, width - lead)
            rows = [(start + first, start + last) for first, last in self._wrapped]
            rows[0] = (0, rows[0][1])
        if self._is_below:
            rows.append((rows[-1][1], end))
        else:
            rows[-1] = (rows[-1][0], end)
        return rows

    def _name_cells(self) -> int:
        """Returns the cells of the last part of a path, with what stands for its beginning; 0 for another subject."""
        return cells(self._subject.rpartition("/")[2]) + 2 if _is_path(self._subject) else 0

    @staticmethod
    def _cell_count(pieces: list[tuple[str, str]]) -> int:
        return sum(cells(text) for text, _ in pieces)

    def pieces(self, row: int) -> list[StyledPiece]:
        width = self._width
        if row and row < len(self._wrapped):
            return self._continuation_row(row)
        if row:
            return [StyledPiece("│ ", "rule"), *self._cut_pieces(self._shown, width - 2, self._figures_start)]
        right = [] if self._is_below else self._shown
        size = self._cell_count(right)
        lead = cells(self._glyph[0])
        takes = lead + cells(self._title_text) + cells(self._subject) + 2 + size
        edge = max(min(width, MAX_CARD_HEADER_CELLS), takes if takes <= width else 0) if size else width
        at = len(self._glyph[0])
        title = cut_end_to_fit(self._title_text, max(1, width - lead))
        out = [StyledPiece(*self._glyph, 0, at), StyledPiece(title, self._verb, at, at + len(title))]
        room = edge - lead - cells(title) - (size + 2 if size else 0)
        at += len(self._title_text)
        subject = (
            self._subject[: self._wrapped[0][1]] if self._wrapped else self._fitted_subject(max(8, room))
        )
        if subject:
            is_cut = not self._wrapped and subject != self._subject
            end = at + (len(subject) if self._wrapped else len(self._subject))
            out.append(StyledPiece(subject, "subject", at, at + len(subject) - 1 if is_cut else end))
        used = sum(cells(piece.text) for piece in out)
        if size and used + 2 + size <= width:
            out += self._figures_up_to(max(edge, used + 2 + size) - used, right)
        return self._fit_pieces(out, width)

    def _figures_up_to(self, room: int, shown: list[tuple[str, str]]) -> list[StyledPiece]:
        """Returns the figures at the end of the room that is left in the row: in two columns, of which the second is
        that of the times, or joined where these do not fit."""
        at, size = self._figures_start, self._cell_count(shown)
        has_time = bool(self._timing) and shown[-1][0] == self._timing
        told = shown[:-2] if has_time else shown
        column = max(_TIME_CELLS, cells(self._timing)) if told else size
        width = self._cell_count(told) + 2 + column
        if not told or width + 2 > room:
            return [StyledPiece(" " * (room - size), "text"), *self._cut_pieces(shown, size, at)]
        out = [StyledPiece(" " * (room - width), "text"), *self._cut_pieces(told, width, at)]
        if has_time:
            start = len(self.plain) - len(self._timing)
            out.append(StyledPiece(" " * (2 + column - cells(self._timing)), "text"))
            out.append(StyledPiece(self._timing, "summary", start, start + len(self._timing)))
        return out

    def _continuation_row(self, row: int) -> list[StyledPiece]:
        first, last = self._wrapped[row]
        lead = cells(self._glyph[0]) + cells(self._title_text)
        start = len(self._glyph[0]) + len(self._title_text)
        indent = StyledPiece("│" + " " * (lead - 1), "rule")
        return [indent, StyledPiece(self._subject[first:last], "subject", start + first, start + last)]

    def _fitted_subject(self, room: int) -> str:
        """Returns the header's subject cut to the room: a path at its beginning, other text at its end."""
        subject = self._subject
        if cells(subject) <= room:
            return subject
        return cut_start_to_fit(subject, room) if _is_path(subject) else cut_end_to_fit(subject, room)

    @staticmethod
    def _cut_pieces(parts: list[tuple[str, str]], room: int, at: int) -> list[StyledPiece]:
        out = []
        for text, key in parts:
            shown = cut_end_to_fit(text, room)
            room -= cells(shown)
            if shown:
                out.append(StyledPiece(shown, key, at, at + len(shown)))
            at += len(text)
            if room <= 0:
                break
        return out

    @staticmethod
    def _fit_pieces(pieces: list[StyledPiece], width: int) -> list[StyledPiece]:
        out, room = [], width
        for piece in pieces:
            if room <= 0:
                break
            shown = cut_end_to_fit(piece.text, room)
            out.append(piece if shown == piece.text else piece._replace(text=shown))
            room -= cells(shown)
        return out


def _is_path(subject: str) -> bool:
    """Returns whether a header's subject is a path. `/…/` is a regular expression, and a text with blanks counts only
    if it begins like a path."""
    subject = _AND_MORE_SUFFIX_PATTERN.sub("", subject)
    if "/" not in subject or _REGEX_SUBJECT_PATTERN.match(subject):
        return False
    return " " not in subject or (
        subject.startswith(("/", "~/", "./")) and not _COMMAND_LIKE_TEXT_PATTERN.search(subject)
    )


def _style_figures(text: str, key: str) -> list[tuple[str, str]]:
    """Splits the figures of a header into diff counts such as `+12 −4`, keys and other text, each with its style."""
    out: list[tuple[str, str]] = []
    at = 0
    for start, end in find_key_and_command_spans(text):
        if text[start] != "/":
            out += [*_diffstat_figures(text[at:start], key), (text[start:end], "accent")]
            at = end
    return [*out, *_diffstat_figures(text[at:], key)]


def _diffstat_figures(text: str, key: str) -> list[tuple[str, str]]:
    return [(piece.text, piece.kind or key) for piece in split_diffstat(text)]


def make_card_header(
    glyph: tuple[str, str],
    card: Card,
    figures: list[tuple[str, str]],
    extent: BlockExtent,
    *,
    timing: str = "",
    is_at_work: bool = False,
) -> CardHeader:
    """Creates the header of a card. An open card shows its whole subject, as do commands and code. `timing`: how long
    it took, in a column of its own."""
    joined: list[tuple[str, str]] = []
    is_behind_pill = False
    for said, key in figures:
        if text := _one_line(said):
            is_pill = "|pill-" in key
            if joined:
                joined.append((" " if is_pill or is_behind_pill else _FIGURE_SEPARATOR, "summary"))
            joined.append((f" {text} " if is_pill else text, key))
            is_behind_pill = is_pill
    shows_it = any(isinstance(block, CommandBlock | FileBlock) for block in card.blocks)
    return CardHeader(
        (f"{glyph[0]} ", glyph[1]),
        _one_line(card.title),
        _subject_line(card.subject),
        joined,
        timing=timing,
        verb=_CARD_VERB_STYLES.get(card.kind, "title"),
        is_open=extent >= BlockExtent.ALL and not shows_it,
        is_at_work=is_at_work,
    )


def _one_line(text: str) -> str:
    return clean(" ".join(text[:2_000].split()))


def _subject_line(text: str) -> str:
    """Returns a header's subject as one line of safe text; runs of blanks are kept, because it may be a search
    pattern."""
    return clean(" ".join(text[:2_000].replace("\t", " ").splitlines()))
