"""The `find` tool: files and directories by name or path pattern, the most recently changed first."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tools.arguments import text_argument
from tools.base import Tool, ToolContext, ToolError
from tools.builtin.ls import list_card
from tools.failures import file_error
from tools.globs import is_glob, path_regex
from tools.limits import truncate_head
from tools.places import locate
from tools.results import Card, TextPart, ToolResult
from tools.ripgrep import ALWAYS, find_ripgrep, run_ripgrep
from tools.schema import schema_of
from tools.text import one_line
from tools.workspace import Workspace, workspace_of

_DEFAULT_LIMIT: Final = 1_000
_MAX_FILES: Final = 2_000_000


class FindArguments(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[str, msgspec.Meta(description="Name or glob: config.json, *.py, src/**/*.ts, docs/")]
    path: Annotated[
        str | None, msgspec.Meta(description="Directory to search; the working directory by default")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Most results (1000)")
    ] = None


def find_tool() -> Tool:
    return Tool(
        name="find",
        label="find",
        description=(
            "Find files and directories by name or glob, most recently changed first. Respects .gitignore, includes "
            "hidden files. At most 1000 results or 50KB."
        ),
        schema=schema_of(FindArguments),
        arguments=FindArguments,
        run=_run,
        show=_show,
        snippet="Find files by name or glob",
        is_read_only=True,
    )


async def _run(arguments: FindArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of(context)
    folder, pattern = await asyncio.to_thread(_place, workspace, arguments, context)
    names: list[str] = []

    def take(record: bytes) -> bool:
        if record:
            names.append(record.decode("utf-8", "surrogateescape"))
        return len(names) < _MAX_FILES

    argv = (await find_ripgrep(workspace), *ALWAYS, "--files", "--null", ".")
    end = await run_ripgrep(workspace, argv, folder, b"\0", take)
    if end.failure and not names:
        raise ToolError(f"The search failed: {end.failure}")
    limit = arguments.limit or _DEFAULT_LIMIT
    return await asyncio.to_thread(_result, workspace, folder, pattern, names, limit, context.cwd, end.unread)


def _place(workspace: Workspace, arguments: FindArguments, context: ToolContext) -> tuple[str, str]:
    """Where to search and for what; an absolute pattern brings its own place."""
    pattern = arguments.pattern.strip()
    if not pattern or "\0" in pattern:
        raise ToolError("The pattern is empty or holds a null byte. Pass a name or a glob.")
    folder = locate(workspace, arguments.path, context)
    if pattern.startswith("/"):
        parts = pattern.split("/")
        plain = next((index for index, part in enumerate(parts) if is_glob(part)), len(parts) - 1)
        folder, pattern = "/".join(parts[:plain]) or "/", "/".join(parts[plain:])
    try:
        kind = workspace.files.stat(folder).kind
    except OSError as problem:
        raise file_error(problem, "search", folder, workspace.files) from None
    if kind != "directory":
        raise ToolError(f"{one_line(folder)} is not a directory. Pass the directory to search in.")
    return folder, pattern.removeprefix("./")


def _result(
    workspace: Workspace, folder: str, pattern: str, names: list[str], limit: int, cwd: Path, unread: str
) -> ToolResult:
    paths = [name.removeprefix("./") for name in names]
    folders = _folders(paths)
    found, how = _matching(pattern, paths, folders)
    if not found:
        text = "No files found matching pattern" + (f"\n\n[{unread}]" if unread else "")
        return ToolResult(content=(TextPart(text=text),))
    times = workspace.files.modified(folder, found)
    order = sorted(range(len(found)), key=found.__getitem__)
    order.sort(key=times.__getitem__, reverse=True)
    prefix = _prefix(folder, cwd)
    shown = [
        prefix + one_line(found[index]) + ("/" if found[index] in folders else "") for index in order[:limit]
    ]
    cut = truncate_head("\n".join(shown), max_lines=limit)
    notices = [how] if how else []
    details: dict[str, Any] = {"results": len(found)}
    if len(found) > limit:
        notices.append(
            f"{limit} results limit reached ({len(found):,} found). Use limit={limit * 2} for more, or refine pattern"
        )
        details["resultLimitReached"] = limit
    if cut.truncated:
        notices.append(
            f"50.0KB limit reached, showing {cut.output_lines} of {len(found):,}. Refine path or pattern"
        )
        details["truncation"] = cut.details()
    if unread:
        notices.append(unread)
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    return ToolResult(content=(TextPart(text=text),), details=details)


def _folders(paths: list[str]) -> set[str]:
    """All directories that hold a listed file."""
    folders: set[str] = set()
    for path in paths:
        end = path.rfind("/")
        while end > 0 and (folder := path[:end]) not in folders:
            folders.add(folder)
            end = path.rfind("/", 0, end)
    return folders


def _matching(pattern: str, paths: list[str], folders: set[str]) -> tuple[list[str], str]:
    """What matches, and in which looser way if it took one."""
    wants_folder = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    candidates = sorted(folders) if wants_folder else [*paths, *sorted(folders)]
    if pattern in ("", "**", "**/*"):
        return candidates if wants_folder else paths, ""
    if "/" not in pattern and is_glob(pattern):
        found = _by_name(pattern, candidates)
    else:
        expression = path_regex(pattern)
        found = [path for path in candidates if expression.fullmatch(path)]
    if found:
        return found, ""
    expression = path_regex(pattern, ignore_case=True)
    found = [path for path in candidates if expression.fullmatch(path)]
    if found:
        return found, "No exact match; matched without regard to case"
    if not is_glob(pattern):
        needle = pattern.casefold()
        found = [path for path in candidates if needle in path.rsplit("/", 1)[-1].casefold()]
        if found:
            return found, "No exact match; names that contain the pattern"
    return [], ""


def _by_name(pattern: str, candidates: list[str]) -> list[str]:
    """The common case, where only the last part of a path counts."""
    if pattern.startswith("*.") and not is_glob(pattern[1:]):
        end = pattern[1:]
        return [path for path in candidates if path.endswith(end)]
    expression = path_regex(pattern)
    return [path for path in candidates if expression.fullmatch(path)]


def _prefix(folder: str, cwd: Path) -> str:
    if folder == str(cwd):
        return ""
    try:
        return one_line(f"{Path(folder).relative_to(cwd)}/")
    except ValueError:
        return one_line(f"{folder.rstrip('/')}/")


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    where = text_argument(arguments, "path")
    subject = text_argument(arguments, "pattern") + (f" in {where}" if where else "")
    return list_card("find", subject, result, "results")
