"""Figures are written in one way, at every size."""

import pytest

from tools import number_formatting


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *(
            (0, ""),
            (0.04, ""),
            (0.3, "0.3 s"),
            (0.97, "1 s"),
            (12.4, "12 s"),
            (59.6, "1 m"),
            (72, "1 m 12 s"),
        ),
        *((3_600, "1 h"), (7_500, "2 h 5 m"), (90_000, "1 d 1 h")),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert number_formatting.format_seconds(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (950, "950"),
        (1_000, "1k"),
        (1_290, "1.2k"),
        (12_900, "12k"),
        (999_999, "999k"),
        (1_500_000, "1.5M"),
    ],
)
def test_tokens(count: int, words: str) -> None:
    assert number_formatting.format_token_count(count) == words


def test_the_others() -> None:
    assert [number_formatting.format_age(seconds) for seconds in (5, 300, 7_200, 200_000)] == [
        "now",
        "5 m",
        "2 h",
        "2 d",
    ]
    assert [number_formatting.format_byte_count(count) for count in (12, 48_200, 1_240_000)] == [
        "12 B",
        "48 kB",
        "1.2 MB",
    ]
    assert [number_formatting.format_percentage(percent) for percent in (0, 0.04, 0.4, 0.96, 12.4)] == [
        "0 %",
        "0 %",
        "0.4 %",
        "1 %",
        "12 %",
    ]
    assert [number_formatting.count_with_noun(count, "file") for count in (1, 1_200)] == [
        "1 file",
        "1,200 files",
    ]
    assert number_formatting.format_changed_lines(1_200, 4) == "+1,200 −4"
    assert [number_formatting.format_changed_lines(*one) for one in ((3, 0), (0, 3), (0, 0))] == [
        "+3",
        "−3",
        "",
    ]
    assert (
        number_formatting.format_changed_files(1_000, 3, 0) == "1,000 files +3"
        and number_formatting.format_changed_files(1, 0, 0) == "1 file"
    )
