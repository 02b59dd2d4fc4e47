"""The first items of a growing list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.prefix_view import PrefixView
from app.values.wire import to_wire

numbers = st.lists(st.integers(), max_size=20)


@given(first=numbers, later=numbers, at=st.integers(-25, 25), to=st.integers(-25, 25))
def test_it_stays_what_the_list_was(first: list[int], later: list[int], at: int, to: int):
    items = list(first)
    beginning = PrefixView(items)
    items += later
    assert list(beginning) == first
    assert len(beginning) == len(first)
    assert beginning == tuple(first)
    assert beginning[at:to] == tuple(first[at:to])
    assert to_wire(beginning) == first
    assert [beginning[index] for index in range(-len(first), len(first))] == first + first


def test_later_entries_are_not_reachable():
    items = ["a"]
    beginning = PrefixView(items)
    items.append("b")
    assert "b" not in beginning
    with pytest.raises(IndexError):
        beginning[1]
