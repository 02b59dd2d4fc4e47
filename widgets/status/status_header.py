"""The top line of the page: the product name and the session's topic."""

from widgets.status.status_footer import SegmentLine


class StatusHeader(SegmentLine):
    """The top line of the page, which shows status segments; the application's styles hide it on short terminals."""
