"""Prints for the shell, as every subcommand and face does: names of files and models, errors of servers and texts of
sessions come from elsewhere, so no control character and no direction mark of them reaches a terminal or a pipe.
"""

import sys

TYPE_CHECKING = False
"""As in `typing`, which takes longer to import than `bayou --version` runs."""
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def print_text(text: str) -> None:
    """Writes to standard output, without a line end behind the text."""
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
    """Writes a line to standard error that says what went wrong."""
    print_note(f"bayou: {text}")


def print_json(data: "Any", *, indent: int | None = None, flush: bool = False) -> None:
    """Writes data as one line of JSON, in which foreign names are escaped. What no UTF-8 can say is a question mark."""
    # Only this needs it.
    import json  # noqa: PLC0415

    line = json.dumps(data, ensure_ascii=False, indent=indent).encode("utf-8", "replace").decode()
    if not line.isascii() or "\x7f" in line:
        from tools.text import json_for_terminal  # noqa: PLC0415  (as in safe_text)

        line = json_for_terminal(line)
    sys.stdout.write(f"{line}\n")
    if flush:
        sys.stdout.flush()


def print_data(pieces: "Iterable[bytes]") -> None:
    """Writes what another program reads as it is, each piece at once; a terminal gets it as safe text."""
    if sys.stdout.isatty():
        # Only a terminal needs it.
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
    """The text without control characters and direction marks, which are shown by symbols and numbers."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # The version and most errors are plain and need not wait for it.
    from tools.text import for_terminal  # noqa: PLC0415

    return for_terminal(text)
