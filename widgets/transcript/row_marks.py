"""The marks that are drawn over a transcript's rows: the focused block, the hovered link, search hits."""

from widgets.transcript.searching.text_search import TextSearch
from widgets.transcript.text_under_pointer import Link


class RowMarks:
    """What is currently marked in a transcript: the focused block, the link under the pointer, the search."""

    def __init__(self) -> None:
        self.search = TextSearch()
        self.cursor = ""
        """The id of the focused block in focus mode."""
        self.hovered: Link | None = None
        """The link under the pointer."""
