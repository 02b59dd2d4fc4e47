"""One line of the table that `python -m bench` prints."""

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    figure: float
    unit: str
    ratio: float | None = None
    """To the reference that was measured in the same run."""
    reference: str = ""
    """What that is."""
    limit: str = ""
    """What was asked for."""
