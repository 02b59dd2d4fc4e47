"""Builds the JSON Schema of a tool's arguments from a struct, and coerces raw arguments of a model or rejects them
with a message."""

import difflib
import functools
import json
from typing import Any, Final

import msgspec

from tools.text_sanitizing import escape_controls
from tools.tool_definition import Tool, ToolError
from tools.tool_result_values import Json

_MAX_QUOTED_ARGUMENT_CHARS: Final = 2_000


UNDECLARED_ARGUMENT_META: Final = msgspec.Meta(extra_json_schema={"undeclared": True})
"""Marks a field that is accepted but not declared to the model, which knows it from other tools."""


class ToolArgumentsError(ToolError):
    """Raised if the arguments of a call do not fit the tool's schema."""


def make_arguments_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Returns the JSON Schema of a tool's arguments struct as the model sees it, self-contained and without titles."""
    whole = _make_full_schema(arguments)
    return {
        **whole,
        "properties": {name: one for name, one in whole["properties"].items() if _is_declared_argument(one)},
    }


@functools.cache
def _make_full_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    schema, components = msgspec.json.schema_components([arguments], ref_template="{name}")
    return _inline_references(components[schema[0]["$ref"]], components)


def _is_declared_argument(node: dict[str, Any]) -> bool:
    return "undeclared" not in node


def _inline_references(node: Json, components: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline_references(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = _inline_references(components[node["$ref"]], components)
        return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    out: dict[str, Any] = {
        key: _inline_references(value, components)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))  # an argument may be called so
    }
    if isinstance(out.get("anyOf"), list):
        out = _remove_null_type(out)
    if out.get("default", ...) is None:
        del out["default"]
    return out


