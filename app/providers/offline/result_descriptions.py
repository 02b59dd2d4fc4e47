"""Describes the results of tool calls in words, from the same text that a model reads."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

import msgspec

from app.values.content import Image, ToolCall, text_of
from app.values.messages import ToolResultMessage


class CallWithResult(msgspec.Struct, frozen=True, kw_only=True):
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
_TRAILING_NOTICE = re.compile(r"\n\n\[(?P<notice>[^\n]*)\]\s*\Z")
_JOB_PATTERN = re.compile(r"Background job (?P<job>\S+) started:")
_EXIT_PATTERN = re.compile(r"\n\n(?P<end>Command (?:exited with code|timed out|aborted)[^\n]*)\s*\Z")
_MATCH_PATTERN = re.compile(r"^(?P<path>.+?):\d+: ", re.MULTILINE)
_MAX_LOG_LINES = 6
_MAX_OUTPUT_LINES = 12
_MAX_NAMES = 10


def describe_results(results: tuple[CallWithResult, ...]) -> str:
    """Describes a single result in some detail, several as a list."""
    if len(results) == 1:
        return _detailed_description(results[0])
    lines = [f"- {_short_description(exchange)}" for exchange in results]
    failed = sum(exchange.result.is_error for exchange in results)
    head = f"{len(results)} results" + (f", {failed} of them failed" if failed else "")
    return f"{head}:\n\n" + "\n".join(lines)


def first_line(text: str, width: int = 200) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(nothing)")
    return line if len(line) <= width else line[: width - 1] + "…"


def _code_block(text: str, language: str = "text") -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _short_description(exchange: CallWithResult) -> str:
    if _failed_before_running(exchange):
        return f"{_call_label(exchange)} failed: {first_line(exchange.result_text)}"
    tell_of = _SHORT_DESCRIPTIONS.get(exchange.call.name)
    return tell_of(exchange) if tell_of else f"{_call_label(exchange)}: {first_line(exchange.result_text)}"


def _detailed_description(exchange: CallWithResult) -> str:
    short, tell_more = _short_description(exchange), _DETAILED_DESCRIPTIONS.get(exchange.call.name)
    more = tell_more(exchange) if tell_more and not _failed_before_running(exchange) else ""
    return f"{short}\n\n{more}" if more else short


def _failed_before_running(exchange: CallWithResult) -> bool:
    """Says whether a call failed before it ran. A failing bash command did run, so its output is shown."""
    return exchange.result.is_error and exchange.call.name != "bash"


def _call_label(exchange: CallWithResult) -> str:
    subject = exchange.argument("path") or exchange.argument("command") or exchange.argument("pattern")
    return f"{exchange.call.name} `{first_line(subject, 80)}`" if subject else exchange.call.name


def _output_without_notice(exchange: CallWithResult) -> str:
    return _TRAILING_NOTICE.sub("", exchange.result_text)


def _read_summary(exchange: CallWithResult) -> str:
    name = f"`{exchange.argument('path')}`"
    if any(isinstance(part, Image) for part in exchange.result.content):
        return f"{name} is an image. I cannot see it; you can, in its card above."
    details = exchange.result.details if isinstance(exchange.result.details, dict) else {}
    if details.get("directory"):
        return f"{name} is a folder with {_counted_noun(details.get('entries', 0), 'entry', 'entries')}."
    first, last, total = (details.get(key) for key in ("firstLine", "lastLine", "totalLines"))
    if total == 0:
        return f"{name} is empty."
    if first is None or last is None or total is None:
        return f"{name}: {_counted_noun(len(_output_without_notice(exchange).splitlines()), 'line')}."
    if last - first + 1 >= total:
        return f"{name} has {_counted_noun(total, 'line')}."
    return f"{name}: lines {first:,} to {last:,} of {total:,}."


def _read_detail(exchange: CallWithResult) -> str:
    if any(isinstance(part, Image) for part in exchange.result.content):
        return ""
    lines = _output_without_notice(exchange).splitlines()
    if not lines:
        return ""
    language = _LANGUAGE_BY_SUFFIX.get(PurePosixPath(exchange.argument("path")).suffix, "text")
    sample = _code_block("\n".join(line[:120] for line in lines[:_MAX_LOG_LINES]), language)
    return f"{'It reads' if len(lines) <= _MAX_LOG_LINES else 'It begins'}:\n\n{sample}"


def _bash_output(exchange: CallWithResult) -> tuple[str, str]:
    """Returns a command's output and how it ended."""
    ending = _EXIT_PATTERN.search(exchange.result_text)
    output = exchange.result_text[: ending.start()] if ending else exchange.result_text
    return output.strip("\n"), ending["end"] if ending else ""


