"""The line at the top: the product name, and what the session is about."""

from widgets.status.footer import SegmentLine


class StatusHeader(SegmentLine):
    """Segments as in the footer; hidden on short terminals by the styles of the application."""
