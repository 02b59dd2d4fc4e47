"""The `locate` tool: finds where a name is defined, or which files a task is likely about."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments, workspace_path_exists
from tools.files.paths import display_path
from tools.lazy_patterns import lazy_regex
from tools.result_limits import count_lines
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls, one_line
from tools.thread_work import RunToolInThread, StopFlag
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, TextBlock, ToolResult, text_result

if TYPE_CHECKING:
    from tools.repomap.mapped_repository import IndexState, MappedRepository

_QUALIFIED_IDENTIFIER_PATTERN = lazy_regex(
    r"`?(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::|#|->)(?:[^\W\d]|\$)[\w$]*)*(?:\(\))?`?"
)
_MAX_LOCATE_TOKENS = 4000
_MAX_MAP_TOKENS_IF_CONFIDENT = 1000
_MORE_FILES_HINT = "more: true gives the rest."
_MAX_MAP_TOKENS_WITHOUT_DEFINITION = 500
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
        run=RunToolInThread(_run_locate_call),
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
    if repository is None or repository is workspace.last_used_repository:
        return result
    return text_result(f"{result.text}\n{_format_root_note(repository)}", details=result.details)


def _locate_in_all_folders(
    workspace: SessionWorkspace, folder: str, locate: Callable[[str], ToolResult]
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
        if repository is workspace.last_used_repository
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
    workspace: SessionWorkspace, folder: str, *, about: str, uses: bool, is_more: bool
) -> ToolResult:
    from tools.repomap.map_answer_texts import (  # noqa: PLC0415  (as above)
        format_definitions_of_name,
        format_map_answer,
        format_name_uses,
        truncate_to_tokens,
    )
    from tools.repomap.session_map import folder_relative_to_root, list_known_files, mapped_repository_of  # noqa: PLC0415  (SQLite, parsers)

    repository = mapped_repository_of(workspace, folder)
    below = folder_relative_to_root(repository, folder, workspace)
    if not workspace_path_exists(workspace, folder):
        raise ToolError(f"{display_path(folder, workspace.cwd)} does not exist.")
    repository.index_changed_files()
    if _QUALIFIED_IDENTIFIER_PATTERN.fullmatch(about):
        name = about.strip("`").removesuffix("()")
        near = list_known_files(repository, workspace)
        found, count = repository.find_definitions(name, below=below, near=near, searches_text=True)
        used = repository.find_uses_of_name(name, below=below) if uses else None
        if found or (used is not None and used.listed_uses):
            told = format_definitions_of_name(name, found, count, repository.index_state())
            if used is not None:
                told += "\n" + format_name_uses(name, used)
            return text_result(
                truncate_to_tokens(told, _MAX_LOCATE_TOKENS), details={"outline": True, "definitions": count}
            )
    answer = repository.map_files_for_task(
        about,
        below=below,
        known=list_known_files(repository, workspace),
        sure_tokens=_MAX_MAP_TOKENS_IF_CONFIDENT,
        is_more=is_more,
    )
    if not answer.ranked_map.files and is_more:
        return text_result("No more files are likely.", details={"files": 0})
    if not answer.ranked_map.files:
        # Not a guess: an overview of the folder for a model that does not know its names yet.
        used = repository.map_folder(below, tokens=_MAX_MAP_TOKENS_WITHOUT_DEFINITION)
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
    about = ", ".join(map(str, phrases)) or first_text_argument(arguments, "about")
    subject = one_line(escape_controls(about))
    path = first_text_argument(arguments, "path")
    if path:
        subject += f" in {one_line(escape_controls(path))}"
    if result is None:
        return Card(title="locate", subject=subject)
    summary = "failed" if result.is_error else f"{count_lines(result.text)} lines"
    blocks = (TextBlock(text=escape_controls(result.text)),)
    return Card(title="locate", subject=subject, summary=summary, blocks=blocks)
