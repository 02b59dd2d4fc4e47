"""Builds the map (outline) of a file: reads it, detects the language, finds the symbols with a scanner or grammar,
and falls back on failure.

`map_cache` stores maps, `rendering` formats them for a model.
"""

import asyncio
import threading
import time
from pathlib import Path

import msgspec

from tools.filemap import ctags_outline, heuristic_outline
from tools.filemap.embedded_code import add_fenced_code_symbols, outline_with_embedded_code
from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.language_description import FoundSymbol
from tools.filemap.language_detection import detect_language
from tools.filemap.languages.language_registry import has_language_description, language_named
from tools.filemap.map_cache import FileMapCache
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapCancelSignal, MapDeadline
from tools.filemap.scanners.scan_result import OUTLINE_TIME_LIMIT_NOTE, ScannedOutline
from tools.filemap.scanners.scanner_registry import OUTLINE_SCANNER_BY_LANGUAGE
from tools.filemap.source_text import (
    CHANGED_WHILE_MAPPING_NOTE,
    CannotMakeFileMap,
    SourceText,
    count_lines,
    read_source_text,
)
from tools.filemap.symbol_list_changes import sort_symbols_in_file_order
from tools.memory_reduction import pause_garbage_collection, trim_heap

_MAPPED_FILE_READ_TIMEOUT = 30.0
_HEURISTIC_OUTLINE_TIMEOUT = 1.0
_MAX_GRAMMAR_PARSED_BYTES = 4 * 1024 * 1024
"""The maximum size in bytes of a source that is parsed: its syntax tree takes up to forty times its memory."""
_LANGUAGES_WITHOUT_OUTLINE = {"diff": "Diff", "log": "Log"}
"""Languages of texts that quote other files, such as diffs and logs; they get no outline, because they define
nothing themselves."""
_MIN_SOURCE_BYTES_TO_TRIM_HEAP = 64 * 1024
_OUTLINE_TIMEOUT_NOTE = "the time limit was reached; this outline is heuristic"
_OUTLINE_FAILED_NOTE = "its own outline failed; this one is heuristic"
_TOO_LARGE_FOR_GRAMMAR_NOTE = "too large for its grammar; this outline is heuristic"
_SYNTAX_ERROR_NOTE = "syntax errors, or syntax that the parser does not know: symbols near it may be missing"
_LONG_LINES_NOT_OUTLINED_NOTE = "lines of over {:,} bytes are not outlined; search in them with grep"


def make_file_map(
    path: Path,
    *,
    deadline_seconds: float = 2.0,
    cancel: MapCancelSignal = None,
    cache: FileMapCache | None = None,
) -> FileMap:
    """Returns the map of a file, from the cache or newly built. Blocks. Raises `CannotMakeFileMap` (missing, a
    directory, a pipe, binary, no permission) and `FileMapCancelled`, both `OSError`s."""
    began = time.perf_counter()
    try:
        text = read_source_text(path, MapDeadline(_MAPPED_FILE_READ_TIMEOUT, cancel))
    except FileMapTimeLimitReached:
        raise CannotMakeFileMap(
            110, path, f"Reading took longer than {_MAPPED_FILE_READ_TIMEOUT:.0f} seconds"
        ) from None
    known = cache.get(path, text) if cache is not None else None
    if known is not None:
        return known if known.path == str(path) else msgspec.structs.replace(known, path=str(path))
    with pause_garbage_collection():
        made = _map_source_text(path, text, deadline_seconds, cancel, began)
    if cache is not None and _is_cacheable_map(made):
        cache.put(path, text, made)
    return made


def _is_cacheable_map(made: FileMap) -> bool:
    """Returns whether a file map may be cached: not if it was cut short by the time limit or by a program that wrote
    the file."""
    return not {CHANGED_WHILE_MAPPING_NOTE, _OUTLINE_TIMEOUT_NOTE, OUTLINE_TIME_LIMIT_NOTE}.intersection(
        made.notes
    )


