"""Arguments while they arrive: a JSON object read piece by piece."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.streamed_json import StreamedJsonParser

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def pieces(text: str, source: random.Random, most: int = 40) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = source.randint(1, most)
        yield text[at : at + size]
        at += size


@settings(max_examples=300)
@given(
    st.dictionaries(st.text(max_size=4), JSON, max_size=5), st.booleans(), st.randoms(use_true_random=False)
)
def test_an_object_in_pieces_is_the_object(
    value: dict[str, Any], is_ascii: bool, source: random.Random
) -> None:
    streamed = StreamedJsonParser()
    seen = 0
    for piece in pieces(json.dumps(value, ensure_ascii=is_ascii), source, 9):
        streamed.parse_chunk(piece)
        assert set(streamed.partial_members()) <= set(value)
        whole = streamed.complete_members()
        for name, one in whole.items():
            wanted = value[name]
            assert one == wanted or (isinstance(wanted, list) and one == wanted[: len(one)])
        assert len(whole) >= seen
        seen = len([name for name in whole if whole[name] == value[name]])
    assert streamed.is_complete
    assert streamed.is_strict_json
    assert streamed.partial_members() == streamed.complete_members() == value


@pytest.mark.parametrize(
    "text", ["[1]", "nonsense", '{"a" 1}', '{"a": tru, "b": 1}', "{,}", '{"a": [}', "{" + '"a":[' * 999]
)
def test_what_is_no_object_is_given_up(text: str) -> None:
    streamed = StreamedJsonParser()
    for piece in text:
        streamed.parse_chunk(piece)
    assert streamed.is_malformed
    streamed.parse_chunk("more")
    assert not streamed.is_complete


def test_controls_and_escapes_that_do_not_exist_stand_for_themselves() -> None:
    streamed = StreamedJsonParser()
    for piece in '{"a": "one\ntwo \\d \\u00e9 \\ud83d\\ude00 \\ud83d."}':
        streamed.parse_chunk(piece)
    assert streamed.partial_members() == {"a": "one\ntwo \\d é 😀 \ufffd."}
    assert not streamed.is_strict_json


def test_json_within_json_is_text() -> None:
    value = {"edits": json.dumps([{"oldText": "a\\ud83d é😀 \\\\"}])}
    for size in range(1, 12):
        text = json.dumps(value)
        streamed = StreamedJsonParser()
        for at in range(0, len(text), size):
            streamed.parse_chunk(text[at : at + size])
        assert streamed.partial_members() == value
        assert streamed.is_strict_json


def test_each_character_is_read_once() -> None:
    """Ten times the text in pieces of the same size is ten times the work: counted, not timed."""
    counted = {}
    for lines in (200, 2_000):
        streamed = StreamedJsonParser()
        fed = 0
        for piece in pieces(json.dumps({"content": "a line\n" * lines}), random.Random(1)):
            streamed.parse_chunk(piece)
            fed += len(piece)
            assert len(streamed._unread_escape) < 20
        counted[lines] = fed
        assert streamed.partial_members() == {"content": "a line\n" * lines}
