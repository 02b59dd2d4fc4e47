"""Answers `read` of a folder with `map` or `symbol`: the folder's map, or the place of one of its symbols."""

from tools.files.paths import display_path
from tools.repomap.map_answer_texts import format_definitions_of_name, format_map_answer, truncate_to_tokens
from tools.repomap.name_lookup import SymbolDefinition
from tools.repomap.repository_map_rendering import DEFAULT_MAP_TOKENS
from tools.repomap.session_map import folder_relative_to_root, list_known_files, mapped_repository_of
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolError
from tools.tool_result_values import ToolResult, text_result


def make_folder_map_result(workspace: SessionWorkspace, folder: str, shown: str) -> ToolResult:
    repository = mapped_repository_of(workspace, folder)
    repository.index_changed_files()
    answer = repository.map_folder(folder_relative_to_root(repository, folder, workspace))
    told = format_map_answer(answer, is_question=False)
    return text_result(f"{shown}:\n{told}", details={"outline": True, "files": len(answer.ranked_map.files)})


def find_symbol_in_folder(
    workspace: SessionWorkspace, folder: str, shown: str, name: str
) -> tuple[str, SymbolDefinition] | ToolResult:
    """Returns the only definition of a symbol in a folder with its path; if several match, a list of them, nearest
    first."""
    repository = mapped_repository_of(workspace, folder)
    repository.index_changed_files()
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
    told = format_definitions_of_name(name, found, count, repository.index_state())
    return text_result(truncate_to_tokens(told, DEFAULT_MAP_TOKENS), details={"symbols": count})
