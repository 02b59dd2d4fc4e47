"""Returns the card of a command of the agent: while it runs, and after its end."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tools.amounts import format_seconds
from tools.arguments import number_argument, text_argument, text_detail
from tools.patterns import late
from tools.results import Card, CommandBlock, ToolResult, text_result
from tools.running.colours import read_stored_colours
from tools.running.file_watching import format_files_summary
from tools.running.rolling_output import RollingOutput
from tools.text import escape_controls, last_text_lines

_COLOURS_DETAIL_KEY: Final = "colours"
_EXIT_LINE_PATTERN = late(r"\n\n(Command (?:exited with code (\d+).*|aborted|timed out after .*))\Z")


def make_progress_result(output: RollingOutput) -> ToolResult:
    """Returns the output so far of a running command, with its colours."""
    text, colours = output.preview_with_colours()
    return text_result(text, details={_COLOURS_DETAIL_KEY: msgspec.to_builtins(colours)} if colours else None)


def make_command_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    command = arguments.get("command")
    command = escape_controls(command) if isinstance(command, str) else ""
    subject = text_argument(arguments, "command")
    timeout = number_argument(arguments, "timeout")
    if timeout is not None:
        subject += f" (timeout {format_seconds(timeout)})"
    if result is None:
        return Card(title="bash", subject=subject, blocks=(CommandBlock(command=command),))
    output, note = result.text, ""
    code: int | None = None
    ending = _EXIT_LINE_PATTERN.search(output)
    if ending:
        output, note = output[: ending.start()], ending[1]
        code = int(ending[2]) if ending[2] else None
    job = text_detail(result.details, "jobId")
    if not ending and not result.is_error and not job and _is_command_finished(result):
        code = 0
    summary = (
        f"in the background, {job}" if job else f"exit {code}" if code else note.removeprefix("Command ")
    )
    summary = ", ".join(part for part in (summary, format_files_summary(result.details)) if part)
    colours = read_stored_colours(result.details)
    block = CommandBlock(command=command, output=output, exit_code=code, note=note, colours=colours)
    doubt = escape_controls(text_detail(result.details, "failedPart")) if code == 0 else ""
    said = output.replace(f"[{doubt}]", "") if doubt else output
    shown = last_text_lines(said) if code == 0 and not job else ()
    return Card(
        title="bash", subject=subject, summary=summary, doubt=doubt, blocks=(block,), last_lines=shown
    )


def _is_command_finished(result: ToolResult) -> bool:
    """Returns whether the command of a result has ended: a progress result has no details but colours; sessions of pi
    have none for a finished command either."""
    return result.details is not None and set(result.details) != {_COLOURS_DETAIL_KEY}
