"""JSON of any depth is read, and read as the fast decoder reads it where that can."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.deep_json import decode_deep

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_it_reads_what_the_fast_one_reads(value: Any, indent: int | None) -> None:
    assert decode_deep(json.dumps(value, indent=indent).encode("utf-8")) == value


def test_depth_does_not_matter() -> None:
    depth = 100_000
    value = decode_deep(b'{"a":[' * depth + b"1" + b"]}" * depth)
    for _ in range(depth):
        value = value["a"][0]
    assert value == 1


@pytest.mark.parametrize("line", [b"", b"[", b"{]", b'{"a"}', b"[1,", b'"a', b"nope", b"1 2", b"]", b"\xff"])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_deep(line)
