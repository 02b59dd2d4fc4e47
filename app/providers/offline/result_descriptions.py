"""Describes the results of tool calls in words, from the same text that a model reads."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

import msgspec

from app.values.content import Image, ToolCall, text_of
from app.values.messages import ToolResultMessage


class ToolCallWithResult(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its result."""

    call: ToolCall
    result: ToolResultMessage

    def argument(self, name: str) -> str:
        value = self.call.arguments.get(name)
        return value if isinstance(value, str) else ""

    @property
    def result_text(self) -> str:
        return text_of(self.result.content)


_LANGUAGE_BY_SUFFIX = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx", ".rs": "rust", ".go": "go",
    ".c": "c", ".h": "c", ".cpp": "cpp", ".java": "java", ".rb": "ruby", ".sh": "bash", ".md": "markdown",
    ".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".html": "html", ".css": "css",
}  # fmt: skip
_TOOL_RESULT_NOTICE_PATTERN = re.compile(r"\n\n\[(?P<notice>[^\n]*)\]\s*\Z")
_STARTED_JOB_PATTERN = re.compile(r"Background job (?P<job>\S+) started:")
_COMMAND_END_NOTICE_PATTERN = re.compile(
    r"\n\n(?P<end>Command (?:exited with code|timed out|aborted)[^\n]*)\s*\Z"
)
_GREP_MATCH_PATTERN = re.compile(r"^(?P<path>.+?):\d+: ", re.MULTILINE)
_MAX_COMMAND_TAIL_LINES = 6
_MAX_QUOTED_RESULT_LINES = 12
_MAX_LISTED_NAMES = 10


def describe_tool_results(results: tuple[ToolCallWithResult, ...]) -> str:
    """Returns a description of tool results in words: a single result in detail, several as a list."""
    if len(results) == 1:
        return _detailed_description(results[0])
    lines = [f"- {_short_description(exchange)}" for exchange in results]
    failed = sum(exchange.result.is_error for exchange in results)
    head = f"{len(results)} results" + (f", {failed} of them failed" if failed else "")
    return f"{head}:\n\n" + "\n".join(lines)


def shortened_first_line(text: str, width: int = 200) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(nothing)")
    return line if len(line) <= width else line[: width - 1] + "…"


def _code_block(text: str, language: str = "text") -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _short_description(exchange: ToolCallWithResult) -> str:
    if _failed_before_running(exchange):
        return f"{_call_as_markdown(exchange)} failed: {shortened_first_line(exchange.result_text)}"
    tell_of = _SHORT_DESCRIBER_BY_TOOL.get(exchange.call.name)
    return (
        tell_of(exchange)
        if tell_of
        else f"{_call_as_markdown(exchange)}: {shortened_first_line(exchange.result_text)}"
    )


def _detailed_description(exchange: ToolCallWithResult) -> str:
    short, tell_more = _short_description(exchange), _DETAILED_DESCRIBER_BY_TOOL.get(exchange.call.name)
    more = tell_more(exchange) if tell_more and not _failed_before_running(exchange) else ""
    return f"{short}\n\n{more}" if more else short


def _failed_before_running(exchange: ToolCallWithResult) -> bool:
    """Says whether a tool call failed before it ran. A bash command that ran and failed does not count, because its
    output is shown."""
    return exchange.result.is_error and not (exchange.call.name == "bash" and _bash_output(exchange)[1])


def _call_as_markdown(exchange: ToolCallWithResult) -> str:
    subject = exchange.argument("path") or exchange.argument("command") or exchange.argument("pattern")
    return f"{exchange.call.name} `{shortened_first_line(subject, 80)}`" if subject else exchange.call.name


def _output_without_notice(exchange: ToolCallWithResult) -> str:
    return _TOOL_RESULT_NOTICE_PATTERN.sub("", exchange.result_text)


def _summarize_read(exchange: ToolCallWithResult) -> str:
    name = f"`{exchange.argument('path')}`"
    if any(isinstance(part, Image) for part in exchange.result.content):
        return f"{name} is an image. I cannot see it; you can, in its card above."
    details = exchange.result.details if isinstance(exchange.result.details, dict) else {}
    if details.get("directory"):
        return f"{name} is a folder with {_format_count(details.get('entries', 0), 'entry', 'entries')}."
    first, last, total = (details.get(key) for key in ("firstLine", "lastLine", "totalLines"))
    if total == 0:
        return f"{name} is empty."
    if first is None or last is None or total is None:
        return f"{name}: {_format_count(len(_output_without_notice(exchange).splitlines()), 'line')}."
    if last - first + 1 >= total:
        return f"{name} has {_format_count(total, 'line')}."
    return f"{name}: lines {first:,} to {last:,} of {total:,}."


def _detail_read(exchange: ToolCallWithResult) -> str:
    if any(isinstance(part, Image) for part in exchange.result.content):
        return ""
    lines = _output_without_notice(exchange).splitlines()
    if not lines:
        return ""
    language = _LANGUAGE_BY_SUFFIX.get(PurePosixPath(exchange.argument("path")).suffix, "text")
    sample = _code_block("\n".join(line[:120] for line in lines[:_MAX_COMMAND_TAIL_LINES]), language)
    return f"{'It reads' if len(lines) <= _MAX_COMMAND_TAIL_LINES else 'It begins'}:\n\n{sample}"


