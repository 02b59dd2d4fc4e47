"""JSON as people write it, and changing one value without touching the rest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.json_comments import (
    JsonSyntaxError,
    json_value_positions,
    parse_json_with_comments,
    with_json_value,
    without_json_key,
)

COMMENTED = """{
  // who answers
  "defaultModel": "guide", // the offline one
  /* several
     lines */
  "retry": {
    "enabled": true, // yes
  },
  "url": "http://x/*y*/, // z",
}
"""


def test_comments_and_trailing_commas_are_accepted():
    assert parse_json_with_comments(COMMENTED) == {
        "defaultModel": "guide",
        "retry": {"enabled": True},
        "url": "http://x/*y*/, // z",
    }


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "','"),
        ('{\n  "a" 1\n}', 2, 7, "':'"),
        ('{"a": }', 1, 7, "value"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": NaN}', 1, 7, "NaN"),
        ('{"a": "x}', 1, 7, "never closed"),
        ("", 1, 1, "value"),
        ("{} {}", 1, 4, "ended"),
        ("[" * 100_000, 1, 1, "deep"),
    ],
)
def test_a_fault_is_reported_with_its_place(text: str, line: int, column: int, words: str):
    with pytest.raises(JsonSyntaxError, match=words) as caught:
        parse_json_with_comments(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_places_name_the_line_of_each_value():
    found = json_value_positions(COMMENTED)
    assert found["defaultModel",].line == 3
    assert found["retry", "enabled"].line == 7
    assert found["url",].line == 9


def test_a_value_is_replaced_and_nothing_else_moves():
    assert with_json_value(COMMENTED, ("defaultModel",), "other") == COMMENTED.replace('"guide"', '"other"')


def test_a_new_key_goes_behind_the_last_one_with_its_indentation():
    assert with_json_value('{\n    "a": 1 // one\n}\n', ("b",), 2) == '{\n    "a": 1, // one\n    "b": 2\n}\n'


def test_objects_on_the_way_are_created():
    assert with_json_value("", ("bash", "autoBackground", "thresholdMs"), 5) == (
        '{\n  "bash": {\n    "autoBackground": {\n      "thresholdMs": 5\n    }\n  }\n}\n'
    )


def test_a_document_on_one_line_stays_on_one_line():
    assert with_json_value('{"a": 1}', ("b",), [1]) == '{"a": 1, "b": [1]}'


def test_a_key_is_removed_with_its_line():
    assert without_json_key('{\n  "a": 1,\n  // note\n  "b": 2\n}', ("b",)) == '{\n  "a": 1 \n  // note\n}'
    assert without_json_key('{"a": 1}', ("b",)) == '{"a": 1}'


scalars = st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8)
keys = st.text(min_size=1, max_size=6)
documents = st.dictionaries(
    keys,
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_size=5,
)


def commented(text: str) -> str:
    """The same document with a comment at the end of every line and trailing commas."""
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1]):
        after = lines[number + 1].strip()
        if after[:1] in ("}", "]") and not line.rstrip().endswith(("{", "[", ",")):
            line += ","
        lines[number] = f'{line} // note {number}: "x", {{'
    return "\n".join(lines) + "\n/* end */"


@given(documents, st.lists(keys, min_size=1, max_size=3).map(tuple), scalars)
def test_setting_a_value_changes_exactly_that_value(document: dict, path: tuple[str, ...], value: object):
    text = commented(json.dumps(document, indent=2, ensure_ascii=False))
    changed = with_json_value(text, path, value)
    expected = json.loads(json.dumps(document))
    here = expected
    for part in path[:-1]:
        if not isinstance(here.get(part), dict):
            here[part] = {}
        here = here[part]
    here[path[-1]] = value
    assert parse_json_with_comments(changed) == expected
    if all(not isinstance(document.get(path[0]), kind) for kind in (dict, list)):
        for line in text.splitlines():
            if "//" in line and f'"{path[0]}"' not in line:
                assert line.rsplit("//", 1)[1] in changed


@given(documents)
def test_every_place_holds_its_value(document: dict):
    text = commented(json.dumps(document, indent=2, ensure_ascii=False))
    for path, place in json_value_positions(text).items():
        value: object = document
        for part in path:
            value = value[part]  # pyright: ignore[reportIndexIssue]  (a path of this document)
        assert parse_json_with_comments(text[place.start : place.end]) == value
        assert text.count("\n", 0, place.start) + 1 == place.line


@given(documents)
def test_removing_each_key_leaves_the_others(document: dict):
    text = commented(json.dumps(document, indent=2, ensure_ascii=False))
    for key in document:
        assert parse_json_with_comments(without_json_key(text, (key,))) == {
            name: value for name, value in document.items() if name != key
        }


@given(st.text(alphabet='{}[],:"/*\\ \n01atrue\u2028', max_size=40))
def test_any_text_is_either_read_or_refused_in_words(text: str):
    try:
        parse_json_with_comments(text)
    except JsonSyntaxError as fault:
        assert fault.line >= 1 and fault.column >= 1
    else:
        json_value_positions(text)
