"""The first or the last lines of an output, for those who asked for no more."""

from tools.running.rolling import OutputSnapshot
from tools.text import on_screen

_READ = 1 << 20


def portion(output: OutputSnapshot, *, head: int | None, tail: int | None) -> tuple[str, str] | None:
    """These lines, and which of how many they are; None where everything that is shown is meant."""
    wanted = head or tail
    total = output.truncation.total_lines
    if wanted is None or wanted >= total:
        return None
    lines = (_beginning(output) if head else output.text).rstrip("\n").split("\n")
    chosen = lines[:head] if head else lines[-wanted:]
    if len(chosen) < wanted:
        return None
    rest = f". Full output: {output.artifact.path} (read {output.artifact.uri})" if output.artifact else ""
    return "\n".join(chosen), f"Showing the {'first' if head else 'last'} {wanted} of {total} lines{rest}"


def _beginning(output: OutputSnapshot) -> str:
    """What is shown of a long output is its end; its beginning is in the file."""
    if not output.truncation.truncated or output.artifact is None:
        return output.text
    try:
        with output.artifact.path.open("rb") as file:
            return on_screen(file.read(_READ).decode("utf-8", "replace"))
    except OSError:
        return ""
