"""Random trees of helpers whose models misbehave leave nothing behind; `python -m bench.helpers` grows many more."""

import pytest

from bench.helpers import trees


@pytest.mark.parametrize("first", [12, 47])
async def test_a_random_tree_of_helpers_leaves_nothing_behind(
    first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = await trees(3, first)
    assert kinds["with a problem"] == 0, capsys.readouterr().err
