"""The lines of a file that the model was shown, as edits use them."""

from collections.abc import Mapping, Sequence

import msgspec


class LinesShownToModel(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a file that the model was shown, by number from 1, and the edits that this session applied to it."""

    lines: Mapping[int, str] = {}
    applied_edits: frozenset[tuple[str, str]] = frozenset()
    """The old and new texts of the edits that were applied to this file in the session."""

    def contains_lines(self, wanted: Sequence[str]) -> bool:
        """Returns whether the model was shown these lines one after the other, at any position of the file."""
        if not wanted:
            return False
        lines = self.lines
        return any(
            all(lines.get(number + offset) == line for offset, line in enumerate(wanted))
            for number, line in lines.items()
            if line == wanted[0]
        )


NO_LINES_SHOWN_TO_MODEL = LinesShownToModel()
