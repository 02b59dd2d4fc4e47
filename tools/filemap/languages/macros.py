"""Blanks out macros of C and C++ that a grammar misinterprets, before parsing. Positions stay the same."""

import re

from tools.filemap.scanners.lines import line_chunks
from tools.filemap.watch import Deadline

_MACRO_NAME = rb"_{0,2}[A-Z][A-Z0-9]*_[A-Z0-9_]+"
_MAX_NESTING = 5


def _arguments_pattern(plain: bytes) -> bytes:
    """Returns a pattern for parentheses with such characters and some nested levels."""
    inner = rb"\(" + plain + rb"*+\)"
    for _ in range(_MAX_NESTING):
        inner = rb"\((?:" + plain + rb"++|" + inner + rb")*+\)"
    return inner


_ARGUMENTS = _arguments_pattern(rb"[^()\n]")
_MACRO_ALONE_ON_LINE = re.compile(
    rb"^[ \t]*(?:[A-Z][A-Z0-9_]*(?:BEGIN|END|NAMESPACE|PUSH|POP|DIAG|DECLS|ENABLE|DISABLE|PRAGMA|WARN)[A-Z0-9_]*"
    rb"(?:" + _ARGUMENTS + rb")?|(?:Q_OBJECT|Q_GADGET))[ \t]*\r?$",
    re.M,
)
"""Matches a line with only `LIB_BEGIN_NAMESPACE`."""
_MACRO_LINE = re.compile(rb"(?m:^)[ \t]*(?P<macro>" + _MACRO_NAME + rb")(?=[ \t]*\r?\n)")
_DECLARATION_BELOW = re.compile(
    rb"[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*[ \t]*(?!\w+[ \t]*\()[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[ \t\r\n*&]+[A-Za-z_~]"
)
"""Matches `LIB_NODISCARD` on the line above a declaration."""
_END_BELOW = re.compile(rb"\s*\}|[ \t]*\r?\n[ \t]*" + _MACRO_NAME + rb"[ \t]*\r?\n")
_MEMBERS_ABOVE = re.compile(
    rb"(?:;|\b(?:struct|union|class)\b[^;{}()]*\{)(?:\s+" + _MACRO_NAME + rb"(?=\s))*\s*\Z"
)
_MAX_CONTEXT = 400
_CALL_LINE = re.compile(
    rb"(?m:^)[ \t]*(?P<macro>"
    + _MACRO_NAME
    + rb"(?:"
    + _arguments_pattern(rb"[^();{}]")
    + rb"[ \t]*;|"
    + _ARGUMENTS
    + rb"(?=[ \t]*(?://[^\n]*)?\r?\n(?!\s*[{:]))))"
)
"""Matches a line with only `LIB_COMPARED(eq, ==)`, without a body, or `LIB_ASSERT((a), "b");`."""
_QUALIFIER = (
    rb"(?:static|inline|virtual|explicit|friend|constexpr|const|typename|extern|class|struct"
    rb"|unsigned|signed)[ \t]"
)
_BEFORE_DECLARATION = re.compile(
    rb"(?m:^)(?P<before>[ \t]*(?:(?:static|inline|virtual|explicit|friend|constexpr|extern|template[ \t]*<[^<>\n]*>)"
    rb"[ \t]+)*)(?P<macro>" + _MACRO_NAME + rb"(?:" + _ARGUMENTS + rb")?)"
    rb"(?=[ \t]+(?:"
    + _QUALIFIER
    + rb"|"
    + _MACRO_NAME
    + rb"[ \t(]|template[ \t]*<|operator\b|[A-Za-z_]\w*::~?[A-Za-z_]\w*[ \t]*\("
    rb"|~?(?P<constructed>[A-Za-z_]\w*)[ \t]*\("
    rb"|[A-Za-z_][\w:]*(?:<[^;{}()\n]*>)?(?:[ \t]+|[ \t]*[*&]+[ \t]*)[*&]*(?:operator\b|~?[A-Za-z_][\w:]*[ \t]*[(=;])))"
)
"""Matches `LIB_API int f(…)`: before a whole declaration; before `Name(` only if a class has that name."""
_MAX_BEFORE_DECLARATION = 3
_CLASS = re.compile(rb"\b(?:class|struct|union)[ \t]+(?:" + _MACRO_NAME + rb"[ \t]+)?([A-Za-z_]\w*)")
_BETWEEN_TYPE_AND_NAME = re.compile(
    rb"[ \t](?<=[\w>*&].)(?<!define.)[ \t]*(?P<macro>"
    + _MACRO_NAME
    + rb")(?=[ \t]+~?[A-Za-z_][\w:]*[ \t]*\()"
)
"""Matches `int LIB_CALL f(…)`."""
_BEFORE_CLASS_NAME = re.compile(
    rb"[cseu](?<![\w.].)(?:lass|truct|nion|num)(?P<macro>[ \t]+"
    + _MACRO_NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?)(?=[ \t]+\w+[ \t\w:<>,]*[{:\r\n])"
)
"""Matches `class LIB_EXPORT Name {`."""
_AS_TYPE = re.compile(
    rb"(?P<macro>[A-Z](?<![\w#].)[A-Z0-9]*_[A-Z0-9_]+" + _ARGUMENTS + rb")(?=[ \t]+[A-Za-z_~][\w:]*[ \t]*\()"
)
"""Matches `LIB_ENABLE_IF((…), (int)) f(…)`: in place of a type."""
_AFTER_NAME = re.compile(
    rb"[cns](?<!\w.)(?:lass|truct|amespace)[ \t]+[A-Za-z_]\w*[ \t]+(?P<macro>"
    + _MACRO_NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?)(?=\s*[{:])"
)
"""Matches `namespace name LIB_VISIBILITY(default) {`."""
_AFTER_PARAMETERS = re.compile(
    rb"\)(?:\s+(?:const|volatile|noexcept|override|final)\b)*\s+(?P<macro>"
    + _MACRO_NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?|\w+\((?=\()"
    + _ARGUMENTS
    + rb"\)(?=\s*;))(?=[ \t]*(?:[;{]|:(?!:)|=[ \t]*(?:default|delete|0)|\r?\n))"
)
"""Matches `f() LIB_NOEXCEPT {`, `f() lib_format((printf, 1, 2));`."""
_CALL_PREVENTION = re.compile(rb"\w[ \t]+(?P<macro>[A-Z]\w*(?:_MACRO_SUBSTITUTION|_NOT_A_MACRO))(?=[ \t]*\()")
"""Matches `int min LIB_PREVENT_MACRO_SUBSTITUTION ()`, which keeps a macro of that name from being called."""
_ABOVE_FUNCTION_NAME = re.compile(
    rb"(?m:^)(?P<before>[A-Za-z_][\w \t*]*[\w*][ \t*]+)(?P<macro>[A-Z][A-Z0-9_]+)(?=[ \t]*\r?\n[a-z_]\w*[ \t]*\()"
)
"""Matches `static void EXPORTED` above a function name; if nothing else is its type, the macro is."""
_ACCESS_LABEL = re.compile(
    rb"^[ \t]*(?P<macro>(?:[A-Z][A-Z0-9_]+|signals)[ \t]*:(?=[ \t]*\r?$)"
    rb"|(?:public|private|protected)[ \t]+(?:[A-Z][A-Z0-9_]+|slots)[ \t]*:(?!:))",
    re.M,
)
"""Matches `LIB_PRIVATE_UNLESS_TESTED:`, `public Q_SLOTS:`: where members of other access begin."""
_CANDIDATE = re.compile(rb"[A-Z]{2}")
_PLAIN_LINES = rb"(?:(?![ \t]*#)[^\n]*\n)*+"
_BRANCHES = re.compile(
    rb"(?m:^)[ \t]*#[ \t]*if[^\n]*\n(?P<first>"
    + _PLAIN_LINES
    + rb")(?P<others>(?:[ \t]*#[ \t]*el(?:se|if)[^\n]*\n"
    + _PLAIN_LINES
    + rb")+)[ \t]*#[ \t]*endif[^\n]*"
)
_MAX_BRANCH = 2000
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_NOT_BLANK = re.compile(rb"\S")


def without_macros(source: bytes, watch: Deadline) -> bytes:
    """Returns the source with such macros replaced by spaces."""
    source = _without_namespace_blocks(
        _expand_brace_macros(_unconditional_wrappers(_first_branches_only(source, watch)))
    )
    pieces: list[bytes] = []
    for _row, _start, block in line_chunks(source, watch):
        pieces.append(_blank_macros(block, source) if _CANDIDATE.search(block) else block)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_DEFINED = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(?P<name>[A-Za-z_]\w*)(?:\([^)\n]*\))?[ \t]+(?P<body>(?:[^\n\\]|\\\r?\n|\\.)*)",
    re.M,
)
_ENCLOSING_BLOCK = re.compile(rb"\b(?:namespace|extern)\b")
_MAX_BRACE_MACROS = 50


