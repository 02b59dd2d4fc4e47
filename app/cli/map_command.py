"""`bayou map FILE… [--json] [--level LEVEL]`: the outline of files, for people or as JSON lines."""

import os
import sys
from pathlib import Path

from app.assembly.options import UsageError
from app.cli.folder import current_folder
from app.resources.paths import Paths
from tools.filemap.cache import shared_cache
from tools.filemap.map import map_file
from tools.filemap.render import LEVELS, map_json_line, render_map

_USAGE = f"""\
bayou map FILE… [--json] [--level LEVEL]

Prints the outline of each file: its symbols with their lines. A map is never larger than 100 KB.

  --json         one JSON object a line, with every symbol
  --level LEVEL  how much is said of each symbol: {", ".join(LEVELS)}
"""


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        sys.stdout.write(_USAGE)
        return 0
    is_json, level, files = _read(words)
    if not files:
        raise UsageError("bayou map needs a file: bayou map FILE… [--json] [--level LEVEL].")
    cache = shared_cache(Paths.from_env(os.environ, current_folder()).cache_dir / "maps")
    failed = False
    for name in files:
        try:
            outline = map_file(Path(name), cache=cache)
        except OSError as problem:
            sys.stderr.write(f"bayou: {name}: {problem.strerror or problem}\n")
            failed = True
            continue
        text = map_json_line(outline) if is_json else render_map(outline, level=level).text
        sys.stdout.write(text.rstrip("\n") + "\n")
    return 1 if failed else 0


def _read(words: list[str]) -> tuple[bool, str | None, list[str]]:
    rest, files, is_json, level = list(words), list[str](), False, None
    while rest:
        word = rest.pop(0)
        if word == "--json":
            is_json = True
        elif word == "--level":
            level = rest.pop(0) if rest else None
            if level not in LEVELS:
                raise UsageError(f"--level takes one of {', '.join(LEVELS)}.")
        elif word.startswith("--"):
            raise UsageError(f"Unknown option: {word}. bayou map takes --json and --level.")
        else:
            files.append(word)
    return is_json, level, files