def _remove_null_type(node: dict[str, Any]) -> dict[str, Any]:
    """Removes `null` from the types of optional fields in a JSON Schema: a model may omit them and need not know about
    null."""
    rest = [option for option in node["anyOf"] if option.get("type") != "null"]
    if len(rest) == 1:
        return {**rest[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    return {**node, "anyOf": rest}


def validate_tool_arguments(tool: Tool, raw: Json) -> Any:
    """Converts the raw arguments of a model to the tool's schema: a struct of `tool.arguments` if that is set,
    otherwise a dict. Raises `ToolArgumentsError` with a message for the model."""
    return convert_to_arguments_struct(tool, normalise_tool_arguments(tool, raw))


def normalise_tool_arguments(tool: Tool, raw: Json) -> dict[str, Any]:
    """Returns the arguments as the tool will get them: the tool's own names, each value of the type in its schema.

    Hooks, the permission gate, masks and the tool itself read this one value."""
    raw = tool.prepare(dict(raw)) if tool.prepare and isinstance(raw, dict) else raw
    if not isinstance(raw, dict):
        raise ToolArgumentsError(
            _format_arguments_error(
                tool.name, [("arguments", f"expected an object, got {_json_type_name(raw)}")], raw
            )
        )
    problems: list[tuple[str, str]] = []
    value = _coerce_value(raw, _forbid_unknown_arguments(tool), "", problems)
    if problems:
        raise ToolArgumentsError(_format_arguments_error(tool.name, problems, raw))
    return value


def convert_to_arguments_struct(tool: Tool, arguments: dict[str, Any]) -> Any:
    """Converts normalised arguments to the tool's struct. Strict: no value is interpreted differently than by the
    gate."""
    if tool.arguments is None:
        return arguments
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as problem:
        raise ToolArgumentsError(
            _format_arguments_error(tool.name, [("arguments", str(problem))], arguments)
        ) from None


def _forbid_unknown_arguments(tool: Tool) -> dict[str, Any]:
    """Returns the schema with unknown fields forbidden, because a struct would drop them silently."""
    if tool.arguments is None:
        return tool.schema
    whole = _make_full_schema(tool.arguments)["properties"]
    untold = {name: one for name, one in whole.items() if not _is_declared_argument(one)}
    return _forbid_extra_properties(
        {**tool.schema, "properties": {**tool.schema.get("properties", {}), **untold}}
    )


def _forbid_extra_properties(node: Json) -> Any:
    if isinstance(node, list):
        return [_forbid_extra_properties(item) for item in node]
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {key: _forbid_extra_properties(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out


def _format_arguments_error(name: str, problems: list[tuple[str, str]], raw: Json) -> str:
    lines = "\n".join(f"  - {path}: {problem}" for path, problem in problems)
    try:
        received = json.dumps(raw, indent=2, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        received = repr(type(raw))
    if len(received) > _MAX_QUOTED_ARGUMENT_CHARS:
        received = f"{received[:_MAX_QUOTED_ARGUMENT_CHARS]}\n... [{len(received):,} characters in all]"
    return escape_controls(
        f'Validation failed for tool "{name}":\n{lines}\n\nReceived arguments:\n{received}'
    )


def _coerce_value(value: Json, schema: dict[str, Any], path: str, problems: list[tuple[str, str]]) -> Any:
    """Converts a value to the type that its JSON Schema demands, or records a problem."""
    options: Json = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return _coerce_one_of(value, options, path, problems)
    wanted: Json = schema.get("type")
    if isinstance(wanted, list):
        return _coerce_one_of(value, [{**schema, "type": kind} for kind in wanted], path, problems)
    if wanted == "object" or (wanted is None and "properties" in schema):
        return _coerce_object(value, schema, path, problems)
    if wanted == "array":
        return _coerce_array(value, schema, path, problems)
    value = _coerce_scalar(value, wanted, path, problems)
    _check_limits(value, schema, path, problems)
    return value


def _coerce_one_of(
    value: Json, options: list[dict[str, Any]], path: str, problems: list[tuple[str, str]]
) -> Any:
    first: list[tuple[str, str]] = []
    for option in options:
        if _has_json_type(value, option.get("type")):
            own: list[tuple[str, str]] = []
            fitted = _coerce_value(value, option, path, own)
            if not own:
                return fitted
            first = first or own
    for option in options:
        own = []
        fitted = _coerce_value(value, option, path, own)
        if not own:
            return fitted
        first = first or own
    problems.extend(first)
    return value


def _coerce_object(value: Json, schema: dict[str, Any], path: str, problems: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        value = _parse_json_text(value, dict)
    if not isinstance(value, dict):
        problems.append((path or "arguments", f"expected an object, got {_json_type_name(value)}"))
        return value
    properties: dict[str, Any] = schema.get("properties") or {}
    required: list[str] = schema.get("required") or []
    others: Json = schema.get("additionalProperties", True)
    out: dict[str, Any] = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if item is None and not _allows_null(properties.get(key, {})):
            continue
        if key in properties:
            out[key] = _coerce_value(item, properties[key], where, problems)
        elif isinstance(others, dict):
            out[key] = _coerce_value(item, others, where, problems)
        elif others is False:
            problems.append((where, _format_unknown_argument(str(key), value, properties)))
        else:
            out[key] = item
    for key in required:
        if key not in out:
            problems.append((f"{path}.{key}" if path else key, "missing"))
    return out


def _format_unknown_argument(key: str, given: dict[str, Any], properties: dict[str, Any]) -> str:
    """Returns the error for an unknown argument of a call, which suggests the argument that may be meant."""
    known = {name.casefold(): name for name, node in properties.items() if _is_declared_argument(node)}
    close = difflib.get_close_matches(key.casefold(), known, n=1, cutoff=0.6)
    if close and known[close[0]] not in given:
        return f'is not an argument of this tool; did you mean "{known[close[0]]}"?'
    return f"is not an argument of this tool; there are {', '.join(known.values())}"


def _coerce_array(
    value: Json | tuple[Any, ...], schema: dict[str, Any], path: str, problems: list[tuple[str, str]]
) -> Any:
    if isinstance(value, str):
        value = _parse_json_text(value, list)
    given: list[Json] = list(value) if isinstance(value, list | tuple) else [value]
    items: dict[str, Any] = schema.get("items") or {}
    if len(given) < schema.get("minItems", 0):
        problems.append((path, f"needs at least {schema['minItems']}"))
    return [_coerce_value(item, items, f"{path}.{number}", problems) for number, item in enumerate(given)]


def _coerce_scalar(value: Json, wanted: Json, path: str, problems: list[tuple[str, str]]) -> Any:
    if wanted is None or _has_json_type(value, wanted):
        return value
    fitted: Any = None
    if wanted in ("integer", "number"):
        fitted = _parse_number(value, whole=wanted == "integer")
    elif wanted == "boolean":
        fitted = _parse_boolean(value)
    elif wanted == "string" and isinstance(value, int | float):
        fitted = json.dumps(value)
    elif wanted == "string" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        fitted = value[0]
    elif wanted == "null" and value in ("", "null"):
        return None
    if fitted is None:
        problems.append(
            (
                path or "arguments",
                f"expected {_WORDS_FOR_JSON_TYPE.get(str(wanted), wanted)}, got {_json_type_name(value)}",
            )
        )
        return value
    return fitted


def _parse_number(value: Json, *, whole: bool) -> int | float | None:
    if isinstance(value, list) and len(value) == 1:
        return None if isinstance(value[0], list) else _parse_number(value[0], whole=whole)
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value) if any(char in value for char in ".eE") else int(value.strip())
        except ValueError:
            return None
    if not isinstance(value, int | float) or value != value or value in (float("inf"), float("-inf")):
        return None
    if whole:
        return int(value) if value == int(value) else None
    return value


def _parse_boolean(value: Json) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
            value.lower()
        )
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def _check_limits(value: Json, schema: dict[str, Any], path: str, problems: list[tuple[str, str]]) -> None:
    choices: Json = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        problems.append((path, f"must be one of {', '.join(map(str, choices))}"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            problems.append((path, f"must be at least {schema['minimum']}"))
        if "maximum" in schema and value > schema["maximum"]:
            problems.append((path, f"must be at most {schema['maximum']}"))
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        problems.append((path, "must not be empty"))


def _parse_json_text(text: str, kind: type) -> Any:
    """Parses an object or a list that a model sent as JSON text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _allows_null(schema: dict[str, Any]) -> bool:
    kinds: Json = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return any(option.get("type") == "null" for option in schema.get("anyOf") or ())


_PYTHON_TYPE_BY_JSON_TYPE: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_WORDS_FOR_JSON_TYPE: Final = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _has_json_type(value: Json, wanted: Json) -> bool:
    kind = _PYTHON_TYPE_BY_JSON_TYPE.get(wanted) if isinstance(wanted, str) else None
    if kind is None:
        return False
    if isinstance(value, bool) and wanted in ("integer", "number"):
        return False
    return isinstance(value, kind)


def _json_type_name(value: Json) -> str:
    for word, kind in _PYTHON_TYPE_BY_JSON_TYPE.items():
        if _has_json_type(value, word) and kind is not dict:
            return {"null": "null", "array": "a list", "boolean": "true or false"}.get(word, f"a {word}")
    return "an object" if isinstance(value, dict) else type(value).__name__
