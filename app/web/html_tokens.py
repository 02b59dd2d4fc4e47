"""Splits HTML into text, beginnings and ends of elements, in one pass whose cost grows with the length only.

The parser of the standard library takes quadratic time for pages that are made for it, and the one for maps of
files holds the open elements on the machine's stack."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

_HTML_TAG_NAME_PATTERN: Final = re.compile(r"/?[a-zA-Z][^\s/>]*")
_HTML_ATTRIBUTE_PATTERN: Final = re.compile(
    r"""[\s/]*([^\s=>/][^\s=>/]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?"""
)
_HTML_TAG_END_PATTERN: Final = re.compile(r"[^>]*>")
_RAW_TEXT_END_PATTERN_BY_ELEMENT: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])[^>]*>", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "noscript", "iframe", "xmp")
}
"""Elements whose whole content is text up to their end tag."""
_MAX_HTML_ATTRIBUTES = 200


class HtmlToken(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["text", "begin", "end", "title"]
    name: str = ""
    """The element, in small letters."""
    text: str = ""
    attributes: Mapping[str, str] = {}

    def attribute(self, name: str) -> str:
        return self.attributes.get(name, "")


def split_html_into_tokens(source: str) -> Iterator[HtmlToken]:
    position = 0
    while position < len(source):
        opened = source.find("<", position)
        if opened < 0:
            opened = len(source)
        if opened > position:
            yield HtmlToken(kind="text", text=unescape_html(source[position:opened]))
        if source.startswith("<!--", opened):
            position = _position_after(source, "-->", opened + 4)
        elif source.startswith(("<!", "<?"), opened):
            position = _position_after(source, ">", opened)
        elif name := _HTML_TAG_NAME_PATTERN.match(source, opened + 1):
            attributes, position = _parse_attributes(source, name.end())
            tag = name[0].casefold()
            if tag.startswith("/"):
                yield HtmlToken(kind="end", name=tag[1:])
            elif tag in _RAW_TEXT_END_PATTERN_BY_ELEMENT:
                end = _RAW_TEXT_END_PATTERN_BY_ELEMENT[tag].search(source, position)
                if tag == "title":
                    yield HtmlToken(
                        kind="title", text=unescape_html(source[position : end.start() if end else position])
                    )
                position = end.end() if end else len(source)
            else:
                yield HtmlToken(kind="begin", name=tag, attributes=attributes)
        else:
            if opened < len(source):
                yield HtmlToken(kind="text", text="<")
            position = opened + 1


def unescape_html(text: str) -> str:
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:  # the number of a character has thousands of digits
        return text


def _position_after(source: str, end: str, position: int) -> int:
    found = source.find(end, position)
    return len(source) if found < 0 else found + len(end)


def _parse_attributes(source: str, position: int) -> tuple[dict[str, str], int]:
    """The attributes of an element, and where its content begins."""
    found: dict[str, str] = {}
    while len(found) < _MAX_HTML_ATTRIBUTES and (one := _HTML_ATTRIBUTE_PATTERN.match(source, position)):
        value = next((part for part in one.groups()[1:] if part is not None), "")
        found.setdefault(one[1].casefold(), unescape_html(value))
        position = one.end()
    end = _HTML_TAG_END_PATTERN.match(source, position)
    return found, end.end() if end else len(source)
