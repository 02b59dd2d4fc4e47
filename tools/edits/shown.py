"""The lines of a file that the model was shown, as edits use them."""

from collections.abc import Mapping, Sequence

import msgspec


class ShownLines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines by their number, from 1, and the edits that this session applied."""

    lines: Mapping[int, str] = {}
    sent: frozenset[tuple[str, str]] = frozenset()
    """Old and new texts of edits that were applied to this file."""

    def has(self, wanted: Sequence[str]) -> bool:
        """Returns whether these lines were shown consecutively, at any position."""
        if not wanted:
            return False
        lines = self.lines
        return any(
            all(lines.get(number + offset) == line for offset, line in enumerate(wanted))
            for number, line in lines.items()
            if line == wanted[0]
        )


NOTHING_SHOWN = ShownLines()
