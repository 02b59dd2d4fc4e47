"""Streamed Markdown looks like Markdown that was there at once, however it was cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.widgets.transcript.documents import cut_sources, sources
from tests.widgets.transcript.drawn import rows, styled
from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.markdown.markdown_stream import MAX_MARKDOWN_CHARS, MarkdownStream, parse_bounded


def streamed(pieces: list[str], width: int = 60, *, look: bool = False) -> list[LayoutLeaf]:
    stream = MarkdownStream()
    for number, piece in enumerate(pieces):
        stream.feed(piece)
        if look and not number % 7:
            styled(stream.leaves, width)  # what was painted early must not be kept when it changes
    stream.finish()
    return stream.frozen


@settings(max_examples=100)
@given(cut_sources())
def test_streaming_in_any_pieces_gives_what_parsing_at_once_gives(cut: tuple[str, list[str]]) -> None:
    source, pieces = cut
    assert styled(streamed(pieces, look=True)) == styled(parse_bounded(source))


@settings(max_examples=50)
@given(cut_sources(), st.data())
def test_a_message_that_stops_anywhere_looks_like_that_much_of_it(
    cut: tuple[str, list[str]], data: st.DataObject
) -> None:
    _, pieces = cut
    pieces = pieces[: data.draw(st.integers(0, len(pieces)))]
    assert styled(streamed(pieces)) == styled(parse_bounded("".join(pieces)))


def test_a_number_below_a_list_may_become_its_next_item() -> None:
    pieces = ["1. one\n\n1", ". two"]
    assert styled(streamed(pieces)) == styled(parse_bounded("".join(pieces)))


@settings(max_examples=60)
@given(sources, st.integers(8, 50))
def test_the_copied_text_does_not_depend_on_the_width(source: str, width: int) -> None:
    wide, narrow = parse_bounded(source), parse_bounded(source)
    for leaf in narrow:
        leaf.layout(width)
    assert [leaf.plain for leaf in narrow] == [leaf.plain for leaf in wide]


def every(text: str, size: int = 12) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


LONG_PARAGRAPH = " ".join(f"word{i} *soft* `code{i}` and [link](http://a.b/{i}) more" for i in range(90))
LONG_TABLE = "| name | value | note |\n|---|--:|:-:|\n" + "".join(
    f"| row {i} | **{i * 7}** | some `words` {'x' * (i % 30)} |\n" for i in range(90)
)
LONG_FENCE = (
    "```python\n"
    + "".join(f"def f{i}(a, b={i}):\n    return 'text' + str(a)\n" for i in range(120))
    + "```\n"
)


@pytest.mark.parametrize(
    "source",
    [
        LONG_PARAGRAPH,
        LONG_PARAGRAPH + "\n===\n",
        LONG_PARAGRAPH.replace(" more ", " more\n"),
        LONG_PARAGRAPH + "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        LONG_PARAGRAPH + "\n\n[link]: http://late.definition\n",
        LONG_TABLE,
        LONG_TABLE + "\nand a paragraph\n",
        LONG_TABLE + "no pipe, still a row\n# heading\n",
        LONG_TABLE + "> quote\n",
        LONG_FENCE,
        LONG_FENCE + "after\n",
        LONG_FENCE[:-4],
        "".join(f"- bullet {i} with **bold** words\n" for i in range(60)),
        "".join(f"{i}. step\n\n   ```\n   code {i}\n   ```\n\n" for i in range(1, 20)),
        "see [a] and [b]\n\n- more [a]\n\ntext\n\n[a]: http://x.y\n[b]: http://z.w\n",
        "word " * 2_000 + "un*balanced " + "word " * 500,
        "x" * 30_000,
    ],
    ids=lambda source: f"{source[:12]!r}…{source[-14:]!r}",
)
@pytest.mark.parametrize("size", [5, 97])
def test_long_blocks_that_grow_cheaply_come_out_right(source: str, size: int) -> None:
    if size == 5:
        source = source[-4_000:]
    for width in (40,):
        assert styled(streamed(every(source, size), width, look=size > 5), width) == styled(
            parse_bounded(source), width
        )


def test_a_link_that_is_defined_late_reaches_back() -> None:
    stream = MarkdownStream()
    for piece in every(
        "Read [the guide] first.\n\nThen go on.\n\n[the guide]: https://example.org\n\nEnd.\n"
    ):
        stream.feed(piece)
    stream.finish()
    assert rows(stream.frozen)[0] == "Read the guide first."
    assert ("the guide", "@https://example.org\0text+l") in styled(stream.frozen)[0]


def test_only_the_last_block_is_not_frozen() -> None:
    stream = MarkdownStream()
    stream.feed("One.\n\nTwo.\n\n- a\n- b\n- c\n")
    assert [leaf.plain for leaf in stream.frozen] == ["One.", "Two.", "• a", "• b"]
    assert [leaf.plain for leaf in stream.live] == ["• c"]


def test_what_is_frozen_stays_the_same_object() -> None:
    stream = MarkdownStream()
    stream.feed("One.\n\nTwo.\n\nThree")
    before = list(stream.frozen)
    stream.feed(" goes on.\n\nFour")
    assert all(old is new for old, new in zip(before, stream.frozen, strict=False))


def test_a_message_of_megabytes_is_read_as_markdown_only_in_its_beginning() -> None:
    source = "Some *words* here.\n\n" * (MAX_MARKDOWN_CHARS // 15)
    at_once = parse_bounded(source)
    assert styled(at_once[:1])[0][1] == ("words", "text+i")
    assert at_once[-1].plain.rstrip().endswith("Some *words* here.")
    assert styled(streamed(every(source, 5_000))) == styled(at_once)
