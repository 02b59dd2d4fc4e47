"""Generates the table of tools in `docs/tools.md`: `python -m tools.tools_doc_page` prints it."""

import sys
from typing import Any

from tools.tool_definition import Tool
from tools.tool_registry import builtin_tools


def format_tools_doc_page(tools: tuple[Tool, ...]) -> str:
    """Returns the Markdown text of `docs/tools.md`: a section for each tool with its description and arguments."""
    return "\n".join(_format_tool_section(tool) for tool in tools)


def _format_tool_section(tool: Tool) -> str:
    required = tool.schema.get("required", [])
    rows = [
        f"| `{name}`{'' if name in required else ' (optional)'} "
        f"| {_format_schema_type(schema)} | {schema.get('description', '')} |"
        for name, schema in tool.schema["properties"].items()
    ]
    head = ["", "| Argument | Kind | Meaning |", "|---|---|---|"]
    return "\n".join([f"### {tool.name}", "", tool.description, *head, *rows, ""])


def _format_schema_type(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "any")
    if kind == "array":
        items = schema.get("items", {})
        fields = ", ".join(items.get("properties", {}))
        return f"list of {{{fields}}}" if fields else f"list of {items.get('type', 'any')}"
    words = {
        "integer": "whole number",
        "boolean": "true or false",
        "string": "text",
        "object": "names and texts",
    }
    return words.get(str(kind), str(kind))


if __name__ == "__main__":
    sys.stdout.write(format_tools_doc_page(builtin_tools()))
