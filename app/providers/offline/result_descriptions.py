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
    def text(self) -> str:
        return text_of(self.result.content)


_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx", ".rs": "rust", ".go": "go",
    ".c": "c", ".h": "c", ".cpp": "cpp", ".java": "java", ".rb": "ruby", ".sh": "bash", ".md": "markdown",
    ".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".html": "html", ".css": "css",
}  # fmt: skip
_NOTICE = re.compile(r"\n\n\[(?P<notice>[^\n]*)\]\s*\Z")
_JOB = re.compile(r"Background job (?P<job>\S+) started:")
_EXIT = re.compile(r"\n\n(?P<end>Command (?:exited with code|timed out|aborted)[^\n]*)\s*\Z")
_MATCH = re.compile(r"^(?P<path>.+?):\d+: ", re.MULTILINE)
_LOG_LINES_SHOWN = 6
_SHOWN_OUTPUT = 12
_SHOWN_NAMES = 10


def tell(results: tuple[CallWithResult, ...]) -> str:
    """Describes a single result in some detail, several as a list."""
    if len(results) == 1:
        return _in_detail(results[0])
    lines = [f"- {_in_short(exchange)}" for exchange in results]
    failed = sum(exchange.result.is_error for exchange in results)
    head = f"{len(results)} results" + (f", {failed} of them failed" if failed else "")
    return f"{head}:\n\n" + "\n".join(lines)


def first_line(text: str, width: int = 200) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(nothing)")
    return line if len(line) <= width else line[: width - 1] + "…"


def _fenced(text: str, language: str = "text") -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _in_short(exchange: CallWithResult) -> str:
    if _could_not_begin(exchange):
        return f"{_subject(exchange)} failed: {first_line(exchange.text)}"
    tell_of = _SHORT.get(exchange.call.name)
    return tell_of(exchange) if tell_of else f"{_subject(exchange)}: {first_line(exchange.text)}"


def _in_detail(exchange: CallWithResult) -> str:
    short, tell_more = _in_short(exchange), _DETAIL.get(exchange.call.name)
    more = tell_more(exchange) if tell_more and not _could_not_begin(exchange) else ""
    return f"{short}\n\n{more}" if more else short


def _could_not_begin(exchange: CallWithResult) -> bool:
    """Says whether a call failed before it ran. A failing bash command did run, so its output is shown."""
    return exchange.result.is_error and exchange.call.name != "bash"


def _subject(exchange: CallWithResult) -> str:
    subject = exchange.argument("path") or exchange.argument("command") or exchange.argument("pattern")
    return f"{exchange.call.name} `{first_line(subject, 80)}`" if subject else exchange.call.name


def _body(exchange: CallWithResult) -> str:
    return _NOTICE.sub("", exchange.text)


def _read_short(exchange: CallWithResult) -> str:
    name = f"`{exchange.argument('path')}`"
    if any(isinstance(part, Image) for part in exchange.result.content):
        return f"{name} is an image. I cannot see it; you can, in its card above."
    details = exchange.result.details if isinstance(exchange.result.details, dict) else {}
    if details.get("directory"):
        return f"{name} is a folder with {_count(details.get('entries', 0), 'entry', 'entries')}."
    first, last, total = (details.get(key) for key in ("firstLine", "lastLine", "totalLines"))
    if total == 0:
        return f"{name} is empty."
    if first is None or last is None or total is None:
        return f"{name}: {_count(len(_body(exchange).splitlines()), 'line')}."
    if last - first + 1 >= total:
        return f"{name} has {_count(total, 'line')}."
    return f"{name}: lines {first:,} to {last:,} of {total:,}."


def _read_detail(exchange: CallWithResult) -> str:
    if any(isinstance(part, Image) for part in exchange.result.content):
        return ""
    lines = _body(exchange).splitlines()
    if not lines:
        return ""
    language = _LANGUAGES.get(PurePosixPath(exchange.argument("path")).suffix, "text")
    sample = _fenced("\n".join(line[:120] for line in lines[:_LOG_LINES_SHOWN]), language)
    return f"{'It reads' if len(lines) <= _LOG_LINES_SHOWN else 'It begins'}:\n\n{sample}"


