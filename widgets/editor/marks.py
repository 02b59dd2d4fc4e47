"""Places in a text that have names, and stay with their lines while the text is changed. Pure."""

Position = tuple[int, int]


class Marks:
    def __init__(self) -> None:
        self._places: dict[str, Position] = {}

    def set(self, name: str, place: Position) -> None:
        self._places[name] = place

    def get(self, name: str) -> Position | None:
        return self._places.get(name)

    def clear(self) -> None:
        self._places.clear()

    def follow(self, start: Position, end: Position, text: str) -> None:
        """A text was put in place of a range. Marks of lines that went with it are gone."""
        added = text.count("\n")
        if not added and start[0] == end[0]:
            return
        kept = {name: _followed(place, start, end, added) for name, place in self._places.items()}
        self._places = {name: place for name, place in kept.items() if place is not None}


def _followed(place: Position, start: Position, end: Position, added: int) -> Position | None:
    row, column = place
    if row < start[0] or (row == start[0] and start[1] > 0):
        return place
    if row > end[0]:
        return row + added - (end[0] - start[0]), column
    if start == end or (end[1] == 0 and row == end[0]):  # put above it, or the lines above it are gone
        return row + added - (end[0] - start[0]), column
    return place if start[0] == end[0] else None
