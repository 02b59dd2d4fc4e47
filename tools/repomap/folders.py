"""Answers `read` of a folder with `map` or `symbol`: the folder's map, or the place of one of its symbols."""

from tools.base import ToolError
from tools.files.paths import display_path
from tools.repomap.answer_texts import definitions_text, map_text, truncate_to_tokens
from tools.repomap.lookup import Definition
from tools.repomap.render import DEFAULT_TOKENS
from tools.repomap.session_map import known_files, relative_to_root, repository_of
from tools.results import ToolResult, text_result
from tools.text import escape_controls
from tools.workspace import Workspace


def folder_map(workspace: Workspace, folder: str, shown: str) -> ToolResult:
    repository = repository_of(workspace, folder)
    repository.index_changes()
    answer = repository.map_folder(relative_to_root(repository, folder, workspace))
    told = map_text(answer, is_question=False)
    return text_result(f"{shown}:\n{told}", details={"outline": True, "files": len(answer.map.files)})


def symbol_in_folder(
    workspace: Workspace, folder: str, shown: str, name: str
) -> tuple[str, Definition] | ToolResult:
    """Returns the only definition of a symbol in a folder with its path; if several match, a list of them, nearest
    first."""
    repository = repository_of(workspace, folder)
    repository.index_changes()
    below = relative_to_root(repository, folder, workspace)
    near = known_files(repository, workspace)
    found, count = repository.definitions(name, below=below, near=near, searches_text=True)
    if not found:
        missing = repository.state().missing
        more = f" The index is being made: {missing:,} files are not in it yet." if missing else ""
        raise ToolError(
            f"There is no symbol {escape_controls(name)!r} in {shown}.{more} "
            "Search with grep, or read the folder with map: true."
        )
    if count == 1:
        return display_path(str(repository.root / found[0].path), workspace.cwd), found[0]
    told = definitions_text(name, found, count, repository.state())
    return text_result(truncate_to_tokens(told, DEFAULT_TOKENS), details={"symbols": count})