def _bash_output(exchange: CallWithResult) -> tuple[str, str]:
    """Returns a command's output and how it ended."""
    ending = _EXIT.search(exchange.text)
    output = exchange.text[: ending.start()] if ending else exchange.text
    return output.strip("\n"), ending["end"] if ending else ""


def _bash_short(exchange: CallWithResult) -> str:
    output, ending = _bash_output(exchange)
    command = f"`{first_line(exchange.argument('command'), 80)}`"
    if (started := _JOB.match(output)) is not None:
        return f"{command} goes on in the background as {started['job']}; I tell you when it has ended."
    lines = 0 if output in ("", "(no output)") else len(output.splitlines())
    wrote = f"wrote {_count(lines, 'line')}" if lines else "wrote nothing"
    if not exchange.result.is_error:
        return f"{command} succeeded and {wrote}."
    how = ending.removeprefix("Command ") or first_line(output)
    return f"{command} failed ({how}) and {wrote}."


def _bash_detail(exchange: CallWithResult) -> str:
    output, _ = _bash_output(exchange)
    if output in ("", "(no output)") or _JOB.match(output):
        return ""
    return _fenced_end(output)


def _fenced_end(output: str) -> str:
    """Returns the last lines of a command's output as a code block."""
    lines = output.splitlines()
    head = "Its last lines:\n\n" if len(lines) > _SHOWN_OUTPUT else ""
    return head + _fenced("\n".join(line[:160] for line in lines[-_SHOWN_OUTPUT:]))


def _files_with_matches(exchange: CallWithResult) -> Counter[str]:
    return Counter(_MATCH.findall(exchange.text))


def _grep_short(exchange: CallWithResult) -> str:
    files = _files_with_matches(exchange)
    pattern = f"`{first_line(exchange.argument('pattern'), 80)}`"
    if not files:
        return f"Nothing matches {pattern}."
    return f"{pattern} is on {_count(files.total(), 'line')} in {_count(len(files), 'file')}."


def _grep_detail(exchange: CallWithResult) -> str:
    files = _files_with_matches(exchange)
    if not files:
        return ""
    rows = "\n".join(f"| `{path}` | {count} |" for path, count in files.most_common(_SHOWN_NAMES))
    rest = f"\n\nand {len(files) - _SHOWN_NAMES} more files." if len(files) > _SHOWN_NAMES else ""
    return f"| File | Lines |\n|---|---:|\n{rows}{rest}"


def _names_in(exchange: CallWithResult) -> list[str]:
    """Returns the paths or entries in a result of `find` or `ls`."""
    text = _body(exchange)
    if text.startswith(("No files", "(empty", "No matches")):
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("[")]


def _find_short(exchange: CallWithResult) -> str:
    names = _names_in(exchange)
    pattern = f"`{exchange.argument('pattern')}`"
    return f"{_count(len(names), 'path')} for {pattern}." if names else f"No file is named {pattern}."


def _ls_short(exchange: CallWithResult) -> str:
    names = _names_in(exchange)
    folders = sum(name.endswith("/") for name in names)
    where = f"`{exchange.argument('path') or '.'}`"
    files = _count(len(names) - folders, "file")
    return f"{where} holds {_count(folders, 'folder')} and {files}." if names else f"{where} is empty."


def _list_detail(exchange: CallWithResult) -> str:
    names = _names_in(exchange)
    if not names:
        return ""
    shown = "\n".join(f"- `{name}`" for name in names[:_SHOWN_NAMES])
    rest = f"\n- and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return shown + rest


def _edit_short(exchange: CallWithResult) -> str:
    edits = exchange.call.arguments.get("edits")
    places = _count(len(edits), "place") if isinstance(edits, list) else "1 place"
    return f"`{exchange.argument('path')}` is changed in {places}."


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_SHORT: dict[str, Callable[[CallWithResult], str]] = {
    "read": _read_short,
    "bash": _bash_short,
    "grep": _grep_short,
    "find": _find_short,
    "ls": _ls_short,
    "edit": _edit_short,
}
_DETAIL: dict[str, Callable[[CallWithResult], str]] = {
    "read": _read_detail,
    "bash": _bash_detail,
    "grep": _grep_detail,
    "find": _list_detail,
    "ls": _list_detail,
}
