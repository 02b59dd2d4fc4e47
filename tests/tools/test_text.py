"""No escape sequence and no control character of a file, a name or an output gets through."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.text_sanitizing import (
    escape_controls,
    one_line,
    render_final_output,
    render_plain_output,
    strip_markdown_marks,
    unescape_controls,
)

HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

PLANTED = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "clipboard, eight bit": "\x9d52;c;ZXZpbA==\x9c",
    "link": "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\",
    "cursor": "\x1b[2J\x1b[H\x1b[10;10f",
    "paste end": "\x1b[201~rm -rf ~\n",
    "title": "\x1b]0;owned\x07",
    "colour": "\x1b[31mred\x1b[0m",
    "device control": "\x1bP+q544e\x1b\\",
    "unfinished": "\x1b]52;c;never ends",
    "reset": "\x1bc",
    "bell and nulls": "\x07\0\0",
    "eight bit cursor": "\x9b2J",
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_planted_sequences_are_harmless(planted: str) -> None:
    for clean in (render_plain_output(f"before{planted}after"), escape_controls(f"before{planted}after")):
        assert not HARMFUL.search(clean)
        assert clean.startswith("before") and clean.endswith("after")


def test_output_reads_as_it_would_on_a_screen() -> None:
    assert render_plain_output("10%\r50%\r100%\n") == "100%\n"
    assert (
        render_plain_output("Downloading\rDone\x1b[K\n")
        == render_plain_output("Downloading\r\x1b[2KDone\n")
        == "Done\n"
    )
    assert render_plain_output("working\r       \rdone") == "done"
    assert render_plain_output("100%\rok") == "ok0%"
    assert render_plain_output("ab\x1b[2Dc\x1b[1Cd") == "cbd"
    assert render_plain_output("a\r\r\nb") == "a\nb"
    assert render_plain_output("a\r\nb\r\n") == "a\nb\n"
    assert render_plain_output("ab\x08c") == "ac"
    assert (
        render_plain_output("\x1b[1;31merror\x1b[0m: \x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\")
        == "error: here"
    )


def test_an_unfinished_sequence_takes_no_text_with_it() -> None:
    assert render_plain_output("\x1b]0;no end\nnext line") == "0;no end\nnext line"


def test_a_file_keeps_its_characters_countable() -> None:
    assert escape_controls("a\x1b[31m\tb\n") == "a␛[31m\tb\n"
    assert unescape_controls(one_line("two\nlines\x1b")) == "two\nlines\x1b"


@pytest.mark.parametrize(
    "unit",
    ["\x08", "a\x08\x08", "\r", "x\r", "\x1b]", "\x9d", "\x1b", "\x1b[", "\x9b0", "\x1b]0;", "\x1bP\n", "ab"],
)
def test_no_text_takes_forever(unit: str) -> None:
    """A quadratic step would take minutes here."""
    for text in (unit * 200_000, "x" * 200_000 + unit * 100_000 + "\r", "\r" + "x" * 500_000):
        assert not HARMFUL.search(render_plain_output(text))


@given(st.text(max_size=100))
def test_any_text_becomes_harmless_and_valid(text: str) -> None:
    for clean in (render_plain_output(text), escape_controls(text), one_line(text)):
        assert not HARMFUL.search(clean)
        clean.encode("utf-8")
    assert render_plain_output(text).count("\n") == text.count("\n")
    assert len(escape_controls(text)) == len(text)
    assert "\n" not in one_line(text)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("one\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\n", "ONE\nTWO\n"),
        ("a: 1%\nb: 1%\n\x1b[2Aa: 99%\n\x1b[Bdone\n", "a: 99%\nb: 1%\ndone\n"),
        ("layers\n 1\n 2\n\x1b[2A\x1b[Jdone\n", "layers\ndone\n"),
        ("x\n\x1b[F\x1b[Ky", "y\n"),
        ("x\n\x1b[9Ay", "y\n"),
        ("first\nsecond\x1bM\rFIRST", "FIRST\nsecond"),
        ("before\x1b[2J\x1b[Hafter", "beforeafter"),
        ("\x1b[32mgreen\x1b[0m\n\x1b[1A\x1b[31mred\x1b[K\n", "red\n"),
        ("no steps\r\nat all\n", "no steps\nat all\n"),
    ],
)
def test_lines_that_are_written_over_look_as_they_do_in_the_end(written: str, seen: str) -> None:
    assert render_final_output(written) == seen


def test_a_step_as_far_as_one_likes_costs_little() -> None:
    assert len(render_final_output("\x1b[999999999Bx\x1b[999999999Cy")) < 50_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "found **three** things, see `a_b*c*` and [the design](x.md)",
            "found three things, see a_b*c* and the design",
        ),
        (
            "__init__.py and 2*3*4 stay, *yes* and _no_ do not",
            "__init__.py and 2*3*4 stay, yes and no do not",
        ),
        ("# Head\n> quote `**x**`", "Head\nquote **x**"),
        ("***both***, ``a`b`` and ~~gone~~", "both, a`b and gone"),
        ("`open and **open", "`open and **open"),
    ],
)
def test_a_row_has_the_words_of_markdown_without_its_marks(text: str, words: str) -> None:
    assert strip_markdown_marks(text) == words
