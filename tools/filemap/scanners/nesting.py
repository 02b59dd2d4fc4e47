"""Building an outline from top to bottom: a symbol reaches to the next one of its level or above."""

from tools.filemap.language import FoundSymbol


class Nesting:
    def __init__(self) -> None:
        self.drafts: list[FoundSymbol] = []
        self._open: list[tuple[int, int]] = []
        """Level and index of the symbols that still go on."""

    def open(
        self, level: int, name: str, kind: str, row: int, start: int, signature: str = ""
    ) -> FoundSymbol:
        """Begins a symbol; those of its level and deeper end on the row before."""
        self.close(level, row - 1)
        self._open.append((level, len(self.drafts)))
        parent = self._open[-2][1] if len(self._open) > 1 else -1
        return self._add(name, kind, row, start, signature, parent)

    def leaf(self, name: str, kind: str, row: int, start: int, signature: str = "") -> FoundSymbol:
        """A symbol on its own, inside whatever is open."""
        return self._add(name, kind, row, start, signature, self._open[-1][1] if self._open else -1)

    def close(self, level: int, row: int) -> None:
        while self._open and self._open[-1][0] >= level:
            draft = self.drafts[self._open.pop()[1]]
            draft.end_row = max(draft.start_row, draft.end_row, row)

    def _add(self, name: str, kind: str, row: int, start: int, signature: str, parent: int) -> FoundSymbol:
        draft = FoundSymbol(
            name=name, kind=kind, start=start, start_row=row, end_row=row, parent=parent, signature=signature
        )
        self.drafts.append(draft)
        return draft
