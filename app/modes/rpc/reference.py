"""Generates the description of RPC from the commands' table and the events' union.

python -m app.modes.rpc.reference          write docs/rpc.schema.json, the tables in docs/rpc.md, the client's
methods
"""

import json
from pathlib import Path
from textwrap import fill
from typing import Any, get_args

import msgspec

from app.engine.commands.command_table import COMMANDS
from app.engine.commands.session_command import SessionCommandDefinition
from app.modes.rpc import python_client_generator
from app.modes.rpc.host_tools import set_host_tools
from app.resources.text_files import write_text
from app.values.events import Event
from app.values.wire import PRIVATE_PREFIX

RPC_DOCS_PAGE = "docs/rpc.md"
RPC_SCHEMA_FILE = "docs/rpc.schema.json"
BEGIN, END = "<!-- made by app.modes.rpc.reference: {name} -->", "<!-- end of {name} -->"
_SCHEMA_DEFINITION_PREFIX = "#/$defs/"
PI_RPC_COMMANDS = frozenset(
    (
        "prompt",
        "steer",
        "follow_up",
        "abort",
        "clear_queue",
        "new_session",
        "get_state",
        "set_model",
        "cycle_model",
        "get_available_models",
        "set_thinking_level",
        "cycle_thinking_level",
        "get_available_thinking_levels",
        "set_steering_mode",
        "set_follow_up_mode",
        "compact",
        "set_auto_compaction",
        "set_auto_retry",
        "abort_retry",
        "bash",
        "abort_bash",
        "get_session_stats",
        "export_html",
        "switch_session",
        "fork",
        "clone",
        "get_fork_messages",
        "get_entries",
        "get_tree",
        "get_last_assistant_text",
        "set_session_name",
        "get_messages",
        "get_commands",
    )
)
"""The commands that pi's own client sends."""


def documented_rpc_commands() -> list[SessionCommandDefinition[Any, Any]]:
    """Returns all commands in the order of the reference."""
    return [*COMMANDS.values(), set_host_tools]


def rpc_schema_text() -> str:
    """Returns docs/rpc.schema.json: one definition for each kind of line."""
    given = documented_rpc_commands()
    events = get_args(Event)
    kinds = [
        *(command.parameters_struct for command in given),
        *(command.response_data_type for command in given if command.response_data_type is not None),
        *events,
    ]
    described, definitions = msgspec.json.schema_components(
        kinds, ref_template=_SCHEMA_DEFINITION_PREFIX + "{name}"
    )
    of_kind = list(zip(kinds, described, strict=True))
    definitions = {name: _published_schema(definition) for name, definition in definitions.items()}
    for command in given:
        own = definitions[command.parameters_struct.__name__]
        definitions[f"command:{command.name}"] = {
            "description": command.description,
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "type": {"const": command.name},
                **{key: value for key, value in own["properties"].items() if key != "id"},
            },
            "required": ["type", *own.get("required", ())],
        }
        data = next((it for kind, it in of_kind if kind is command.response_data_type), None)
        definitions[f"response:{command.name}"] = _response_schema(
            command, definitions.pop(command.response_type_name, data)
        )
    for params in {command.parameters_struct.__name__ for command in given}:
        del definitions[params]
    return (
        json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": "bayou RPC, one JSON object a line",
                "anyOf": [{"$ref": _SCHEMA_DEFINITION_PREFIX + kind} for kind in _RPC_LINE_KINDS],
                "$defs": {
                    "command": _any_of_schema(f"command:{command.name}" for command in given),
                    "response": {
                        "anyOf": [
                            *(
                                {"$ref": f"{_SCHEMA_DEFINITION_PREFIX}response:{command.name}"}
                                for command in given
                            ),
                            {"$ref": _SCHEMA_DEFINITION_PREFIX + "failure"},
                        ]
                    },
                    "event": _any_of_schema(event.__name__ for event in events),
                    "answer": {"anyOf": list(_QUESTION_ANSWER_SCHEMAS)},
                    "frame": {"anyOf": list(_OTHER_LINE_SCHEMAS)},
                    "failure": _FAILED_RESPONSE_SCHEMA,
                    **dict(sorted(definitions.items())),
                },
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _frame_schema(name: str, *required: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"type": {"const": name}, **{key: {} for key in required}, **fields},
        "required": ["type", *required],
    }


_QUESTION_ANSWER_SCHEMAS = (
    _frame_schema(
        "extension_ui_response", "id", value={}, confirmed={"type": "boolean"}, cancelled={"type": "boolean"}
    ),
    _frame_schema("host_tool_update", "id", "partialResult"),
    _frame_schema("host_tool_result", "id", "result", isError={"type": "boolean"}),
)
"""Input lines other than commands. They get no response."""
_OTHER_LINE_SCHEMAS = (
    _frame_schema("ready", "sessionId"),
    _frame_schema("host_tool_call", "id", "toolCallId", "toolName", "arguments"),
    _frame_schema("host_tool_cancel", "id", "targetId"),
)
"""Output lines other than responses and events."""
_RPC_LINE_KINDS = ("command", "answer", "response", "event", "frame")
_FAILED_RESPONSE_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {},
        "type": {"const": "response"},
        "command": {},
        "success": {"const": False},
        "error": {"type": "string"},
    },
    "required": ["type", "success", "error"],
}


