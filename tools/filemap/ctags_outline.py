"""Finds the symbols of files with universal-ctags, if installed, for languages that `languages/` does not describe."""

import subprocess
from functools import lru_cache
from pathlib import Path

import msgspec

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_SIGNATURE_CHARS, shorten_to_one_line
from tools.filemap.symbol_list_changes import nest_symbols_by_range
from tools.running.programs_outside_project import find_program_outside_project
from tools.running.withheld_environment_variables import environment_for_child_processes

_MAX_CTAGS_OUTPUT_BYTES = 32 * 1024 * 1024
_CTAGS_POLL_INTERVAL = 0.05
# Without N the output has no names; with -G ctags also evaluates `#!` lines and mode lines.
_CTAGS_ARGUMENTS = (
    "--options=NONE",
    "--output-format=json",
    "--fields=NnKeSsl",
    "--sort=no",
    "-G",
    "-f",
    "-",
)
_SYMBOL_KIND_BY_CTAGS_KIND = {
    "func": "function",
    "prototype": "function",
    "def": "function",
    "externvar": "variable",
    "member": "field",
}


class _CtagsTag(msgspec.Struct):
    name: str = ""
    kind: str = ""
    line: int = 0
    end: int = 0
    signature: str = ""
    scope: str = ""
    language: str = ""


@lru_cache(maxsize=1)
def _find_ctags() -> str | None:
    """Returns the path of the ctags program; None if it is missing, is not Universal Ctags or cannot write JSON."""
    here = Path.cwd()
    path = find_program_outside_project("ctags", outside=here) or find_program_outside_project(
        "universal-ctags", outside=here
    )
    if path is None:
        return None
    # Options come first, and outside of any folder: ctags would read option files otherwise.
    question = [path, "--options=NONE", "--list-features"]
    try:
        told = subprocess.run(
            question,
            capture_output=True,
            timeout=5,
            check=False,
            cwd="/",
            env=environment_for_child_processes(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return path if b"json" in told.stdout else None


def outline_with_ctags(path: Path, last_row: int, watch: MapDeadline) -> tuple[str, list[FoundSymbol]] | None:
    """Returns the language and the symbols that ctags finds in a file; None if ctags is missing, does not know the
    language, or takes too long."""
    program = _find_ctags()
    if program is None:
        return None
    output = _run_ctags([program, *_CTAGS_ARGUMENTS, str(path.absolute())], watch)
    if not output:
        return None
    decode = msgspec.json.Decoder(_CtagsTag).decode
    tags: list[_CtagsTag] = []
    for line in output.splitlines():
        try:
            tags.append(decode(line))
        except (ValueError, RecursionError):
            continue
    tags = [tag for tag in tags if tag.name and tag.line > 0]
    return (tags[0].language, _convert_ctags_tags(tags, last_row)) if tags else None


def _run_ctags(command: list[str], watch: MapDeadline) -> bytes:
    try:
        running = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment_for_child_processes(),
        )
    except OSError:
        return b""
    with running:
        while True:
            try:
                output, _ = running.communicate(timeout=_CTAGS_POLL_INTERVAL)
                return output[:_MAX_CTAGS_OUTPUT_BYTES]
            except subprocess.TimeoutExpired:
                if watch.is_over:
                    running.kill()
                    running.communicate()
                    return b""


def _convert_ctags_tags(tags: list[_CtagsTag], last_row: int) -> list[FoundSymbol]:
    tags.sort(key=lambda tag: tag.line)
    drafts: list[FoundSymbol] = []
    for number, tag in enumerate(tags):
        end = tag.end - 1 if tag.end >= tag.line else _guess_symbol_end_row(tags, number, last_row)
        drafts.append(
            FoundSymbol(
                name=tag.name[:120],
                kind=_SYMBOL_KIND_BY_CTAGS_KIND.get(tag.kind, tag.kind or "tag"),
                start=tag.line * 1000 + number % 1000,
                start_row=tag.line - 1,
                end_row=end,
                signature=_ctags_signature(tag),
            )
        )
    return nest_symbols_by_range(drafts)


def _ctags_signature(tag: _CtagsTag) -> str:
    if not tag.signature:
        return ""
    space = "" if tag.signature.startswith("(") else " "
    return shorten_to_one_line(f"{tag.name}{space}{tag.signature}", MAX_SIGNATURE_CHARS)


def _guess_symbol_end_row(tags: list[_CtagsTag], number: int, last_row: int) -> int:
    """Guesses the last row of a symbol for which ctags reports none: before the next symbol of the same kind and
    scope."""
    tag = tags[number]
    if tag.kind in ("variable", "constant", "field", "member", "macro", "label"):
        return tag.line - 1
    for after in tags[number + 1 :]:
        if after.scope == tag.scope or after.kind == tag.kind:
            return max(tag.line - 1, after.line - 2)
    return last_row
