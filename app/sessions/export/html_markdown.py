"""Markdown on the exported page: no HTML and no pictures from elsewhere, fences in colours, tables aligned by class."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.sessions.export.html_code import ColouredCode
from app.sessions.export.text import clean

_LONGEST = 200_000
"""Characters; more than that is nobody's prose, and reading it as Markdown takes its time."""
_LONGEST_LINE = 20_000
_ALIGNED = re.compile(r"text-align:\s*(left|right|center)")
_WORD = re.compile(r"[\w+#.-]+")


class HtmlMarkdown:
    """Everything it returns is escaped."""

    def __init__(self, code: ColouredCode) -> None:
        self._code = code
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self._markdown.disable("image")
        self._markdown.add_render_rule("fence", lambda _renderer, *given: self._fence(*given))

    def __call__(self, text: str) -> str:
        text = clean(text)
        if len(text) > _LONGEST or max(map(len, text.split("\n"))) > _LONGEST_LINE:
            return f"<pre>{escape(text)}</pre>"
        tokens = self._markdown.parse(text)
        _by_class(tokens)
        return self._markdown.renderer.render(tokens, self._markdown.options, {})

    def _fence(self, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
        token = tokens[index]
        language = _WORD.match(token.info.strip())
        return (
            self._code.fence(token.content.removesuffix("\n"), language[0].lower() if language else "") + "\n"
        )


def _by_class(tokens: Sequence[Token]) -> None:
    """The page's policy admits no style in an attribute. Links lead away from the page and tell nothing of it."""
    for token in tokens:
        if "style" in token.attrs:
            found = _ALIGNED.match(str(token.attrs.pop("style")))
            if found:
                token.attrSet("class", found[1])
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer")
            token.attrSet("target", "_blank")
        if token.children:
            _by_class(token.children)
