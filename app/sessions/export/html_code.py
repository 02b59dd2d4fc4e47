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

from app.sessions.export.export_texts import remove_control_characters
from tools.diff_lines import DiffLine, find_changed_words, parse_unified_diff
from tools.tool_result_values import ColouredSpan

if TYPE_CHECKING:
    from pygments.lexer import Lexer

HighlightSpan = tuple[int, int, str]

MERMAID_LANGUAGE_NAMES = frozenset(("mermaid", "mmd"))
_MAX_MERMAID_CHARACTERS = 4_000
_MAX_MERMAID_LINES = 80
"""The maximum number of lines of a Mermaid source that is drawn; larger ones stay text, because drawing takes more
than linear time."""
_MAX_HIGHLIGHTED_LINE_CHARACTERS = 5_000
_MAX_HIGHLIGHTED_CODE_CHARACTERS = 300_000
_MAX_HIGHLIGHTED_CHARACTERS_PER_PAGE = 2_000_000
"""The maximum number of characters that are highlighted in one page, about five seconds of work."""
_MAX_COMPARED_DIFF_LINE_PAIRS = 4_000
"""The maximum number of pairs of changed lines in one page that are compared word by word."""
_MAX_MARKDOWN_CHARACTERS = 200_000
"""The maximum length of a text that is parsed as Markdown, in characters; longer ones would be slow, and are hardly
prose."""
_MAX_MARKDOWN_LINE_CHARACTERS = 20_000
_MAX_ROW_SOURCE_CHARACTERS = 400
"""The number of characters of Markdown that are parsed for a row of the tree; more do not fit into it."""
_TEXT_ALIGN_PATTERN = re.compile(r"text-align:\s*(left|right|center)")
_LANGUAGE_WORD = re.compile(r"[\w+#.-]+")
_CSS_CLASS_BY_TOKEN = (
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
def _css_class_of_token(token: str) -> str:
    return next(
        (name for kind, name in _CSS_CLASS_BY_TOKEN if token == kind or token.startswith(kind + ".")), ""
    )


@lru_cache(128)
def _find_lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  (costs 40 ms, and only for this form)
    from pygments.util import ClassNotFound  # noqa: PLC0415  (same)

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None
    return None if lexer is None or lexer.name == "Text only" else lexer


@lru_cache(512)
def language_of_file_name(path: str) -> str:
    """Guesses the language of a file from its name alone."""
    from pygments.lexers import find_lexer_class_for_filename  # noqa: PLC0415  (as above)

    found = find_lexer_class_for_filename(path.rsplit("/", 1)[-1])
    aliases: tuple[str, ...] = tuple(getattr(found, "aliases", ())) if found else ()
    return aliases[0] if aliases else ""


class HtmlCodeHighlighter:
    """Highlights the code of one exported page and counts what is left of the page's limits."""

    def __init__(self) -> None:
        self._characters = _MAX_HIGHLIGHTED_CHARACTERS_PER_PAGE
        self._pairs = _MAX_COMPARED_DIFF_LINE_PAIRS

    def code_block_html(self, text: str, language: str) -> str:
        text = remove_control_characters(text)
        return f"<pre><code>{_highlighted_html(text, 0, len(text), self._highlight_spans(text, language))}</code></pre>"

    def inline_html(self, text: str, language: str) -> str:
        text = remove_control_characters(text)
        return _highlighted_html(text, 0, len(text), self._highlight_spans(text, language))

    def numbered_lines_html(self, text: str, language: str, first_line: int) -> str:
        """Returns lines of a file as HTML, with line numbers that are not copied with the text."""
        text = remove_control_characters(text).removesuffix("\n")
        spans, at, out = deque(self._highlight_spans(text, language)), 0, list[str]()
        for number, line in enumerate(text.split("\n"), first_line):
            shown = _line_html(text, at, at + len(line), spans)
            out.append(f'<span data-n="{number}">{shown}\n</span>')
            at += len(line) + 1
        return f'<pre class="lines">{"".join(out)}</pre>'

    def diff_html(self, diff: str, path: str) -> str:
        """Returns a diff as HTML: line numbers, removed and added lines, changed words marked."""
        plain, lines = parse_unified_diff(remove_control_characters(diff))
        if not lines:
            return self.code_block_html(diff, "diff")
        spans, out = deque(self._highlight_spans(plain, language_of_file_name(path))), list[str]()
        marks = self._changed_words_by_line(plain, lines)
        for index, line in enumerate(lines):
            shown = _line_html(plain, line.start, line.end, spans, marks.get(index, ()))
            tag = {"+": "ins", "-": "del"}.get(line.kind, "span")
            if line.kind == "@":
                out.append('<span class="gap" data-n="">⋯\n</span>')
                continue
            number = line.old_line if line.kind == "-" else line.new_line
            sign = {"+": "+", "-": "−"}.get(line.kind, " ")
            out.append(f'<{tag} data-n="{number} {sign}">{shown}\n</{tag}>')
        return f'<pre class="lines diff">{"".join(out)}</pre>'

    def terminal_output_html(self, text: str, colours: Sequence[ColouredSpan]) -> str:
        """Returns a command's output as HTML, in the eight terminal colours that it used."""
        shown = remove_control_characters(text)
        starts = [0, *(found.end() for found in re.finditer("\n", shown))]
        spans: list[HighlightSpan] = []
        for one in sorted(colours, key=lambda one: (one.line, one.start)) if shown == text else ():
            name = _css_class_of_sgr(one.sgr)
            if not name or not 0 <= one.line < len(starts):
                continue
            start, end = starts[one.line] + one.start, min(starts[one.line] + one.end, len(shown))
            if (spans[-1][1] if spans else 0) <= start < end:
                spans.append((start, end, name))
        return f"<pre>{_highlighted_html(shown, 0, len(shown), spans)}</pre>"

    def fenced_block_html(self, text: str, language: str) -> str:
        """Returns a fenced code block of Markdown as HTML, highlighted, or as a Mermaid diagram."""
        if language in MERMAID_LANGUAGE_NAMES and (picture := draw_mermaid_diagram(text)):
            source = escape(remove_control_characters(text))
            source = f"<details><summary>source of the drawing</summary><pre>{source}</pre></details>"
            return f'<pre class="drawing" role="img" aria-label="diagram">{escape(picture)}</pre>{source}'
        return self.code_block_html(text, language)

    def _highlight_spans(self, text: str, language: str) -> list[HighlightSpan]:
        if not text.strip() or len(text) > min(_MAX_HIGHLIGHTED_CODE_CHARACTERS, self._characters):
            return []
        if (
            len(text) > _MAX_HIGHLIGHTED_LINE_CHARACTERS
            and max(map(len, text.split("\n"))) > _MAX_HIGHLIGHTED_LINE_CHARACTERS
        ):
            return []
        lexer = _find_lexer(language)
        if lexer is None:
            return []
        self._characters -= len(text)
        out: list[HighlightSpan] = []
        at = 0
        for token, value in lexer.get_tokens(text if text.endswith("\n") else f"{text}\n"):
            end = min(at + len(value), len(text))
            if at < end and (name := _css_class_of_token(str(token))) and not value.isspace():
                out.append((at, end, name))
            at += len(value)
        return out

    def _changed_words_by_line(
        self, plain: str, lines: Sequence[DiffLine]
    ) -> dict[int, list[tuple[int, int]]]:
        marks: dict[int, list[tuple[int, int]]] = {}
        for index, line in enumerate(lines):
            if line.kind != "-" or line.paired_line < 0 or self._pairs <= 0:
                continue
            self._pairs -= 1
            other = lines[line.paired_line]
            removed, added = find_changed_words(plain[line.start : line.end], plain[other.start : other.end])
            marks[index] = [(line.start + start, line.start + end) for start, end in removed]
            marks[line.paired_line] = [(other.start + start, other.start + end) for start, end in added]
        return marks


def _css_class_of_sgr(sgr: str) -> str:
    parts = sgr.split(";")
    if "38" in parts or "48" in parts:  # the page has no classes for 256 and RGB colours
        return ""
    colour = next((part[1] for part in parts if re.fullmatch("[39][0-7]", part)), "")
    return " ".join(filter(None, (f"t{colour}" if colour else "", "bold" if "1" in parts else "")))


def _line_html(
    text: str, start: int, end: int, spans: deque[HighlightSpan], marks: Sequence[tuple[int, int]] = ()
) -> str:
    """Returns one line of code with its highlighting. Removes the spans that end within the line from `spans`."""
    mine: list[HighlightSpan] = []
    while spans and spans[0][0] < end:
        first, last, name = spans[0]
        if max(first, start) < min(last, end):
            mine.append((max(first, start), min(last, end), name))
        if last > end:
            break
        spans.popleft()
    return _highlighted_html(text, start, end, mine, marks)


def _highlighted_html(
    text: str, start: int, end: int, spans: Iterable[HighlightSpan], marks: Sequence[tuple[int, int]] = ()
) -> str:
    out, at = list[str](), start
    for first, last, name in spans:
        out.append(_html_with_marks(text, at, first, marks))
        out.append(f'<span class="{name}">{_html_with_marks(text, first, last, marks)}</span>')
        at = last
    return "".join((*out, _html_with_marks(text, at, end, marks)))


def _html_with_marks(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    out, at = list[str](), start
    for first, last in marks:
        first, last = max(first, at), min(last, end)
        if first < last:
            out.append(f"{escape(text[at:first])}<mark>{escape(text[first:last])}</mark>")
            at = last
    return "".join((*out, escape(text[at:end])))


@lru_cache(64)
def draw_mermaid_diagram(source: str) -> str:
    """Draws a Mermaid diagram as text; empty when the diagram cannot be drawn."""
    if len(source) > _MAX_MERMAID_CHARACTERS or source.count("\n") > _MAX_MERMAID_LINES or not source.strip():
        return ""
    try:
        import termaid  # noqa: PLC0415  (only where a diagram is)  # pyright: ignore[reportMissingImports]

        picture = str(termaid.render(source))
    except Exception:  # noqa: BLE001  (the diagram library may fail on a model's text: the code is shown then)
        return ""
    return "\n".join(line.rstrip() for line in remove_control_characters(picture).split("\n")).strip("\n")


class HtmlMarkdownRenderer:
    """Renders Markdown without raw HTML and external images, with highlighted fences and CSS classes for
    table alignment."""

    def __init__(self, code: HtmlCodeHighlighter) -> None:
        self._code = code
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self._markdown.disable("image")
        self._markdown.add_render_rule("fence", lambda _renderer, *given: self._fence(*given))

    def __call__(self, text: str) -> str:
        text = remove_control_characters(text)
        if (
            len(text) > _MAX_MARKDOWN_CHARACTERS
            or max(map(len, text.split("\n"))) > _MAX_MARKDOWN_LINE_CHARACTERS
        ):
            return f"<pre>{escape(text)}</pre>"
        tokens = self._markdown.parse(text)
        _use_css_classes(tokens)
        _tick_tasks(tokens)
        return self._markdown.renderer.render(tokens, self._markdown.options, {})

    def one_line(self, text: str) -> str:
        """Returns the beginning of a Markdown text as one line without marks; not escaped."""
        parts: list[str] = []
        tokens = self._markdown.parse(remove_control_characters(text)[:_MAX_ROW_SOURCE_CHARACTERS])
        _tick_tasks(tokens)
        for token in tokens:
            parts += [
                " " if child.type.endswith("break") else child.content for child in token.children or ()
            ]
            parts.append(token.content if token.type in ("fence", "code_block") else " ")
        return " ".join("".join(parts).split())

    def _fence(self, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
        token = tokens[index]
        language = _LANGUAGE_WORD.match(token.info.strip())
        return (
            self._code.fenced_block_html(
                token.content.removesuffix("\n"), language[0].lower() if language else ""
            )
            + "\n"
        )


def _tick_tasks(tokens: Sequence[Token]) -> None:
    """Draws the items of Markdown task lists with a box, ticked or not, in place of their brackets."""
    for at, token in enumerate(tokens[2:], 2):
        begins = tokens[at - 2].type == "list_item_open" and token.type == "inline"
        if not begins or not token.children:
            continue
        first = token.children[0]
        for brackets, box in (("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")):
            if first.content.startswith(brackets):
                first.content = box + first.content.removeprefix(brackets)
                tokens[at - 2].attrSet("class", "task")


def _use_css_classes(tokens: Sequence[Token]) -> None:
    """Replaces style attributes by classes, as the page's policy requires. Links open in a new page and
    send no referrer."""
    for token in tokens:
        if "style" in token.attrs:
            found = _TEXT_ALIGN_PATTERN.match(str(token.attrs.pop("style")))
            if found:
                token.attrSet("class", found[1])
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer")
            token.attrSet("target", "_blank")
        if token.children:
            _use_css_classes(token.children)
