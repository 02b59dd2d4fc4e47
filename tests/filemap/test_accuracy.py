"""Maps against the languages' own parsers, over real files (`evaluation/ORIGINS.md`)."""

import pytest

from tests.filemap.accuracy import Score, macro, scores


@pytest.fixture(scope="module")
def found() -> dict[str, Score]:
    return scores()


def test_nearly_every_symbol_is_found_and_hardly_any_is_made_up(found: dict[str, Score]) -> None:
    recall, precision, parents, ends = macro(found)
    assert recall >= 0.985
    assert precision >= 0.975
    assert parents >= 0.95
    assert ends >= 0.975


def test_no_language_falls_far_behind(found: dict[str, Score]) -> None:
    for language, score in found.items():
        recall, precision, parents, ends = score.figures
        assert recall >= 0.9, language
        assert precision >= 0.85, language
        assert parents >= 0.95, language
        assert ends >= 0.95, language
