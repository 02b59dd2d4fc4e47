"""Random Markdown that is rich in edges: fragments that begin, go on and end blocks in odd places."""

from hypothesis import strategies as st

FRAGMENTS = (
    "# Heading\n",
    "plain words *emphasis* and **bold** text\n",
    "a paragraph\nof two lines\n",
    "\n",
    "\n\n",
    "- item\n",
    "- item two\n",
    "  - nested\n",
    "    continued\n",
    "   - deep\n",
    "    - deeper\n",
    "* star\n",
    "1. one\n",
    "1. again one\n",
    "3) three\n",
    "- [x] done\n",
    "> quoted\n",
    "> - item in quote\n",
    ">\n",
    "```py\n",
    "x = 'one'  # comment\n",
    '"""doc\n',
    "```\n",
    "~~~\n",
    "   ```\n",
    "| a | b |\n",
    "|---|:-:|\n",
    "| 1 | *2* |\n",
    "***\n",
    "===\n",
    "---\n",
    "    indented code\n",
    "<b>html</b>\n",
    "<div>\n",
    "[ref]: http://example.org/x\n",
    "see [ref] and [other] and [text](http://a.b)\n",
    "https://example.org/path.\n",
    "\\(a_b_c\\) and $x^2_i$ for $5 and $6\n",
    "  lazy\n",
    "`code` and ``two ` ticks``\n",
    "*",
    "`",
    "-",
    "#",
    "[",
    "\tafter tab\n",
    "日本語のテキスト\n",
    "👩‍👩‍👧 family 🇩🇪 flag 👍🏽\n",
    "many words that go on and on in one line until it has to be wrapped somewhere\n",
    "hard  \nbreak\n",
    "&amp; &lt; \\* \\[ escape\n",
)

sources = st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join)
"""Whole documents."""


@st.composite
def cut_sources(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A document and the same in pieces."""
    source = draw(sources)
    pieces = []
    at = 0
    while at < len(source):
        size = draw(st.integers(1, 24))
        pieces.append(source[at : at + size])
        at += size
    return source, pieces
