"""Builds the result of an `eval` call: its output in order, values, errors, and how it ended."""

import signal
from typing import Any

import msgspec

from tools.files.images import identify_image, prepare_image_for_model
from tools.kernel.cell_output import CellOutputPiece
from tools.kernel.session_kernel import CellOutcome
from tools.result_limits import format_size
from tools.running.command_file_watching import FilesChangedByCommand
from tools.running.command_output_buffer import CommandOutputSnapshot
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls
from tools.tool_result_values import ImagePart, Part, TextPart, ToolResult


class ToolCallOfCell(msgspec.Struct, kw_only=True):
    """A tool call made by a cell."""

    name: str
    subject: str = ""
    state: str = "running"
    milliseconds: int | None = None


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of all cells of one `eval` call, from which its result is built."""

    title: str
    cell_count: int
    last_cell_number: int
    """The number of the last cell that ran."""
    last_cell_end: CellOutcome
    """The way in which the last cell ended."""
    time_limit: float | None
    output: CommandOutputSnapshot
    output_pieces: tuple[CellOutputPiece, ...]
    notices: tuple[str, ...]
    notes: tuple[str, ...]
    tool_calls: tuple[ToolCallOfCell, ...]
    seconds: float
    changed_files: FilesChangedByCommand | None = None


def make_eval_progress_result(text: str, calls: "list[ToolCallOfCell]") -> ToolResult:
    content = (TextPart(text=text),) if text else ()
    return ToolResult(content=content, details={"calls": msgspec.to_builtins(calls)} if calls else None)


def make_eval_result(report: EvalReport, workspace: SessionWorkspace) -> ToolResult:
    parts, kinds = _make_output_parts(report, workspace)
    lines = [f"[{line}]" for line in (*report.notes, _format_truncation_notice(report.output)) if line]
    ending = _format_ending_line(report)
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
        content=tuple(parts),
        details=_make_eval_details(report, kinds),
        is_error=report.last_cell_end.has_failed,
    )


def _make_output_parts(report: EvalReport, workspace: SessionWorkspace) -> tuple[list[Part], list[str]]:
    parts: list[Part] = []
    kinds: list[str] = []
    is_cut = report.output.truncation.truncated
    if is_cut:
        parts.append(TextPart(text=report.output.text.rstrip("\n")))
        kinds.append("text")
    for piece in report.output_pieces:
        if piece.kind == "image":
            part = _make_picture_part(piece, resizes=workspace.read_settings().resizes_images)
        elif is_cut or not piece.text.strip("\n"):
            continue
        else:
            part = TextPart(text=piece.text.rstrip("\n"))
        parts.append(part)
        kinds.append(
            "image" if isinstance(part, ImagePart) else piece.kind if piece.kind != "image" else "text"
        )
    return parts, kinds


def _make_picture_part(piece: CellOutputPiece, *, resizes: bool) -> Part:
    info = identify_image(piece.data)
    if info is None:
        return TextPart(text="[a picture of no known kind was not shown]")
    ready = prepare_image_for_model(piece.data, info, resizes=resizes)
    if ready.problem:
        return TextPart(text=f"[a picture was not shown: {ready.problem}]")
    return ImagePart(data=ready.data, mime_type=ready.info.mime_type)


def _format_truncation_notice(output: CommandOutputSnapshot) -> str:
    cut = output.truncation
    if not cut.truncated:
        return ""
    sizes = f"{format_size(cut.output_bytes)} of {format_size(cut.total_bytes)}"
    return f"Showing the last {sizes}. {output.artifact_notice}"


def _format_ending_line(report: EvalReport) -> str:
    end = report.last_cell_end
    lines: list[str] = []
    if end.stop_cause == "timeout" and report.time_limit is not None:
        lines.append(f"Command timed out after {report.time_limit:g} seconds")
    if end.stop_cause:
        lines.append("Interrupted; state kept." if end.keeps_state else "Killed; state lost.")
    elif end.done_message is None:
        lines.append(f"The kernel ended by itself ({_describe_exit_code(end.exit_code)}); its state is lost.")
    if end.has_failed and report.cell_count > 1:
        before = (
            "Earlier cells succeeded—their state persists. "
            if report.last_cell_number > 1 and end.keeps_state
            else ""
        )
        lines.append(
            f"Cell {report.last_cell_number} failed (exit code {_card_exit_code(end)}). "
            f"{before}Fix only cell {report.last_cell_number}."
        )
    return "\n".join(lines)


def _describe_exit_code(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code or 0}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return name + (", perhaps for want of memory" if -code == signal.SIGKILL else "")


def _card_exit_code(end: CellOutcome) -> int:
    if end.exit_code is None:
        return 1
    return 128 - end.exit_code if end.exit_code < 0 else end.exit_code


def _make_eval_details(report: EvalReport, kinds: list[str]) -> dict[str, Any]:
    details: dict[str, Any] = {"parts": kinds, "seconds": round(report.seconds, 3)}
    end, output = report.last_cell_end, report.output
    if report.cell_count > 1:
        details["cells"] = report.cell_count
    if report.tool_calls:
        details["calls"] = msgspec.to_builtins(report.tool_calls)
    if end.done_message is not None and end.done_message.error is not None:
        details["error"] = escape_controls(end.done_message.error.name)
    if end.stop_cause:
        details["stopped"] = end.stop_cause
    if not end.keeps_state:
        details["stateLost"] = True
    if output.truncation.truncated:
        details["truncation"] = output.truncation.details()
    if output.artifact:
        details["fullOutputPath"] = str(output.artifact.path)
        details["artifact"] = output.artifact.uri
    if report.changed_files is not None:
        details["files"] = msgspec.to_builtins(report.changed_files)
    return details