def _bash_output(exchange: ToolCallWithResult) -> tuple[str, str]:
    """Returns a command's output and how it ended."""
    ending = _COMMAND_END_NOTICE_PATTERN.search(exchange.result_text)
    output = exchange.result_text[: ending.start()] if ending else exchange.result_text
    return output.strip("\n"), ending["end"] if ending else ""


def _summarize_bash(exchange: ToolCallWithResult) -> str:
    output, ending = _bash_output(exchange)
    command = f"`{shortened_first_line(exchange.argument('command'), 80)}`"
    if (started := _STARTED_JOB_PATTERN.match(output)) is not None:
        return f"{command} goes on in the background as {started['job']}; I tell you when it has ended."
    lines = 0 if output in ("", "(no output)") else len(output.splitlines())
    wrote = f"wrote {_format_count(lines, 'line')}" if lines else "wrote nothing"
    if not exchange.result.is_error:
        return f"{command} succeeded and {wrote}."
    how = ending.removeprefix("Command ") or shortened_first_line(output)
    return f"{command} failed ({how}) and {wrote}."


def _detail_bash(exchange: ToolCallWithResult) -> str:
    output, _ = _bash_output(exchange)
    if output in ("", "(no output)") or _STARTED_JOB_PATTERN.match(output):
        return ""
    return _tail_code_block(output)


def _tail_code_block(output: str) -> str:
    """Returns the last lines of a command's output as a code block."""
    lines = output.splitlines()
    head = "Its last lines:\n\n" if len(lines) > _MAX_QUOTED_RESULT_LINES else ""
    return head + _code_block("\n".join(line[:160] for line in lines[-_MAX_QUOTED_RESULT_LINES:]))


def _files_with_matches(exchange: ToolCallWithResult) -> Counter[str]:
    return Counter(_GREP_MATCH_PATTERN.findall(exchange.result_text))


def _summarize_grep(exchange: ToolCallWithResult) -> str:
    files = _files_with_matches(exchange)
    pattern = f"`{shortened_first_line(exchange.argument('pattern'), 80)}`"
    if not files:
        return f"Nothing matches {pattern}."
    return f"{pattern} is on {_format_count(files.total(), 'line')} in {_format_count(len(files), 'file')}."


def _detail_grep(exchange: ToolCallWithResult) -> str:
    files = _files_with_matches(exchange)
    if not files:
        return ""
    rows = "\n".join(f"| `{path}` | {count} |" for path, count in files.most_common(_MAX_LISTED_NAMES))
    rest = f"\n\nand {len(files) - _MAX_LISTED_NAMES} more files." if len(files) > _MAX_LISTED_NAMES else ""
    return f"| File | Lines |\n|---|---:|\n{rows}{rest}"


def _listed_names(exchange: ToolCallWithResult) -> list[str]:
    """Returns the paths or entries in a result of `find` or `ls`."""
    text = _output_without_notice(exchange)
    if text.startswith(("No files", "(empty", "No matches")):
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("[")]


def _summarize_find(exchange: ToolCallWithResult) -> str:
    names = _listed_names(exchange)
    pattern = f"`{exchange.argument('pattern')}`"
    return f"{_format_count(len(names), 'path')} for {pattern}." if names else f"No file is named {pattern}."


def _summarize_ls(exchange: ToolCallWithResult) -> str:
    names = _listed_names(exchange)
    folders = sum(name.endswith("/") for name in names)
    where = f"`{exchange.argument('path') or '.'}`"
    files = _format_count(len(names) - folders, "file")
    return f"{where} holds {_format_count(folders, 'folder')} and {files}." if names else f"{where} is empty."


def _detail_list(exchange: ToolCallWithResult) -> str:
    names = _listed_names(exchange)
    if not names:
        return ""
    shown = "\n".join(f"- `{name}`" for name in names[:_MAX_LISTED_NAMES])
    rest = f"\n- and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    return shown + rest


def _summarize_edit(exchange: ToolCallWithResult) -> str:
    edits = exchange.call.arguments.get("edits")
    places = _format_count(len(edits), "place") if isinstance(edits, list) else "1 place"
    return f"`{exchange.argument('path')}` is changed in {places}."


def _format_count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_SHORT_DESCRIBER_BY_TOOL: dict[str, Callable[[ToolCallWithResult], str]] = {
    "read": _summarize_read,
    "bash": _summarize_bash,
    "grep": _summarize_grep,
    "find": _summarize_find,
    "ls": _summarize_ls,
    "edit": _summarize_edit,
}
_DETAILED_DESCRIBER_BY_TOOL: dict[str, Callable[[ToolCallWithResult], str]] = {
    "read": _detail_read,
    "bash": _detail_bash,
    "grep": _detail_grep,
    "find": _detail_list,
    "ls": _detail_list,
}
