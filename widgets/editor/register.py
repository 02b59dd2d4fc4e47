"""vi's unnamed register: what was yanked or deleted last."""

from typing import NamedTuple


class Register(NamedTuple):
    text: str = ""
    is_lines: bool = False
    """Whole lines: put back above or below a line."""
