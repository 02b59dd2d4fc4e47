"""The line at the screen's upper edge: the product, and what the session is about."""

from widgets.status.footer import SegmentLine


class StatusHeader(SegmentLine):
    """Segments as in the footer; hidden on short terminals by the styles of the application."""