async def make_file_map_async(path: Path) -> FileMap:
    """Runs `make_file_map` in a thread. Cancelling the caller stops the work."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(make_file_map, path, cancel=stop)
    finally:
        stop.set()


def _map_source_text(
    path: Path, text: SourceText, deadline_seconds: float, cancel: MapCancelSignal, began: float
) -> FileMap:
    watch = MapDeadline(deadline_seconds, cancel)
    outlined = _find_symbols_with_fallbacks(path, text, detect_language(path, text.source), watch, cancel)
    made = _build_file_map(str(path), text, outlined, began)
    if _file_has_changed(path, text) and CHANGED_WHILE_MAPPING_NOTE not in made.notes:
        made = msgspec.structs.replace(made, notes=(*made.notes, CHANGED_WHILE_MAPPING_NOTE))
    if len(text.source) >= _MIN_SOURCE_BYTES_TO_TRIM_HEAP:
        trim_heap()
    return made


def make_file_map_of_text(source: bytes, name: str, *, deadline_seconds: float = 2.0) -> FileMap:
    """Returns the map of a text named `name` that is in no file."""
    language = detect_language(Path(name), source)
    return make_file_map_of_source(source, language, name=name, deadline_seconds=deadline_seconds)


def make_file_map_of_source(
    source: bytes, language: str | None, *, name: str = "", deadline_seconds: float = 2.0
) -> FileMap:
    """Returns the map of a text in a language that `detect_language` found."""
    lines = count_lines(source)
    text = SourceText(source=source, total_lines=lines, total_bytes=len(source), modified_ns=0, digest="")
    began = time.perf_counter()
    outlined = _find_symbols_with_fallbacks(None, text, language, MapDeadline(deadline_seconds), None)
    return _build_file_map(name, text, outlined, began)


def language_title(name: str | None) -> str:
    """Returns the name of a language for people; empty if it is unknown."""
    if name is None:
        return ""
    scanner = OUTLINE_SCANNER_BY_LANGUAGE.get(name)
    if scanner is not None:
        return scanner.title
    return (
        language_named(name).title
        if has_language_description(name)
        else _LANGUAGES_WITHOUT_OUTLINE.get(name, name)
    )


def _build_file_map(path: str, text: SourceText, outlined: ScannedOutline, began: float) -> FileMap:
    total_lines = outlined.total_lines or text.total_lines
    return FileMap(
        path=path,
        language=outlined.title,
        parser=outlined.parser,
        total_lines=total_lines,
        total_bytes=text.total_bytes,
        symbols=convert_to_map_symbols(outlined.symbols, max(1, total_lines)),
        imports=outlined.imports,
        notes=(*text.notes, *(note for note in outlined.notes if note not in text.notes)),
        elapsed_ms=round((time.perf_counter() - began) * 1000, 1),
    )


def _file_has_changed(path: Path, text: SourceText) -> bool:
    try:
        state = path.stat()
    except OSError:
        return True
    return (state.st_mtime_ns, state.st_size) != (text.modified_ns, text.total_bytes)


def _find_symbols_with_fallbacks(
    path: Path | None, text: SourceText, name: str | None, watch: MapDeadline, cancel: MapCancelSignal
) -> ScannedOutline:
    """Finds a file's symbols with the language's scanner or grammar, otherwise with ctags, otherwise with the
    heuristic."""
    if name in _LANGUAGES_WITHOUT_OUTLINE:
        return ScannedOutline([], _LANGUAGES_WITHOUT_OUTLINE[name], parser="none")
    notes: tuple[str, ...] = ()
    title, found = name or "unknown", None
    try:
        found = _find_symbols_by_language(name, text.source, watch) if name is not None else None
    except FileMapTimeLimitReached:
        notes = (_OUTLINE_TIMEOUT_NOTE,)
    except (OSError, MemoryError):
        raise
    except Exception:  # noqa: BLE001  (a description that stumbles over an odd file costs its outline, not the read)
        notes = (_OUTLINE_FAILED_NOTE,)
    if found is not None:
        if found.symbols or not text.source.strip():
            return found
        title, notes = found.title, found.notes
    elif path is not None and not notes:
        seconds = min(_HEURISTIC_OUTLINE_TIMEOUT, max(0.3, watch.seconds_until_deadline))
        tagged = ctags_outline.outline_with_ctags(
            path, max(0, text.total_lines - 1), MapDeadline(seconds, cancel)
        )
        MapDeadline(_HEURISTIC_OUTLINE_TIMEOUT, cancel).raise_if_deadline_over()
        if tagged is not None:
            language, drafts = tagged
            return ScannedOutline(drafts, language if name is None else title, parser="universal-ctags")
    drafts = heuristic_outline.outline_heuristically(
        text.source, MapDeadline(_HEURISTIC_OUTLINE_TIMEOUT, cancel)
    )
    return ScannedOutline(drafts, title, parser="heuristic", notes=notes)


def _find_symbols_by_language(name: str, source: bytes, watch: MapDeadline) -> ScannedOutline | None:
    scanner = OUTLINE_SCANNER_BY_LANGUAGE.get(name)
    if scanner is not None:
        scanned = scanner.scan_source(source, watch)
        drafts = scanned.symbols
        if name == "markdown":
            drafts = add_fenced_code_symbols(drafts, source, watch)
        return msgspec.structs.replace(scanned, symbols=drafts, title=scanned.title or scanner.title)
    if not has_language_description(name):
        return None
    language = language_named(name)
    if len(source) > _MAX_GRAMMAR_PARSED_BYTES:
        return ScannedOutline([], language.title, notes=(_TOO_LARGE_FOR_GRAMMAR_NOTE,))
    notes: list[str] = []
    limit = language.max_outlined_line_bytes
    if limit and _has_line_longer_than(source, limit):
        source = b"\n".join(line if len(line) <= limit else b"" for line in source.split(b"\n"))
        notes.append(_LONG_LINES_NOT_OUTLINED_NOTE.format(limit))
    found = outline_with_embedded_code(language, source, watch)
    if found.has_syntax_errors:
        notes.append(_SYNTAX_ERROR_NOTE)
    return ScannedOutline(
        sort_symbols_in_file_order(found.symbols),
        language.title,
        parser="tree-sitter",
        imports=tuple(found.imports),
        notes=tuple(notes),
    )


def _has_line_longer_than(source: bytes, limit: int) -> bool:
    start = 0
    while len(source) - start > limit:
        end = source.find(b"\n", start, start + limit)
        if end < 0:
            return True
        start = source.rfind(b"\n", end, start + limit) + 1
    return False


def convert_to_map_symbols(drafts: list[FoundSymbol], total_lines: int) -> tuple[Symbol, ...]:
    """Converts found symbols to those of a file map, and empties the list meanwhile: for very many, both would take
    much memory."""
    found: list[Symbol] = []
    drafts.reverse()
    while drafts:
        draft = drafts.pop()
        first = draft.start_row + 1
        # One shared number instead of two equal ones, which saves memory for very many symbols.
        last = draft.end_row + 1 if draft.end_row != draft.start_row else first
        if first > total_lines:
            first = total_lines
        if last < first:
            last = first
        elif last > total_lines:
            last = total_lines
        found.append(
            Symbol(
                name=draft.name,
                kind=draft.kind,
                start_line=first,
                end_line=last,
                parent=draft.parent if draft.parent >= 0 else None,
                signature=draft.signature,
                modifiers=draft.modifiers,
                doc=draft.doc,
                decorator_line=draft.decorator_row + 1 if draft.decorator_row >= 0 else None,
            )
        )
    return tuple(found)
