"""The `locate` tool: finds where a name is defined, or which files a task is likely about."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from tools.arguments import text_argument
from tools.base import Tool, ToolContext, ToolError
from tools.effects import Effects
from tools.files.path_arguments import path_exists, resolve_path_argument, resolve_path_arguments
from tools.files.paths import display_path
from tools.limits import count_lines
from tools.patterns import late
from tools.results import Card, TextBlock, ToolResult, text_result
from tools.schema import make_arguments_schema
from tools.text import escape_controls, one_line
from tools.threads import StopFlag, ThreadedTool
from tools.workspace import Workspace, workspace_of_context

if TYPE_CHECKING:
    from tools.repomap.repository import IndexState, MappedRepository

_IDENTIFIER_PATTERN = late(r"`?(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::|#|->)(?:[^\W\d]|\$)[\w$]*)*(?:\(\))?`?")
_MAX_LOCATE_TOKENS = 4000
_CONFIDENT_MAP_TOKENS = 1000
_MORE_FILES_HINT = "more: true gives the rest."
_FALLBACK_MAP_TOKENS = 500
"""The maximum size, in tokens, of the folder map that is shown when nothing is found."""


class LocateArguments(msgspec.Struct, frozen=True, kw_only=True):
    about: Annotated[
        str | list[str],
        msgspec.Meta(description="A symbol's name, or words of the task; or several phrases: task and names"),
    ]
    path: Annotated[str | None, msgspec.Meta(description="Folder to search")] = None
    uses: Annotated[bool | None, msgspec.Meta(description="Also where the symbol is used")] = None
    more: Annotated[
        bool | None, msgspec.Meta(description="The files that come after those of the first answer")
    ] = None

    def effects(self, context: ToolContext) -> Effects:
        return Effects(lists=resolve_path_arguments(context, self.path))


def make_locate_tool() -> Tool:
    return Tool(
        name="locate",
        description=(
            "Find where something is in this repository. Call it before grep when you do not know the place: it "
            "returns files and symbols with their lines, for a symbol's name, for words of the task, or for "
            "several phrases: the task and identifiers that you expect."
        ),
        schema=make_arguments_schema(LocateArguments),
        arguments=LocateArguments,
        effects=LocateArguments.effects,
        kind="search",
        run=ThreadedTool(_run_locate_call),
        show=_make_locate_card,
        snippet="Find where a symbol is, or the files a task is about",
        is_read_only=True,
    )


def _run_locate_call(arguments: LocateArguments, context: ToolContext, stop: StopFlag) -> ToolResult:
    phrases = [arguments.about] if isinstance(arguments.about, str) else arguments.about
    about = "\n".join(filter(None, (phrase.strip() for phrase in phrases)))
    if not about:
        raise ToolError("about is empty. Pass a symbol's name, or words of the task.")
    workspace = workspace_of_context(context)
    folder = resolve_path_argument(workspace, arguments.path, context)
    locate = partial(
        _locate_in_folder, workspace, about=about, uses=bool(arguments.uses), is_more=bool(arguments.more)
    )
    if arguments.path is None and workspace.added.paths:
        return _locate_in_all_folders(workspace, folder, locate)
    result, repository = locate(folder), workspace.repository(folder)
    if repository is None or repository is workspace.last_repository:
        return result
    return text_result(f"{result.text}\n{_format_root_note(repository)}", details=result.details)


def _locate_in_all_folders(
    workspace: Workspace, folder: str, locate: Callable[[str], ToolResult]
) -> ToolResult:
    """Answers a locate call from the working folder and all added folders. Guesses from one folder are dropped if
    another has a definition; without any answer, the overviews of all folders are given."""
    seen: set[Path] = set()
    answers: list[tuple[MappedRepository, ToolResult]] = []
    for place in (folder, *map(str, workspace.added.real)):
        repository = workspace.repository(place)
        if repository is not None and repository.root not in seen:
            seen.add(repository.root)
            answers.append((repository, locate(place)))
    if not answers:
        return locate(folder)  # says why there is no map
    best = max(map(_rank_answer_certainty, (result for _, result in answers)))
    kept = [one for one in answers if _rank_answer_certainty(one[1]) == best]
    texts = [
        result.text
        if repository is workspace.last_repository
        else f"{_format_root_note(repository)}\n{result.text}"
        for repository, result in kept
    ]
    return text_result("\n\n".join(texts), details=kept[0][1].details)


def _rank_answer_certainty(result: ToolResult) -> int:
    """Ranks a locate result by certainty: 2 for definitions of a name, 1 for likely files, 0 for neither."""
    details: Any = result.details
    return 2 if "definitions" in details else 1 if details.get("files") else 0


def _format_root_note(repository: "MappedRepository") -> str:
    return f"Paths are relative to {repository.root}."


def _locate_in_folder(
    workspace: Workspace, folder: str, *, about: str, uses: bool, is_more: bool
) -> ToolResult:
    from tools.repomap.answer_texts import (  # noqa: PLC0415  (as above)
        format_definitions,
        format_map_answer,
        format_name_uses,
        truncate_to_tokens,
    )
    from tools.repomap.session_map import folder_relative_to_root, list_known_files, repository_of  # noqa: PLC0415  (SQLite, parsers)

    repository = repository_of(workspace, folder)
    below = folder_relative_to_root(repository, folder, workspace)
    if not path_exists(workspace, folder):
        raise ToolError(f"{display_path(folder, workspace.cwd)} does not exist.")
    repository.index_changes()
    if _IDENTIFIER_PATTERN.fullmatch(about):
        name = about.strip("`").removesuffix("()")
        near = list_known_files(repository, workspace)
        found, count = repository.find_definitions(name, below=below, near=near, searches_text=True)
        used = repository.find_uses(name, below=below) if uses else None
        if found or (used is not None and used.listed_uses):
            told = format_definitions(name, found, count, repository.index_state())
            if used is not None:
                told += "\n" + format_name_uses(name, used)
            return text_result(
                truncate_to_tokens(told, _MAX_LOCATE_TOKENS), details={"outline": True, "definitions": count}
            )
    answer = repository.map_for_task(
        about,
        below=below,
        known=list_known_files(repository, workspace),
        sure_tokens=_CONFIDENT_MAP_TOKENS,
        is_more=is_more,
    )
    if not answer.ranked_map.files and is_more:
        return text_result("No more files are likely.", details={"files": 0})
    if not answer.ranked_map.files:
        # Not a guess: an overview of the folder for a model that does not know its names yet.
        used = repository.map_folder(below, tokens=_FALLBACK_MAP_TOKENS)
        told = format_map_answer(answer, is_question=True)
        told += f" What is most used here:\n{format_map_answer(used, is_question=False)}"
        return text_result(told, details=_make_locate_details(0, used.index_state))
    told = format_map_answer(answer, is_question=True, more=_MORE_FILES_HINT)
    return text_result(told, details=_make_locate_details(len(answer.ranked_map.files), answer.index_state))


def _make_locate_details(files: int, state: "IndexState") -> dict[str, Any]:
    return {"outline": True, "files": files, "indexed": state.indexed_count, "missing": state.missing_count}


def _make_locate_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    given: Any = arguments.get("about")
    phrases = cast("list[Any]", given) if isinstance(given, list) else []
    about = ", ".join(map(str, phrases)) or text_argument(arguments, "about")
    subject = one_line(escape_controls(about))
    path = text_argument(arguments, "path")
    if path:
        subject += f" in {one_line(escape_controls(path))}"
    if result is None:
        return Card(title="locate", subject=subject)
    summary = "failed" if result.is_error else f"{count_lines(result.text)} lines"
    blocks = (TextBlock(text=escape_controls(result.text)),)
    return Card(title="locate", subject=subject, summary=summary, blocks=blocks)
