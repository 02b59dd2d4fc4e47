"""New problems that linters and type checkers report, as events carry them."""

from typing import Literal

from app.values.wire import Wire


class Diagnostic(Wire, frozen=True, kw_only=True):
    """One problem at one position in a file."""

    path: str
    """The file with the problem, relative to the session's folder."""
    line: int
    column: int = 0
    text: str
    code: str = ""
    source: str = ""
    """The program or extension that reported the problem."""
    severity: Literal["error", "warning", "note"] = "error"


class DiagnosticsStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_start"):
    """Linters and type checkers begin to check files that the agent changed. Then: `diagnostics_end`."""

    programs: tuple[str, ...]
    files: int


class DiagnosticsEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_end"):
    """The checks by linters and type checkers have ended or were stopped. New problems reach the model in a
    message of the type `diagnostics`."""

    problems: tuple[Diagnostic, ...] = ()
    """New problems, worst first, as many as the model receives."""
    total: int = 0
    failures: tuple[str, ...] = ()
    """The reasons why some programs could not report problems."""
    aborted: bool = False
