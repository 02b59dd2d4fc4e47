"""The queries that ask a terminal about images, and the parsing of its replies. `terminal.input_splitter` separates
replies from keys."""

from collections.abc import Mapping
from typing import NamedTuple

from tools.lazy_patterns import lazy_regex
from widgets.graphics import kitty

KITTY_QUERY_IMAGE_ID = 3190
"""The image id used in queries; no real image has it."""
_KITTY_REPLY_PATTERN = lazy_regex("\x1b_Gi=(\\d+)[^;]*;([^\x1b]*)\x1b\\\\")
_TERMINAL_NAME_REPLY_PATTERN = lazy_regex("\x1bP>\\|([^\x1b]*)\x1b\\\\")
_TERMINAL_ATTRIBUTES_REPLY_PATTERN = lazy_regex("\x1b\\[\\?([\\d;]*)c")
_CELL_SIZE_REPLY_PATTERN = lazy_regex("\x1b\\[6;(\\d{1,4});(\\d{1,4})t")
_ITERM_CELL_SIZE_REPLY_PATTERN = lazy_regex(
    "\x1b\\]1337;ReportCellSize=([\\d.]{1,9});([\\d.]{1,9})(?:;([\\d.]{1,9}))?(?:\x07|\x1b\\\\)"
)
_TERMINALS_NOT_TO_QUERY = ("dumb", "linux")
KITTY_PLACEHOLDER_TERMINALS = ("kitty", "ghostty")
"""Terminals that support Unicode placeholders for images; this cannot be queried separately."""
_ITERM2_IMAGE_TERMINALS = ("iterm2", "wezterm", "mintty")


class TerminalImageFeatures(NamedTuple):
    """What a terminal said about itself and its support for images, collected from its replies."""

    name: str = ""
    has_kitty: bool = False
    has_inline_files: bool = False
    has_sixel: bool = False
    is_complete: bool = False
    """The terminal answered the last query, which every terminal answers: no further replies follow."""
    cell_size: tuple[int, int] | None = None
    """Width and height of a cell in pixels."""

    @property
    def has_placeholders(self) -> bool:
        return self.name.lower().startswith(KITTY_PLACEHOLDER_TERMINALS)

    def updated_by_reply(self, answer: str) -> "TerminalImageFeatures":
        """Returns the terminal's features updated by one of its replies; unchanged for other text."""
        if found := _KITTY_REPLY_PATTERN.fullmatch(answer):
            return self._replace(
                has_kitty=self.has_kitty or found.groups() == (str(KITTY_QUERY_IMAGE_ID), "OK")
            )
        if found := _TERMINAL_NAME_REPLY_PATTERN.fullmatch(answer):
            is_known = found[1].lower().startswith(_ITERM2_IMAGE_TERMINALS)
            return self._replace(name=found[1][:80], has_inline_files=self.has_inline_files or is_known)
        if found := _TERMINAL_ATTRIBUTES_REPLY_PATTERN.fullmatch(answer):
            return self._replace(has_sixel=self.has_sixel or "4" in found[1].split(";")[1:], is_complete=True)
        if found := _CELL_SIZE_REPLY_PATTERN.fullmatch(answer):
            return self._replace(cell_size=_check_cell_size(int(found[2]), int(found[1])) or self.cell_size)
        if found := _ITERM_CELL_SIZE_REPLY_PATTERN.fullmatch(answer):
            return self._with_iterm_cell_size(found[1], found[2], found[3] or "1")
        return self

    def _with_iterm_cell_size(self, height: str, width: str, scale: str) -> "TerminalImageFeatures":
        try:
            cell = _check_cell_size(round(float(width) * float(scale)), round(float(height) * float(scale)))
        except (ValueError, OverflowError):
            cell = None
        return self._replace(has_inline_files=True, cell_size=cell or self.cell_size)


def _check_cell_size(width: int, height: int) -> tuple[int, int] | None:
    """Returns a reported cell size in pixels if it is plausible, otherwise None; terminals may report anything."""
    return (width, height) if 2 <= width <= 100 and 4 <= height <= 200 else None


def parse_kitty_image_reply(answer: str) -> tuple[int, bool]:
    """Returns the id of the sent image that a terminal's reply is about, and whether it can be shown; id 0 if the reply
    is about something else."""
    found = _KITTY_REPLY_PATTERN.fullmatch(answer)
    return (int(found[1]), found[2] == "OK") if found and len(found[1]) < 12 else (0, False)


def can_query_image_support(env: Mapping[str, str]) -> bool:
    """Returns whether a terminal can be asked about images: some would print the queries as text."""
    is_mute = (
        env.get("TERM", "") in ("", *_TERMINALS_NOT_TO_QUERY) or env.get("TERM_PROGRAM") == "Apple_Terminal"
    )
    return not (
        is_mute or env.get("STY") or (env.get("TERM", "").startswith("screen") and not env.get("TMUX"))
    )


def all_image_support_queries() -> str:
    """Returns the sequences that ask a terminal about images; every terminal answers the last one."""
    size = "\x1b[16t\x1b]1337;ReportCellSize\x1b\\"
    return kitty.kitty_support_query(KITTY_QUERY_IMAGE_ID) + "\x1b[>0q" + size + "\x1b[c"
