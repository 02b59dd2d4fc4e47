"""What stands above or around a declaration and belongs to it: comments, attributes, decorators, wrappers."""

from typing import NamedTuple

from tree_sitter import Node


class Lead(NamedTuple):
    """What stands in front of a declaration and belongs to it."""

    start: int
    row: int
    comment: Node | None
    is_first: bool = True
    """Of several declarations in one wrapper only the first begins with it."""

    @staticmethod
    def of(wrapper: Node, above: "Above") -> "Lead":
        row = wrapper.start_point[0]
        return Lead(wrapper.start_byte, row, above.comment_of(row))


class Above:
    """The comments and attributes that stand directly above the next declaration."""

    __slots__ = ("_between", "_comment", "_end", "_first")

    def __init__(self, between: frozenset[int]) -> None:
        self._between = between
        self._comment: Node | None = None
        self._end = -2
        self._first = -1

    def add(self, node: Node, kind: int) -> None:
        row = node.start_point[0]
        is_apart = row > self._end + 1
        if kind in self._between:
            if is_apart or self._first < 0:
                self._first = row
            if is_apart:
                self._comment = None
        else:
            if is_apart or self._comment is None:
                self._comment = node
            if is_apart:
                self._first = -1
        self._end = last_row(node, row)

    def comment_of(self, row: int) -> Node | None:
        """The comment that stands directly above a declaration in `row`."""
        return self._comment if self._end >= row - 1 else None

    def first_row(self, row: int) -> int:
        """Row of the first attribute above a declaration in `row`; that row itself when there is none."""
        return self._first if 0 <= self._first < row and self._end >= row - 1 else row


NOTHING_ABOVE = Above(frozenset())


def last_row(node: Node, start_row: int) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > start_row else row
