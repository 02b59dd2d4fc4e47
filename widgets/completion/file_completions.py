"""Completion sources for files: after `@` files of the index and their symbols (`@file:Name`, `@:Name`), and with Tab
any word as a path."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from tools.lazy_patterns import lazy_regex
from widgets.completion.completion_source import CompletionRequest, CompletionResult, CompletionSuggestion
from widgets.completion.file_index import FileIndex, FoundFile
from widgets.fuzzy_matching import rank_fuzzy_matches

_FILE_MENTION_PATTERN = lazy_regex(r'(?:^|(?<=[\s(\[{,;]))@(?:"([^"]*)|([^\s"]*))$')
_SYMBOL_MENTION_PATTERN = lazy_regex(r'(?:^|(?<=[\s(\[{,;]))@(?:"([^"]+)"|([^\s"]+)) :([^\s:]*)$')
"""Matches a symbol of the file that was just completed; the completion's trailing space is tolerated."""
_LAST_WORD_PATTERN = lazy_regex(r"[^\s\"'=:(]*$")
FILE_INDEX_REFRESH_SECONDS = 10.0


class SymbolRow(msgspec.Struct, frozen=True, kw_only=True):
    """A symbol of a source file (its name, kind and first line), offered as a completion."""

    name: str
    kind: str = ""
    first_line: int = 0


FindFileSymbols = Callable[[str], Awaitable[Sequence[SymbolRow]]]
SearchRepositorySymbols = Callable[[str], AsyncIterator[Sequence[tuple[str, SymbolRow]]]]
"""Finds symbols by a part of their name, each with its file, best match first; yields again when
more are known."""


def format_file_reference(path: str) -> str:
    """Returns the text with which a prompt refers to a file: `@path`, or `@"path"` if the path has blanks or quotes."""
    return f'@"{path}"' if re.search(r'[\s"]', path) else f"@{path}"


class FileCompletionSource(msgspec.Struct, frozen=True):
    """The completion source for `@` with a part of a path, and for symbols after a colon; frequently and recently
    chosen files come first."""

    index: FileIndex
    symbols: FindFileSymbols | None = None
    repository_symbols: SearchRepositorySymbols | None = None

    def accepts(self, request: CompletionRequest) -> bool:
        return "@" in request.before and (
            _FILE_MENTION_PATTERN.search(request.before) is not None
            or _SYMBOL_MENTION_PATTERN.search(request.before) is not None
        )

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        behind = _SYMBOL_MENTION_PATTERN.search(request.before)
        if behind is not None:
            path, name = behind[1] or behind[2], behind[3]
            if self.symbols is not None and self.index.contains_path(path):
                yield await self._complete_symbols(path, name, behind.start(), request.column)
            return
        match = _FILE_MENTION_PATTERN.search(request.before)
        if match is None:
            return
        start, query = match.start(), match[1] or match[2] or ""
        end = request.column
        if match[1] is not None and request.line[end : end + 1] == '"':
            end += 1
        path, colon, name = query.rpartition(":")
        if colon and not path and self.repository_symbols is not None:
            if not name:
                yield self._complete_repository_symbols((), name, start, end)
                return
            async for found in self.repository_symbols(name):
                yield self._complete_repository_symbols(found, name, start, end)
            return
        if colon and self.symbols is not None and await self._is_file(path):
            yield await self._complete_symbols(path, name, start, end)
            return
        loading = self.index.refresh_files(older_than=FILE_INDEX_REFRESH_SECONDS)
        async for hits in self.index.search_paths(query):
            if hits or self.index.is_loaded:
                yield self._complete_files(hits, query, start, end)
        if not loading.done():  # the list was incomplete when it was searched
            await asyncio.shield(loading)
            async for hits in self.index.search_paths(query):
                yield self._complete_files(hits, query, start, end)

    async def _is_file(self, path: str) -> bool:
        """Returns whether the path is a file, in the file index or on disk: the index may be loading, or the file is
        new."""
        return self.index.contains_path(path) or await asyncio.to_thread((self.index.root / path).is_file)

    def _complete_files(
        self, hits: Sequence[FoundFile], query: str, start: int, end: int
    ) -> CompletionResult:
        return CompletionResult(
            start=start, end=end, items=tuple(_make_file_suggestion(hit) for hit in hits), query=query
        )

    async def _complete_symbols(self, path: str, name: str, start: int, end: int) -> CompletionResult:
        assert self.symbols is not None
        found = rank_fuzzy_matches(name, list(await self.symbols(path)), lambda row: row.name, 200)
        items = tuple(_make_symbol_suggestion(path, row, row.kind) for row, _ in found)
        return CompletionResult(start=start, end=end, items=items, query=name)

    def _complete_repository_symbols(
        self, rows: Sequence[tuple[str, SymbolRow]], name: str, start: int, end: int
    ) -> CompletionResult:
        """Returns the completions for `@:Name` from found symbols of the whole repository: those that begin with the
        typed name come first, then those in files that the user chose before."""
        marks = self.index.frecency.scores_and_times
        wanted = name.lower()
        # Among equally good matches, symbols of frequently chosen files come first.
        found = sorted(
            rows, key=lambda one: (not one[1].name.lower().startswith(wanted), one[0] not in marks)
        )
        items = tuple(_make_symbol_suggestion(path, row, f"{row.kind}  {path}") for path, row in found)
        return CompletionResult(start=start, end=end, items=items, query=name)


def _make_symbol_suggestion(path: str, row: SymbolRow, detail: str) -> CompletionSuggestion:
    return CompletionSuggestion(
        text=format_file_reference(f"{path}:{row.name}"),
        label=row.name,
        detail=detail,
        right_text=f"line {row.first_line}" if row.first_line else "",
        kind="symbol",
    )


def _make_file_suggestion(hit: FoundFile) -> CompletionSuggestion:
    is_folder = hit.path.endswith("/")
    return CompletionSuggestion(
        text=format_file_reference(hit.path),
        label=hit.path,
        detail="ignored" if hit.is_ignored else "",
        kind="folder" if is_folder else "file",
        text_after="" if is_folder else " ",
    )


class TabPathCompletionSource:
    """The completion source for Tab: completes the word at the cursor as a path, by reading its folder."""

    def __init__(self, cwd: Callable[[], Path]) -> None:
        self._cwd = cwd

    def accepts(self, request: CompletionRequest) -> bool:
        return request.is_forced

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        match = _LAST_WORD_PATTERN.search(request.before)
        word = match[0] if match else ""
        at = "@" if word.startswith("@") else ""
        found = await asyncio.to_thread(self._list_folder, word.removeprefix("@"))
        start = request.column - len(word)
        items = tuple(
            CompletionSuggestion(
                text=at + path,
                label=path,
                kind="folder" if path.endswith("/") else "path",
                text_after="" if path.endswith("/") else " ",
            )
            for path in found
        )
        yield CompletionResult(start=start, end=request.column, items=items, query="")

    def _list_folder(self, word: str) -> list[str]:
        head, slash, name = word.rpartition("/")
        folder = Path(head + slash).expanduser() if slash else Path()
        try:
            entries = list((self._cwd() / folder).iterdir())
        except OSError:
            return []
        found: list[str] = []
        for entry in entries:
            if not entry.name.lower().startswith(name.lower()):
                continue
            if entry.name.startswith(".") and not name.startswith("."):
                continue
            found.append(f"{head}{slash}{entry.name}{'/' if entry.is_dir() else ''}")
        return sorted(found, key=lambda path: (not path.endswith("/"), path.lower()))[:200]
