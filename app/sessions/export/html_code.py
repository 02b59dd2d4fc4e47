"""Code and Markdown on the exported page: highlighting with CSS classes, diff lines, Mermaid diagrams
drawn as text.

All returned HTML is escaped. Highlighting costs time for every character, so each page has limits; text
beyond a limit stays plain."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.sessions.export.text import clean
from tools.diff_lines import DiffLine, changed_words, parse_diff
from tools.results import ColouredSpan

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Span = tuple[int, int, str]

MERMAID = frozenset(("mermaid", "mmd"))
_MAX_DIAGRAM_CHARACTERS = 4_000
_MAX_DIAGRAM_LINES = 80
"""Larger diagrams stay source text, because drawing takes more than linear time."""
_MAX_LINE_CHARACTERS = 5_000
_MAX_CODE_CHARACTERS = 300_000
_MAX_COLOURED_CHARACTERS = 2_000_000
"""Highlighted characters of a page: about five seconds of work."""
_MAX_COMPARED_PAIRS = 4_000
"""Pairs of changed lines of a page that are compared word by word."""
_MAX_PROSE_CHARACTERS = 200_000
"""Longer texts are not parsed as Markdown, which would be slow; they are hardly prose."""
_MAX_PROSE_LINE_CHARACTERS = 20_000
_ALIGNED = re.compile(r"text-align:\s*(left|right|center)")
_WORD = re.compile(r"[\w+#.-]+")
_CLASSES = (
    ("Token.Comment", "c"),
    ("Token.Keyword.Constant", "n"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "f"),
    ("Token.Name.Tag", "k"),
    ("Token.Name.Attribute", "f"),
    ("Token.Name.Builtin", "b"),
    ("Token.Generic.Deleted", "d"),
    ("Token.Generic.Inserted", "i"),
    ("Token.Generic.Heading", "c"),
    ("Token.Generic.Subheading", "c"),
)


@lru_cache(256)
def _class_of(token: str) -> str:
    return next((name for kind, name in _CLASSES if token == kind or token.startswith(kind + ".")), "")


@lru_cache(128)
def _lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  (costs 40 ms, and only for this form)
    from pygments.util import ClassNotFound  # noqa: PLC0415  (same)

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None
    return None if lexer is None or lexer.name == "Text only" else lexer


@lru_cache(512)
def language_of(path: str) -> str:
    """Guesses the language of a file from its name alone."""
    from pygments.lexers import find_lexer_class_for_filename  # noqa: PLC0415  (as above)

    found = find_lexer_class_for_filename(path.rsplit("/", 1)[-1])
    aliases: tuple[str, ...] = tuple(getattr(found, "aliases", ())) if found else ()
    return aliases[0] if aliases else ""


class ColouredCode:
    """Highlights the code of one page and counts what is left of the page's limits."""

    def __init__(self) -> None:
        self._characters = _MAX_COLOURED_CHARACTERS
        self._pairs = _MAX_COMPARED_PAIRS

    def pre(self, text: str, language: str) -> str:
        text = clean(text)
        return f"<pre><code>{_painted(text, 0, len(text), self._spans(text, language))}</code></pre>"

    def inline(self, text: str, language: str) -> str:
        text = clean(text)
        return _painted(text, 0, len(text), self._spans(text, language))

    def numbered(self, text: str, language: str, first_line: int) -> str:
        """Lines of a file with line numbers that are not copied with the text."""
        text = clean(text).removesuffix("\n")
        spans, at, out = deque(self._spans(text, language)), 0, list[str]()
        for number, line in enumerate(text.split("\n"), first_line):
            shown = _line(text, at, at + len(line), spans)
            out.append(f'<span data-n="{number}">{shown}\n</span>')
            at += len(line) + 1
        return f'<pre class="lines">{"".join(out)}</pre>'

    def diff(self, diff: str, path: str) -> str:
        """A diff as cards show it: line numbers, removed and added lines, changed words marked."""
        plain, lines = parse_diff(clean(diff))
        if not lines:
            return self.pre(diff, "diff")
        spans, out = deque(self._spans(plain, language_of(path))), list[str]()
        marks = self._marks(plain, lines)
        for index, line in enumerate(lines):
            shown = _line(plain, line.start, line.end, spans, marks.get(index, ()))
            tag = {"+": "ins", "-": "del"}.get(line.kind, "span")
            if line.kind == "@":
                out.append('<span class="gap" data-n="">⋯\n</span>')
                continue
            number = line.old if line.kind == "-" else line.new
            sign = {"+": "+", "-": "−"}.get(line.kind, " ")
            out.append(f'<{tag} data-n="{number} {sign}">{shown}\n</{tag}>')
        return f'<pre class="lines diff">{"".join(out)}</pre>'

    def output(self, text: str, colours: Sequence[ColouredSpan]) -> str:
        """A command's output in the eight terminal colours that it used."""
        shown = clean(text)
        starts = [0, *(found.end() for found in re.finditer("\n", shown))]
        spans: list[Span] = []
        for one in sorted(colours, key=lambda one: (one.line, one.start)) if shown == text else ():
            name = _terminal_class(one.sgr)
            if not name or not 0 <= one.line < len(starts):
                continue
            start, end = starts[one.line] + one.start, min(starts[one.line] + one.end, len(shown))
            if (spans[-1][1] if spans else 0) <= start < end:
                spans.append((start, end, name))
        return f"<pre>{_painted(shown, 0, len(shown), spans)}</pre>"

    def fence(self, text: str, language: str) -> str:
        """A fenced code block of Markdown, highlighted, or a Mermaid diagram."""
        if language in MERMAID and (picture := draw_diagram(text)):
            source = (
                f"<details><summary>source of the drawing</summary><pre>{escape(clean(text))}</pre></details>"
            )
            return f'<pre class="drawing" role="img" aria-label="diagram">{escape(picture)}</pre>{source}'
        return self.pre(text, language)

    def _spans(self, text: str, language: str) -> list[Span]:
        if not text.strip() or len(text) > min(_MAX_CODE_CHARACTERS, self._characters):
            return []
        if len(text) > _MAX_LINE_CHARACTERS and max(map(len, text.split("\n"))) > _MAX_LINE_CHARACTERS:
            return []
        lexer = _lexer(language)
        if lexer is None:
            return []
        self._characters -= len(text)
        out: list[Span] = []
        at = 0
        for token, value in lexer.get_tokens(text if text.endswith("\n") else f"{text}\n"):
            end = min(at + len(value), len(text))
            if at < end and (name := _class_of(str(token))) and not value.isspace():
                out.append((at, end, name))
            at += len(value)
        return out

    def _marks(self, plain: str, lines: Sequence[DiffLine]) -> dict[int, list[tuple[int, int]]]:
        marks: dict[int, list[tuple[int, int]]] = {}
        for index, line in enumerate(lines):
            if line.kind != "-" or line.partner < 0 or self._pairs <= 0:
                continue
            self._pairs -= 1
            other = lines[line.partner]
            removed, added = changed_words(plain[line.start : line.end], plain[other.start : other.end])
            marks[index] = [(line.start + start, line.start + end) for start, end in removed]
            marks[line.partner] = [(other.start + start, other.start + end) for start, end in added]
        return marks