def _expand_brace_macros(source: bytes) -> bytes:
    """Expands macros of this text that open or close a brace; those that open a namespace are blanked out."""
    if b"define" not in source:
        return source
    braces: dict[bytes, bytes] = {}
    for match in _DEFINED.finditer(source):
        body = match["body"]
        net = _net_braces(body) if b"{" in body or b"}" in body else 0
        if net in (1, -1) and len(braces) < _MAX_BRACE_MACROS:
            braces[match["name"]] = b" " if _ENCLOSING_BLOCK.search(body) else b"{" if net > 0 else b"}"
    if not braces:
        return source
    if b" " in braces.values():  # its counterpart closes what it opens
        braces = {name: b" " if brace == b"}" else brace for name, brace in braces.items()}
    used = re.compile(
        rb"^(?P<kept>[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*)|\b(?P<name>"
        + b"|".join(map(re.escape, braces))
        + rb")\b"
        rb"(?:\([^()\n]*\))?",
        re.M,
    )

    def written(match: re.Match[bytes]) -> bytes:
        name = match["name"]
        return match[0] if name is None else braces[name] + b" " * (len(match[0]) - 1)

    return used.sub(written, source)


_NO_CODE = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'", re.S)


def _net_braces(text: bytes) -> int:
    """Counts the braces left open, ignoring literals and comments."""
    code = _NO_CODE.sub(b"", text)
    return code.count(b"{") - code.count(b"}")


