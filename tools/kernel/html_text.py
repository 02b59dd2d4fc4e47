"""Converts HTML to text, for values of Python cells that have no other representation."""

from html.parser import HTMLParser
from typing import Final

_TAGS_WITHOUT_TEXT: Final = frozenset({"script", "style", "head", "template"})
_BLOCK_TAGS: Final = frozenset(
    (
        "p",
        "div",
        "br",
        "hr",
        "tr",
        "table",
        "ul",
        "ol",
        "pre",
        "blockquote",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
    )
)


def html_to_text(html: str) -> str:
    reader = _TextExtractor()
    reader.feed(html)
    reader.close()
    lines = (
        " ".join(line.split()).removesuffix("|").rstrip() for line in "".join(reader.text_parts).split("\n")
    )
    return "\n".join(line for line in lines if line)


class _TextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text_parts: list[str] = []
        self._hidden_tag_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _TAGS_WITHOUT_TEXT:
            self._hidden_tag_depth += 1
        elif tag in _BLOCK_TAGS:
            self.text_parts.append("\n")
        elif tag == "li":
            self.text_parts.append("\n- ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _TAGS_WITHOUT_TEXT:
            self._hidden_tag_depth = max(0, self._hidden_tag_depth - 1)
        elif tag in ("td", "th"):
            self.text_parts.append(" | ")
        elif tag in _BLOCK_TAGS:
            self.text_parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_tag_depth:
            self.text_parts.append(" ".join(data.split("\n")))
