"""HTML as Markdown: headings, text, links with whole addresses, lists, code, tables and quotes.

Left out are scripts, styles, forms' parts, hidden elements, and the page's navigation and footer."""

import re
from collections import Counter
from collections.abc import Callable
from urllib.parse import urljoin

import msgspec

from app.web.html_tokens import HtmlToken, split_html_into_tokens


def _class_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SKIPPED_HTML_ELEMENTS = _class_names(
    "script style noscript template svg canvas iframe object nav footer button select textarea"
)
_HEADING_MARK_BY_ELEMENT = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HTML_BLOCK_ELEMENTS = _HEADING_MARK_BY_ELEMENT.keys() | _class_names(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure form header html "
    "main p section summary table tbody tfoot thead tr ul ol"
)
_HTML_VOID_ELEMENTS = _class_names("area base br col embed hr img input link meta param source track wbr")
_ELEMENTS_CLOSED_BY_ELEMENT = {
    "li": ("p", "li"),
    "dt": ("p", "dd", "dt"),
    "dd": ("p", "dt", "dd"),
    "tr": ("td", "th", "tr"),
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tbody": ("td", "th", "tr"),
    "option": ("option",),
    **dict.fromkeys(
        _HEADING_MARK_BY_ELEMENT.keys()
        | _class_names("p div ul ol dl table blockquote pre section article hr"),
        ("p",),
    ),
}
"""Elements that the beginning of another one ends, which pages leave to the reader."""
_INLINE_MARK_BY_ELEMENT = {
    **{"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~"},
    **{"kbd": "`", "samp": "`", "tt": "`"},
}
_HTML_WHITESPACE_PATTERN = re.compile(r"[ \t\r\n\f]+")
_CODE_LANGUAGE_CLASS_PATTERN = re.compile(r"(?:language|lang|highlight-source)-([\w+#-]+)")
_INVISIBLE_STYLE_PATTERN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_KEPT_LINK_SCHEMES = ("http://", "https://", "mailto:")
_MAX_LIST_INDENT = 20
_MAX_IMPLICIT_CLOSE_DISTANCE = 50
"""Open elements that are looked at for one that a new one ends."""