_CONDITIONAL = re.compile(
    rb"#[ \t]*(?P<condition>if[^\n]*)\n(?P<body>" + _PLAIN_LINES + rb")[ \t]*#[ \t]*endif[^\n]*", re.M
)
_CLOSED = re.compile(rb"\}[^\n]*\n(?:[ \t\r]*\n)*[ \t]*#[ \t]*endif")
"""Matches the end of the second `#if` of a pair; most sources without pairs are excluded by it."""


def _unconditional_wrappers(source: bytes) -> bytes:
    """Treats what one `#if … #endif` opens and another closes, such as a namespace, as unconditional."""
    if not _CLOSED.search(source):
        return source
    opened: dict[bytes, list[re.Match[bytes]]] = {}
    pairs: list[re.Match[bytes]] = []
    for match in _CONDITIONAL.finditer(source):
        body = match["body"]
        if len(body) > _MAX_BRANCH or body.count(b"{") == body.count(b"}"):
            continue
        net = _net_braces(body)
        condition = b" ".join(match["condition"].split())
        if net == 1:
            opened.setdefault(condition, []).append(match)
        elif net == -1 and opened.get(condition):
            pairs += opened[condition].pop(), match
    if not pairs:
        return source
    covered = bytearray(source)
    for match in pairs:
        for first, last in ((match.start(), match.start("body")), (match.end("body"), match.end())):
            covered[first:last] = _NOT_BLANK.sub(b" ", source[first:last])
    return bytes(covered)


_OPENED = re.compile(rb"^" + _MACRO_NAME + rb"[ \t]*\{[ \t]*(?://[^\n]*)?\r?$", re.M)


def _without_namespace_blocks(source: bytes) -> bytes:
    """Blanks out `LIB_NAMESPACE {` at the margin, which is no function, and the brace at the margin that ends it."""
    opened = list(_OPENED.finditer(source))
    if not opened:
        return source
    covered = bytearray(source)
    for match in opened:
        closed = _closing_brace_at_margin(source, match.end())
        if closed >= 0:
            covered[match.start() : match.end()] = _NOT_BLANK.sub(b" ", match[0])
            covered[closed : closed + 1] = b" "
    return bytes(covered)


_MARGIN = re.compile(rb"^(?:\}|(?P<open>[^\s#/}][^\n]*\{[ \t]*(?://[^\n]*)?\r?$|\{))", re.M)


def _closing_brace_at_margin(source: bytes, start: int) -> int:
    """Considers only text at the margin: inside of functions, macros may be arbitrary."""
    depth = 1
    for match in _MARGIN.finditer(source, start):
        depth += 1 if match["open"] is not None else -1
        if depth == 0:
            return match.start()
    return -1


def _first_branches_only(source: bytes, watch: Deadline) -> bytes:
    """Keeps only the first branch of `#if … #else … #endif` around a part of a declaration, such as its head."""
    if b"else" not in source and b"elif" not in source:
        return source
    return b"".join(_BRANCHES.sub(_first_branch, block) for _row, _start, block in line_chunks(source, watch))


