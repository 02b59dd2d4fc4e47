"""Returns the card of a command of the agent: while it runs, and after its end."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.number_formatting import format_seconds
from tools.running.command_file_watching import format_changed_files_summary
from tools.running.command_output_buffer import CommandOutputBuffer
from tools.running.output_colours import read_stored_output_colours
from tools.streaming_arguments import first_text_argument, number_argument, text_in_result_details
from tools.text_sanitizing import escape_controls, last_nonempty_lines
from tools.tool_result_values import Card, CommandBlock, ToolResult, text_result

_COLOURS_DETAIL_KEY: Final = "colours"
_EXIT_LINE_PATTERN = lazy_regex(r"\n\n(Command (?:exited with code (\d+).*|aborted|timed out after .*))\Z")


def make_command_progress_result(output: CommandOutputBuffer) -> ToolResult:
    """Returns the output so far of a running command, with its colours."""
    text, colours = output.preview_with_colours()
    return text_result(text, details={_COLOURS_DETAIL_KEY: msgspec.to_builtins(colours)} if colours else None)


def make_command_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    command = arguments.get("command")
    command = escape_controls(command) if isinstance(command, str) else ""
    subject = first_text_argument(arguments, "command")
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
    job = text_in_result_details(result.details, "jobId")
    if not ending and not result.is_error and not job and _is_command_finished(result):
        code = 0
    summary = (
        f"in the background, {job}" if job else f"exit {code}" if code else note.removeprefix("Command ")
    )
    summary = ", ".join(part for part in (summary, format_changed_files_summary(result.details)) if part)
    colours = read_stored_output_colours(result.details)
    block = CommandBlock(command=command, output=output, exit_code=code, note=note, colours=colours)
    doubt = escape_controls(text_in_result_details(result.details, "failedPart")) if code == 0 else ""
    said = output.replace(f"[{doubt}]", "") if doubt else output
    shown = last_nonempty_lines(said) if code == 0 and not job else ()
    return Card(
        title="bash", subject=subject, summary=summary, doubt=doubt, blocks=(block,), last_lines=shown
    )


def _is_command_finished(result: ToolResult) -> bool:
    """Returns whether the command of a result has ended: a progress result has no details but colours; sessions of pi
    have none for a finished command either."""
    return result.details is not None and set(result.details) != {_COLOURS_DETAIL_KEY}
