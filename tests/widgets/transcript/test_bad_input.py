"""Any input of a model, a program or a user is drawn within bounds and does no harm."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.strip import Strip

from tests.widgets.transcript.page import Page
from tools.tool_result_values import (
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.block_item import BlockItem
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves.block_leaves import draw_block
from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.painting.row_strips import paint_leaf_row
from widgets.transcript.transcript_blocks import Block, ReplyBlock, ReplyProse, ToolCallBlock, UserPromptBlock

MEGABYTE = 1_000_000


class PlainLook:
    """Painting without a theme."""

    def style(self, key: str) -> None:
        del key

    def encode_with_filters(self, strip: Strip) -> Strip:
        return strip


def reply(text: str) -> Block:
    return ReplyBlock(id="r", parts=(ReplyProse(text=text),))


def card(*blocks: object) -> Block:
    return ToolCallBlock(id="c", card=Card(title="tool", subject="x" * 3_000, blocks=blocks))  # type: ignore[arg-type]


def nested_tree(depth: int) -> TreeNode:
    node = TreeNode(label="leaf")
    for number in range(depth):
        node = TreeNode(label=f"level {number}", children=(node,))
    return node


BAD: dict[str, Callable[[], Block]] = {
    "5 MB message": lambda: reply("some *words* and `code` that go on\n\n" * (5 * MEGABYTE // 36)),
    "1 MB line without blanks": lambda: reply("x" * MEGABYTE),
    "1 MB line of wide characters": lambda: reply("語" * (MEGABYTE // 3)),
    "table with 200 columns": lambda: reply(
        "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + ("|" + "b|" * 200 + "\n") * 20
    ),
    "10,000 list levels": lambda: reply(
        "".join("  " * level + "- x\n" for level in range(2_000)) + "- " * 10_000 + "x"
    ),
    "10,000 quote levels": lambda: reply("> " * 10_000 + "x"),
    "unclosed fence": lambda: reply("```python\n" + "x = (1,\n" * 2_000),
    "unclosed everything": lambda: reply("**a _b ~~c `d [e](f <g " * 500),
    "brackets": lambda: reply("[" * 5_000 + "](" * 5_000),
    "escape sequences": lambda: reply(
        "\x1b[31mred\x1b]0;title\x07\x1b[2J\x9b5A [red]x[/red] [/foo] \x00\x08\x7f"
    ),
    "halves of pairs": lambda: reply("broken \ud83d and \udc00 halves \ud800"),
    "directions": lambda: reply("\u202eabc\u202c \u2066def\u2069 שלום مرحبا \u200b\ufeff"),
    "marks without letters": lambda: reply(
        "\u0301" * 500 + "\u200d" * 500 + "\ufe0f" * 500 + " a\u0301" * 50
    ),
    "joined emoji": lambda: reply("👩‍👩‍👧‍👦" * 300 + "🇩🇪" * 301 + "👍🏽" * 300),
    "tabs": lambda: reply("a\tb\t\tc\n\n```\n\t\tdeep\tcode\n```\n"),
    "huge user message": lambda: UserPromptBlock(id="u", text="pasted line\n" * 100_000),
    "huge output": lambda: card(CommandBlock(command="yes", output="y\n" * MEGABYTE)),
    "output in one line": lambda: card(TextBlock(text="\x1b[32m" + "z" * MEGABYTE, tail=True)),
    "many colours": lambda: card(TextBlock(text="".join(f"\x1b[38;5;{n % 256}mc" for n in range(20_000)))),
    "minified file": lambda: card(FileBlock(path="app.min.js", text="var a=1;" * 100_000)),
    "huge diff": lambda: card(
        DiffBlock(path="a.py", diff="@@ -1,9 +1,9 @@\n" + "-old line\n+new line\n" * 20_000)
    ),
    "broken diff": lambda: card(DiffBlock(path="a.py", diff="@@ -x +y @@\n+a\n@@@\n\\\n-b")),
    "deep tree": lambda: card(TreeBlock(roots=(nested_tree(300),))),
    "ragged table": lambda: card(TableBlock(header=("a",), rows=((), ("1", "2", "3")))),
    "nothing": lambda: reply(""),
}


def drawn_rows(leaves: list[LayoutLeaf], width: int, most: int = 400) -> list[Strip]:
    strips = []
    for leaf in leaves:
        rows = range(len(leaf.layout(width)))
        for row in [*rows[: most // 2], *rows[-most // 2 :]]:
            strips.append(paint_leaf_row(leaf, row, width, PlainLook()))  # type: ignore[arg-type]
            if len(strips) >= most:
                return strips
    return strips


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("width", [8, 80])
def test_every_row_of_it_is_exactly_as_wide_as_the_view(name: str, width: int) -> None:
    for strip in drawn_rows(draw_block(BAD[name](), BlockExtent.ALL), width):
        assert sum(segment.cell_length for segment in strip) == width
        text = strip.text
        assert not any(
            ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000 for char in text
        )


@settings(max_examples=150)
@given(st.text(), st.integers(4, 60))
def test_any_text_at_all_fits_the_view(text: str, width: int) -> None:
    for block in (reply(text), UserPromptBlock(id="u", text=text), card(TextBlock(text=text))):
        for strip in drawn_rows(draw_block(block, BlockExtent.ALL), width):
            assert sum(segment.cell_length for segment in strip) == width


@pytest.mark.parametrize("name", BAD)
def test_its_height_is_guessed_and_then_known(name: str) -> None:
    column = BlockStack()
    column.width = 80
    column.replace([BlockItem(BAD[name]())])
    assert column.heights.total >= 0
    column.measure(0)
    assert len(column.rows(0, 50)) == min(50, column.heights.total)


async def test_a_hundred_thousand_deltas_of_one_character() -> None:
    page = Page()
    async with page.run_test(size=(60, 10)) as pilot:
        transcript = page.transcript
        transcript.begin_reply("r")
        for number in range(100_000):
            transcript.append_text("r", "\n" if number % 500 == 499 else "x y"[number % 3])
        transcript.arriving.flush()
        transcript.finish_reply("r")
        await pilot.pause()
        assert len(transcript.painter.as_text()) > 100


async def test_markup_in_model_text_is_shown_and_never_obeyed() -> None:
    page = Page()
    async with page.run_test(size=(60, 6)) as pilot:
        page.transcript.replace_all([reply("[/foo] [bold red]x[/] [@click=app.quit]y[/]")])
        await pilot.pause()
        assert page.transcript.painter.as_text() == "  [/foo] [bold red]x[/] [@click=app.quit]y[/]"


def test_no_text_shows_an_image_that_the_terminal_holds() -> None:
    """In kitty's protocol a character stands for one; whose number is said by a colour, which a program can say too."""
    hostile = "\x1b[38;5;17m\U0010eeee\u0305\u0305\u030d\x1b[0m"
    assert "\U0010eeee" not in clean(hostile)
    assert "\U0010eeee" not in ansi_text.parse_ansi(hostile)[0]
