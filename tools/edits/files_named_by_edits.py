"""Finds the files that an editing call or a patch command names in its arguments."""

import re
from collections.abc import Mapping
from typing import Any

from tools.lazy_patterns import lazy_regex
from tools.tool_result_values import Json

EDITING_TOOL_NAMES = frozenset({"edit", "apply_patch"})
"""The names of tools whose calls can name several files."""
PATCH_MOVE_HEADER = "*** Move to:"
"""The line in a patch that gives the new path of a moved file."""
_PATCH_FILE_HEADER_PATTERN = lazy_regex(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to):(.*)$", re.MULTILINE)
_APPLY_PATCH_COMMAND_PATTERN = lazy_regex(
    r"\s*apply_patch\s+<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n(?P<patch>.*)\n(?P=end)\s*",
    re.DOTALL,
)


def paths_of_edit_call(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the paths that an editing call names, as they were sent, each once."""
    found: dict[str, None] = {}
    path: Json = arguments.get("path")
    if isinstance(path, str):
        found[path] = None
    for name in ("edits", "changes"):
        for part in objects_in_list_argument(arguments, name):
            own: Json = part.get("path")
            if isinstance(own, str):
                found[own] = None
    patch: Json = arguments.get("input")
    for own in paths_in_patch(patch) if isinstance(patch, str) else ():
        found[own] = None
    return tuple(found)


def find_patch_in_command(arguments: Mapping[str, Any]) -> str | None:
    """Returns the patch of a shell command that is `apply_patch <<EOF` and nothing else."""
    command: Json = arguments.get("command")
    if not isinstance(command, str) or any(value for name, value in arguments.items() if name != "command"):
        return None
    match = _APPLY_PATCH_COMMAND_PATTERN.fullmatch(command)
    return None if match is None else match["patch"]


def paths_in_patch(text: str) -> tuple[str, ...]:
    """Returns all files that a patch names, even if the patch cannot be applied."""
    return tuple(dict.fromkeys(match[1].strip() for match in _PATCH_FILE_HEADER_PATTERN.finditer(text)))


def objects_in_list_argument(arguments: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Returns the objects of a list argument of a tool call; while the list streams in, those received so far."""
    found: Json = arguments.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