def _bash_summary(exchange: CallWithResult) -> str:
    output, ending = _bash_output(exchange)
    command = f"`{first_line(exchange.argument('command'), 80)}`"
    if (started := _JOB_PATTERN.match(output)) is not None:
        return f"{command} goes on in the background as {started['job']}; I tell you when it has ended."
    lines = 0 if output in ("", "(no output)") else len(output.splitlines())
    wrote = f"wrote {_counted_noun(lines, 'line')}" if lines else "wrote nothing"
    if not exchange.result.is_error:
        return f"{command} succeeded and {wrote}."
    how = ending.removeprefix("Command ") or first_line(output)
    return f"{command} failed ({how}) and {wrote}."


def _bash_detail(exchange: CallWithResult) -> str:
    output, _ = _bash_output(exchange)
    if output in ("", "(no output)") or _JOB_PATTERN.match(output):
        return ""
    return _tail_code_block(output)


def _tail_code_block(output: str) -> str:
    """Returns the last lines of a command's output as a code block."""
    lines = output.splitlines()
    head = "Its last lines:\n\n" if len(lines) > _MAX_OUTPUT_LINES else ""
    return head + _code_block("\n".join(line[:160] for line in lines[-_MAX_OUTPUT_LINES:]))


def _files_with_matches(exchange: CallWithResult) -> Counter[str]:
    return Counter(_MATCH_PATTERN.findall(exchange.result_text))


def _grep_summary(exchange: CallWithResult) -> str:
    files = _files_with_matches(exchange)
    pattern = f"`{first_line(exchange.argument('pattern'), 80)}`"
    if not files:
        return f"Nothing matches {pattern}."
    return f"{pattern} is on {_counted_noun(files.total(), 'line')} in {_counted_noun(len(files), 'file')}."


def _grep_detail(exchange: CallWithResult) -> str:
    files = _files_with_matches(exchange)
    if not files:
        return ""
    rows = "\n".join(f"| `{path}` | {count} |" for path, count in files.most_common(_MAX_NAMES))
    rest = f"\n\nand {len(files) - _MAX_NAMES} more files." if len(files) > _MAX_NAMES else ""
    return f"| File | Lines |\n|---|---:|\n{rows}{rest}"


def _listed_names(exchange: CallWithResult) -> list[str]:
    """Returns the paths or entries in a result of `find` or `ls`."""
    text = _output_without_notice(exchange)
    if text.startswith(("No files", "(empty", "No matches")):
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("[")]


def _find_summary(exchange: CallWithResult) -> str:
    names = _listed_names(exchange)
    pattern = f"`{exchange.argument('pattern')}`"
    return f"{_counted_noun(len(names), 'path')} for {pattern}." if names else f"No file is named {pattern}."


def _ls_summary(exchange: CallWithResult) -> str:
    names = _listed_names(exchange)
    folders = sum(name.endswith("/") for name in names)
    where = f"`{exchange.argument('path') or '.'}`"
    files = _counted_noun(len(names) - folders, "file")
    return f"{where} holds {_counted_noun(folders, 'folder')} and {files}." if names else f"{where} is empty."


def _list_detail(exchange: CallWithResult) -> str:
    names = _listed_names(exchange)
    if not names:
        return ""
    shown = "\n".join(f"- `{name}`" for name in names[:_MAX_NAMES])
    rest = f"\n- and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return shown + rest


def _edit_summary(exchange: CallWithResult) -> str:
    edits = exchange.call.arguments.get("edits")
    places = _counted_noun(len(edits), "place") if isinstance(edits, list) else "1 place"
    return f"`{exchange.argument('path')}` is changed in {places}."


def _counted_noun(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_SHORT_DESCRIPTIONS: dict[str, Callable[[CallWithResult], str]] = {
    "read": _read_summary,
    "bash": _bash_summary,
    "grep": _grep_summary,
    "find": _find_summary,
    "ls": _ls_summary,
    "edit": _edit_summary,
}
_DETAILED_DESCRIPTIONS: dict[str, Callable[[CallWithResult], str]] = {
    "read": _read_detail,
    "bash": _bash_detail,
    "grep": _grep_detail,
    "find": _list_detail,
    "ls": _list_detail,
}