def _first_branch(match: re.Match[bytes]) -> bytes:
    first = match["first"]
    if len(first) > _MAX_BRANCH or not _is_partial_declaration(first):
        return match[0]
    begin, end = match.start("first") - match.start(), match.end("first") - match.start()
    whole = match[0]
    return _NOT_BLANK.sub(b" ", whole[:begin]) + first + _NOT_BLANK.sub(b" ", whole[end:])


def _is_partial_declaration(text: bytes) -> bool:
    """Returns whether declarations do not both begin and end within the text."""
    code = _COMMENT.sub(b"", text).strip()
    if not code:
        return False
    return code.count(b"{") != code.count(b"}") or code[:1] in b":{" or code[-1:] not in b";},:\\"


def _blank_macros(block: bytes, source: bytes) -> bytes:
    whole, classes = block, set[bytes]()

    def in_front(match: re.Match[bytes]) -> bytes:
        constructed = match["constructed"]
        if constructed is not None and not classes:
            classes.update(_CLASS.findall(source) or [b""])
        return _blank(match) if constructed is None or constructed in classes else match[0]

    block = _MACRO_ALONE_ON_LINE.sub(
        lambda match: b" " * len(match[0].rstrip(b"\r")) + b"\r" * match[0].endswith(b"\r"), block
    )
    block = _AS_TYPE.sub(lambda match: b"int" + b" " * (len(match["macro"]) - 3), block)
    for pattern in (_ACCESS_LABEL, _CALL_LINE) if _has_access_label(block) else (_CALL_LINE,):
        block = pattern.sub(_blank, block)
    block = _MACRO_LINE.sub(_blank_line, block)
    for _ in range(_MAX_BEFORE_DECLARATION):
        before, block = block, _BEFORE_DECLARATION.sub(in_front, block)
        if block == before:
            break
    if b"_MACRO" in block:
        block = _CALL_PREVENTION.sub(_blank, block)
    block = _ABOVE_FUNCTION_NAME.sub(_blank_after_type, block)
    for pattern in (_BETWEEN_TYPE_AND_NAME, _BEFORE_CLASS_NAME, _AFTER_NAME, _AFTER_PARAMETERS):
        block = pattern.sub(_blank, block)
    return _restore_directives(block, whole) if block != whole else block


def _blank_line(match: re.Match[bytes]) -> bytes:
    """Blanks out a line that belongs to the declaration below, or stands for struct members: `LIB_PRIVATE_FIELDS`."""
    block, start, end = match.string, match.start(), match.end()
    if _DECLARATION_BELOW.match(block, end):
        return _blank(match)
    is_last = _END_BELOW.match(_COMMENT.sub(b"", block[end : end + _MAX_CONTEXT]))
    if is_last and _MEMBERS_ABOVE.search(_COMMENT.sub(b"", block[max(0, start - _MAX_CONTEXT) : start])):
        return _blank(match)
    return match[0]


def _has_access_label(block: bytes) -> bool:
    at = block.find(b":\n")
    while at > 0:
        if block[at - 1 : at].isupper() or block[at - 1] == _UNDERSCORE:
            return True
        at = block.find(b":\n", at + 1)
    return any(part in block for part in (b":\r", b"signals:", b"slots:", b"SLOTS:"))


_UNDERSCORE = ord("_")
_DIRECTIVE = re.compile(rb"#[ \t]*(?:define|if|elif|undef)\b(?:[^\n\\]|\\\r?\n|\\.)*")


def _restore_directives(covered: bytes, block: bytes) -> bytes:
    """Restores directives, in which a macro is no part of a declaration."""
    pieces: list[bytes] = []
    end = 0
    for match in _DIRECTIVE.finditer(block):
        pieces += covered[end : match.start()], match[0]
        end = match.end()
    return b"".join((*pieces, covered[end:]))


_NOT_TYPES = frozenset(
    b"static inline extern const volatile register unsigned signed struct union enum".split()
)


def _blank_after_type(match: re.Match[bytes]) -> bytes:
    words = match["before"].replace(b"*", b" ").split()
    return _blank(match) if any(word not in _NOT_TYPES for word in words) else match[0]


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.start("macro") - match.start(), match.end("macro") - match.start()
    return match[0][:start] + _NOT_BLANK.sub(b" ", match["macro"]) + match[0][end:]
