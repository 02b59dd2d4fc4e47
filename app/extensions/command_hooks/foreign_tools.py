"""Names and fields of Claude Code's tools for bayou's: matchers of hooks and their scripts use them.

A tool that is not in the table is known by its effects: one that runs shell commands is a `Bash`, one that
writes files an `Edit` and a `Write`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tools.effects import Effects

_FILE_PATH = "file_path"


class ForeignTool(msgspec.Struct, frozen=True, kw_only=True):
    """What scripts call one of bayou's tools; the first name is the one that they are given."""

    names: tuple[str, ...] = ()
    has_file_path: bool = False
    """Whether its input has `file_path`, an absolute path."""


FOREIGN_TOOLS: Mapping[str, ForeignTool] = {
    "bash": ForeignTool(names=("Bash",)),
    "read": ForeignTool(names=("Read",), has_file_path=True),
    "write": ForeignTool(names=("Write",), has_file_path=True),
    "edit": ForeignTool(names=("Edit", "MultiEdit"), has_file_path=True),
    "apply_patch": ForeignTool(names=("Edit", "MultiEdit", "Write"), has_file_path=True),
    "grep": ForeignTool(names=("Grep",)),
    "find": ForeignTool(names=("Glob",)),
    "ls": ForeignTool(names=("LS", "Glob")),
    "todo": ForeignTool(names=("TodoWrite",)),
    "web_fetch": ForeignTool(names=("WebFetch",)),
    "web_search": ForeignTool(names=("WebSearch",)),
}
_SHELL = ForeignTool(names=("Bash",))
_WRITER = ForeignTool(names=("Edit", "Write", "MultiEdit"), has_file_path=True)


def foreign_tool(name: str, effects: Effects | None) -> ForeignTool:
    """Returns what scripts call this tool."""
    known = FOREIGN_TOOLS.get(name)
    if known is None and effects is not None:
        known = FOREIGN_TOOLS.get(effects.acts_as)
        if known is None and effects.runs is not None and effects.runs.language == "shell":
            known = _SHELL
        elif known is None and (effects.writes or effects.stages):
            known = _WRITER
    return known or ForeignTool()


def foreign_input(tool: ForeignTool, arguments: Mapping[str, Any], effects: Effects | None) -> dict[str, Any]:
    """Returns the arguments with the fields that scripts expect beside bayou's own."""
    told = dict(arguments)
    if tool.has_file_path:
        paths = (*effects.writes, *effects.stages, *effects.reads) if effects is not None else ()
        path = paths[0] if paths else arguments.get("path")
        if path is not None:
            told[_FILE_PATH] = path
    edits = arguments.get("edits")
    if isinstance(edits, list) and len(edits) == 1 and isinstance(edits[0], dict):
        edit: dict[str, Any] = edits[0]
        told["old_string"], told["new_string"] = edit.get("oldText"), edit.get("newText")
    return told


def own_input(
    arguments: Mapping[str, Any], told: Mapping[str, Any], answered: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns bayou's arguments with the changes of a script. Fields that it left out or unchanged stay; an
    unknown field stays in, so that the tool refuses it."""
    changes = {name: value for name, value in answered.items() if name not in told or value != told[name]}
    own = dict(arguments)
    if _FILE_PATH in changes and _FILE_PATH in told and "path" in arguments:
        own["path"] = changes.pop(_FILE_PATH)
    if "old_string" in told:
        edit = dict(arguments["edits"][0])
        for theirs, ours in (("old_string", "oldText"), ("new_string", "newText")):
            if theirs in changes:
                edit[ours] = changes.pop(theirs)
        own["edits"] = [edit]
    return {**own, **changes}
