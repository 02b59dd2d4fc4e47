"""The `grep` tool: lines that match, found by ripgrep."""

import asyncio
import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tools.arguments import number_detail, text_argument
from tools.base import Tool, ToolContext, ToolError
from tools.builtin.ls import list_card
from tools.files.failures import file_error
from tools.files.places import locate, touched
from tools.limits import MAX_LINE_CHARS, clip_line, truncate_head
from tools.results import Card, TextPart, ToolResult
from tools.schema import schema_of
from tools.searching.globs import basename_glob, path_regex
from tools.searching.ripgrep import ALWAYS, SearchEnd, find_ripgrep, run_ripgrep
from tools.text import one_line, visible
from tools.touches import Touches
from tools.workspace import Workspace, workspace_of

_DEFAULT_LIMIT: Final = 100
_COUNTED: Final = 10_000
"""More matches than this are not counted."""
_MAX_CONTEXT: Final = 50


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pattern: Annotated[str, msgspec.Meta(description="Regular expression (or plain text with literal)")]
    path: Annotated[
        str | None, msgspec.Meta(description="File or directory to search; the working directory by default")
    ] = None
    glob: Annotated[
        str | None, msgspec.Meta(description="Only files like this, e.g. *.py or src/**/*.ts")
    ] = None
    ignore_case: Annotated[bool | None, msgspec.Meta(description="Ignore case")] = None
    literal: Annotated[bool | None, msgspec.Meta(description="The pattern is plain text")] = None
    context: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None, msgspec.Meta(description="Lines to show around each match")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Most matches to show (100)")
    ] = None

    def touches(self, context: ToolContext) -> Touches:
        return Touches(reads=touched(context, self.path))


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: str
    is_match: bool
    is_clipped: bool


class _Bytes(msgspec.Struct):
    """ripgrep's way to tell text that may not be UTF-8."""

    text: str | None = None
    bytes: str | None = None

    def value(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "replace")


class _Data(msgspec.Struct):
    path: _Bytes | None = None
    lines: _Bytes | None = None
    line_number: int | None = None


class _Record(msgspec.Struct):
    type: str
    data: _Data


class _Found:
    """Matches by file as they come in, in whatever order the files were searched."""

    def __init__(self, pattern: "re.Pattern[str] | None") -> None:
        self.files: dict[str, list[_Line]] = {}
        self.matches = 0
        self._filter = pattern
        self._decoder = msgspec.json.Decoder(_Record)
        self._skipped = ""

    def take(self, records: list[bytes]) -> bool:
        for record in records:
            if record.startswith((b'{"type":"match"', b'{"type":"context"')):
                self._take(record)
                if self.matches >= _COUNTED:
                    return False
        return True

    def _take(self, record: bytes) -> None:
        found = self._decoder.decode(record)
        path = (found.data.path or _Bytes()).value().removeprefix("./")
        if self._filter is not None and path not in self.files:
            if path == self._skipped:
                return
            if not self._filter.fullmatch(path):
                self._skipped = path
                return
        is_match = found.type == "match"
        self.matches += is_match
        lines = (found.data.lines or _Bytes()).value().removesuffix("\n").split("\n")
        first = found.data.line_number or 1
        kept = self.files.setdefault(path, [])
        for offset, line in enumerate(lines):
            text, is_clipped = clip_line(line.removesuffix("\r"))
            kept.append(_Line(first + offset, visible(text), is_match and offset == 0, is_clipped))


def grep_tool() -> Tool:
    return Tool(
        name="grep",
        label="grep",
        description=(
            "Search file contents with a regular expression (ripgrep). Respects .gitignore, includes hidden files. "
            "At most 100 matches or 50KB; long lines are clipped to 500 characters."
        ),
        schema=schema_of(GrepArguments),
        arguments=GrepArguments,
        run=_run,
        show=_show,
        snippet="Search file contents",
        is_read_only=True,
    )


