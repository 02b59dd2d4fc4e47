"""Arguments while they arrive and when they are there: nothing raises, nothing is read over and over."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.stream import partial_json
from app.providers.stream.partial_json import (
    PartialToolArguments,
    parse_partial_tool_arguments,
    parse_tool_arguments,
    repair_json,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=5), st.booleans())
def test_whole_arguments_are_read_as_they_are(arguments: dict[str, Any], is_ascii: bool):
    text = json.dumps(arguments, ensure_ascii=is_ascii)
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # lone surrogates are not text
    assert parse_tool_arguments(text) == (arguments, None)
    assert parse_partial_tool_arguments(text) == arguments


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=5), st.data())
def test_a_part_gives_a_part(arguments: dict[str, Any], data: st.DataObject):
    text = json.dumps(arguments)
    part = parse_partial_tool_arguments(text[: data.draw(st.integers(0, len(text)))])
    assert set(part) <= set(arguments)


@given(st.text(max_size=200))
def test_nothing_raises(text: str):
    assert isinstance(parse_partial_tool_arguments(text), dict)
    arguments, problem = parse_tool_arguments(text)
    assert isinstance(arguments, dict)
    assert problem is None or arguments == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "two\nlines\tand\x00more"}', {"a": "two\nlines\tand\x00more"}),
        (r'{"a": "C:\project\data"}', {"a": r"C:\project\data"}),
        (r'{"a": "\d+ \"quoted\" \\ é"}', {"a": r"\d+ " + '"quoted" \\ é'}),
        (r'{"a": "\u12zz"}', {"a": r"\u12zz"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("", {}),
        ("null", {}),
    ],
)
def test_usual_mistakes_are_mended(text: str, expected: dict[str, Any]):
    assert parse_tool_arguments(text) == (expected, None)


@pytest.mark.parametrize("text", ["{", '{"a": ', "[1, 2]", "5", "nonsense", '{"a": 1} and more'])
def test_unreadable_json_is_an_error_with_a_reason(text: str):
    arguments, problem = parse_tool_arguments(text)
    assert arguments == {} and problem is not None and text in problem


def test_repair_leaves_good_text_alone():
    text = '{"a": "x\\n\\u00e9 \\\\ \\"", "b": [1, {"c": "d"}]}'
    assert repair_json(text) == text


def test_a_long_argument_is_not_read_with_every_delta(monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    really = partial_json._parse_json_object

    def counted(text: str, *, is_partial: bool) -> tuple[Any, str | None]:
        read.append(len(text))
        return really(text, is_partial=is_partial)

    monkeypatch.setattr(partial_json, "_parse_json_object", counted)
    text = json.dumps({"content": "line of text\n" * 20_000})
    growing = PartialToolArguments()
    for start in range(0, len(text), 20):
        growing.add_delta(text[start : start + 20])
        assert set(growing.latest_value) <= {"content"}
    assert growing.parse_complete() == ({"content": "line of text\n" * 20_000}, None)
    assert sum(read) < 4 * len(text), "all the reading together is a few times the length"
