"""The `grep` tool: searches lines with ripgrep."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from tools.argument_aliases import FOLDER_ARGUMENT_ALIASES, PATH_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import UNDECLARED_ARGUMENT_META, make_arguments_schema
from tools.builtin.ls import make_item_list_card
from tools.call_effects import Effects
from tools.edits.dialects.line_anchors import format_anchored_row
from tools.edits.editable_text import decode_text_file
from tools.files.file_errors import make_file_error
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments
from tools.files.paths import path_prefix_of_folder
from tools.files.shown_file_versions import MAX_FILE_SNAPSHOT_CHARS
from tools.result_limits import MAX_MATCH_LINE_CHARS, MAX_TOOL_RESULT_BYTES, keep_first_lines
from tools.searching.grouped_matches import group_match_lines_by_file, read_stored_match_highlights
from tools.searching.other_encodings import find_files_in_other_encodings
from tools.searching.path_globs import GlobFileFilter, make_absolute_globs, parse_glob_list
from tools.searching.ripgrep import DEFAULT_RIPGREP_ARGUMENTS, RipgrepOutcome, find_ripgrep, run_ripgrep
from tools.searching.ripgrep_matches import MAX_COUNTED_MATCHES, FoundSearchLine, RipgrepMatchCollector
from tools.searching.ripgrep_patterns import translate_for_ripgrep
from tools.searching.withheld_files import find_withheld_files_notice, make_withheld_file_test
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument, number_in_result_details, search_pattern_argument
from tools.text_sanitizing import one_line
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, ListBlock, TextPart, ToolResult

if TYPE_CHECKING:
    from tools.repomap.grep_context import GrepSymbolContext


SpansOfMatchesInLine = tuple[tuple[int, int], ...]
_DEFAULT_GREP_LIMIT: Final = 100
_MAX_GREP_CONTEXT_LINES: Final = 50


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pattern: Annotated[str, msgspec.Meta(description="Regular expression (or plain text with literal)")]
    path: Annotated[
        str | None, msgspec.Meta(description="File or directory to search; the working directory by default")
    ] = None
    glob: Annotated[
        str | None,
        msgspec.Meta(
            description="Only matching files, e.g. *.py or src/**/*.ts,!*.test.ts; with / it begins in path"
        ),
    ] = None
    ignore_case: Annotated[bool | None, msgspec.Meta(description="Ignore case")] = None
    literal: Annotated[bool | None, msgspec.Meta(description="The pattern is plain text")] = None
    context: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None, msgspec.Meta(description="Lines to show around each match")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Maximum matches to show (100)")
    ] = None

    after: Annotated[Annotated[int, msgspec.Meta(ge=0)] | None, UNDECLARED_ARGUMENT_META] = None
    before: Annotated[Annotated[int, msgspec.Meta(ge=0)] | None, UNDECLARED_ARGUMENT_META] = None
    multiline: Annotated[bool | None, UNDECLARED_ARGUMENT_META] = None

    def effects(self, context: ToolContext) -> Effects:
        (folder,) = resolve_path_arguments(context, self.path)
        return Effects(reads=(folder,), globs=make_absolute_globs(self.glob or "", folder))


_resolve_aliases = make_alias_resolver(
    GrepArguments,
    PATH_ARGUMENT_ALIASES,
    FOLDER_ARGUMENT_ALIASES,
    dict.fromkeys(("query", "regex", "search", "search_pattern", "text"), "pattern"),
    dict.fromkeys(("include", "file_pattern", "glob_pattern", "include_pattern", "files"), "glob"),
    dict.fromkeys(("-i", "case_insensitive"), "ignoreCase"),
    dict.fromkeys(("fixed_strings", "fixed_string", "-F"), "literal"),
    dict.fromkeys(("-C", "context_lines"), "context"),
    dict.fromkeys(("-A", "after_context"), "after"),
    dict.fromkeys(("-B", "before_context"), "before"),
    dict.fromkeys(("-U", "dot_all"), "multiline"),
    dict.fromkeys(("head", "head_limit", "max_results", "max_count", "-m"), "limit"),
    {"-n": "", "line_number": "", "line_numbers": ""},
)
"""Aliases of arguments; options for line numbers are accepted and ignored, because they are always shown."""


def make_grep_tool() -> Tool:
    return Tool(
        name="grep",
        description=(
            "Search file contents with a regular expression (ripgrep). Respects .gitignore, includes "
            "hidden files. "
            "At most 100 matches or 50KB; long lines are clipped to 500 characters."
        ),
        schema=make_arguments_schema(GrepArguments),
        arguments=GrepArguments,
        effects=GrepArguments.effects,
        kind="search",
        prepare=_resolve_aliases,
        run=_run_grep_call,
        show=_make_grep_card,
        snippet="Search file contents",
        is_read_only=True,
    )


async def _run_grep_call(arguments: GrepArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    if not arguments.pattern:
        raise ToolError("The pattern is empty. Pass what to search for.")
    if "\0" in arguments.pattern:
        raise ToolError("The pattern contains a null byte, which ripgrep cannot search for.")
    path = await asyncio.to_thread(_resolve_searched_path, workspace, arguments.path, context)
    is_file = path != str(context.cwd) and workspace.files.stat(path).kind == "file"
    folder, target = (str(Path(path).parent), f"./{Path(path).name}") if is_file else (path, ".")
    files = await asyncio.to_thread(
        _parse_file_globs, workspace, "" if is_file else arguments.glob or "", folder
    )
    is_kept_back = make_withheld_file_test(workspace, folder, is_named=is_file)
    found = RipgrepMatchCollector(files, workspace.mask_text, is_kept_back)
    places = tuple(_ripgrep_file_arguments(files))
    searching = (*places, *_ripgrep_options(arguments))
    pattern, how = translate_for_ripgrep(
        arguments.pattern, is_literal=bool(arguments.literal), spans_lines=bool(arguments.multiline)
    )
    rg = await find_ripgrep(workspace)
    search = partial(run_ripgrep, workspace, call_id=context.call_id)
    argv = (rg, *searching, *how, "--", pattern, target)
    try:
        async with asyncio.TaskGroup() as both:  # an abort ends both before it is raised
            searched = both.create_task(
                run_ripgrep(workspace, argv, folder, b"\n", found.take_matches, call_id=context.call_id)
            )
            looked = both.create_task(find_files_in_other_encodings(workspace, rg, places, folder, target))
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None
    end, odd = searched.result(), looked.result()
    if end.format_search_failure and not found.match_count:
        hint = "" if arguments.literal else " For plain text set literal."
        what = "glob" if "glob" in end.format_search_failure else "regular expression"
        raise ToolError(f"The pattern is not a valid {what}.{hint}\n{end.format_search_failure}")
    for label, paths in odd.items():
        for one in paths:
            found.drop_matches_of_file(one.removeprefix("./"))
        argv = (rg, *searching, *how, "--text", f"--encoding={label}", "--", pattern, *paths)
        await search(argv, folder, b"\n", found.take_matches)
    prefix = path_prefix_of_folder(folder, context.cwd)
    if not is_file and not found.match_count:
        notice = await find_withheld_files_notice(workspace, rg, places, folder, is_kept_back, prefix)
        return _make_no_match_result(notice, end.format_unread_places_notice)
    named = None if is_file else await _find_symbol_context(workspace, arguments, folder)
    return await asyncio.to_thread(_make_grep_result, workspace, arguments, found, end, folder, prefix, named)


async def _find_symbol_context(
    workspace: SessionWorkspace, arguments: GrepArguments, folder: str
) -> "GrepSymbolContext | None":
    """Returns the definitions and enclosing symbols from the repository map for a grep, if its pattern is an
    identifier."""
    if arguments.ignore_case or not workspace.may_index_repository:
        return None
    from tools.repomap.grep_context import find_identifier_in_pattern, make_grep_symbol_context  # noqa: PLC0415  (SQLite, parsers)

    if find_identifier_in_pattern(arguments.pattern) is None:
        return None
    return await asyncio.to_thread(make_grep_symbol_context, workspace, arguments.pattern, folder)


def _parse_file_globs(workspace: SessionWorkspace, globs: str, folder: str) -> GlobFileFilter:
    def kind(path: str) -> str:
        try:
            return workspace.files.stat(f"{folder}/{path}").kind
        except (OSError, ValueError):
            return ""

    try:
        return parse_glob_list(
            globs, folder, lambda path: bool(kind(path)), lambda path: kind(path) == "directory"
        )
    except re.error as problem:
        raise ToolError(f"{one_line(globs)} is not a glob: {problem}.") from None


def _resolve_searched_path(workspace: SessionWorkspace, raw: str | None, context: ToolContext) -> str:
    path = resolve_path_argument(workspace, raw, context)
    try:
        kind = workspace.files.stat(path).kind
    except OSError as problem:
        raise make_file_error(problem, "search", path, workspace.files) from None
    if kind == "other":
        raise ToolError(f"{one_line(path)} is a device, a socket or a FIFO and cannot be searched.")
    return path


def _ripgrep_file_arguments(files: GlobFileFilter) -> Iterator[str]:
    """Yields the ripgrep arguments that select the files of a grep call."""
    yield from DEFAULT_RIPGREP_ARGUMENTS
    for glob in files.excluded_globs:
        yield f"--glob=!{glob}"
    for name in files.name_patterns:
        # As a file type, because a glob would include ignored files.
        yield f"--type-add=wanted:{name}"
    if files.name_patterns:
        yield "--type=wanted"


def _ripgrep_options(arguments: GrepArguments) -> Iterator[str]:
    yield from ("--json", "--line-number")
    if arguments.ignore_case:
        yield "--ignore-case"
    before, after = _count_context_lines(arguments)
    yield from (f"--before-context={before}", f"--after-context={after}")


def _count_context_lines(arguments: GrepArguments) -> tuple[int, int]:
    both = arguments.context or 0
    return min(arguments.before or both, _MAX_GREP_CONTEXT_LINES), min(
        arguments.after or both, _MAX_GREP_CONTEXT_LINES
    )


def _make_no_match_result(*notices: str) -> ToolResult:
    told = ". ".join(filter(None, notices))
    return ToolResult(content=(TextPart(text="No matches found" + (f"\n\n[{told}]" if told else "")),))


def _make_grep_result(
    workspace: SessionWorkspace,
    arguments: GrepArguments,
    found: RipgrepMatchCollector,
    end: RipgrepOutcome,
    folder: str,
    prefix: str,
    named: "GrepSymbolContext | None",
) -> ToolResult:
    if not found.match_count:
        return _make_no_match_result(end.format_unread_places_notice)
    limit = arguments.limit or _DEFAULT_GREP_LIMIT
    lines: list[str] = []
    hits: list[tuple[int, int, int]] = []
    shown = files = 0
    has_clipped = False
    is_anchored = workspace.edit_mode() == "anchored"
    if named is not None:
        size = sum(len(line.text) for kept in found.lines_by_file.values() for line in kept[:limit])
        named.set_byte_budget(min(size, MAX_TOOL_RESULT_BYTES))
        lines += named.definitions_heading()
    for path in (
        named.sort_by_file_kind(found.lines_by_file) if named is not None else sorted(found.lines_by_file)
    ):
        if shown >= limit:
            break
        kept = _limit_matches(found.lines_by_file[path], limit - shown, _count_context_lines(arguments)[1])
        matches = sum(line.starts_match for line in kept)
        if not matches:
            continue
        files += 1
        shown += matches
        has_clipped = has_clipped or any(line.is_clipped for line in kept)
        _record_shown_lines(workspace, str(Path(folder, path)), kept)
        told = _format_file_matches(one_line(prefix + path), kept, path, named, is_anchored=is_anchored)
        for text, spans in told:
            hits += ((len(lines), *span) for span in spans)
            lines.append(text)
    cut = keep_first_lines("\n".join(lines), max_lines=max(len(lines), 1))
    total = f"over {MAX_COUNTED_MATCHES:,}" if end.was_stopped else f"{found.match_count:,}"
    notices: list[str] = []
    details: dict[str, Any] = {}
    if found.match_count > shown:
        notices.append(
            f"{limit} matches limit reached ({total} matches in {len(found.lines_by_file)} files). "
            f"Use limit={limit * 2} for more, or refine pattern"
        )
        details["matchLimitReached"] = limit
    if cut.truncated:
        notices.append("50.0KB limit reached. Narrow path, glob or pattern")
        details["truncation"] = cut.details()
    if has_clipped:
        notices.append(
            f"Some lines truncated to {MAX_MATCH_LINE_CHARS} chars. Use read tool to see full lines"
        )
        details["linesTruncated"] = True
    if end.format_unread_places_notice:
        notices.append(end.format_unread_places_notice)
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    details |= {"matches": found.match_count, "files": len(found.lines_by_file), "hits": hits}
    return ToolResult(content=(TextPart(text=text),), details=details)


def _limit_matches(lines: list[FoundSearchLine], limit: int, context: int) -> list[FoundSearchLine]:
    matches = [line.number for line in lines if line.starts_match]
    if len(matches) <= limit:
        return lines
    beyond = matches[limit]
    last = max(line.number for line in lines if line.is_match and line.number < beyond)
    return [line for line in lines if line.number <= last + context and line.number < beyond]


def _format_file_matches(
    path: str,
    lines: list[FoundSearchLine],
    below: str = "",
    named: "GrepSymbolContext | None" = None,
    *,
    is_anchored: bool = False,
) -> list[tuple[str, SpansOfMatchesInLine]]:
    """Formats the matches of one file: `path:12: text` for a match, `path-13- text` for context, `--` between
    groups, or `path:12ab|text` with anchors. For an identifier on the map, `-- in SYMBOL [lines]` introduces each
    symbol. Returns the match spans in each line too."""
    out: list[tuple[str, SpansOfMatchesInLine]] = []
    has_context = any(not line.is_match for line in lines)
    previous: int | None = None
    before = ""
    for line in lines:
        is_apart = has_context and previous is not None and line.number > previous + 1
        within = (
            named.format_enclosing_symbol(below, line.number)
            if named is not None and line.is_match
            else before
        )
        if named is not None and within and within != before and named.has_byte_budget_for(f"-- in {within}"):
            out.append((f"-- in {within}", ()))
            before = within
        elif is_apart:
            out.append(("--", ()))
        sign = ":" if line.is_match else "-"
        if is_anchored and not line.is_clipped:
            told = f"{path}{sign}{format_anchored_row(line.number, line.text)}"
        else:
            told = f"{path}{sign}{line.number}{sign} {line.text}"
        before_text = len(told) - len(line.text)
        out.append(
            (told, tuple((before_text + start, before_text + end) for start, end in line.matched_spans))
        )
        previous = line.number
    return out


def _record_shown_lines(workspace: SessionWorkspace, path: str, lines: list[FoundSearchLine]) -> None:
    try:
        stat = workspace.files.stat(path)
    except (OSError, ValueError):
        return  # The file is gone, or its name is not valid text.
    seen = [(line.number, line.text) for line in lines if not line.is_clipped]
    if not seen:
        return
    real = workspace.files.real_path(path)
    workspace.read_cache.record_lines(real, stat.version, seen)
    if workspace.edit_mode() == "anchored" and stat.size <= MAX_FILE_SNAPSHOT_CHARS:
        _record_anchor_snapshot(workspace, path, real, seen)


def _record_anchor_snapshot(
    workspace: SessionWorkspace, path: str, real: str, seen: list[tuple[int, str]]
) -> None:
    """Stores the text of a searched file, to which the anchors in the grep result refer, if it has not changed since
    the search."""
    try:
        with workspace.files.open(path) as file:
            text = decode_text_file(file.read(), path).text
    except (OSError, ToolError):
        return
    lines = text.split("\n")
    if all(number <= len(lines) and lines[number - 1] == line for number, line in seen):
        workspace.read_cache.snapshots.record(real, text, [number for number, _ in seen])


def _make_grep_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = f"/{search_pattern_argument(arguments, 'pattern')}/"
    where = first_text_argument(arguments, "path")
    glob = first_text_argument(arguments, "glob")
    subject += (f" in {where}" if where else "") + (f" ({glob})" if glob else "")
    card = make_item_list_card("grep", subject, result, "lines")
    matches = number_in_result_details(result.details, "matches") if result else None
    files = number_in_result_details(result.details, "files") if result else None
    if matches is None or files is None:
        return card
    told = [
        group_match_lines_by_file(block, read_stored_match_highlights(result), where)
        for block in card.blocks
        if isinstance(block, ListBlock)
    ]
    counted = f"{matches:,} match{'' if matches == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
    return msgspec.structs.replace(card, summary=counted, blocks=tuple(told))
