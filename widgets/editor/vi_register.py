"""vi's unnamed register: the text yanked or deleted last."""

from typing import NamedTuple


class ViRegister(NamedTuple):
    """The content of vi's register: a text, and whether it consists of whole lines."""

    text: str = ""
    is_linewise: bool = False
    """Whether the text is whole lines, which are put above or below a line."""
