"""Builds the result of an `eval` call: its output in order, values, errors, and how it ended."""

import signal
from typing import Any

import msgspec

from tools.files.images import identify_image, prepare_image
from tools.kernel.output import OutputPiece
from tools.kernel.session_kernel import CellEnd
from tools.limits import format_size
from tools.results import ImagePart, Part, TextPart, ToolResult
from tools.running.file_watching import CommandFiles
from tools.running.rolling_output import OutputSnapshot
from tools.text import escape_controls
from tools.workspace import Workspace


class NestedCall(msgspec.Struct, kw_only=True):
    """A tool call made by a cell."""

    name: str
    subject: str = ""
    state: str = "running"
    milliseconds: int | None = None


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of all cells of one `eval` call, from which its result is built."""

    title: str
    count: int
    last: int
    """Number of the last cell that ran."""
    end: CellEnd
    """How the last cell ended."""
    limit: float | None
    output: OutputSnapshot
    pieces: tuple[OutputPiece, ...]
    notices: tuple[str, ...]
    notes: tuple[str, ...]
    calls: tuple[NestedCall, ...]
    seconds: float
    files: CommandFiles | None = None


def progress_result(text: str, calls: "list[NestedCall]") -> ToolResult:
    content = (TextPart(text=text),) if text else ()
    return ToolResult(content=content, details={"calls": msgspec.to_builtins(calls)} if calls else None)


def eval_result(report: EvalReport, workspace: Workspace) -> ToolResult:
    parts, kinds = _output_parts(report, workspace)
    lines = [f"[{line}]" for line in (*report.notes, _truncation_notice(report.output)) if line]
    ending = _ending_line(report)
    if not parts and not ending:
        parts, kinds = [TextPart(text="(no output)")], ["text"]
    closing = "\n".join(line for line in (*lines, *([ending] if ending else [])) if line)
    if closing:
        parts.append(TextPart(text=closing))
        kinds.append("ending")
    if report.notices:
        parts.insert(0, TextPart(text="\n".join(f"[{line}]" for line in report.notices)))
        kinds.insert(0, "notice")
    return ToolResult(
        content=tuple(parts), details=_result_details(report, kinds), is_error=report.end.has_failed
    )


def _output_parts(report: EvalReport, workspace: Workspace) -> tuple[list[Part], list[str]]:
    parts: list[Part] = []
    kinds: list[str] = []
    is_cut = report.output.truncation.truncated
    if is_cut:
        parts.append(TextPart(text=report.output.text.rstrip("\n")))
        kinds.append("text")
    for piece in report.pieces:
        if piece.kind == "image":
            part = _picture_part(piece, resizes=workspace.read().resizes_images)
        elif is_cut or not piece.text.strip("\n"):
            continue
        else:
            part = TextPart(text=piece.text.rstrip("\n"))
        parts.append(part)
        kinds.append(
            "image" if isinstance(part, ImagePart) else piece.kind if piece.kind != "image" else "text"
        )
    return parts, kinds


def _picture_part(piece: OutputPiece, *, resizes: bool) -> Part:
    info = identify_image(piece.data)
    if info is None:
        return TextPart(text="[a picture of no known kind was not shown]")
    ready = prepare_image(piece.data, info, resizes=resizes)
    if ready.problem:
        return TextPart(text=f"[a picture was not shown: {ready.problem}]")
    return ImagePart(data=ready.data, mime_type=ready.info.mime_type)


def _truncation_notice(output: OutputSnapshot) -> str:
    cut = output.truncation
    if not cut.truncated:
        return ""
    sizes = f"{format_size(cut.output_bytes)} of {format_size(cut.total_bytes)}"
    return f"Showing the last {sizes}. {output.artifact_notice}"


def _ending_line(report: EvalReport) -> str:
    end = report.end
    lines: list[str] = []
    if end.stopped == "timeout" and report.limit is not None:
        lines.append(f"Command timed out after {report.limit:g} seconds")
    if end.stopped:
        lines.append("Interrupted; state kept." if end.keeps_state else "Killed; state lost.")
    elif end.done is None:
        lines.append(f"The kernel ended by itself ({_exit_cause(end.exit_code)}); its state is lost.")
    if end.has_failed and report.count > 1:
        before = (
            "Earlier cells succeeded—their state persists. " if report.last > 1 and end.keeps_state else ""
        )
        lines.append(
            f"Cell {report.last} failed (exit code {_exit_code(end)}). {before}Fix only cell {report.last}."
        )
    return "\n".join(lines)


def _exit_cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code or 0}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return name + (", perhaps for want of memory" if -code == signal.SIGKILL else "")


def _exit_code(end: CellEnd) -> int:
    if end.exit_code is None:
        return 1
    return 128 - end.exit_code if end.exit_code < 0 else end.exit_code


def _result_details(report: EvalReport, kinds: list[str]) -> dict[str, Any]:
    details: dict[str, Any] = {"parts": kinds, "seconds": round(report.seconds, 3)}
    end, output = report.end, report.output
    if report.count > 1:
        details["cells"] = report.count
    if report.calls:
        details["calls"] = msgspec.to_builtins(report.calls)
    if end.done is not None and end.done.error is not None:
        details["error"] = escape_controls(end.done.error.name)
    if end.stopped:
        details["stopped"] = end.stopped
    if not end.keeps_state:
        details["stateLost"] = True
    if output.truncation.truncated:
        details["truncation"] = output.truncation.details()
    if output.artifact:
        details["fullOutputPath"] = str(output.artifact.path)
        details["artifact"] = output.artifact.uri
    if report.files is not None:
        details["files"] = msgspec.to_builtins(report.files)
    return details