def _any_of_schema(names: Any) -> dict[str, Any]:
    return {"anyOf": [{"$ref": _SCHEMA_DEFINITION_PREFIX + name} for name in names]}


def _response_schema(
    command: SessionCommandDefinition[Any, Any], data: dict[str, Any] | None
) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "id": {"type": "string"},
        "type": {"const": "response"},
        "command": {"const": command.name},
        "success": {"const": True},
    }
    required = ["type", "command", "success"]
    if data is not None:
        properties["data"] = data
        required.append("data")
    return {"type": "object", "properties": properties, "required": required}


def _published_schema(definition: dict[str, Any]) -> dict[str, Any]:
    """Removes fields that are never sent, and allows fields that later versions add."""
    if any(value.get("enum") == ["*unknown"] for value in definition.get("properties", {}).values()):
        return {"type": "object", "description": "Of a type that this version does not know; as it came."}
    shown = {key: value for key, value in definition.items() if key not in ("additionalProperties", "title")}
    if "properties" in shown:
        shown["properties"] = {
            key: _without_defaults(value)
            for key, value in shown["properties"].items()
            if not key.startswith(PRIVATE_PREFIX)
        }
    if "description" in shown:  # the indentation of a docstring depends on the Python version
        shown["description"] = " ".join(shown["description"].split())
    if "required" in shown:
        shown["required"] = [key for key in shown["required"] if not key.startswith(PRIVATE_PREFIX)]
    return shown


def _without_defaults(value: Any) -> Any:
    """Removes the defaults of optional fields, since an absent field is sent as absent; tags are in the
    union's members."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in ("default", "discriminator")}
        return {key: _without_defaults(item) for key, item in kept.items()}
    return [_without_defaults(item) for item in value] if isinstance(value, list) else value


def updated_rpc_docs_page(text: str) -> str:
    """Returns docs/rpc.md with new tables; the text around them is unchanged."""
    made = (
        ("commands", _commands_table()),
        ("beyond pi", _additions_to_pi()),
        ("events", _events_table()),
    )
    for name, table in made:
        begin, end = BEGIN.format(name=name), END.format(name=name)
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{table}\n{end}{after}"
    return text


def _commands_table() -> str:
    lines = ["| Command | Fields | Data | What it does |", "|---|---|---|---|"]
    lines += [
        f"| `{command.name}` | {_field_names(command.parameters_struct)} "
        f"| {_data_type_name(command.response_data_type)} | {command.description} |"
        for command in documented_rpc_commands()
    ]
    return "\n".join(lines) + "\n"


def _additions_to_pi() -> str:
    names = ", ".join(
        f"`{command.name}`" for command in documented_rpc_commands() if command.name not in PI_RPC_COMMANDS
    )
    return fill(names, 120, break_on_hyphens=False) + "\n"


def _events_table() -> str:
    lines = ["| Event | Fields | What it tells |", "|---|---|---|"]
    for event in get_args(Event):
        about = " ".join((event.__doc__ or "").split()).replace("|", "\\|")
        lines.append(f"| `{event.__struct_config__.tag}` | {_field_names(event)} | {about} |")
    return "\n".join(lines) + "\n"


def _field_names(kind: type[msgspec.Struct]) -> str:
    shown = [
        f"`{field.encode_name}{'' if field.required else '?'}`"
        for field in msgspec.structs.fields(kind)
        if not field.encode_name.startswith(PRIVATE_PREFIX) and field.encode_name not in ("id", "type")
    ]
    return ", ".join(shown)


def _data_type_name(kind: Any) -> str:
    if kind is None:
        return ""
    members = get_args(kind)
    if type(None) in members:
        return f"{_data_type_name(members[0])} or `null`"
    required = getattr(kind, "__required_keys__", None)
    if required is None:
        return f"`{kind.__name__}`"
    names = [f"{name}{'' if name in required else '?'}" for name in kind.__annotations__]
    return "`{" + ", ".join(names) + "}`"


def main() -> None:
    home = Path(__file__).resolve().parents[3]
    write_text(home / RPC_SCHEMA_FILE, rpc_schema_text())
    write_text(
        home / python_client_generator.CLIENT_COMMANDS_FILE,
        python_client_generator.client_commands_source(COMMANDS.values()),
    )
    write_text(
        home / python_client_generator.CLIENT_VALUES_FILE,
        python_client_generator.client_values_source(COMMANDS.values()),
    )
    write_text(
        home / RPC_DOCS_PAGE, updated_rpc_docs_page((home / RPC_DOCS_PAGE).read_text(encoding="utf-8"))
    )


if __name__ == "__main__":
    main()
