"""Money as people read it."""

import pytest

from app.values.usage import format_dollars


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0.0, "$0.00"),
        (12.3456, "$12.35"),
        (0.1, "$0.10"),
        (0.0456, "$0.046"),
        (0.0999, "$0.100"),
        (0.00123, "$0.0012"),
        (0.0001, "$0.00010"),
        (0.00004, "<$0.0001"),
    ],
)
def test_two_digits_say_something(amount: float, told: str) -> None:
    assert format_dollars(amount) == told
