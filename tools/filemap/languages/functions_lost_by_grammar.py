"""Finds functions at the left margin that a grammar lost, by their text: a syntax error costs one function, not the
rest."""

import re
from collections.abc import Callable

from tools.filemap.language_description import FoundSymbol
from tools.filemap.scanners.source_lines import SourceRowCounter

_PERL_POD_OR_DATA_PATTERN = re.compile(rb"^=[a-z]\w*.*?(?:^=cut\b|\Z)|^__(?:END|DATA)__\r?\n.*", re.M | re.S)


def make_finder_of_lost_functions(
    head: re.Pattern[bytes],
) -> Callable[[list[FoundSymbol], bytes], list[FoundSymbol]]:
    """Returns a function that adds the functions which a grammar lost. `head` matches the first line of a function,
    with the groups `name` and `rest`, which contains the brace."""

    def with_missed(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
        known = {draft.start_row for draft in drafts}
        documents = [match.span() for match in _PERL_POD_OR_DATA_PATTERN.finditer(source)]
        rows = SourceRowCounter(source)
        for match in head.finditer(source):
            start = match.start()
            row = rows.row_of(start)
            if row in known or any(first <= start < last for first, last in documents):
                continue
            around = _enclosing_function(drafts, row)
            if around is not None and (around.start_row == row or b"<<" in source[around.start : start]):
                continue
            if around is not None:
                own = head.match(source, around.start)
                around.end_row = row - 1
                if own is not None:
                    around.end_row = around.start_row + source.count(
                        b"\n", around.start, _find_function_end(source, own)
                    )
            name = match["name"].decode("utf-8", "replace")
            last = row + source.count(b"\n", start, _find_function_end(source, match))
            declared = source[match.start("name") : match.end()].split(b"{")[0].decode("utf-8", "replace")
            drafts.append(
                FoundSymbol(name, "function", start, row, last, signature=" ".join(declared.split()))
            )
        return drafts

    return with_missed


def _enclosing_function(drafts: list[FoundSymbol], row: int) -> FoundSymbol | None:
    """Returns the known function whose range of lines includes this row."""
    return next(
        (each for each in drafts if each.kind == "function" and each.start_row <= row <= each.end_row), None
    )


def _find_function_end(source: bytes, match: re.Match[bytes]) -> int:
    rest = match["rest"]
    if rest.count(b"{") and rest.count(b"{") == rest.count(b"}"):
        return match.end()
    end = source.find(b"\n}", match.end())
    return end + 1 if end >= 0 else match.end()
