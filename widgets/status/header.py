"""The header line: the product name and the session's topic."""

from widgets.status.footer import SegmentLine


class StatusHeader(SegmentLine):
    """Shows segments like the footer; the application's styles hide it on short terminals."""
