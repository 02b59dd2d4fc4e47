"""Converts tool calls of other programs to calls of bayou's tools where both mean the same. Other calls keep their
name and arguments."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.values.codec import decode_json
from tools.lazy_patterns import lazy_regex

CallArguments = dict[str, Any]
ArgumentConversion = Callable[[CallArguments], CallArguments]
_INVALID_TOOL_NAME_CHARACTERS_PATTERN = lazy_regex(r"[^A-Za-z0-9_-]")
_MAX_TOOL_NAME_CHARS = 64
_SHELL_PROGRAMS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash")


def convert_to_bayou_tool_call(program: str, name: Any, arguments: Any) -> tuple[str, CallArguments]:
    """Returns the tool and arguments of a call in bayou's form."""
    given = _decode_arguments(arguments)
    known = _TOOL_CALL_CONVERSIONS[program].get(name) if isinstance(name, str) else None
    if known is not None:
        tool, convert, needed = known
        if all(isinstance(given.get(key), str) for key in needed):
            return tool, convert(given)
    foreign = (
        _INVALID_TOOL_NAME_CHARACTERS_PATTERN.sub("_", name)[:_MAX_TOOL_NAME_CHARS]
        if isinstance(name, str)
        else ""
    )
    return foreign or "unknown", given


def _decode_arguments(value: Any) -> CallArguments:
    if isinstance(value, str):
        try:
            found = decode_json(value)
        except msgspec.DecodeError:
            return {"input": value}
        return found if isinstance(found, dict) else {"input": value}
    return dict(value) if isinstance(value, dict) else {}


def _rename_arguments(names: Mapping[str, str]) -> ArgumentConversion:
    def convert(given: CallArguments) -> CallArguments:
        return {own: given[theirs] for theirs, own in names.items() if given.get(theirs) is not None}

    return convert


def _rename_with_timeout(names: Mapping[str, str], milliseconds: str) -> ArgumentConversion:
    rename = _rename_arguments(names)

    def convert(given: CallArguments) -> CallArguments:
        found, time = rename(given), given.get(milliseconds)
        is_number = isinstance(time, int | float) and not isinstance(time, bool)
        return {**found, "timeout": time / 1000} if is_number and time is not None else found

    return convert


def _convert_edit(path: str, old: str, new: str, everywhere: str) -> ArgumentConversion:
    def convert(given: CallArguments) -> CallArguments:
        edit = {"oldText": given[old], "newText": given[new]}
        return {
            "path": given[path],
            "edits": [{**edit, "all": True} if given.get(everywhere) is True else edit],
        }

    return convert


def _convert_edits(given: CallArguments) -> CallArguments:
    listed = given.get("edits")
    edits = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    own = [{"oldText": one.get("old_string", ""), "newText": one.get("new_string", "")} for one in edits]
    return {"path": given["file_path"], "edits": own}


def _convert_codex_shell_arguments(given: CallArguments) -> CallArguments:
    """Converts codex's list of words; of `bash -lc LINE` only the line counts."""
    words = given.get("command")
    if isinstance(words, str):
        return {"command": words}
    parts = [str(word) for word in words] if isinstance(words, list) else []
    is_line = len(parts) == 3 and parts[0] in _SHELL_PROGRAMS and parts[1] in ("-c", "-lc")
    return {"command": parts[2] if is_line else shlex.join(parts)}


_TOOL_CALL_CONVERSIONS: Mapping[str, Mapping[str, tuple[str, ArgumentConversion, tuple[str, ...]]]] = {
    "claude": {
        "Bash": ("bash", _rename_with_timeout({"command": "command"}, "timeout"), ("command",)),
        "Read": (
            "read",
            _rename_arguments({"file_path": "path", "offset": "offset", "limit": "limit"}),
            ("file_path",),
        ),
        "Write": (
            "write",
            _rename_arguments({"file_path": "path", "content": "content"}),
            ("file_path", "content"),
        ),
        "Edit": (
            "edit",
            _convert_edit("file_path", "old_string", "new_string", "replace_all"),
            ("file_path", "old_string", "new_string"),
        ),
        "MultiEdit": ("edit", _convert_edits, ("file_path",)),
        "Grep": (
            "grep",
            _rename_arguments({"pattern": "pattern", "path": "path", "glob": "glob", "-i": "ignore_case"}),
            ("pattern",),
        ),
        "Glob": ("find", _rename_arguments({"pattern": "pattern", "path": "path"}), ("pattern",)),
        "LS": ("ls", _rename_arguments({"path": "path"}), ("path",)),
        "WebFetch": ("web_fetch", _rename_arguments({"url": "url"}), ("url",)),
        "WebSearch": ("web_search", _rename_arguments({"query": "query"}), ("query",)),
    },
    "codex": {
        "shell": ("bash", _convert_codex_shell_arguments, ()),
        "local_shell": ("bash", _convert_codex_shell_arguments, ()),
        "shell_command": ("bash", _convert_codex_shell_arguments, ("command",)),
        "container.exec": ("bash", _convert_codex_shell_arguments, ()),
        "exec_command": ("bash", _rename_arguments({"cmd": "command"}), ("cmd",)),
        "apply_patch": ("apply_patch", _rename_arguments({"input": "input"}), ("input",)),
    },
    "opencode": {
        "bash": ("bash", _rename_with_timeout({"command": "command"}, "timeout"), ("command",)),
        "read": ("read", _rename_arguments({"filePath": "path", "limit": "limit"}), ("filePath",)),
        "write": (
            "write",
            _rename_arguments({"filePath": "path", "content": "content"}),
            ("filePath", "content"),
        ),
        "edit": (
            "edit",
            _convert_edit("filePath", "oldString", "newString", "replaceAll"),
            ("filePath", "oldString", "newString"),
        ),
        "grep": (
            "grep",
            _rename_arguments({"pattern": "pattern", "path": "path", "include": "glob"}),
            ("pattern",),
        ),
        "glob": ("find", _rename_arguments({"pattern": "pattern", "path": "path"}), ("pattern",)),
        "list": ("ls", _rename_arguments({"path": "path"}), ("path",)),
        "webfetch": ("web_fetch", _rename_arguments({"url": "url"}), ("url",)),
    },
}
"""For each program: its tool, bayou's, the conversion of the arguments, and the texts that it needs."""
