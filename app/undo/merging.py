"""Two changes of one text put together, line by line, where they do not touch each other. Pure."""

from difflib import SequenceMatcher

_MOST_LINES = 20_000


def merge(base: str, mine: str, other: str) -> str | None:
    """`base` with what `mine` and what `other` changed; None where both changed the same place."""
    if mine in (base, other):
        return other
    if other == base:
        return mine
    lines = base.splitlines(keepends=True)
    mine_lines, other_lines = mine.splitlines(keepends=True), other.splitlines(keepends=True)
    if max(len(lines), len(mine_lines), len(other_lines)) > _MOST_LINES:
        return None
    spans = sorted([*_spans(lines, mine_lines), *_spans(lines, other_lines)], key=lambda span: span[:2])
    out: list[str] = []
    at = 0
    last: tuple[int, int, list[str]] | None = None
    for span in spans:
        first, end, new = span
        if last is not None and (first, end, new) == last:
            continue  # both did the same
        if last is not None and first <= last[1]:
            return None
        out += lines[at:first]
        out += new
        at, last = end, span
    out += lines[at:]
    return "".join(out)


def _spans(base: list[str], changed: list[str]) -> list[tuple[int, int, list[str]]]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        (first, end, changed[there:until])
        for tag, first, end, there, until in matcher.get_opcodes()
        if tag != "equal"
    ]
