"""Queries about image support, and the terminal's replies. `terminal.input_splitter` separates them from keys."""

from collections.abc import Mapping
from typing import NamedTuple

from tools.patterns import late
from widgets.graphics import kitty

QUERY_IMAGE_ID = 3190
"""The image id used in queries; no real image has it."""
_ANSWERED = late("\x1b_Gi=(\\d+)[^;]*;([^\x1b]*)\x1b\\\\")
_NAME = late("\x1bP>\\|([^\x1b]*)\x1b\\\\")
_ATTRIBUTES = late("\x1b\\[\\?([\\d;]*)c")
_CELL = late("\x1b\\[6;(\\d{1,4});(\\d{1,4})t")
_CELL_OF_ITERM = late(
    "\x1b\\]1337;ReportCellSize=([\\d.]{1,9});([\\d.]{1,9})(?:;([\\d.]{1,9}))?(?:\x07|\x1b\\\\)"
)
_UNSUPPORTED_TERMINALS = ("dumb", "linux")
PLACEHOLDER_TERMINALS = ("kitty", "ghostty")
"""Terminals that support Unicode placeholders for images; this cannot be queried separately."""
_INLINE_FILE_TERMINALS = ("iterm2", "wezterm", "mintty")


class TerminalFeatures(NamedTuple):
    """The terminal's image support according to its replies so far."""

    name: str = ""
    has_kitty: bool = False
    has_files: bool = False
    has_sixel: bool = False
    is_complete: bool = False
    """The terminal answered the last query, which every terminal answers: no further replies follow."""
    cell: tuple[int, int] | None = None
    """Width and height of a cell in pixels."""

    @property
    def has_cells(self) -> bool:
        return self.name.lower().startswith(PLACEHOLDER_TERMINALS)

    def with_answer(self, answer: str) -> "TerminalFeatures":
        """Returns the features updated by a reply; other text changes nothing."""
        if found := _ANSWERED.fullmatch(answer):
            return self._replace(has_kitty=self.has_kitty or found.groups() == (str(QUERY_IMAGE_ID), "OK"))
        if found := _NAME.fullmatch(answer):
            is_known = found[1].lower().startswith(_INLINE_FILE_TERMINALS)
            return self._replace(name=found[1][:80], has_files=self.has_files or is_known)
        if found := _ATTRIBUTES.fullmatch(answer):
            return self._replace(has_sixel=self.has_sixel or "4" in found[1].split(";")[1:], is_complete=True)
        if found := _CELL.fullmatch(answer):
            return self._replace(cell=_cell(int(found[2]), int(found[1])) or self.cell)
        if found := _CELL_OF_ITERM.fullmatch(answer):
            return self._with_iterm(found[1], found[2], found[3] or "1")
        return self

    def _with_iterm(self, height: str, width: str, scale: str) -> "TerminalFeatures":
        try:
            cell = _cell(round(float(width) * float(scale)), round(float(height) * float(scale)))
        except (ValueError, OverflowError):
            cell = None
        return self._replace(has_files=True, cell=cell or self.cell)


def _cell(width: int, height: int) -> tuple[int, int] | None:
    """Returns a cell size if it is plausible; terminals may report anything."""
    return (width, height) if 2 <= width <= 100 and 4 <= height <= 200 else None


def parse_image_reply(answer: str) -> tuple[int, bool]:
    """Returns the id of a transmitted image and whether it can be shown; id 0 if the reply is about something else."""
    found = _ANSWERED.fullmatch(answer)
    return (int(found[1]), found[2] == "OK") if found and len(found[1]) < 12 else (0, False)


def can_query(env: Mapping[str, str]) -> bool:
    """Whether queries are safe: some terminals would print them as text."""
    is_mute = (
        env.get("TERM", "") in ("", *_UNSUPPORTED_TERMINALS) or env.get("TERM_PROGRAM") == "Apple_Terminal"
    )
    return not (
        is_mute or env.get("STY") or (env.get("TERM", "").startswith("screen") and not env.get("TMUX"))
    )


def queries() -> str:
    """Returns all queries; the last one is answered by every terminal."""
    size = "\x1b[16t\x1b]1337;ReportCellSize\x1b\\"
    return kitty.query(QUERY_IMAGE_ID) + "\x1b[>0q" + size + "\x1b[c"
