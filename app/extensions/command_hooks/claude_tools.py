"""Maps bayou's tools to the names and fields of Claude Code's tools, which the matchers of hooks and their scripts
use. A tool that is not in the table is classified by its effects: one that runs shell commands is a `Bash`, one
that writes files an `Edit` and a `Write`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.resources.claude_tool_names import CLAUDE_CODE_TOOL_NAMES
from tools.call_effects import Effects

_FILE_PATH_FIELD = "file_path"
_BAYOU_FIELD_BY_TASK_FIELD = {"subagent_type": "agent", "description": "title"}
"""Fields of a task for a helper, and bayou's names for them."""


class ClaudeTool(msgspec.Struct, frozen=True, kw_only=True):
    """The names that Claude Code has for one of bayou's tools; hook scripts get the first one."""

    names: tuple[str, ...] = ()

    @property
    def has_file_path(self) -> bool:
        """Whether its input has `file_path`, an absolute path."""
        return not {"Read", "Edit", "Write"}.isdisjoint(self.names)

    @property
    def is_task_tool(self) -> bool:
        """Whether its input has `subagent_type` and `description`."""
        return "Task" in self.names


def claude_tool_for(name: str, effects: Effects | None) -> ClaudeTool:
    """Returns the names that Claude Code has for a tool, found by the tool's name or its effects."""
    names = CLAUDE_CODE_TOOL_NAMES.get(name, ())
    if not names and effects is not None:
        names = CLAUDE_CODE_TOOL_NAMES.get(effects.acts_as, ())
        if not names and effects.runs is not None and effects.runs.language == "shell":
            names = ("Bash",)
        elif not names and (effects.writes or effects.stages):
            names = ("Edit", "Write", "MultiEdit")
    return ClaudeTool(names=names)


def claude_inputs(
    tool: ClaudeTool, arguments: Mapping[str, Any], effects: Effects | None
) -> list[dict[str, Any]]:
    """Returns a tool call's arguments with the fields of Claude Code's tool added, for hook scripts: one input for each
    file that the call writes, stages or reads, since `file_path` names one file."""
    if not tool.has_file_path:
        return [_input_for_file(tool, arguments, None)]
    paths = (*effects.writes, *effects.stages, *effects.reads) if effects is not None else ()
    files = list(dict.fromkeys(paths)) or [arguments.get("path")]
    return [_input_for_file(tool, arguments, file) for file in files]


def _input_for_file(tool: ClaudeTool, arguments: Mapping[str, Any], file: Any) -> dict[str, Any]:
    told = dict(arguments)
    if file is not None:
        told[_FILE_PATH_FIELD] = file
    if tool.is_task_tool:
        told |= {theirs: arguments.get(ours) for theirs, ours in _BAYOU_FIELD_BY_TASK_FIELD.items()}
    edits = arguments.get("edits")
    if isinstance(edits, list) and len(edits) == 1 and isinstance(edits[0], dict):
        edit: dict[str, Any] = edits[0]
        told["old_string"], told["new_string"] = edit.get("oldText"), edit.get("newText")
    return told


def from_claude_tool_input(
    arguments: Mapping[str, Any], told: Mapping[str, Any], answered: Mapping[str, Any], *, is_only_file: bool
) -> dict[str, Any]:
    """Returns a tool call's arguments with the changes that a hook script made. Fields that the script left out or
    unchanged stay; an unknown field stays in, so that the tool refuses it, and so does another `file_path` for one of
    several files."""
    changes = {name: value for name, value in answered.items() if name not in told or value != told[name]}
    own = dict(arguments)
    if is_only_file and _FILE_PATH_FIELD in changes and _FILE_PATH_FIELD in told and "path" in arguments:
        own["path"] = changes.pop(_FILE_PATH_FIELD)
    if "subagent_type" in told:
        own |= {
            ours: changes.pop(theirs)
            for theirs, ours in _BAYOU_FIELD_BY_TASK_FIELD.items()
            if theirs in changes
        }
    if "old_string" in told:
        edit = dict(arguments["edits"][0])
        for theirs, ours in (("old_string", "oldText"), ("new_string", "newText")):
            if theirs in changes:
                edit[ours] = changes.pop(theirs)
        own["edits"] = [edit]
    return {**own, **changes}
