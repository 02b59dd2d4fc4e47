"""Formats declarations and comments of source code as one line, without the marks around them."""

import re

MAX_SHOWN_SYMBOL_NAME_CHARS = 120
"""The maximum number of characters of a symbol's name that are shown."""
MAX_STORED_SYMBOL_NAME_CHARS = 2_000
"""The maximum number of characters of a symbol's name that are stored; more than are shown, because programs need
whole names."""
MAX_SIGNATURE_CHARS = 160
_MAX_DOC_LINE_CHARS = 120
_BRACKET_OR_LINE_END_PATTERN = re.compile(r"[()\[\]{\n]")
_LEADING_DECLARATION_WORD_PATTERN = re.compile(
    r"(?:@[\w.]+(?:\([^()]*\))?|\[[^\[\]]*\]|#define|(?P<word>\w+))\s+(?=\S)"
)
_KEYWORDS_OMITTED_FROM_SIGNATURE = frozenset(
    [
        "class",
        "struct",
        "enum",
        "union",
        "interface",
        "record",
        "namespace",
        "typedef",
        "using",
        "delegate",
        "event",
        "concept",
        "message",
        "service",
        "oneof",
        "package",
        "rpc",
        "extend",
        "mixin",
        "extension",
        "function",
        "modifier",
        "error",
        "contract",
        "library",
    ]
)
_LINE_COMMENT_PATTERN = re.compile(r"(?<=\n)[ \t]*(?://|--[ \t])[^\n]*|(?<=\n)[ \t]*/\*(?s:.*?)\*/")
_TYPE_REFERENCE_PATTERN = re.compile(
    r"(?:struct|union|enum)\s+(?!(?:class|struct|[A-Z0-9_]+)\b)\w+(?:\s*[*&]+\s*|\s+)"
    r"(?!(?:final|extends|implements|where|with|permits|derives|of)\b)\w"
)
"""Matches uses of a type, such as `struct list *next`, which do not define it."""
_DECLARATION_HEADER_END_CHARS = frozenset("{:=;,>so")
_COMMENT_TEXT_PATTERN = re.compile(r"[^\W_][^\n]*|[@<`\[(_](?!\*)[^\n]*\w[^\n]*")
_LEADING_COMMENT_MARKS = " \t\r\n/*!#;%-={}|\"'"
_COMMENT_MARGIN_MARKS = " \t\r/*!#;%-{}|\"'"


def strip_symbol_name_quotes(name: str) -> str:
    """Removes the quotes around a symbol's name; primes at its end belong to it."""
    while len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    return name


def shorten_to_one_line(text: str, limit: int) -> str:
    if text.isidentifier() and len(text) <= limit:
        return text
    if len(text) > 4 * limit:
        text = text[: 4 * limit]
    if "  " in text or not text.isprintable():
        text = " ".join(text.split())
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line_declaration(text: str, *, is_cut: bool) -> str:
    """Returns a declaration on one line, without the start of its body and comments before that."""
    if (
        len(text) <= MAX_SIGNATURE_CHARS
        and (is_cut or "{" not in text)
        and "  " not in text
        and text.isprintable()
    ):
        # Nearly all headers: no joining or shortening is needed.
        text = text.strip()
        return _strip_body_opener(text) if text and text[-1] in _DECLARATION_HEADER_END_CHARS else text
    if not is_cut:
        if "\n" in text or "{" in text:
            text = _cut_before_body(text)
    elif "\n" in text and ("#" in text or "//" in text):
        text = _strip_last_comments(text)
    if "\n" in text:
        text = _LINE_COMMENT_PATTERN.sub("", text)
    text = text.strip()
    if text and text[-1] in _DECLARATION_HEADER_END_CHARS:
        text = _strip_body_opener(text)
    return shorten_to_one_line(text, MAX_SIGNATURE_CHARS)


def _strip_body_opener(text: str) -> str:
    return text.rstrip("{:=;, \t\r\n").removesuffix("=>").removesuffix(" is").removesuffix(" do").rstrip()


def _strip_last_comments(text: str) -> str:
    """Removes comments between a declaration's header and its body."""
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not (last := lines[-1].lstrip()) or last.startswith(("#", "//"))):
        lines.pop()
    for mark in (" #", "\t#", " //", "\t//"):
        before, found, after = lines[-1].rpartition(mark)
        if found and not any(quote in after for quote in "\"')]"):
            lines[-1] = before
    return "\n".join(lines)


def strip_declaration_modifiers(text: str, modifiers: frozenset[str]) -> str:
    """Removes leading modifiers, annotations and keywords from a declaration, which the symbol states elsewhere."""
    while True:
        match = _LEADING_DECLARATION_WORD_PATTERN.match(text)
        if match is None:
            return text
        word = match["word"]
        if word == "template":
            text = _skip_angle_brackets(text[match.end() :])
        elif (
            word is None
            or word in modifiers
            or (word in _KEYWORDS_OMITTED_FROM_SIGNATURE and not _TYPE_REFERENCE_PATTERN.match(text))
        ):
            text = text[match.end() :]
        else:
            return text


def _skip_angle_brackets(text: str) -> str:
    depth = 0
    for at, mark in enumerate(text):
        depth += (mark == "<") - (mark == ">")
        if depth <= 0:
            return text[at + 1 :].lstrip()
    return text


def _cut_before_body(text: str) -> str:
    """Cuts a declaration at the first brace that is no argument, or at the end of the line on which all brackets are
    closed."""
    depth = 0
    for match in _BRACKET_OR_LINE_END_PATTERN.finditer(text):
        mark = match[0]
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif mark == "{" and text.count('"', 0, match.start()) % 2:
            continue
        elif depth <= 0 and (mark == "\n" or match.start()):
            return text[: match.start()]
    return text


def first_doc_comment_line(comment: str) -> str:
    """Returns the first meaningful line of a comment, without its marks."""
    for match in _COMMENT_TEXT_PATTERN.finditer(comment.lstrip(_LEADING_COMMENT_MARKS)):
        said = match[0].rstrip(_COMMENT_MARGIN_MARKS).removesuffix("*)").rstrip(_COMMENT_MARGIN_MARKS)
        if len(said) > 1:
            return shorten_to_one_line(said, _MAX_DOC_LINE_CHARS)
    return ""
