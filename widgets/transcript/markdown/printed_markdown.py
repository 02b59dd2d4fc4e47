"""Formats Markdown as plain lines, laid out as in the transcript, for output without a full screen."""

from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.markdown.markdown_stream import parse_bounded


def printed(text: str, width: int) -> str:
    rows: list[str] = []
    for leaf in parse_bounded(clean(text), gutter=""):
        rows += [""] * (leaf.blank if rows else 0)
        rows += [
            "".join(piece.text for piece in leaf.pieces(row)).rstrip()
            for row, _ in enumerate(leaf.layout(width))
        ]
    return "\n".join(rows)