def _terminal_class(sgr: str) -> str:
    parts = sgr.split(";")
    if "38" in parts or "48" in parts:  # the page has no classes for 256 and RGB colours
        return ""
    colour = next((part[1] for part in parts if re.fullmatch("[39][0-7]", part)), "")
    return " ".join(filter(None, (f"t{colour}" if colour else "", "bold" if "1" in parts else "")))


def _line(text: str, start: int, end: int, spans: deque[Span], marks: Sequence[tuple[int, int]] = ()) -> str:
    """One line with its highlighting. Removes the spans that end within the line from `spans`."""
    mine: list[Span] = []
    while spans and spans[0][0] < end:
        first, last, name = spans[0]
        if max(first, start) < min(last, end):
            mine.append((max(first, start), min(last, end), name))
        if last > end:
            break
        spans.popleft()
    return _painted(text, start, end, mine, marks)


def _painted(
    text: str, start: int, end: int, spans: Iterable[Span], marks: Sequence[tuple[int, int]] = ()
) -> str:
    out, at = list[str](), start
    for first, last, name in spans:
        out.append(_marked(text, at, first, marks))
        out.append(f'<span class="{name}">{_marked(text, first, last, marks)}</span>')
        at = last
    return "".join((*out, _marked(text, at, end, marks)))


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    out, at = list[str](), start
    for first, last in marks:
        first, last = max(first, at), min(last, end)
        if first < last:
            out.append(f"{escape(text[at:first])}<mark>{escape(text[first:last])}</mark>")
            at = last
    return "".join((*out, escape(text[at:end])))


@lru_cache(64)
def draw_diagram(source: str) -> str:
    """Draws a Mermaid diagram as text; empty when it cannot be drawn."""
    if len(source) > _MAX_DIAGRAM_CHARACTERS or source.count("\n") > _MAX_DIAGRAM_LINES or not source.strip():
        return ""
    try:
        import termaid  # noqa: PLC0415  (only where a diagram is)  # pyright: ignore[reportMissingImports]

        picture = str(termaid.render(source))
    except Exception:  # noqa: BLE001  (the diagram library may fail on a model's text: the code is shown then)
        return ""
    return "\n".join(line.rstrip() for line in clean(picture).split("\n")).strip("\n")


class HtmlMarkdown:
    """Renders Markdown without raw HTML and external images, with highlighted fences and CSS classes for
    table alignment."""

    def __init__(self, code: ColouredCode) -> None:
        self._code = code
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self._markdown.disable("image")
        self._markdown.add_render_rule("fence", lambda _renderer, *given: self._fence(*given))

    def __call__(self, text: str) -> str:
        text = clean(text)
        if len(text) > _MAX_PROSE_CHARACTERS or max(map(len, text.split("\n"))) > _MAX_PROSE_LINE_CHARACTERS:
            return f"<pre>{escape(text)}</pre>"
        tokens = self._markdown.parse(text)
        _use_css_classes(tokens)
        return self._markdown.renderer.render(tokens, self._markdown.options, {})

    def _fence(self, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
        token = tokens[index]
        language = _WORD.match(token.info.strip())
        return (
            self._code.fence(token.content.removesuffix("\n"), language[0].lower() if language else "") + "\n"
        )


def _use_css_classes(tokens: Sequence[Token]) -> None:
    """Replaces style attributes by classes, as the page's policy requires. Links open in a new page and
    send no referrer."""
    for token in tokens:
        if "style" in token.attrs:
            found = _ALIGNED.match(str(token.attrs.pop("style")))
            if found:
                token.attrSet("class", found[1])
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer")
            token.attrSet("target", "_blank")
        if token.children:
            _use_css_classes(token.children)
