"""Answers `read` of a folder with `map` or `symbol`: the folder's map, or the place of one of its symbols."""

from tools.base import ToolError
from tools.files.paths import display_path
from tools.repomap.answer_texts import format_definitions, format_map_answer, truncate_to_tokens
from tools.repomap.map_rendering import DEFAULT_MAP_TOKENS
from tools.repomap.name_lookup import Definition
from tools.repomap.session_map import folder_relative_to_root, list_known_files, repository_of
from tools.results import ToolResult, text_result
from tools.text import escape_controls
from tools.workspace import Workspace


def make_folder_map_result(workspace: Workspace, folder: str, shown: str) -> ToolResult:
    repository = repository_of(workspace, folder)
    repository.index_changes()
    answer = repository.map_folder(folder_relative_to_root(repository, folder, workspace))
    told = format_map_answer(answer, is_question=False)
    return text_result(f"{shown}:\n{told}", details={"outline": True, "files": len(answer.ranked_map.files)})


def find_symbol_in_folder(
    workspace: Workspace, folder: str, shown: str, name: str
) -> tuple[str, Definition] | ToolResult:
    """Returns the only definition of a symbol in a folder with its path; if several match, a list of them, nearest
    first."""
    repository = repository_of(workspace, folder)
    repository.index_changes()
    below = folder_relative_to_root(repository, folder, workspace)
    near = list_known_files(repository, workspace)
    found, count = repository.find_definitions(name, below=below, near=near, searches_text=True)
    if not found:
        missing = repository.index_state().missing_count
        more = f" The index is being made: {missing:,} files are not in it yet." if missing else ""
        raise ToolError(
            f"There is no symbol {escape_controls(name)!r} in {shown}.{more} "
            "Search with grep, or read the folder with map: true."
        )
    if count == 1:
        return display_path(str(repository.root / found[0].path), workspace.cwd), found[0]
    told = format_definitions(name, found, count, repository.index_state())
    return text_result(truncate_to_tokens(told, DEFAULT_MAP_TOKENS), details={"symbols": count})
