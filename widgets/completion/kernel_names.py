"""Completion of names behind `$`: what the kernel knows. Who that is, and where it runs, is not known here."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from widgets.completion.source import CompletionRequest, Completions, Suggestion

NameLookup = Callable[[str], Awaitable[Sequence[str]]]


class NameCompletions:
    """In lines of a text that begins with `$`."""

    def __init__(self, names_like: NameLookup, is_cell: Callable[[], bool]) -> None:
        """`is_cell`: what is being written is a cell."""
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
    """The dotted name before the cursor. Not a number, nor what stands in the middle of a text that is quoted."""
    found = re.search(r"(?:[^\W\d]\w*\.)*(?:[^\W\d]\w*)?$", request.before)
    return found[0] if found is not None else ""
