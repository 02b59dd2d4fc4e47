"""What linters and type checkers newly say, as faces and extensions are told of it."""

from typing import Literal

from app.values.wire import Wire


class Diagnostic(Wire, frozen=True, kw_only=True):
    """One problem at one place."""

    path: str
    """From the folder of the session."""
    line: int
    column: int = 0
    text: str
    code: str = ""
    source: str = ""
    """The program or extension that says it."""
    severity: Literal["error", "warning", "note"] = "error"


class DiagnosticsStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_start"):
    """Programs begin to look at files that the agent changed. Then: `diagnostics_end`."""

    programs: tuple[str, ...]
    files: int


class DiagnosticsEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_end"):
    """They have looked, or were stopped. What is new is told to the model by a message of the type `diagnostics`."""

    problems: tuple[Diagnostic, ...] = ()
    """What is new, the worst first, as far as the model is told of it."""
    total: int = 0
    failures: tuple[str, ...] = ()
    """Why programs had nothing to say."""
    aborted: bool = False