class ConvertedWebText(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    markdown: str


def html_to_markdown(
    source: str, address: str, is_stopped: Callable[[], bool] = lambda: False
) -> ConvertedWebText:
    """Converts a page. For a thread; ends early with what there is when it is stopped."""
    page = _HtmlToMarkdownWriter(address)
    for number, token in enumerate(split_html_into_tokens(source)):
        if number % 1000 == 0 and is_stopped():
            break
        page.write_token(token)
    return ConvertedWebText(title=page.title, markdown=page.finish())


class _HtmlToMarkdownWriter:
    """Writes Markdown from tokens. It holds the names of the open elements only, so no depth is too deep."""

    def __init__(self, address: str) -> None:
        self.title = ""
        self._base = address
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        """How often each element is open: an end without a beginning costs no search."""
        self._skipped_from: int | None = None
        """The depth of the outermost element that is left out."""
        self._prefixes: list[str] = []
        self._marker = ""
        """The bullet or number of a list item, or the signs of a heading, that has no text yet."""
        self._lists: list[int] = []
        """The next number of each open list; 0 for bullets."""
        self._items: list[bool] = []
        """For each open item: whether it has put an indent on the prefixes."""
        self._links: list[tuple[str, int]] = []
        self._row: list[str] = []
        self._is_head = True
        self._language = ""
        """The language of the open code block."""
        self._mains: list[list[int]] = []
        """First and last line of each main part."""

    def write_token(self, token: HtmlToken) -> None:
        if token.kind == "text":
            if self._skipped_from is None and not self._count["head"]:
                self._inline.append(token.text)
        elif token.kind == "title":
            self.title = self.title or _HTML_WHITESPACE_PATTERN.sub(" ", token.text).strip()
        elif token.kind == "end":
            self._close_element(token.name)
        elif token.name == "base":
            self._base = _join_address(self._base, token.attribute("href"))
        elif token.name in _HTML_VOID_ELEMENTS:
            if self._skipped_from is None:
                self._write_void_element(token)
        else:
            self._open_element(token)

    def finish(self) -> str:
        while self._open:
            self._pop_element()
        self._flush_inline_text()
        first, last = self._mains[0] if len(self._mains) == 1 else (0, len(self._lines))
        lines = self._lines[first:last] if any(self._lines[first:last]) else self._lines
        text = "\n".join(line.rstrip() for line in lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n")

    def _open_element(self, token: HtmlToken) -> None:
        for name in _ELEMENTS_CLOSED_BY_ELEMENT.get(token.name, ()):
            inner = self._open[-1] if self._open else ""
            if inner == name or (name in ("td", "th", "tr", "li", "dt", "dd") and self._is_innermost(name)):
                self._close_element(name)
        self._open.append(token.name)
        self._count[token.name] += 1
        if self._skipped_from is None:
            if token.name in _SKIPPED_HTML_ELEMENTS or _is_hidden(token):
                self._skipped_from = len(self._open)
            else:
                self._begin_element(token)

    def _is_innermost(self, name: str) -> bool:
        """Whether the element is open in the innermost list or table, near enough to be meant."""
        for open_name in reversed(self._open[-_MAX_IMPLICIT_CLOSE_DISTANCE:]):
            if open_name == name:
                return True
            if open_name in ("ul", "ol", "dl", "table"):
                return False
        return False

    def _close_element(self, name: str) -> None:
        if not self._count[name]:
            return
        while self._pop_element() != name:
            pass

    def _pop_element(self) -> str:
        name = self._open.pop()
        self._count[name] -= 1
        if self._skipped_from is None:
            self._end_element(name)
        elif len(self._open) < self._skipped_from:
            self._skipped_from = None
        return name

    def _write_void_element(self, token: HtmlToken) -> None:
        if token.name == "br":
            self._inline.append("\n" if self._count["pre"] else "  \n")
        elif token.name == "hr":
            self._flush_inline_text()
            self._add_gap()
            self._write_line("---")
            self._add_gap()
        elif token.name == "img" and token.attribute("alt").strip():
            self._inline.append(f"[image: {token.attribute('alt').strip()}]")

    def _begin_element(self, token: HtmlToken) -> None:
        tag = token.name
        if tag in _INLINE_MARK_BY_ELEMENT:
            self._write_inline_mark(tag)
        elif tag == "a":
            self._links.append((self._absolute_address(token.attribute("href")), len(self._inline)))
        elif tag == "pre":
            self._flush_inline_text()
            self._add_gap()
        elif tag == "li":
            self._begin_item()
        elif tag in ("td", "th"):
            self._inline = []
            self._links.clear()
        elif tag == "code":
            self._write_inline_mark(
                "code", language=_CODE_LANGUAGE_CLASS_PATTERN.search(token.attribute("class"))
            )
        elif tag in _HTML_BLOCK_ELEMENTS:
            self._begin_block(tag)

    def _begin_block(self, tag: str) -> None:
        self._flush_inline_text()
        if tag in ("ul", "ol"):
            self._add_gap_outside_lists()
            self._lists.append(1 if tag == "ol" else 0)
        elif tag == "blockquote":
            self._add_gap()
            self._prefixes.append("> ")
        elif tag == "tr":
            self._row = []
        elif tag in _HEADING_MARK_BY_ELEMENT:
            self._add_gap()
            self._marker += _HEADING_MARK_BY_ELEMENT[tag]
        elif tag in ("main", "article") and not (tag == "article" and self._count["main"]):
            self._add_gap()
            if self._count["main"] + self._count["article"] == 1:
                self._mains.append([len(self._lines), -1])
        elif tag == "table":
            self._add_gap()
            self._is_head = True
        elif tag == "p":
            self._add_gap_outside_lists()

    def _end_element(self, tag: str) -> None:
        if tag in _INLINE_MARK_BY_ELEMENT:
            self._write_inline_mark(tag)
        elif tag == "code":
            self._write_inline_mark("code")
        elif tag == "a":
            self._end_link()
        elif tag == "pre":
            self._end_code_block()
        elif tag in ("td", "th"):
            self._row.append(self._pending_text().replace("|", "\\|").replace("\n", " "))
            self._inline = []
        elif tag == "li":
            self._flush_inline_text()
            self._marker = ""
            if self._items and self._items.pop():
                self._prefixes.pop()
        elif tag in _HTML_BLOCK_ELEMENTS:
            self._end_block(tag)

    def _end_block(self, tag: str) -> None:
        if tag == "tr" and any(self._row):
            self._write_line(f"| {' | '.join(self._row)} |")
            if self._is_head:
                self._write_line(f"|{'---|' * len(self._row)}")
            self._is_head = False
            return
        self._flush_inline_text()
        if tag == "blockquote":
            self._prefixes.pop()
            if self._lines and not self._lines[-1].strip("> "):
                self._lines.pop()
        if tag in ("ul", "ol"):
            self._lists.pop()
        if tag in _HEADING_MARK_BY_ELEMENT:
            self._marker = ""
        is_outermost = tag in ("main", "article") and not self._count["main"] + self._count["article"]
        if is_outermost and self._mains:
            self._mains[-1][1] = len(self._lines)
        if tag in ("p", "ul", "ol"):
            self._add_gap_outside_lists()
        elif tag not in ("div", "dl", "dt", "dd", "tbody", "thead"):
            self._add_gap()

    def _begin_item(self) -> None:
        self._flush_inline_text()
        number = self._lists[-1] if self._lists else 0
        self._marker = f"{number}. " if number else "- "
        if number:
            self._lists[-1] += 1
        is_indented = len(self._prefixes) < _MAX_LIST_INDENT
        self._items.append(is_indented)
        if is_indented:
            self._prefixes.append(" " * len(self._marker))

    def _end_code_block(self) -> None:
        text, self._inline = "".join(self._inline), []
        self._write_line(f"```{self._language}")
        for line in text.strip("\n").split("\n"):
            self._write_line(line)
        self._write_line("```")
        self._add_gap()
        self._language = ""

    def _end_link(self) -> None:
        if not self._links:
            return
        address, begun = self._links.pop()
        words = "".join(self._inline[begun:])
        inner = _HTML_WHITESPACE_PATTERN.sub(" ", words).strip()
        if not inner or not address or inner == address or self._count["pre"] or self._count["code"]:
            return
        before, after = " " * words[:1].isspace(), " " * words[-1:].isspace()
        self._inline[begun:] = [f"{before}[{inner}]({address}){after}"]

    def _absolute_address(self, given: str) -> str:
        given = given.strip()
        if not given or given.startswith(("#", "javascript:", "data:")):
            return ""
        whole = _join_address(self._base, given)
        return whole.replace(" ", "%20").replace(")", "%29") if whole.startswith(_KEPT_LINK_SCHEMES) else ""

    def _write_inline_mark(self, tag: str, *, language: re.Match[str] | None = None) -> None:
        if self._count["pre"]:
            self._language = language[1] if language else self._language
        elif tag == "code" or not self._count["code"]:
            self._inline.append(_INLINE_MARK_BY_ELEMENT.get(tag, "`"))

    def _pending_text(self) -> str:
        text = "".join(self._inline)
        return "\n".join(
            _HTML_WHITESPACE_PATTERN.sub(" ", line).strip() for line in text.split("  \n")
        ).strip("\n")

    def _flush_inline_text(self) -> None:
        if self._count["pre"]:
            return
        words = self._pending_text()
        self._inline = []
        self._links.clear()
        if words.strip("*`~ "):
            for line in words.split("\n"):
                self._write_line(line)

    def _write_line(self, line: str) -> None:
        """Adds a line; the first one of a list item has its bullet in the place of the item's indent."""
        lead, marker = "".join(self._prefixes), self._marker
        if marker and marker[0] != "#" and self._items and self._items[-1]:
            lead = "".join(self._prefixes[:-1])
        self._marker = ""
        self._lines.append(lead + marker + line)

    def _add_gap(self) -> None:
        if self._lines and self._lines[-1].strip("> ") and not self._marker:
            self._lines.append("".join(self._prefixes).rstrip())

    def _add_gap_outside_lists(self) -> None:
        if not self._lists:
            self._add_gap()


def _join_address(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:
        return base


def _is_hidden(token: HtmlToken) -> bool:
    return (
        "hidden" in token.attributes
        or token.attribute("aria-hidden") == "true"
        or _INVISIBLE_STYLE_PATTERN.search(token.attribute("style")) is not None
    )
