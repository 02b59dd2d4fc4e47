"""Outlines XML: elements of the outer levels with identifying attributes; many of one kind in a row are counted."""

import re
from collections.abc import Iterator

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import SourceRowCounter, decode_and_shorten_line

_XML_TAG_PATTERN = re.compile(
    rb"(?P<skip><!--|<!\[CDATA\[|<\?)|</(?P<close>[^\s<>]{0,200})[^<>]{0,200}>"
    rb"|<(?P<open>[A-Za-z_][^\s/<>]{0,200})(?P<attributes>(?:[^<>\"']|\"[^\"<]{0,20000}\"|'[^'<]{0,20000}'){0,4000})>",
    re.S,
)
_END_BY_SKIPPED_XML_START = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_XML_NAMING_ATTRIBUTE_PATTERN = re.compile(
    rb"(?:^|\s)(?:[\w.-]+:)?(id|name|key|class|Include|type|href|ref|match|value)\s*=\s*[\"']([^\"']*)", re.I
)
_XML_TAGS_PER_DEADLINE_CHECK = 1024
_MAX_XML_DEPTH, _MAX_LARGE_XML_DEPTH = 12, 4
_LARGE_XML_BYTES = 128 * 1024
_MAX_UNNAMED_XML_SIBLINGS = 3
"""The number of unnamed XML elements of one kind in a row that are listed; further ones are only counted."""
_MAX_XML_SYMBOLS = 20_000


class _XmlOutline:
    def __init__(self, source: bytes, depth: int) -> None:
        self.depth = depth
        self.symbols: list[FoundSymbol] = []
        self.open_elements: list[tuple[bytes, int]] = []
        self.rows = SourceRowCounter(source)
        self.unnamed_siblings: dict[tuple[int, bytes], list[int]] = {}
        """Unnamed children by parent and tag: their number, and the last one listed."""

    def open_element(self, match: re.Match[bytes]) -> None:
        tag, attributes = match["open"], match["attributes"]
        row = self.rows.row_of(match.start())
        index = self._add_element(tag, attributes, match.start(), row)
        if index >= 0:
            self.symbols[index].end_row = self.rows.row_of(match.end())
        if not attributes.endswith(b"/"):
            self.open_elements.append((tag, index))

    def _add_element(self, tag: bytes, attributes: bytes, start: int, row: int) -> int:
        """Adds a symbol for an XML element and returns its index; -1 if the element is too deep or only counted."""
        parent = self.open_elements[-1][1] if self.open_elements else -1
        if (
            len(self.open_elements) >= self.depth
            or (self.open_elements and parent < 0)
            or len(self.symbols) >= _MAX_XML_SYMBOLS
        ):
            return -1
        naming = _XML_NAMING_ATTRIBUTE_PATTERN.search(attributes) if attributes else None
        name = decode_and_shorten_line(naming[2], 80) if naming is not None else ""
        seen = self.unnamed_siblings.setdefault((parent, tag), [0, -1])
        seen[0] += 1
        more = seen[0] - (10 * _MAX_UNNAMED_XML_SIBLINGS if name else _MAX_UNNAMED_XML_SIBLINGS)
        if more > 0:
            self.symbols[seen[1]].doc = f"and {more:,} more {decode_and_shorten_line(tag, 60)}"
            return -1
        seen[1] = len(self.symbols)
        shown = f"{decode_and_shorten_line(tag, 80)} {name}".rstrip()
        self.symbols.append(FoundSymbol(shown, "element", start, row, row, parent))
        return seen[1]

    def close_element(self, tag: bytes, at: int) -> None:
        """Closes the nearest open XML element of that tag, with all open elements inside."""
        if not any(name == tag for name, _ in self.open_elements[-50:]):
            return
        row = self.rows.row_of(at)
        while self.open_elements:
            name, index = self.open_elements.pop()
            if index >= 0:
                self.symbols[index].end_row = row
            if name == tag:
                return


def outline_xml(source: bytes, watch: MapDeadline) -> ScannedOutline:
    state = _XmlOutline(source, _MAX_LARGE_XML_DEPTH if len(source) > _LARGE_XML_BYTES else _MAX_XML_DEPTH)
    for match in _iterate_xml_tags(source, watch):
        if match["open"]:
            state.open_element(match)
        elif match["close"] is not None:
            state.close_element(match["close"], match.end())
    return ScannedOutline(state.symbols)


def _iterate_xml_tags(source: bytes, watch: MapDeadline) -> Iterator[re.Match[bytes]]:
    """Yields XML tags outside of comments, CDATA and instructions; one of these that never ends hides the rest."""
    at = number = 0
    while match := _XML_TAG_PATTERN.search(source, at):
        if number % _XML_TAGS_PER_DEADLINE_CHECK == 0:
            watch.raise_if_deadline_over()
        number += 1
        at = match.end()
        skipped = match["skip"]
        if not skipped:
            yield match
            continue
        end = source.find(_END_BY_SKIPPED_XML_START[skipped], at)
        if end < 0:
            return
        at = end + len(_END_BY_SKIPPED_XML_START[skipped])
