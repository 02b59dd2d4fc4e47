"""What all values share."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.values.content import Text
from app.values.wire import new_id


def test_values_without_further_fields_share_one_immutable_dict() -> None:
    one, other = Text(text="a"), Text(text="b")
    assert one.extra == other.extra == {}
    for change in (
        lambda: one.extra.update(colour="green"),
        lambda: one.extra.setdefault("colour", "green"),
        lambda: one.extra.__setitem__("colour", "green"),
        lambda: one.extra.__ior__({"colour": "green"}),
    ):
        with pytest.raises(TypeError):
            change()
    assert other.extra == {}


def test_a_copy_of_a_value_has_a_dict_of_its_own() -> None:
    copied = copy.deepcopy(Text(text="a"))
    copied.extra["colour"] = "green"
    assert copied.extra == {"colour": "green"} and Text(text="a").extra == {}


def test_ids_are_eight_hexadecimal_digits_and_threads_get_different_ones() -> None:
    def some(_: int) -> list[str]:
        return [new_id() for _ in range(5_000)]

    with ThreadPoolExecutor(4) as threads:
        found = [one for many in threads.map(some, range(4)) for one in many]
    assert all(len(one) == 8 and int(one, 16) >= 0 for one in found)
    assert len(set(found)) > len(found) - 10  # an attacker searches for a collision