async def _run(arguments: GrepArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of(context)
    if not arguments.pattern:
        raise ToolError("The pattern is empty. Pass what to search for.")
    if "\0" in arguments.pattern:
        raise ToolError("The pattern holds a null byte, which ripgrep cannot search for.")
    path = await asyncio.to_thread(_check, workspace, arguments.path, context)
    is_file = path != str(context.cwd) and workspace.files.stat(path).kind == "file"
    folder, target = (str(Path(path).parent), f"./{Path(path).name}") if is_file else (path, ".")
    found = _Found(path_regex(arguments.glob.removeprefix("./")) if arguments.glob and not is_file else None)
    argv = (await find_ripgrep(workspace), *_options(arguments, is_file), "--", arguments.pattern, target)
    end = await run_ripgrep(workspace, argv, folder, b"\n", found.take)
    if end.failure and not found.matches:
        hint = "" if arguments.literal else " For plain text set literal."
        raise ToolError(f"The pattern is not a valid regular expression.{hint}\n{end.failure}")
    prefix = _prefix(folder, context.cwd)
    return _result(workspace, arguments, found, end, folder, prefix)


def _check(workspace: Workspace, raw: str | None, context: ToolContext) -> str:
    path = locate(workspace, raw, context)
    try:
        kind = workspace.files.stat(path).kind
    except OSError as problem:
        raise file_error(problem, "search", path, workspace.files) from None
    if kind == "other":
        raise ToolError(f"{one_line(path)} is a device, a socket or a FIFO and cannot be searched.")
    return path


def _options(arguments: GrepArguments, is_file: bool) -> list[str]:
    options = [*ALWAYS, "--json", "--line-number"]
    if arguments.ignore_case:
        options.append("--ignore-case")
    if arguments.literal:
        options.append("--fixed-strings")
    if arguments.context:
        options.append(f"--context={min(arguments.context, _MAX_CONTEXT)}")
    name = basename_glob(arguments.glob) if arguments.glob and not is_file else None
    if name:
        # As a type, because a glob would bring ignored files back.
        options += [f"--type-add=wanted:{name}", "--type=wanted"]
    return options


def _prefix(folder: str, cwd: Path) -> str:
    """What turns ripgrep's paths into ones that the other tools understand."""
    if folder == str(cwd):
        return ""
    try:
        return f"{Path(folder).relative_to(cwd)}/"
    except ValueError:
        return f"{folder.rstrip('/')}/"


def _result(
    workspace: Workspace,
    arguments: GrepArguments,
    found: _Found,
    end: SearchEnd,
    folder: str,
    prefix: str,
) -> ToolResult:
    if not found.matches:
        text = f"No matches found\n\n[{end.unread}]" if end.unread else "No matches found"
        return ToolResult(content=(TextPart(text=text),))
    limit = arguments.limit or _DEFAULT_LIMIT
    lines: list[str] = []
    shown = files = 0
    has_clipped = False
    for path in sorted(found.files):
        if shown >= limit:
            break
        kept = _first_matches(found.files[path], limit - shown, arguments.context or 0)
        matches = sum(line.is_match for line in kept)
        if not matches:
            continue
        files += 1
        shown += matches
        has_clipped = has_clipped or any(line.is_clipped for line in kept)
        _remember(workspace, str(Path(folder, path)), kept)
        lines += _shown_lines(one_line(prefix + path), kept)
    cut = truncate_head("\n".join(lines), max_lines=max(len(lines), 1))
    total = f"over {_COUNTED:,}" if end.is_stopped else f"{found.matches:,}"
    notices: list[str] = []
    details: dict[str, Any] = {}
    if found.matches > shown:
        notices.append(
            f"{limit} matches limit reached ({total} matches in {len(found.files)} files). "
            f"Use limit={limit * 2} for more, or refine pattern"
        )
        details["matchLimitReached"] = limit
    if cut.truncated:
        notices.append("50.0KB limit reached. Narrow path, glob or pattern")
        details["truncation"] = cut.details()
    if has_clipped:
        notices.append(f"Some lines truncated to {MAX_LINE_CHARS} chars. Use read tool to see full lines")
        details["linesTruncated"] = True
    if end.unread:
        notices.append(end.unread)
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    details |= {"matches": found.matches, "files": len(found.files)}
    return ToolResult(content=(TextPart(text=text),), details=details)


def _first_matches(lines: list[_Line], limit: int, context: int) -> list[_Line]:
    matches = [line.number for line in lines if line.is_match]
    if len(matches) <= limit:
        return lines
    last = matches[limit - 1]
    beyond = matches[limit]
    return [line for line in lines if line.number <= last + context and line.number < beyond]


def _shown_lines(path: str, lines: list[_Line]) -> list[str]:
    """`path:12: text` for matches, `path-13- text` around them, `--` between groups apart."""
    out: list[str] = []
    has_context = any(not line.is_match for line in lines)
    previous: int | None = None
    for line in lines:
        if has_context and previous is not None and line.number > previous + 1:
            out.append("--")
        sign = ":" if line.is_match else "-"
        out.append(f"{path}{sign}{line.number}{sign} {line.text}")
        previous = line.number
    return out


def _remember(workspace: Workspace, path: str, lines: list[_Line]) -> None:
    try:
        stat = workspace.files.stat(path)
    except (OSError, ValueError):
        return  # Gone again, or a name that is no text.
    seen = [(line.number, line.text) for line in lines if not line.is_clipped]
    if seen:
        workspace.read_cache.record(workspace.files.real_path(path), stat.version, seen)


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = f"/{text_argument(arguments, 'pattern')}/"
    where = text_argument(arguments, "path")
    glob = text_argument(arguments, "glob")
    subject += (f" in {where}" if where else "") + (f" ({glob})" if glob else "")
    card = list_card("grep", subject, result, "lines")
    matches = number_detail(result.details, "matches") if result else None
    files = number_detail(result.details, "files") if result else None
    if matches is None or files is None:
        return card
    counted = f"{matches:,} match{'' if matches == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
    return msgspec.structs.replace(card, summary=counted)
