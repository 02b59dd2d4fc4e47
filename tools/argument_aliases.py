"""Resolves the aliases that models use for arguments of a tool.

Unambiguous aliases are accepted; `tools.argument_schema` rejects the rest by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from tools.lazy_patterns import lazy_regex

PATH_ARGUMENT_ALIASES: Final[Mapping[str, str]] = dict.fromkeys(
    ("file", "filename", "absolute_path", "relative_path", "target_file", "file_path", "target"), "path"
)
FOLDER_ARGUMENT_ALIASES: Final[Mapping[str, str]] = dict.fromkeys(
    ("directory", "dir", "dir_path", "folder", "cwd", "workdir", "root", "search_path"), "path"
)
_IGNORED_TOOL_ARGUMENTS: Final = dict.fromkeys(("description", "explanation", "justification", "reason"), "")
"""Names of arguments in which models explain a call to its reader; such arguments are dropped, because they have no
effect."""
_ARGUMENT_NAME_SEPARATOR_PATTERN: Final = lazy_regex(r"[-_ ]")

RenameToolArguments = Callable[[dict[str, Any]], dict[str, Any]]


def make_alias_resolver(arguments: type[msgspec.Struct], *others: Mapping[str, str]) -> RenameToolArguments:
    """Returns a function that renames arguments to the fields of `arguments`; `others` maps aliases to fields, ""
    to no field.

    Case, dashes and underscores are ignored. If the field is already set to another value, the alias is left
    alone."""
    fields = {field.encode_name for field in msgspec.structs.fields(arguments)}
    table = {
        _normalise_argument_name(name): field
        for names in (_IGNORED_TOOL_ARGUMENTS, *others)
        for name, field in names.items()
    }
    table |= {_normalise_argument_name(field): field for field in fields}

    def spelled(raw: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in raw.items():
            name = key if key in fields else table.get(_normalise_argument_name(key), key)
            if not name or value is None:
                continue
            is_taken = name != key and (name in raw or name in out)
            if is_taken and out.get(name, raw.get(name)) == value:
                continue
            out[key if is_taken else name] = value
        return out

    return spelled


def _normalise_argument_name(name: str) -> str:
    return re.sub(_ARGUMENT_NAME_SEPARATOR_PATTERN.pattern, "", name).casefold()
