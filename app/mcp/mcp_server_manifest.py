"""Stores what is known of a server without contacting it: its tools, prompts, resources and its description.

There is one file for each way to reach a server, without secrets. Texts of servers are untrusted: they are
cleaned when they arrive, and schemas are reduced to valid shapes, so that code that checks arguments can rely
on them. Names, addresses and values are sent back to the server as they are; an item with hidden characters in
them is left out.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from app.values.json_texts import replace_texts_in_json, texts_in_json
from app.version import VERSION
from tools.text_sanitizing import (
    escape_controls,
    find_hidden_character,
    one_line,
    remove_invisible_chars,
    show_invisible_chars,
)

MCP_CLIENT_CAPABILITIES: Final = "elicitation.form elicitation.url roots.listChanged"
"""The capabilities that bayou declares, on which the server's offers depend."""
_MAX_NAME_CHARS, _MAX_DESCRIPTION_CHARS, _MAX_INSTRUCTION_CHARS, _MAX_URI_CHARS = 200, 8_000, 8_000, 2_000
_IGNORED_SCHEMA_KEYWORDS = frozenset({"$schema", "$id", "title"})
_MAX_SCHEMA_DEPTH, _MAX_SCHEMA_BYTES = 40, 200_000
_EXACT_VALUE_SCHEMA_KEYWORDS = frozenset({"const", "default"})
"""Keywords of a schema, besides `enum`, whose values a caller sends as they are."""
_MAX_OMISSIONS, _OMITTED_NAME_CHARS = 20, 80


class McpServerIntroduction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The server's introduction: protocol version, name, instructions and capabilities."""

    era: str
    """The protocol version."""
    name: str = ""
    version: str = ""
    instructions: str = ""
    capabilities: dict[str, Any] = {}
    discover: dict[str, Any] | None = None
    """What a server of the newer protocol said of itself; with it the next connection needs no request."""


