"""The `locate` tool: finds where a name is defined, or which files a task is likely about."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from tools.arguments import text_argument
from tools.base import Tool, ToolContext, ToolError
from tools.effects import Effects
from tools.files.paths import display_path
from tools.files.places import exists, resolve_argument, resolve_arguments
from tools.limits import count_lines
from tools.patterns import late
from tools.results import Card, TextBlock, ToolResult, text_result
from tools.schema import schema_of
from tools.text import escape_controls, one_line
from tools.threads import StopFlag, ThreadedTool
from tools.workspace import Workspace, workspace_of

if TYPE_CHECKING:
    from tools.repomap.repository import IndexState

_IDENTIFIER = late(r"`?(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::|#|->)(?:[^\W\d]|\$)[\w$]*)*(?:\(\))?`?")
_MAX_TOKENS = 4000
_CONFIDENT_TOKENS = 1000
_MORE_HINT = "more: true gives the rest."
_FALLBACK_MAP_TOKENS = 500
"""Size of the folder map that is shown when nothing is found."""


class LocateArguments(msgspec.Struct, frozen=True, kw_only=True):
    about: Annotated[
        str | list[str],
        msgspec.Meta(description="A symbol's name, or words of the task; or several phrases: task and names"),
    ]
    path: Annotated[str | None, msgspec.Meta(description="Folder to stay in")] = None
    uses: Annotated[bool | None, msgspec.Meta(description="Also where the symbol is used")] = None
    more: Annotated[bool | None, msgspec.Meta(description="The files behind those of the first answer")] = (
        None
    )

    def effects(self, context: ToolContext) -> Effects:
        return Effects(lists=resolve_arguments(context, self.path))


def locate_tool() -> Tool:
    return Tool(
        name="locate",
        description=(
            "Where in this repository? Call it before grep when you do not know the place: names of files and symbols "
            "with their lines, for a symbol's name, for words of the task, or for several phrases: the task and "
            "identifiers that you expect."
        ),
        schema=schema_of(LocateArguments),
        arguments=LocateArguments,
        effects=LocateArguments.effects,
        kind="search",
        run=ThreadedTool(_run),
        show=_show,
        snippet="Find where a symbol is, or the files a task is about",
        is_read_only=True,
    )


def _run(arguments: LocateArguments, context: ToolContext, stop: StopFlag) -> ToolResult:
    phrases = [arguments.about] if isinstance(arguments.about, str) else arguments.about
    about = "\n".join(filter(None, (phrase.strip() for phrase in phrases)))
    if not about:
        raise ToolError("about is empty. Pass a symbol's name, or words of the task.")
    workspace = workspace_of(context)
    folder = resolve_argument(workspace, arguments.path, context)
    result = _locate(workspace, folder, about, uses=bool(arguments.uses), is_more=bool(arguments.more))
    return _with_added_folders(result, workspace, folder)


def _with_added_folders(result: ToolResult, workspace: Workspace, folder: str) -> ToolResult:
    """Says in which of several folders of work the result's paths are, and which others there are."""
    if not workspace.added.paths:
        return result
    repository = workspace.repository(folder)
    if repository is not None and repository is not workspace.last_repository:
        note = f"Paths are relative to {repository.root}."
    else:
        others = ", ".join(map(str, workspace.added.paths))
        note = f"Added folders were not looked at; name one as path: {others}."
    return text_result(f"{result.text}\n{note}", details=result.details)


def _locate(workspace: Workspace, folder: str, about: str, *, uses: bool, is_more: bool) -> ToolResult:
    from tools.repomap.of_session import known_files, relative_to_root, repository_of  # noqa: PLC0415  (SQLite, parsers)
    from tools.repomap.telling import definitions_text, map_text, truncate_to_tokens, uses_text  # noqa: PLC0415  (as above)

    repository = repository_of(workspace, folder)
    below = relative_to_root(repository, folder, workspace)
    if not exists(workspace, folder):
        raise ToolError(f"{display_path(folder, workspace.cwd)} does not exist.")
    repository.look()
    if _IDENTIFIER.fullmatch(about):
        name = about.strip("`").removesuffix("()")
        found, count = repository.definitions(name, below=below, near=known_files(repository, workspace))
        used = repository.uses(name, below=below) if uses else None
        if found or (used is not None and used.shown):
            told = definitions_text(name, found, count, repository.state())
            if used is not None:
                told += "\n" + uses_text(name, used)
            return text_result(
                truncate_to_tokens(told, _MAX_TOKENS), details={"outline": True, "definitions": count}
            )
    answer = repository.map_about(
        about,
        below=below,
        known=known_files(repository, workspace),
        sure_tokens=_CONFIDENT_TOKENS,
        is_more=is_more,
    )
    if not answer.map.files and is_more:
        return text_result("No more files are likely.", details={"files": 0})
    if not answer.map.files:
        # Not a guess: an overview of the folder for a model that does not know its names yet.
        used = repository.map_folder(below, tokens=_FALLBACK_MAP_TOKENS)
        told = f"{map_text(answer, is_question=True)} What is most used here:\n{map_text(used, is_question=False)}"
        return text_result(told, details=_details(0, used.state))
    told = map_text(answer, is_question=True, more=_MORE_HINT)
    return text_result(told, details=_details(len(answer.map.files), answer.state))


def _details(files: int, state: "IndexState") -> dict[str, Any]:
    return {"outline": True, "files": files, "indexed": state.indexed, "missing": state.missing}


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
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
