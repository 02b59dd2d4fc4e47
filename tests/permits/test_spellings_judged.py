"""Every spelling of a call that is accepted is judged as the plain one is, and runs with the same arguments."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.hooks import ToolCallVerdict
from app.agent.tool_pipeline import ParsedToolCall, ParseToolCall, PreparedToolCall, ToolPipeline
from app.engine.core.hooks import Hooks
from app.permits.command_place import CommandPlace
from app.permits.tool_call_judge import ToolCallToJudge, judge_tool_call
from app.values.content import ToolCall
from tools.argument_aliases import FOLDER_ARGUMENT_ALIASES, PATH_ARGUMENT_ALIASES
from tools.argument_schema import convert_to_arguments_struct
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}
PATHS = st.sampled_from(
    [".env", "a.txt", "~/.ssh/id_rsa", ".git/hooks/pre-commit", "../x", "sub", "a.txt:1-3"]
)
TEXTS = st.sampled_from(["x", "rm -rf ~", "cat .env", "*.py", "true", "17", "[]", '{"a": 1}'])
OTHER_NAMES = sorted(
    {
        *PATH_ARGUMENT_ALIASES,
        *FOLDER_ARGUMENT_ALIASES,
        "cmd",
        "script",
        "text",
        "contents",
        "query",
        "glob",
        "include",
        "tty",
    }
)
READ_AS_LISTS = {"bash", "apply_patch"}
"""A list is another call there: of words, which are quoted, or of lines."""
HOME = Path(tempfile.mkdtemp(prefix="spelled-"))
PROJECT = HOME / "project"
PROJECT.mkdir()
CONTEXT_PLACE = CommandPlace(workspace=str(PROJECT), working_folder=str(PROJECT), home_folder=str(HOME))


@st.composite
def values(draw: st.DrawFn, node: Mapping[str, Any], name: str) -> Any:
    """A plain value of this schema."""
    if "enum" in node:
        return draw(st.sampled_from(node["enum"]))
    match node.get("type"):
        case "string":
            return draw(PATHS if "path" in name or name in ("cwd", "glob") else TEXTS)
        case "integer" | "number":
            return draw(st.integers(1, 9))
        case "boolean":
            return draw(st.booleans())
        case "array":
            return [draw(values(node["items"], name))]
        case "object":
            known = node.get("properties", {})
            wanted = [key for key in known if key in node.get("required", ()) or draw(st.booleans())]
            return {key: draw(values(known[key], key)) for key in wanted}
        case _:
            return draw(TEXTS)


@st.composite
def spelled(draw: st.DrawFn, plain: Mapping[str, Any]) -> dict[str, Any]:
    """The same in another spelling: values in lists or as JSON text, names in other case or by other words."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        ways = [value, [value], json.dumps(value), str(value)]
        name = draw(st.sampled_from([key, key.upper(), key.replace("_", "-"), *OTHER_NAMES]))
        out[name] = draw(st.sampled_from(ways)) if draw(st.booleans()) else value
    return out


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call: refused in words, or what the gate saw, and what ran."""

    refused: bool
    seen: Any = None
    effects: Any = None
    verdict: Any = None
    ran: Any = None


async def judged(tool: Tool, arguments: dict[str, Any]) -> Judged:
    readings: list[ParsedToolCall] = []
    ran: list[Any] = []

    async def gate(call: ToolCall, read: ParseToolCall) -> ToolCallVerdict:
        readings.append(read())
        return ToolCallVerdict()

    async def run(given: Any, context: ToolContext) -> Any:
        ran.append(given)

    pipeline = ToolPipeline(
        tools=lambda: {tool.name: msgspec.structs.replace(tool, run=run)},
        tool_context=lambda call, progress: ToolContext(call_id=call.id, cwd=PROJECT),
        hooks=Hooks(),
        gate=gate,
    )
    call = ToolCall(id="1", name=tool.name, arguments=arguments)
    prepared = await pipeline.prepare_call(call, lambda result: None)
    if not isinstance(prepared, PreparedToolCall):
        return Judged(refused=True)
    await pipeline.run_prepared_call(prepared)
    (reading,) = readings
    request = ToolCallToJudge(tool_name=tool.name, effects=reading.effects, arguments=reading.plain_arguments)
    verdict = judge_tool_call(request, CONTEXT_PLACE)
    return Judged(
        refused=False, seen=reading.plain_arguments, effects=reading.effects, verdict=verdict, ran=ran[0]
    )


@settings(max_examples=400, deadline=None)
@given(st.data())
async def test_a_spelling_that_is_accepted_is_judged_as_the_plain_one(data: st.DataObject) -> None:
    tool = TOOLS[data.draw(st.sampled_from(sorted(TOOLS)))]
    plain = data.draw(values(tool.schema, ""))
    other = await judged(tool, data.draw(spelled(plain)))
    if other.refused:
        return
    seen = convert_to_arguments_struct(tool, other.seen)
    assert seen == other.ran, "what the gate saw is what ran"
    assert tool.effects_of(seen, ToolContext(call_id="1", cwd=PROJECT)) == other.effects
    if tool.name not in READ_AS_LISTS:
        assert await judged(tool, dict(other.seen)) == other, "and it is the plain spelling of the call"


@settings(max_examples=200, deadline=None)
@given(st.data())
async def test_a_value_in_a_list_or_as_json_is_judged_as_itself(data: st.DataObject) -> None:
    tool = TOOLS[data.draw(st.sampled_from(sorted(TOOLS.keys() - READ_AS_LISTS)))]
    plain = data.draw(values(tool.schema, ""))
    kinds = {key: node.get("type") for key, node in tool.schema["properties"].items()}
    wrapped = {
        key: [value]
        if kinds[key] == "string"  # where a list is another plain value, it is no spelling
        else json.dumps(value)
        if kinds[key] == "array"
        else value
        for key, value in plain.items()
    }
    first, second = await judged(tool, plain), await judged(tool, wrapped)
    if not first.refused and not second.refused:
        assert second == first
