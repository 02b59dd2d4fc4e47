"""A map of several files as a text for a model: paths with symbols and lines, in a budget that is never passed."""

from collections.abc import Iterable, Sequence

import msgspec

from tools.filemap.rendering.symbol_lines import SymbolTree, size, span
from tools.filemap.symbols import Symbol
from tools.text import one_line, visible

BYTES_A_TOKEN = 3.6
DEFAULT_TOKENS = 2000
_TAPERS = (
    (1200, (12, 4, 4, 4, 4, 4, 1)),
    (3000, (16, 16, 16, 6, 6, 6, 6, 6, 2)),
    (0, (16, 16, 16, 8, 8, 8, 8, 8, 4)),
)
"""How many symbols the first files get, and then each: tapering found more than any even split."""
_LONGEST_NAME = 100


class MapCandidate(msgspec.Struct, frozen=True):
    """A file that may be shown."""

    path: str
    lines: int | None
    """None: not known, or a folder."""
    symbols: tuple[Symbol, ...]
    scores: Sequence[float]
    note: str = ""
    """Such as `test`, `generated`; of a folder, what is in it."""


class MappedFile(msgspec.Struct, frozen=True):
    path: str
    symbols: tuple[Symbol, ...]
    """In the order of the file."""


class RankedMap(msgspec.Struct, frozen=True):
    text: str
    files: tuple[MappedFile, ...]

    @property
    def tokens(self) -> int:
        return tokens_of(self.text)


def tokens_of(text: str) -> int:
    return -int(-size(text) // BYTES_A_TOKEN)


def render(candidates: Iterable[MapCandidate], tokens: int, *, behind: int = 0) -> RankedMap:
    """As many files as fit, in the given order; a file whose symbols do not fit gets fewer, then none. `behind`: tokens
    of them that others need, but for the half of what there is."""
    room = int((tokens - min(behind, tokens // 2)) * BYTES_A_TOKEN)
    taper = next(shares for limit, shares in _TAPERS if not limit or tokens <= limit)
    blocks: list[str] = []
    shown: list[MappedFile] = []
    for place, candidate in enumerate(candidates):
        wanted = taper[min(place, len(taper) - 1)]
        while True:
            chosen = _best(candidate, wanted)
            block = _block(candidate, chosen)
            if size(block) + 1 <= room or wanted == 0:
                break
            wanted //= 2
        cost = size(block) + 1
        if cost > room:
            break
        room -= cost
        blocks.append(block)
        shown.append(MappedFile(candidate.path, tuple(candidate.symbols[index] for index in chosen)))
    return RankedMap("\n".join(blocks), tuple(shown))


def _best(candidate: MapCandidate, count: int) -> list[int]:
    """The likeliest symbols with what they belong to, in the file's order; no more than asked for and their owners."""
    ordered = sorted(range(len(candidate.symbols)), key=lambda index: (-candidate.scores[index], index))
    chosen: set[int] = set()
    for index in ordered:
        if len(chosen) >= count:
            break
        at: int | None = index
        while at is not None and at not in chosen:
            chosen.add(at)
            at = candidate.symbols[at].parent
    return sorted(
        chosen, key=lambda index: (candidate.symbols[index].start_line, -candidate.symbols[index].end_line)
    )


def _block(candidate: MapCandidate, chosen: Sequence[int]) -> str:
    lines = f"{candidate.lines} lines" if candidate.lines is not None else ""
    told = one_line(visible(", ".join(filter(None, (lines, candidate.note)))))
    head = f"{one_line(visible(candidate.path))}  {told}".rstrip()
    if not chosen:
        return head
    depth = SymbolTree(candidate.symbols).depth
    rows = [head]
    for index in chosen:
        symbol = candidate.symbols[index]
        name = one_line(visible(symbol.name[:_LONGEST_NAME]))
        indent = "  " * (1 + min(depth[index], 6))
        rows.append(f"{indent}{symbol.kind} {name} {span(symbol.start_line, symbol.end_line)}")
    return "\n".join(rows)
