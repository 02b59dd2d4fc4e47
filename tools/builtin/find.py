"""The `find` tool: finds files and directories by name or path pattern, most recently changed first."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec

from tools.argument_aliases import FOLDER_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import make_arguments_schema
from tools.builtin.ls import make_item_list_card
from tools.call_effects import Effects
from tools.file_and_process_operations import FileOperations
from tools.files.file_errors import make_file_error
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments, workspace_path_exists
from tools.files.paths import path_prefix_of_folder
from tools.result_limits import keep_first_lines
from tools.searching.path_globs import compile_glob, compile_path_glob, has_glob_characters
from tools.searching.ripgrep import DEFAULT_RIPGREP_ARGUMENTS, find_ripgrep, run_ripgrep
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument, search_pattern_argument
from tools.text_sanitizing import one_line
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, TextPart, ToolResult

_DEFAULT_FIND_LIMIT: Final = 1_000
_MAX_FILES_LISTED_BY_FIND: Final = 2_000_000
_MAX_LOOSE_FIND_MATCHES: Final = 20_000
"""The number of matches that are kept in memory beyond those that are shown."""
_MAX_IGNORED_FILES_IN_FIND_HINT: Final = 5
_FIND_PATTERNS_MATCHING_ALL: Final = ("", "**", "**/*")


class FindArguments(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[
        str,
        msgspec.Meta(
            description="Name or glob: config.json, *.py, docs/; with / it begins in path: src/**/*.ts, **/test/*.py"
        ),
    ]
    path: Annotated[
        str | None, msgspec.Meta(description="Directory to search; the working directory by default")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Maximum results (1000)")
    ] = None

    def effects(self, context: ToolContext) -> Effects:
        return Effects(lists=resolve_path_arguments(context, self.path))


def make_find_tool() -> Tool:
    return Tool(
        name="find",
        description=(
            "Find files and directories by name or glob, most recently changed first. Respects .gitignore, "
            "includes "
            "hidden files. At most 1000 results or 50KB."
        ),
        schema=make_arguments_schema(FindArguments),
        arguments=FindArguments,
        effects=FindArguments.effects,
        kind="search",
        prepare=make_alias_resolver(
            FindArguments,
            FOLDER_ARGUMENT_ALIASES,
            dict.fromkeys(("name", "glob", "query", "glob_pattern", "file_pattern"), "pattern"),
            dict.fromkeys(("head", "max_results", "head_limit", "max_depth_results"), "limit"),
        ),
        run=_run_find_call,
        show=_make_find_card,
        snippet="Find files by name or glob",
        is_read_only=True,
    )


async def _run_find_call(arguments: FindArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    folder, pattern = await asyncio.to_thread(_resolve_folder_and_pattern, workspace, arguments, context)
    limit = arguments.limit or _DEFAULT_FIND_LIMIT
    found = _MatchCollector(workspace.files, folder, pattern, limit)
    argv = (await find_ripgrep(workspace), *DEFAULT_RIPGREP_ARGUMENTS, "--files", "--null", ".")
    end = await run_ripgrep(workspace, argv, folder, b"\0", found.take_matches)
    if end.format_search_failure and not found.seen_file_count:
        raise ToolError(f"The search failed: {end.format_search_failure}")
    prefix = one_line(path_prefix_of_folder(folder, context.cwd))
    result = await asyncio.to_thread(_make_find_result, found, limit, prefix, end.format_unread_places_notice)
    if result is not None:
        return result
    ignored = await _format_ignored_files_hint(workspace, folder, pattern, prefix)
    notes = "".join(f"\n\n[{note}]" for note in (ignored, end.format_unread_places_notice) if note)
    return ToolResult(content=(TextPart(text=f"No files found matching pattern{notes}"),))


async def _format_ignored_files_hint(
    workspace: SessionWorkspace, folder: str, pattern: str, prefix: str
) -> str:
    """Returns a hint for a search without results: ignored files that the pattern would have found."""
    found = _MatchCollector(workspace.files, folder, pattern, _MAX_IGNORED_FILES_IN_FIND_HINT, is_strict=True)
    argv = (
        await find_ripgrep(workspace),
        *DEFAULT_RIPGREP_ARGUMENTS,
        "--no-ignore",
        "--files",
        "--null",
        ".",
    )
    await run_ripgrep(workspace, argv, folder, b"\0", found.take_matches)
    newest, count, _ = await asyncio.to_thread(found.newest_matches)
    if not count:
        return ""
    named = ", ".join(prefix + one_line(path) for path in newest)
    some = (
        ""
        if count <= _MAX_IGNORED_FILES_IN_FIND_HINT
        else f" ({_MAX_IGNORED_FILES_IN_FIND_HINT} of {count:,})"
    )
    return f"Ignored files match{some}, which are left out here but can be read: {named}"


class _MatchCollector:
    """Collects the files that match a find pattern while ripgrep lists them, with their modification times; of a
    million matches only the newest are kept."""

    def __init__(
        self, files: FileOperations, folder: str, pattern: str, limit: int, *, is_strict: bool = False
    ) -> None:
        self._is_strict = is_strict
        self.seen_file_count = 0
        self.searched_folders: set[str] = set()
        self._matched_paths: list[bytes] = []
        """All paths that ripgrep listed, in the order of arrival; they are matched again in a looser way if nothing
        matches."""
        self._limit = limit
        self._match_count = 0
        self._files = files
        self._folder = folder
        self._wants_folder = pattern.endswith("/")
        self._pattern = pattern.rstrip("/")
        self._filter_matching = _make_path_matcher(self._pattern)
        self._modification_times: dict[str, int] = {}

    def take_matches(self, records: list[bytes]) -> bool:
        names = b"\0".join(records)
        paths = _split_null_separated_paths(names)
        self.seen_file_count += len(paths)
        self._matched_paths.append(names)
        _add_parent_folders(self.searched_folders, paths)
        if not self._wants_folder:
            self._stat_matches(self._filter_matching(paths))
        return self.seen_file_count < _MAX_FILES_LISTED_BY_FIND

    def newest_matches(self) -> tuple[list[str], int, str]:
        """Returns the newest matching files, the total number, and which looser way of matching was used, if any."""
        if not self._matches_all_paths:
            self._stat_matches(self._filter_matching(sorted(self.searched_folders)))
        self._add_matching_links()
        how = "" if self._match_count or self._is_strict else self._match_loosely()
        if exact := self._find_literal_match():
            self._modification_times, self._match_count = (
                {path: self._modification_times[path] for path in exact},
                len(exact),
            )
        return self._drop_all_but_newest(), self._match_count, how

    def _drop_all_but_newest(self) -> list[str]:
        times = self._modification_times
        chosen = list(times)
        if len(chosen) > self._limit:
            oldest = sorted(times.values(), reverse=True)[self._limit - 1]
            chosen = [path for path, time in times.items() if time >= oldest]
        return sorted(chosen, key=lambda path: (-times[path], path))[: self._limit]

    def _find_literal_match(self) -> list[str]:
        """Returns the file whose name is literally the pattern, although its brackets look like a glob; none if
        there is none."""
        if not has_glob_characters(self._pattern):
            return []
        return [path for path in self._modification_times if _is_path_literally_pattern(path, self._pattern)]

    def _add_matching_links(self) -> None:
        """Adds matching symbolic links, which ripgrep skips, from the folders in which it found files."""
        if self._match_count > _MAX_LOOSE_FIND_MATCHES:
            return
        links: list[str] = []
        for folder in ("", *sorted(self.searched_folders)[:_MAX_LOOSE_FIND_MATCHES]):
            inside = f"{self._folder}/{folder}".rstrip("/")
            try:
                entries = self._files.entries(inside or "/")
            except OSError:
                continue
            paths = {f"{folder}/{entry.name}".lstrip("/"): entry.is_directory for entry in entries}
            for path in self._filter_matching(
                [path for path in paths if path not in self._modification_times]
            ):
                if (paths[path] or not self._wants_folder) and self._is_link(path):
                    links.append(path)
                    if paths[path]:
                        self.searched_folders.add(path)
        self._stat_matches(links)

    def _is_link(self, path: str) -> bool:
        above, _, name = f"{self._folder}/{path}".rpartition("/")
        try:
            return (
                self._files.real_path(f"{above}/{name}")
                != f"{self._files.real_path(above).rstrip('/')}/{name}"
            )
        except OSError:
            return False

    @property
    def _matches_all_paths(self) -> bool:
        return not self._wants_folder and self._pattern in _FIND_PATTERNS_MATCHING_ALL

    def _stat_matches(self, paths: list[str]) -> None:
        self._match_count += len(paths)
        self._modification_times.update(zip(paths, self._files.modified(self._folder, paths), strict=True))
        if len(self._modification_times) > 2 * self._limit + _MAX_LOOSE_FIND_MATCHES:
            self._modification_times = {
                path: self._modification_times[path] for path in self._drop_all_but_newest()
            }

    def _match_loosely(self) -> str:
        files = (
            []
            if self._wants_folder
            else [path for names in self._matched_paths for path in _split_null_separated_paths(names)]
        )
        candidates = [*files, *self.searched_folders]
        self._stat_matches(_make_path_matcher(self._pattern, ignore_case=True)(candidates))
        if self._match_count:
            return "No exact match; matched without regard to case"
        if "/" in self._pattern and not self._pattern.startswith("/"):
            self._stat_matches(_make_path_matcher(f"**/{self._pattern}")(candidates))
            return "Nothing begins in the searched directory; matched at any depth, like **/"
        if not has_glob_characters(self._pattern):
            needle = self._pattern.lstrip("/").casefold()
            self._stat_matches([path for path in candidates if needle in path.rsplit("/", 1)[-1].casefold()])
        return "No exact match; names that contain the pattern"


def _resolve_folder_and_pattern(
    workspace: SessionWorkspace, arguments: FindArguments, context: ToolContext
) -> tuple[str, str]:
    """Returns the folder to search and the glob relative to it; an absolute pattern sets the folder."""
    pattern = arguments.pattern.strip()
    if not pattern or "\0" in pattern:
        raise ToolError("The pattern is empty or contains a null byte. Pass a name or a glob.")
    folder = resolve_path_argument(workspace, arguments.path, context)
    if pattern.startswith("/") and workspace_path_exists(workspace, f"{folder}{pattern}"):
        pattern = f"/{pattern.lstrip('/')}"
    elif pattern.startswith("/"):
        parts = pattern.split("/")
        plain = next((index for index, part in enumerate(parts) if has_glob_characters(part)), len(parts) - 1)
        above, pattern = "/".join(parts[:plain]), "/".join(parts[plain:])
        if (
            above
            and not workspace_path_exists(workspace, above)
            and workspace_path_exists(workspace, f"{folder}{above}")
        ):
            above = f"{folder}{above}"  # relative to the searched folder, like lists of ignored files
        folder = above or "/"
        if pattern.rstrip("/") not in _FIND_PATTERNS_MATCHING_ALL:
            pattern = f"/{pattern}"
    try:
        kind = workspace.files.stat(folder).kind
    except OSError as problem:
        raise make_file_error(problem, "search", folder, workspace.files) from None
    if kind != "directory":
        raise ToolError(f"{one_line(folder)} is not a directory. Pass the directory to search in.")
    inner = pattern.removeprefix("./")
    is_path = inner != pattern and inner.rstrip("/") not in _FIND_PATTERNS_MATCHING_ALL
    return folder, f"/{inner}" if is_path else inner


def _make_find_result(found: _MatchCollector, limit: int, prefix: str, unread: str) -> ToolResult | None:
    """Builds the result of a find call from its matches; None if nothing matches."""
    newest, count, how = found.newest_matches()
    if not count:
        return None
    shown = [prefix + one_line(path) + ("/" if path in found.searched_folders else "") for path in newest]
    cut = keep_first_lines("\n".join(shown), max_lines=limit)
    notices = [how] if how else []
    details: dict[str, Any] = {"results": count}
    if count > limit:
        notices.append(
            f"{limit} results limit reached ({count:,} found). Use limit={limit * 2} for more, or refine "
            f"pattern"
        )
        details["resultLimitReached"] = limit
    if cut.truncated:
        notices.append(
            f"50.0KB limit reached, showing {cut.output_lines} of {count:,}. Refine path or pattern"
        )
        details["truncation"] = cut.details()
    if unread:
        notices.append(unread)
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    return ToolResult(content=(TextPart(text=text),), details=details)


def _split_null_separated_paths(names: bytes) -> list[str]:
    found = names.decode("utf-8", "surrogateescape").split("\0")
    return [name.removeprefix("./") for name in found if name]


def _add_parent_folders(folders: set[str], paths: list[str]) -> None:
    """Adds the directories of all listed files to the paths that a find pattern can match."""
    last = ""
    for path in paths:
        end = path.rfind("/")
        if end <= 0 or (path.startswith(last) and len(last) == end + 1):
            continue
        last = path[: end + 1]
        while end > 0 and (folder := path[:end]) not in folders:
            folders.add(folder)
            end = path.rfind("/", 0, end)


def _make_path_matcher(pattern: str, *, ignore_case: bool = False) -> Callable[[list[str]], list[str]]:
    """Returns a function that says whether a path matches the find pattern."""
    if pattern in _FIND_PATTERNS_MATCHING_ALL:
        return list
    if (
        not ignore_case
        and pattern.startswith("*.")
        and "/" not in pattern
        and not has_glob_characters(pattern[1:])
    ):
        end = pattern[1:]
        return lambda paths: [path for path in paths if path.endswith(end)]
    # With a slash it begins in the searched folder, as in ripgrep.
    regex = compile_glob if "/" in pattern else compile_path_glob
    matches = regex(pattern.lstrip("/"), ignore_case=ignore_case).fullmatch
    if not has_glob_characters(pattern):
        return lambda paths: [path for path in paths if matches(path)]
    return lambda paths: [
        path for path in paths if matches(path) or _is_path_literally_pattern(path, pattern)
    ]


def _is_path_literally_pattern(path: str, pattern: str) -> bool:
    """Returns whether a path is literally the find pattern."""
    name = pattern.removeprefix("**/")
    if "/" in name and name == pattern:
        return path == name.lstrip("/")
    return f"/{path}".endswith(f"/{name}")


def _make_find_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    where = first_text_argument(arguments, "path")
    subject = search_pattern_argument(arguments, "pattern") + (f" in {where}" if where else "")
    return make_item_list_card("find", subject, result, "results")
