"""Builds the symbols of an outline from top to bottom: each ends before the next one of its level or above."""

from tools.filemap.language_description import FoundSymbol


class OutlineBuilder:
    def __init__(self) -> None:
        self.symbols: list[FoundSymbol] = []
        self._open_symbols: list[tuple[int, int]] = []
        """The level and index of each symbol that has begun and not ended."""

    def open_symbol(
        self, level: int, name: str, kind: str, row: int, start: int, signature: str = ""
    ) -> FoundSymbol:
        """Begins a symbol; open symbols of its level and deeper end on the row before."""
        self.close_symbols(level, row - 1)
        draft = self.add_leaf_symbol(name, kind, row, start, signature)
        self._open_symbols.append((level, len(self.symbols) - 1))
        return draft

    def add_leaf_symbol(self, name: str, kind: str, row: int, start: int, signature: str = "") -> FoundSymbol:
        """Adds a symbol without children inside the innermost open symbol."""
        parent = self._open_symbols[-1][1] if self._open_symbols else -1
        draft = FoundSymbol(name, kind, start, row, row, parent, signature)
        self.symbols.append(draft)
        return draft

    def close_symbols(self, level: int, row: int) -> None:
        while self._open_symbols and self._open_symbols[-1][0] >= level:
            draft = self.symbols[self._open_symbols.pop()[1]]
            draft.end_row = max(draft.start_row, draft.end_row, row)
