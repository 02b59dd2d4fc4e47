"""Leaves as text and as styled rows, for tests that need no application."""

from collections.abc import Iterable

from widgets.transcript.leaves.layout_leaf import LayoutLeaf


def rows(leaves: Iterable[LayoutLeaf], width: int = 60) -> list[str]:
    """What is drawn, one text a row."""
    return ["".join(text for text, _ in row).rstrip() for row in styled(leaves, width)]


def styled(leaves: Iterable[LayoutLeaf], width: int = 60) -> list[list[tuple[str, str]]]:
    """What is drawn, as texts with their style keys; neighbours of one style are joined."""
    out: list[list[tuple[str, str]]] = []
    for leaf in leaves:
        out.extend([] for _ in range(leaf.blank))
        for row in range(len(leaf.layout(width))):
            joined: list[tuple[str, str]] = []
            for piece in leaf.pieces(row):
                if joined and joined[-1][1] == piece.key:
                    joined[-1] = (joined[-1][0] + piece.text, piece.key)
                elif piece.text:
                    joined.append((piece.text, piece.key))
            out.append(joined)
    return out
