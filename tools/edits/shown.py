"""What a model was shown of a file, as far as edits ask."""

from collections.abc import Mapping, Sequence

import msgspec


class ShownLines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines by their number, from 1, and the edits that this session made already."""

    lines: Mapping[int, str] = {}
    sent: frozenset[tuple[str, str]] = frozenset()
    """Old and new texts of edits that were applied to this file."""

    def has(self, wanted: Sequence[str]) -> bool:
        """These lines were shown, one behind the other, wherever they stood then."""
        if not wanted:
            return False
        lines = self.lines
        return any(
            all(lines.get(number + offset) == line for offset, line in enumerate(wanted))
            for number, line in lines.items()
            if line == wanted[0]
        )


NOTHING_SHOWN = ShownLines()
