"""Completes Python names after `$` with the names that the kernel knows. The lookup is passed in."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from widgets.completion.source import CompletionRequest, Completions, Suggestion

NameLookup = Callable[[str], Awaitable[Sequence[str]]]


class NameCompletions:
    """Completes names in Python cells, whose text begins with `$`."""

    def __init__(self, names_like: NameLookup, is_cell: Callable[[], bool]) -> None:
        """`is_cell`: returns whether the editor's text is a cell."""
        self._names_like = names_like
        self._is_cell = is_cell

    def accepts(self, request: CompletionRequest) -> bool:
        return self._is_cell() and bool(_word(request))

    async def complete(self, request: CompletionRequest) -> AsyncIterator[Completions]:
        word = _word(request)
        found = await self._names_like(word)
        yield Completions(
            start=request.column - len(word),
            end=request.column,
            items=tuple(Suggestion(text=name, kind="symbol", tail="") for name in found if name != word),
            query=word,
        )


def _word(request: CompletionRequest) -> str:
    """Returns the dotted name before the cursor; empty for numbers and inside string literals."""
    found = re.search(r"(?:[^\W\d]\w*\.)*(?:[^\W\d]\w*)?$", request.before)
    return found[0] if found is not None else ""
