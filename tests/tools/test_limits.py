"""Texts are cut to the limits, in whole lines, never inside a character, with a notice of the cut."""

from hypothesis import given
from hypothesis import strategies as st

from tools.result_limits import (
    clip_result_line,
    clip_to_last_utf8_bytes,
    clip_to_utf8_bytes,
    count_lines,
    format_size,
    keep_first_lines,
    keep_last_lines,
    utf8_byte_length,
)

texts = st.text(st.sampled_from("ab\n\n é漢😀\t"), max_size=200)
small = st.integers(min_value=1, max_value=12)


def test_a_short_text_stays_whole() -> None:
    cut = keep_first_lines("one\ntwo\n")
    assert (cut.content, cut.truncated, cut.total_lines) == ("one\ntwo\n", False, 2)


def test_the_head_keeps_the_first_lines_and_the_tail_the_last() -> None:
    text = "".join(f"{number}\n" for number in range(1, 11))
    assert keep_first_lines(text, max_lines=3).content == "1\n2\n3"
    assert keep_last_lines(text, max_lines=3).content == "8\n9\n10\n"
    assert keep_first_lines(text, max_lines=3).details()["totalLines"] == 10


def test_one_line_over_the_limit_is_clipped_and_not_dropped() -> None:
    head = keep_first_lines("x" * 100 + "\nnext", max_bytes=10)
    assert (head.content, head.first_line_exceeds_limit, head.last_line_partial) == ("x" * 10, True, True)
    tail = keep_last_lines("first\n" + "y" * 100, max_bytes=10)
    assert (tail.content, tail.last_line_partial) == ("y" * 10, True)


def test_a_long_line_of_a_listing_tells_its_length() -> None:
    assert clip_result_line("x" * 600) == ("x" * 500 + "... [truncated, 600 characters]", True)
    assert clip_result_line("short") == ("short", False)


def test_sizes_are_told_in_words() -> None:
    assert [format_size(n) for n in (5, 51200, 3 << 20, 5 << 30)] == ["5B", "50.0KB", "3.0MB", "5.0GB"]


@given(texts, small, small)
def test_a_cut_is_never_over_the_limits_and_always_whole_lines(text: str, lines: int, size: int) -> None:
    for cut in (keep_first_lines(text, lines, size), keep_last_lines(text, lines, size)):
        assert count_lines(cut.content) <= lines
        assert utf8_byte_length(cut.content) <= size
        cut.content.encode()  # is valid UTF-8
        assert cut.total_lines == count_lines(text)
        assert cut.total_bytes == len(text.encode())
        assert cut.truncated == (count_lines(text) > lines or len(text.encode()) > size)
        if not cut.truncated:
            assert cut.content == text
        elif not cut.last_line_partial:
            whole = text.split("\n")
            assert all(line in whole for line in cut.content.removesuffix("\n").split("\n"))


@given(texts, small, small)
def test_the_head_is_a_beginning_and_the_tail_an_end(text: str, lines: int, size: int) -> None:
    assert text.startswith(keep_first_lines(text, lines, size).content)
    tail = keep_last_lines(text, lines, size)
    assert text.endswith(tail.content) or text.removesuffix("\n").endswith(tail.content)


@given(texts, st.integers(min_value=0, max_value=30))
def test_clipping_never_cuts_a_character(text: str, limit: int) -> None:
    data = text.encode()
    assert data.startswith(clip_to_utf8_bytes(text, limit).encode())
    assert data.endswith(clip_to_last_utf8_bytes(text, limit).encode())
    for clipped in (clip_to_utf8_bytes(text, limit), clip_to_last_utf8_bytes(text, limit)):
        assert min(limit, len(data)) - 4 < len(clipped.encode()) <= limit
