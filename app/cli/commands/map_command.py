"""Implements `bayou map`: `FILE…` outlines files, `FOLDER [--about TEXT]` maps a repository, for people or as
JSON lines."""

import os
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.printing import print_json, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.file_mapper import make_file_map
from tools.filemap.map_cache import shared_file_map_cache
from tools.filemap.rendering.file_map_rendering import MAP_DETAIL_LEVELS, render_file_map

_MAP_USAGE_TEXT = f"""\
bayou map FILE… [--json] [--level LEVEL]
bayou map FOLDER [--about TEXT] [--tokens N] [--json]
bayou map FOLDER --index | --forget

Prints the outline of each file: its symbols with their lines. A map is never larger than 100 KB. Of a folder, the
files that others lean on with their symbols, or with --about those that a task is most likely about. An index is made
for that in bayou's cache folder, and kept up to date.

  --json         one JSON object a line, with every symbol; of a folder, the files that are shown, in their order
  --level LEVEL  how much is said of each symbol of a file: {", ".join(MAP_DETAIL_LEVELS)}
  --about TEXT   words of a task, or a message with paths and lines
  --tokens N     how large the map of a folder may be (2000)
  --index        says what the index of the folder knows
  --forget       removes it
"""


class MapCommandArguments(msgspec.Struct, kw_only=True):
    """The arguments of `bayou map`."""

    paths: list[str] = []
    is_json: bool = False
    level: str | None = None
    about: str | None = None
    tokens: int | None = None
    index: bool = False
    forget: bool = False

    @property
    def is_folder_map(self) -> bool:
        return self.about is not None or self.tokens is not None or self.index or self.forget


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(_MAP_USAGE_TEXT)
        return 0
    asked = _parse_arguments(words)
    if not asked.paths:
        raise UsageError("No file or folder given. Usage: bayou map FILE… [--json] [--level LEVEL].")
    cache = BayouPaths.from_env(os.environ, current_folder()).cache_dir
    failed = False
    for name in asked.paths:
        if Path(name).is_dir():
            from app.cli.commands.map_folder_command import run_folder_map  # noqa: PLC0415  (SQLite)

            failed |= run_folder_map(Path(name), asked, cache) != 0
        elif asked.is_folder_map:
            raise UsageError(
                f"{name} is not a folder; --about, --tokens, --index and --forget are only for folders."
            )
        else:
            failed |= not _print_file_map(name, asked, cache)
    return 1 if failed else 0


def _print_file_map(name: str, asked: MapCommandArguments, cache: Path) -> bool:
    try:
        outline = make_file_map(Path(name), cache=shared_file_map_cache(cache / "maps"))
    except OSError as problem:
        print_problem(f"{name}: {problem.strerror or problem}")
        return False
    if asked.is_json:
        print_json(file_map_json(outline))
    else:
        print_line(render_file_map(outline, level=asked.level).text.rstrip("\n"))
    return True


def _parse_arguments(words: list[str]) -> MapCommandArguments:
    rest, asked = list(words), MapCommandArguments()
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if not word.startswith("--"):
            asked.paths.append(word + equals + value)
            continue
        if word in ("--level", "--about", "--tokens") and not equals:
            if not rest:
                raise UsageError(f"{word} needs a value. See bayou map --help.")
            value = rest.pop(0)
        match word:
            case "--json":
                asked.is_json = True
            case "--index":
                asked.index = True
            case "--forget":
                asked.forget = True
            case "--about":
                asked.about = value
            case "--tokens":
                asked.tokens = _parse_token_budget(value)
            case "--level":
                if value not in MAP_DETAIL_LEVELS:
                    raise UsageError(f"--level takes one of {', '.join(MAP_DETAIL_LEVELS)}.")
                asked.level = value
            case _:
                raise UsageError(
                    f"Unknown option: {word}. bayou map takes --json, --level, --about, --tokens, --index and --forget."
                )
    return asked


def _parse_token_budget(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 50 <= int(value) <= 100_000:
        raise UsageError("--tokens takes a number from 50 to 100000.")
    return int(value)


def file_map_json(file_map: FileMap) -> dict[str, Any]:
    """Returns a file's map as JSON data: path, language, parser, totalLines, totalBytes, elapsedMs, symbols,
    and more."""
    return {
        "path": file_map.path,
        "language": file_map.language,
        "parser": file_map.parser,
        "totalLines": file_map.total_lines,
        "totalBytes": file_map.total_bytes,
        "elapsedMs": file_map.elapsed_ms,
        "symbols": [_symbol_json(symbol) for symbol in file_map.symbols],
        "imports": list(file_map.imports),
        "notes": list(file_map.notes),
    }


def _symbol_json(symbol: Symbol) -> dict[str, Any]:
    return {
        "name": symbol.name,
        "kind": symbol.kind,
        "startLine": symbol.start_line,
        "endLine": symbol.end_line,
        "parent": symbol.parent,
        "signature": symbol.signature,
        "modifiers": list(symbol.modifiers),
        "exported": symbol.is_exported,
        "doc": symbol.doc,
        "leadLine": symbol.decorator_line,
    }
