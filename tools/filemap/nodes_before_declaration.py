"""Finds the nodes before or around a declaration that belong to it: comments, attributes, decorators, wrappers."""

from typing import NamedTuple

from tree_sitter import Node

_MAX_COMMENT_DISTANCE_BYTES = 4096
_MAX_BYTES_BEFORE_COMMENT = 120


class NodesBeforeDeclaration(NamedTuple):
    """The comments, attributes and wrappers in front of a declaration that belong to it."""

    start: int
    row: int
    comment: Node | None
    is_first_declaration: bool = True
    """Whether the declaration is the first in its wrapper; only the first begins at the wrapper."""

    @staticmethod
    def before(wrapper: Node, above: "LeadingCommentTracker | None") -> "NodesBeforeDeclaration":
        start = wrapper.start_byte
        return NodesBeforeDeclaration(
            start, wrapper.start_point[0], above.comment_above(start) if above is not None else None
        )

    def without_wrapper_start(self) -> "NodesBeforeDeclaration":
        """Returns the leading nodes for the second and later declarations in one wrapper, which do not begin with the
        wrapper."""
        return self._replace(is_first_declaration=False) if self.is_first_declaration else self


class LeadingCommentTracker:
    """Tracks the comments and attributes directly above the next declaration.

    Called for every comment: distance is measured by counting line ends, which is cheaper than a node's rows."""

    __slots__ = ("_attribute_node_ids", "_comment", "_end_byte", "_first_attribute", "_source")

    def __init__(self, between: frozenset[int], source: bytes) -> None:
        self._attribute_node_ids = between
        self._source = source
        self._comment: Node | None = None
        self._end_byte = -1
        self._first_attribute: Node | None = None

    def add(self, node: Node, kind: int) -> None:
        start = node.start_byte
        is_apart = not self._is_adjacent(start)
        if kind in self._attribute_node_ids:
            if is_apart or self._first_attribute is None:
                self._first_attribute = node
            if is_apart:
                self._comment = None
        else:
            if self._is_trailing_comment(start):
                return
            if is_apart or self._comment is None:
                self._comment = node
            if is_apart:
                self._first_attribute = None
        end = node.end_byte
        self._end_byte = end - 1 if self._source[end - 1 : end] == b"\n" else end

    def _is_adjacent(self, start: int) -> bool:
        """Returns whether a position is on the line where the last comment or attribute ends, or on the next."""
        return (
            0 <= self._end_byte > start - _MAX_COMMENT_DISTANCE_BYTES
            and self._source.count(b"\n", self._end_byte, start) < 2
        )

    def _is_trailing_comment(self, start: int) -> bool:
        """Returns whether the comment follows code on its line: then it belongs to that code."""
        before = self._source[max(0, start - _MAX_BYTES_BEFORE_COMMENT) : start]
        return bool(before[before.rfind(b"\n") + 1 :].strip())

    def comment_above(self, start: int) -> Node | None:
        """Returns the comment directly above a declaration at `start`."""
        return self._comment if self._comment is not None and self._is_adjacent(start) else None

    def comment_and_attribute_above(self, start: int) -> "tuple[Node | None, Node | None]":
        """Returns the comment, and the first attribute, directly above a declaration at `start`."""
        return (self._comment, self._first_attribute) if self._is_adjacent(start) else (None, None)


def last_row_with_text(node: Node, start_row: int, source: bytes) -> int:
    """Returns the last row of a syntax node that has text: some grammars extend a node up to the next one."""
    row, column = node.end_point
    end = node.end_byte
    while row > start_row:
        if column and not source[end - column : end].isspace():
            break
        end -= column + 1
        row -= 1
        column = end - source.rfind(b"\n", 0, end) - 1
    return row
