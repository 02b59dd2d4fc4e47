"""Schemas come from structs; raw arguments of models are made to fit or refused in words."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from tools.argument_schema import ToolArgumentsError, make_arguments_schema, validate_tool_arguments
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult, text_result


class Inner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old_text: str


class Everything(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    path: Annotated[str, msgspec.Meta(description="Where")]
    max_count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    ratio: float = 1.0
    is_on: bool | None = None
    names: tuple[str, ...] = ()
    items: tuple[Inner, ...] = ()
    env: dict[str, str] | None = None
    kind: Literal["a", "b"] = "a"


async def nothing(arguments: Any, context: ToolContext) -> ToolResult:
    return text_result("")


TOOL = Tool(
    name="every", description="", schema=make_arguments_schema(Everything), arguments=Everything, run=nothing
)


def fit(**raw: Any) -> Everything:
    return validate_tool_arguments(TOOL, {"path": "p", **raw})


def test_a_schema_stands_alone() -> None:
    schema = make_arguments_schema(Everything)
    assert schema["required"] == ["path"]
    assert schema["properties"]["path"] == {"type": "string", "description": "Where"}
    assert schema["properties"]["items"]["items"]["properties"] == {"oldText": {"type": "string"}}
    assert schema["properties"]["maxCount"] == {"type": "integer", "minimum": 1}
    assert "$ref" not in str(schema) and "title" not in str(schema)


def test_all_builtin_schemas_are_plain_objects() -> None:
    for tool in builtin_tools():
        assert tool.schema["type"] == "object"
        assert "$ref" not in str(tool.schema) and "null" not in str(tool.schema)


@pytest.mark.parametrize(
    ("raw", "field", "value"),
    [
        ({"maxCount": "7"}, "max_count", 7),
        ({"maxCount": 7.0}, "max_count", 7),
        ({"maxCount": [7]}, "max_count", 7),
        ({"ratio": "0.5"}, "ratio", 0.5),
        ({"isOn": "true"}, "is_on", True),
        ({"isOn": "False"}, "is_on", False),
        ({"isOn": 1}, "is_on", True),
        ({"names": "one"}, "names", ("one",)),
        ({"names": '["one", "two"]'}, "names", ("one", "two")),
        ({"items": {"oldText": "x"}}, "items", (Inner(old_text="x"),)),
        ({"items": '[{"oldText": "x"}]'}, "items", (Inner(old_text="x"),)),
        ({"env": {"A": 1}}, "env", {"A": "1"}),
        ({"maxCount": None}, "max_count", None),
        ({"ratio": None}, "ratio", 1.0),
        ({"path": 12}, "path", "12"),
    ],
)
def test_what_models_send_is_made_to_fit(raw: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(fit(**raw), field) == value


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"path": None}, "- path: missing"),
        ({"maxCount": "many"}, "- maxCount: expected a whole number, got a string"),
        ({"maxCount": 1.5}, "- maxCount: expected a whole number"),
        ({"maxCount": True}, "- maxCount: expected a whole number, got true or false"),
        ({"maxCount": 0}, "- maxCount: must be at least 1"),
        ({"ratio": "nan"}, "- ratio: expected a number"),
        ({"isOn": "perhaps"}, "- isOn: expected true or false"),
        ({"items": [{}]}, "- items.0.oldText: missing"),
        ({"kind": "c"}, "- kind: must be one of a, b"),
        ({"max_cont": 1}, '- max_cont: is not an argument of this tool; did you mean "maxCount"?'),
        ({"zzz": True}, "- zzz: is not an argument of this tool; there are path, maxCount, ratio"),
        ({"items": [{"oldText": "a", "newTxt": "b"}]}, "- items.0.newTxt: is not an argument of this tool"),
        ({"path": {"deep": 1}}, "- path: expected a string, got an object"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolArgumentsError) as failure:
        fit(**raw)
    assert str(failure.value).startswith('Validation failed for tool "every":\n')
    assert words in str(failure.value)
    assert "Received arguments:\n{" in str(failure.value)


@pytest.mark.parametrize("raw", [None, "text", 3, [], [1]])
def test_arguments_have_to_be_an_object(raw: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="expected an object"):
        validate_tool_arguments(TOOL, raw)


def test_huge_arguments_are_not_thrown_back_whole() -> None:
    with pytest.raises(ToolArgumentsError) as failure:
        validate_tool_arguments(TOOL, {"other": "x" * 100_000})
    assert len(str(failure.value)) < 3_000


def test_a_tool_with_only_a_schema_gets_a_dict() -> None:
    tool = Tool(
        name="plain",
        description="",
        run=nothing,
        schema={
            "type": "object",
            "properties": {
                "n": {"type": ["integer", "null"]},
                "x": {"anyOf": [{"type": "number"}, {"type": "string"}]},
            },
            "additionalProperties": False,
        },
    )
    assert validate_tool_arguments(tool, {"n": "3", "x": "word"}) == {"n": 3, "x": "word"}
    assert validate_tool_arguments(tool, {"n": None}) == {"n": None}
    with pytest.raises(ToolArgumentsError, match="is not an argument"):
        validate_tool_arguments(tool, {"z": 1})
