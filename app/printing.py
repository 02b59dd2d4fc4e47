"""Prints for the shell, for every subcommand and mode. Names of files and models, errors of servers and texts
of sessions are foreign: their control characters and direction marks never reach a terminal or a pipe."""

import sys

TYPE_CHECKING = False
"""A stand-in for the one of `typing`, whose import takes longer than `bayou --version` runs."""
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def print_text(text: str) -> None:
    """Writes text to standard output, without a line end."""
    sys.stdout.write(safe_text(text))


def print_line(text: str, *, flush: bool = False) -> None:
    """Writes a line, or lines, to standard output."""
    print_text(f"{text}\n")
    if flush:
        sys.stdout.flush()


def print_note(text: str) -> None:
    """Writes a line to standard error."""
    sys.stderr.write(safe_text(f"{text}\n"))


def print_problem(text: str) -> None:
    """Writes an error to standard error."""
    print_note(f"bayou: {text}")


def print_json(data: "Any", *, indent: int | None = None, flush: bool = False) -> None:
    """Writes data as one line of JSON, with foreign names escaped. Characters that UTF-8 cannot encode become
    question marks."""
    # Imported here because only this function needs it.
    import json  # noqa: PLC0415

    line = json.dumps(data, ensure_ascii=False, indent=indent).encode("utf-8", "replace").decode()
    if not line.isascii() or "\x7f" in line:
        from tools.text_sanitizing import escape_json_for_terminal  # noqa: PLC0415  (as in safe_text)

        line = escape_json_for_terminal(line)
    sys.stdout.write(f"{line}\n")
    if flush:
        sys.stdout.flush()


def print_data(pieces: "Iterable[bytes]") -> None:
    """Writes data for other programs unchanged, each piece at once; a terminal gets it as safe text."""
    if sys.stdout.isatty():
        # Imported here because only a terminal needs it.
        import codecs  # noqa: PLC0415

        for text in codecs.iterdecode(pieces, "utf-8", "replace"):
            print_text(text)
            sys.stdout.flush()
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def safe_text(text: str) -> str:
    """Returns the text with control characters and direction marks replaced by symbols and numbers."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # The version and most errors are plain text and skip this import.
    from tools.text_sanitizing import escape_for_terminal  # noqa: PLC0415

    return escape_for_terminal(text)
