"""Pages become Markdown; broken and hostile ones cost in proportion to their length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.html_to_markdown import html_to_markdown

EXAMPLES = {
    "headings and emphasis": (
        "<h2>A <em>b</em></h2><p>c <strong>d</strong> <s>e</s>",
        "## A *b*\n\nc **d** ~~e~~",
    ),
    "links": (
        "<a href='/x y'>one  two</a> <a href='#top'>up</a> <a href=javascript:x>z</a>",
        "[one two](https://e.org/x%20y) up z",
    ),
    "lists": ("<ul><li>a<li>b<ol><li>c</ol></ul>", "- a\n- b\n  1. c"),
    "code": (
        "<pre><code class='language-py'>if x:\n    y &lt; 1\n</code></pre><p>Use <code>x</code>",
        "```py\nif x:\n    y < 1\n```\n\nUse `x`",
    ),
    "tables": (
        "<table><tr><th>A<th>B<tr><td>1|2<td><b>3</b></table>",
        "| A | B |\n|---|---|\n| 1\\|2 | **3** |",
    ),
    "quotes": ("<blockquote>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
    "breaks and rules": ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
    "pictures": ("<img src=x alt='A boat'><img src=y>", "[image: A boat]"),
    "the main part alone": ("<header>x</header><main><p>y</main><footer>z</footer>", "y"),
    "several articles": ("<article>a</article><article>b</article>", "a\n\nb"),
    "hidden parts": (
        "<p hidden>a</p><div style='display: none'><p>b</div><nav>c</nav><script>d</script>e",
        "e",
    ),
    "entities": ("<p>a &amp; b &#x1f6a2; &nosuch;", "a & b \U0001f6a2 &nosuch;"),
    "less than": ("1 < 2 and <3", "1 < 2 and <3"),
}
HOSTILE = {
    name: piece * (300_000 // len(piece))
    for name, piece in {
        **{"comments": "<!--", "elements": "<div>", "quotes": '<a href="', "signs": "<", "ends": "</div>"},
        **{"lists": "<ul><li>", "cells": "<td>", "scripts": "<script>", "quotations": "<blockquote>"},
        **{"names": "<a x ", "ampersands": "&", "code": "<pre>", "unmatched": "<div></p>", "links": "<a>"},
        **{"two quotes": "<a b='\"", "tables": "<table><tr><td>x", "items": "<li>x"},
    }.items()
} | {"a number": "&#" + "9" * 300_000 + ";"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_as_markdown(name: str):
    source, markdown = EXAMPLES[name]
    assert html_to_markdown(source, "https://e.org/d/").markdown == markdown


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_of_one_thing_is_read_to_its_end(name: str):
    html_to_markdown(HOSTILE[name], "https://e.org/")


@given(st.text(alphabet=st.sampled_from("<>/ab=\"'& !-\npretdliul"), max_size=200))
def test_no_text_breaks_the_reader(source: str):
    html_to_markdown(source, "https://e.org/")


def test_reading_ends_when_it_is_stopped():
    assert html_to_markdown("<p>a" * 10_000, "https://e.org/", lambda: True).markdown == ""
