"""Reads arguments of tool calls that may still be streaming: any argument can be missing or have the wrong type."""

from collections.abc import Mapping
from typing import Any

from tools.text_sanitizing import one_line
from tools.tool_result_values import Json


def first_text_argument(arguments: Mapping[str, Any], *names: str) -> str:
    """Returns the first argument of a tool call that has one of these `names`, on one line, for the heading of its
    card."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return one_line(value.strip().split("\n", 1)[0])[:500]
    return ""


def search_pattern_argument(arguments: Mapping[str, Any], name: str) -> str:
    """Returns the search pattern of a tool call unchanged, with its surrounding spaces and further lines."""
    value = arguments.get(name)
    return one_line(value)[:2_000] if isinstance(value, str) else ""


def number_argument(arguments: Mapping[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isdigit():
        return int(value)
    return int(value) if isinstance(value, int | float) else None


def number_in_result_details(details: Mapping[str, Any] | None, *keys: str) -> int | None:
    """Returns a number at a path of keys in the stored details of a tool result; None if it is missing."""
    node: Json | Mapping[str, Any] = details
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node if isinstance(node, int) and not isinstance(node, bool) else None


def text_in_result_details(details: Mapping[str, Any] | None, key: str) -> str:
    value = details.get(key) if isinstance(details, Mapping) else None
    return value if isinstance(value, str) else ""