class McpToolDescription(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool as its server described it."""

    name: str
    title: str = ""
    description: str = ""
    schema: dict[str, Any] = {}
    says_read_only: bool = False
    says_destructive: bool = False

    @property
    def description_first_line(self) -> str:
        return self.description.strip().split("\n", 1)[0].strip()

    @property
    def declared_schema(self) -> dict[str, Any]:
        """Returns the schema without keywords that mean nothing to a model and that some providers refuse."""
        return {key: value for key, value in self.schema.items() if key not in _IGNORED_SCHEMA_KEYWORDS}

    @property
    def token_estimate(self) -> int:
        """Estimates how many tokens the tool's declaration takes."""
        return (
            len(msgspec.json.encode(self.declared_schema)) + len(self.description) + len(self.name) + 60
        ) // 4

    @property
    def declaration_hash(self) -> str:
        """A hash of everything that the model sees of the tool."""
        said = msgspec.json.encode((self.name, self.description, self.schema), order="sorted")
        return hashlib.sha256(said).hexdigest()[:16]


class McpPromptArgument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An argument of a server's prompt."""

    name: str
    description: str = ""
    required: bool = False


class McpPromptDescription(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A prompt as its server described it."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[McpPromptArgument, ...] = ()


class McpResourceDescription(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A resource, or a template of resources, as its server described it."""

    uri: str
    """The address; a template contains `{…}`."""
    name: str = ""
    description: str = ""
    mime_type: str = ""


_Item = TypeVar("_Item", McpToolDescription, McpPromptDescription, McpResourceDescription)


class McpServerManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A server's greeting, tools, prompts and resources."""

    greeting: McpServerIntroduction
    tools: tuple[McpToolDescription, ...] = ()
    prompts: tuple[McpPromptDescription, ...] = ()
    resources: tuple[McpResourceDescription, ...] = ()
    templates: tuple[McpResourceDescription, ...] = ()
    omissions: tuple[str, ...] = ()
    """A sentence for each item that is left out because of hidden characters."""

    @property
    def instructions(self) -> str:
        return self.greeting.instructions

    def find_tool(self, name: str) -> McpToolDescription | None:
        return next((tool for tool in self.tools if tool.name == name), None)


class McpManifestStore:
    """Stores the tools, prompts and resources of MCP servers on disk. An unreadable file counts as unknown."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load_manifest(self, key: str) -> McpServerManifest | None:
        if self._folder is None:
            return None
        try:
            return msgspec.json.decode((self._folder / f"{key}.json").read_bytes(), type=McpServerManifest)
        except (OSError, msgspec.MsgspecError):
            return None

    def store_manifest(self, key: str, manifest: McpServerManifest) -> None:
        if self._folder is None:
            return
        # Imported late: the file writer imports threads, which a start without servers does not need.
        from tools.files.atomic_replacement import replace_file_atomically  # noqa: PLC0415

        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file_atomically(
                self._folder / f"{key}.json", msgspec.json.encode(manifest), durable=False
            )
        except OSError:
            pass  # The next session asks the server again.


def mcp_manifest_file_key(way: Mapping[str, Any]) -> str:
    """Returns the file key for `way`, the description of how the server is reached."""
    said = msgspec.json.encode((way, MCP_CLIENT_CAPABILITIES, VERSION), order="deterministic")
    return hashlib.sha256(said).hexdigest()[:32]


def build_mcp_manifest(greeting: McpServerIntroduction, listed: Mapping[str, list[Any]]) -> McpServerManifest:
    """Converts a server's lists to a manifest with cleaned texts. Items without a name, duplicates, and items with
    hidden characters in what is sent back are left out."""
    omissions: list[str] = []

    def visible(kind: str, parse: Callable[[Mapping[str, Any]], _Item]) -> Iterator[_Item]:
        for item in map(parse, listed.get(f"{kind}s", ())):
            if code := _hidden_in_item(item):
                name = item.uri if isinstance(item, McpResourceDescription) else item.name
                shown = show_invisible_chars(one_line(name[:_OMITTED_NAME_CHARS]))
                omissions.append(
                    f'The {kind} "{shown}" is left out: a name, address or value of it contains the hidden '
                    f"character {code}."
                )
            else:
                yield item

    manifest = McpServerManifest(
        greeting=msgspec.structs.replace(
            greeting, instructions=remove_unsafe_characters(greeting.instructions, _MAX_INSTRUCTION_CHARS)
        ),
        tools=tuple(_remove_duplicates(visible("tool", _parse_tool))),
        prompts=tuple(_remove_duplicates(visible("prompt", _parse_prompt))),
        resources=tuple(visible("resource", partial(_parse_resource, field="uri"))),
        templates=tuple(visible("template", partial(_parse_resource, field="uriTemplate"))),
    )
    if (more := len(omissions) - _MAX_OMISSIONS) > 0:
        omissions[_MAX_OMISSIONS:] = [f"{more:,} more are left out for the same reason."]
    return msgspec.structs.replace(manifest, omissions=tuple(omissions))


def _hidden_in_item(item: McpToolDescription | McpPromptDescription | McpResourceDescription) -> str:
    """Returns the number of a hidden character in what is sent back to the server of this item; empty if there is
    none. Values may have several lines."""
    match item:
        case McpToolDescription():
            found = (
                find_hidden_character(text, allowed="\t\n\r")
                for text in texts_in_json(item.schema, names=True)
            )
            return find_hidden_character(item.name) or next(filter(None, found), "")
        case McpPromptDescription():
            names = (item.name, *(argument.name for argument in item.arguments))
            return next(filter(None, map(find_hidden_character, names)), "")
        case McpResourceDescription():
            return find_hidden_character(item.uri)


def remove_unsafe_characters(text: Any, most: int) -> str:
    """Removes characters that control a terminal, are invisible, or change the direction of writing."""
    if not isinstance(text, str):
        return ""
    text = _visible_text(text.replace("\r\n", "\n")).strip()
    return text if len(text) <= most else text[: most - 1] + "…"


def _visible_text(text: str) -> str:
    return escape_controls(remove_invisible_chars(text))


def _remove_duplicates(found: Iterable[_Item]) -> list[Any]:
    return list({one.name: one for one in reversed([*found]) if one.name}.values())[::-1]


def _parse_tool(raw: Mapping[str, Any]) -> McpToolDescription:
    hints = raw.get("annotations") or {}
    return McpToolDescription(
        name=str(raw.get("name") or "")[:_MAX_NAME_CHARS],
        title=one_line(remove_unsafe_characters(raw.get("title") or hints.get("title"), _MAX_NAME_CHARS)),
        description=remove_unsafe_characters(raw.get("description"), _MAX_DESCRIPTION_CHARS),
        schema=reduce_to_valid_tool_schema(raw.get("inputSchema")),
        says_read_only=hints.get("readOnlyHint") is True,
        says_destructive=hints.get("destructiveHint") is True,
    )


def _parse_prompt(raw: Mapping[str, Any]) -> McpPromptDescription:
    return McpPromptDescription(
        name=str(raw.get("name") or "")[:_MAX_NAME_CHARS],
        title=one_line(remove_unsafe_characters(raw.get("title"), _MAX_NAME_CHARS)),
        description=remove_unsafe_characters(raw.get("description"), _MAX_DESCRIPTION_CHARS),
        arguments=tuple(
            McpPromptArgument(
                name=str(one.get("name") or ""),
                description=remove_unsafe_characters(one.get("description"), _MAX_DESCRIPTION_CHARS),
                required=one.get("required") is True,
            )
            for one in raw.get("arguments") or ()
        ),
    )


def _parse_resource(raw: Mapping[str, Any], field: str) -> McpResourceDescription:
    return McpResourceDescription(
        uri=str(raw.get(field) or "")[:_MAX_URI_CHARS],
        name=one_line(remove_unsafe_characters(raw.get("title") or raw.get("name"), _MAX_NAME_CHARS)),
        description=remove_unsafe_characters(raw.get("description"), _MAX_DESCRIPTION_CHARS),
        mime_type=one_line(remove_unsafe_characters(raw.get("mimeType"), 100)),
    )


def reduce_to_valid_tool_schema(raw: Any) -> dict[str, Any]:
    """Returns an object schema whose keywords all have valid shapes and whose texts are cleaned; invalid keywords are
    left out. Names and values that a caller sends as they are stay unchanged."""
    if not isinstance(raw, dict) or len(msgspec.json.encode(raw)) > _MAX_SCHEMA_BYTES:
        raw = {}
    found = _reduce_schema_node(raw, 0)
    return {**found, "type": "object", "properties": found.get("properties", {})}


def _reduce_schema_node(node: Mapping[str, Any], depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in node.items():
        if find_hidden_character(key):
            continue
        if key in ("properties", "$defs", "definitions", "patternProperties"):
            fits = isinstance(value, dict) and depth < _MAX_SCHEMA_DEPTH
            value = (
                {k: _reduce_schema_node(v, depth + 1) for k, v in value.items() if isinstance(v, dict)}
                if fits
                else None
            )
        elif key in ("anyOf", "oneOf", "allOf"):
            fits = isinstance(value, list) and depth < _MAX_SCHEMA_DEPTH
            value = (
                [_reduce_schema_node(one, depth + 1) for one in value if isinstance(one, dict)]
                if fits
                else None
            )
        elif key == "items":
            fits = isinstance(value, dict) and depth < _MAX_SCHEMA_DEPTH
            value = _reduce_schema_node(value, depth + 1) if fits else None
        elif key == "additionalProperties":
            fits = isinstance(value, dict | bool)
            value = _reduce_schema_node(value, depth + 1) if isinstance(value, dict) else value
        else:
            fits, value = _check_plain_keyword(key, value)
        if fits:
            out[key] = value
    return out


def _check_plain_keyword(key: str, value: Any) -> tuple[bool, Any]:
    """Checks a keyword that contains no schemas; returns whether it is valid, and its value."""
    if key == "required":
        return isinstance(value, list), [one for one in value if isinstance(one, str)] if isinstance(
            value, list
        ) else None
    if key == "enum":
        return isinstance(value, list), value
    if key == "type":
        return isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(one, str) for one in value)
        ), value
    if key in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"):
        return isinstance(value, int | float) and not isinstance(value, bool), value
    if key in ("title", "description", "format", "pattern", "$ref", "$schema", "$id"):
        return isinstance(value, str), remove_unsafe_characters(value, _MAX_DESCRIPTION_CHARS)
    return key != "$comment", value if key in _EXACT_VALUE_SCHEMA_KEYWORDS else replace_texts_in_json(
        value, _visible_text
    )
