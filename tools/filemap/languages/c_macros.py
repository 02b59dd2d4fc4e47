"""Blanks out macros of C and C++ that a grammar misinterprets, before parsing. Positions stay the same."""

import re

from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.source_lines import iterate_line_chunks

_MACRO_NAME_REGEX = rb"_{0,2}[A-Z][A-Z0-9]*_[A-Z0-9_]+"
_MAX_PARENTHESIS_NESTING = 5


def make_nested_arguments_regex(plain: bytes) -> bytes:
    """Returns a regular expression, as text, for parentheses that contain such characters and a few nested levels
    of parentheses."""
    inner = rb"\(" + plain + rb"*+\)"
    for _ in range(_MAX_PARENTHESIS_NESTING):
        inner = rb"\((?:" + plain + rb"++|" + inner + rb")*+\)"
    return inner


_MACRO_ARGUMENTS_REGEX = make_nested_arguments_regex(rb"[^()\n]")
_MACRO_ALONE_ON_LINE_PATTERN = re.compile(
    rb"^[ \t]*(?:[A-Z][A-Z0-9_]*(?:BEGIN|END|NAMESPACE|PUSH|POP|DIAG|DECLS|ENABLE|DISABLE|PRAGMA|WARN)[A-Z0-9_]*"
    rb"(?:" + _MACRO_ARGUMENTS_REGEX + rb")?|(?:Q_OBJECT|Q_GADGET))[ \t]*\r?$",
    re.M,
)
"""Matches a line with only `LIB_BEGIN_NAMESPACE`."""
_MACRO_LINE_PATTERN = re.compile(rb"(?m:^)[ \t]*(?P<macro>" + _MACRO_NAME_REGEX + rb")(?=[ \t]*\r?\n)")
_DECLARATION_BELOW_PATTERN = re.compile(
    rb"[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*[ \t]*(?!\w+[ \t]*\()[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[ \t\r\n*&]+[A-Za-z_~]"
)
"""Matches `LIB_NODISCARD` on the line above a declaration."""
_CONSTRUCTOR_BELOW_PATTERN = re.compile(
    rb"[ \t]*\r?\n[ \t]*(?:explicit[ \t]+)?~?(?P<name>[A-Za-z_]\w*)[ \t]*\("
)
_BODY_END_BELOW_PATTERN = re.compile(rb"\s*\}|[ \t]*\r?\n[ \t]*" + _MACRO_NAME_REGEX + rb"[ \t]*\r?\n")
_MEMBERS_ABOVE_PATTERN = re.compile(
    rb"(?:;|\b(?:struct|union|class)\b[^;{}()]*\{)(?:\s+" + _MACRO_NAME_REGEX + rb"(?=\s))*\s*\Z"
)
_MAX_MACRO_CONTEXT_BYTES = 400
_MACRO_CALL_LINE_PATTERN = re.compile(
    rb"(?m:^)[ \t]*(?P<macro>"
    + _MACRO_NAME_REGEX
    + rb"(?:"
    + make_nested_arguments_regex(rb"[^();{}]")
    + rb"[ \t]*;|"
    + _MACRO_ARGUMENTS_REGEX
    + rb"(?=[ \t]*(?://[^\n]*)?\r?\n(?!\s*[{:]))))"
)
"""Matches a line with only `LIB_COMPARED(eq, ==)`, without a body, or `LIB_ASSERT((a), "b");`."""
_DECLARATION_QUALIFIER_REGEX = (
    rb"(?:static|inline|virtual|explicit|friend|constexpr|const|typename|extern|class|struct"
    rb"|unsigned|signed)\s"
)
_MACRO_BEFORE_DECLARATION_PATTERN = re.compile(
    rb"(?m:^)(?P<before>[ \t]*(?:(?:static|inline|virtual|explicit|friend|constexpr|extern|template[ \t]*<[^<>\n]*>)"
    rb"[ \t]+)*)(?P<macro>" + _MACRO_NAME_REGEX + rb"(?:" + _MACRO_ARGUMENTS_REGEX + rb")?)"
    rb"(?=[ \t]+(?:"
    + _DECLARATION_QUALIFIER_REGEX
    + rb"|"
    + _MACRO_NAME_REGEX
    + rb"[ \t(]|template[ \t]*<|operator\b|[A-Za-z_]\w*::~?[A-Za-z_]\w*[ \t]*\("
    rb"|~?(?P<constructed>[A-Za-z_]\w*)[ \t]*\("
    rb"|[A-Za-z_][\w:]*(?:<[^;{}()\n]*>)?(?:[ \t]+|[ \t]*[*&]+[ \t]*)[*&]*(?:operator\b|~?[A-Za-z_][\w:]*[ \t]*[(=;])))"
)
"""Matches `LIB_API int f(…)`: before a whole declaration; before `Name(` only if a class has that name."""
_MAX_LEADING_MACROS = 3
_CLASS_NAME_PATTERN = re.compile(
    rb"\b(?:class|struct|union)[ \t]+(?:" + _MACRO_NAME_REGEX + rb"[ \t]+)?([A-Za-z_]\w*)"
)
_MACRO_AFTER_TYPE_PATTERN = re.compile(
    rb"[ \t](?<=[\w>*&].)(?<!define.)[ \t]*(?P<macro>"
    + _MACRO_NAME_REGEX
    + rb")(?=[ \t]+~?[A-Za-z_][\w:]*[ \t]*\()"
)
"""Matches `int LIB_CALL f(…)`."""
_MACRO_BEFORE_CLASS_PATTERN = re.compile(
    rb"[cseu](?<![\w.].)(?:lass|truct|nion|num)(?P<macro>[ \t]+"
    + _MACRO_NAME_REGEX
    + rb"(?:"
    + _MACRO_ARGUMENTS_REGEX
    + rb")?)(?=[ \t]+\w+[ \t\w:<>,]*[{:\r\n])"
)
"""Matches `class LIB_EXPORT Name {`."""
_MACRO_AS_TYPE_PATTERN = re.compile(
    rb"(?P<macro>[A-Z](?<![\w#].)[A-Z0-9]*_[A-Z0-9_]+"
    + _MACRO_ARGUMENTS_REGEX
    + rb")(?=[ \t]+[A-Za-z_~][\w:]*[ \t]*\()"
)
"""Matches `LIB_ENABLE_IF((…), (int)) f(…)`: in place of a type."""
_MACRO_AFTER_NAME_PATTERN = re.compile(
    rb"[cns](?<!\w.)(?:lass|truct|amespace)[ \t]+[A-Za-z_]\w*[ \t]+(?P<macro>"
    + _MACRO_NAME_REGEX
    + rb"(?:"
    + _MACRO_ARGUMENTS_REGEX
    + rb")?)(?=\s*[{:])"
)
"""Matches `namespace name LIB_VISIBILITY(default) {`."""
_MACRO_AFTER_PARAMETERS_PATTERN = re.compile(
    rb"\)(?:\s+(?:const|volatile|noexcept|override|final)\b)*\s+(?P<macro>"
    + _MACRO_NAME_REGEX
    + rb"(?:"
    + _MACRO_ARGUMENTS_REGEX
    + rb")?|\w+\((?=\()"
    + _MACRO_ARGUMENTS_REGEX
    + rb"\)(?=\s*;))(?=[ \t]*(?:[;{]|:(?!:)|=[ \t]*(?:default|delete|0)|\r?\n))"
)
"""Matches `f() LIB_NOEXCEPT {`, `f() lib_format((printf, 1, 2));`."""
_MACRO_AFTER_DECLARED_NAME_PATTERN = re.compile(
    rb"\s(?<=[\w\])].)\s*(?P<macro>" + _MACRO_NAME_REGEX + _MACRO_ARGUMENTS_REGEX + rb")(?=[ \t]*;)"
)
"""Matches `Type *name LIB_GUARDED_BY(mutex);`, if a declaration is before it."""
_DECLARED_NAME_PATTERN = re.compile(
    rb"[\w>*&][ \t]*(?<=[\s*&>])(?!(?:int|char|void|long|short|unsigned|signed|float|double|bool|\w+_t)\b)[A-Za-z_]\w*"
    rb"(?:\[[^\]\n]*\])*\s*\Z|\)\s*\Z"
)
_CALL_PREVENTION_PATTERN = re.compile(
    rb"\w[ \t]+(?P<macro>[A-Z]\w*(?:_MACRO_SUBSTITUTION|_NOT_A_MACRO))(?=[ \t]*\()"
)
"""Matches `int min LIB_PREVENT_MACRO_SUBSTITUTION ()`, which keeps a macro of that name from being called."""
_MACRO_ABOVE_FUNCTION_PATTERN = re.compile(
    rb"(?m:^)(?P<before>[A-Za-z_][\w \t*]*[\w*][ \t*]+)(?P<macro>[A-Z][A-Z0-9_]+)(?=[ \t]*\r?\n[a-z_]\w*[ \t]*\()"
)
"""Matches `static void EXPORTED` above a function name; if nothing else is its type, the macro is."""
_ACCESS_LABEL_PATTERN = re.compile(
    rb"^[ \t]*(?P<macro>(?:[A-Z][A-Z0-9_]+|signals)[ \t]*:(?=[ \t]*\r?$)"
    rb"|(?:public|private|protected)[ \t]+(?:[A-Z][A-Z0-9_]+|slots)[ \t]*:(?!:))",
    re.M,
)
"""Matches `LIB_PRIVATE_UNLESS_TESTED:`, `public Q_SLOTS:`: where members of other access begin."""
_MACRO_LIKE_CAPITALS_PATTERN = re.compile(rb"[A-Z]{2}")
_LINES_WITHOUT_DIRECTIVE_REGEX = rb"(?:(?![ \t]*#)[^\n]*\n)*+"
_CONDITIONAL_BRANCHES_PATTERN = re.compile(
    rb"(?m:^)[ \t]*#[ \t]*if[^\n]*\n(?P<first>"
    + _LINES_WITHOUT_DIRECTIVE_REGEX
    + rb")(?P<others>(?:[ \t]*#[ \t]*el(?:se|if)[^\n]*\n"
    + _LINES_WITHOUT_DIRECTIVE_REGEX
    + rb")+)[ \t]*#[ \t]*endif[^\n]*"
)
_MAX_CONDITIONAL_BRANCH_BYTES = 2000
_COMMENT_PATTERN = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_NOT_BLANK_PATTERN = re.compile(rb"\S")


def blank_c_macros(source: bytes, watch: MapDeadline) -> bytes:
    """Returns a C or C++ source in which macros that the grammar misinterprets are replaced by spaces."""
    source = _blank_namespace_macros(
        _expand_brace_macros(_blank_wrapper_conditions(_keep_first_branches(source, watch)))
    )
    source = _blank_member_pointer_classes(source).replace(b"(^", b"(*")
    if b"::" in source:  # in C, such values are of named members
        source = _BRACED_DEFAULT_PATTERN.sub(lambda match: _NOT_BLANK_PATTERN.sub(b" ", match[0]), source)
    pieces: list[bytes] = []
    for _row, _start, block in iterate_line_chunks(source, watch):
        pieces.append(
            _blank_macros_in_block(block, source) if _MACRO_LIKE_CAPITALS_PATTERN.search(block) else block
        )
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_BRACED_DEFAULT_PATTERN = re.compile(
    rb"=[ \t]*\{[^{}();\n]*\}(?=[ \t]*\)|[ \t]*,[ \t]*(?:const[ \t]+)?[A-Za-z_])"
)
"""Matches the default in `f(Token token = {})`."""
_MEMBER_POINTER_CLASS_PATTERN = re.compile(rb"\b[A-Za-z_]\w*(?:::\w+)*(?:<[^<>(){};]*>)?\Z")


def _blank_member_pointer_classes(source: bytes) -> bytes:
    """Blanks out the class in a C++ pointer to a member, `int Lib::*member`, which the grammar does not know in a list
    of parameters."""
    at = source.find(b"::*")
    if at < 0:
        return source
    covered = bytearray(source)
    while at >= 0:
        start = max(0, at - _MAX_MACRO_CONTEXT_BYTES)
        owner = _MEMBER_POINTER_CLASS_PATTERN.search(source[start:at])
        if owner is not None:
            first = start + owner.start()
            covered[first : at + 2] = _NOT_BLANK_PATTERN.sub(b" ", source[first : at + 2])
        at = source.find(b"::*", at + 3)
    return bytes(covered)


_DEFINE_DIRECTIVE_PATTERN = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(?P<name>[A-Za-z_]\w*)(?:\([^)\n]*\))?[ \t]+(?P<body>(?:[^\n\\]|\\\r?\n|\\.)*)",
    re.M,
)
_NAMESPACE_OR_EXTERN_PATTERN = re.compile(rb"\b(?:namespace|extern)\b")
_MAX_BRACE_MACROS = 50


def _expand_brace_macros(source: bytes) -> bytes:
    """Expands macros defined in a C or C++ source that open or close a brace; those that open a namespace are blanked
    out."""
    if b"define" not in source:
        return source
    braces: dict[bytes, bytes] = {}
    for match in _DEFINE_DIRECTIVE_PATTERN.finditer(source):
        body = match["body"]
        net = _count_open_braces(body) if b"{" in body or b"}" in body else 0
        if net in (1, -1) and len(braces) < _MAX_BRACE_MACROS:
            braces[match["name"]] = (
                b" " if _NAMESPACE_OR_EXTERN_PATTERN.search(body) else b"{" if net > 0 else b"}"
            )
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


_COMMENT_OR_LITERAL_PATTERN = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'", re.S
)


def _count_open_braces(text: bytes) -> int:
    """Counts the braces that a C or C++ text leaves open, ignoring literals and comments."""
    code = _COMMENT_OR_LITERAL_PATTERN.sub(b"", text)
    return code.count(b"{") - code.count(b"}")


_CONDITIONAL_BLOCK_PATTERN = re.compile(
    rb"#[ \t]*(?P<condition>if[^\n]*)\n(?P<body>"
    + _LINES_WITHOUT_DIRECTIVE_REGEX
    + rb")[ \t]*#[ \t]*endif[^\n]*",
    re.M,
)
_CLOSING_CONDITION_PATTERN = re.compile(rb"\}[^\n]*\n(?:[ \t\r]*\n)*[ \t]*#[ \t]*endif")
"""Matches the end of the second `#if` of a pair; a quick test, because most sources contain no such pair."""


_CONDITION_IN_LIST_PATTERN = re.compile(rb",[ \t]*(?://[^\n]*)?\r?\n[ \t]*#[ \t]*endif")
"""Matches the end of a condition around items of a list, such as initializers of a constructor."""


def _is_condition_in_list(body: bytes) -> bool:
    return _COMMENT_PATTERN.sub(b"", body).rstrip().endswith(b",") and _count_open_braces(body) == 0


def _blank_wrapper_conditions(source: bytes) -> bytes:
    """Blanks out C directives around what one `#if … #endif` opens and another closes, such as a namespace, and around
    items of a list."""
    if not _CLOSING_CONDITION_PATTERN.search(source) and not _CONDITION_IN_LIST_PATTERN.search(source):
        return source
    opened: dict[bytes, list[re.Match[bytes]]] = {}
    pairs: list[re.Match[bytes]] = []
    for match in _CONDITIONAL_BLOCK_PATTERN.finditer(source):
        body = match["body"]
        if len(body) <= _MAX_CONDITIONAL_BRANCH_BYTES and _is_condition_in_list(body):
            pairs.append(match)
            continue
        if len(body) > _MAX_CONDITIONAL_BRANCH_BYTES or body.count(b"{") == body.count(b"}"):
            continue
        net = _count_open_braces(body)
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
            covered[first:last] = _NOT_BLANK_PATTERN.sub(b" ", source[first:last])
    return bytes(covered)


_MACRO_OPENING_NAMESPACE_PATTERN = re.compile(
    rb"^" + _MACRO_NAME_REGEX + rb"[ \t]*\{[ \t]*(?://[^\n]*)?\r?$", re.M
)


def _blank_namespace_macros(source: bytes) -> bytes:
    """Blanks out a C++ macro that opens a namespace, `LIB_NAMESPACE {` at the left margin, and the brace at the margin
    that closes it."""
    opened = list(_MACRO_OPENING_NAMESPACE_PATTERN.finditer(source))
    if not opened:
        return source
    covered = bytearray(source)
    for match in opened:
        closed = _find_closing_brace_at_margin(source, match.end())
        if closed >= 0:
            covered[match.start() : match.end()] = _NOT_BLANK_PATTERN.sub(b" ", match[0])
            covered[closed : closed + 1] = b" "
    return bytes(covered)


_BRACE_AT_LEFT_MARGIN_PATTERN = re.compile(
    rb"^(?:\}|(?P<open>[^\s#/}][^\n]*\{[ \t]*(?://[^\n]*)?\r?$|\{))", re.M
)


def _find_closing_brace_at_margin(source: bytes, start: int) -> int:
    """Finds the brace at the left margin that closes a block; other lines are ignored, because macros inside of
    functions may be arbitrary."""
    depth = 1
    for match in _BRACE_AT_LEFT_MARGIN_PATTERN.finditer(source, start):
        depth += 1 if match["open"] is not None else -1
        if depth == 0:
            return match.start()
    return -1


def _keep_first_branches(source: bytes, watch: MapDeadline) -> bytes:
    """Keeps only the first branch of C's `#if … #else … #endif` around a part of a declaration, such as its head."""
    if b"else" not in source and b"elif" not in source:
        return source
    return b"".join(
        _CONDITIONAL_BRANCHES_PATTERN.sub(_keep_first_branch, block)
        for _row, _start, block in iterate_line_chunks(source, watch)
    )


def _keep_first_branch(match: re.Match[bytes]) -> bytes:
    first = match["first"]
    if len(first) > _MAX_CONDITIONAL_BRANCH_BYTES or not _is_partial_declaration(first):
        return match[0]
    begin, end = match.start("first") - match.start(), match.end("first") - match.start()
    whole = match[0]
    return _NOT_BLANK_PATTERN.sub(b" ", whole[:begin]) + first + _NOT_BLANK_PATTERN.sub(b" ", whole[end:])


def _is_partial_declaration(text: bytes) -> bool:
    """Returns whether a C or C++ text contains a part of a declaration, not whole declarations only."""
    code = _COMMENT_PATTERN.sub(b"", text).strip()
    if not code:
        return False
    return code.count(b"{") != code.count(b"}") or code[:1] in b":{" or code[-1:] not in b";},:\\"


def _blank_macros_in_block(block: bytes, source: bytes) -> bytes:
    whole, classes = block, set[bytes]()

    def is_class(name: bytes) -> bool:
        if not classes:
            classes.update(_CLASS_NAME_PATTERN.findall(source) or [b""])
        return name in classes

    def in_front(match: re.Match[bytes]) -> bytes:
        constructed = match["constructed"]
        return blank_macro_match(match) if constructed is None or is_class(constructed) else match[0]

    def on_line(match: re.Match[bytes]) -> bytes:
        constructed = _CONSTRUCTOR_BELOW_PATTERN.match(match.string, match.end())
        is_part = constructed is not None and is_class(constructed["name"])
        return blank_macro_match(match) if is_part else _blank_macro_line(match)

    block = _MACRO_ALONE_ON_LINE_PATTERN.sub(
        lambda match: b" " * len(match[0].rstrip(b"\r")) + b"\r" * match[0].endswith(b"\r"), block
    )
    block = _MACRO_AS_TYPE_PATTERN.sub(lambda match: b"int" + b" " * (len(match["macro"]) - 3), block)
    block = _MACRO_AFTER_DECLARED_NAME_PATTERN.sub(_blank_macro_after_declaration, block)
    for pattern in (
        (_ACCESS_LABEL_PATTERN, _MACRO_CALL_LINE_PATTERN)
        if _has_access_label(block)
        else (_MACRO_CALL_LINE_PATTERN,)
    ):
        block = pattern.sub(blank_macro_match, block)
    block = _MACRO_LINE_PATTERN.sub(on_line, block)
    for _ in range(_MAX_LEADING_MACROS):
        before, block = block, _MACRO_BEFORE_DECLARATION_PATTERN.sub(in_front, block)
        if block == before:
            break
    if b"_MACRO" in block:
        block = _CALL_PREVENTION_PATTERN.sub(blank_macro_match, block)
    block = _MACRO_ABOVE_FUNCTION_PATTERN.sub(_blank_macro_after_type, block)
    for pattern in (
        _MACRO_AFTER_TYPE_PATTERN,
        _MACRO_BEFORE_CLASS_PATTERN,
        _MACRO_AFTER_NAME_PATTERN,
        _MACRO_AFTER_PARAMETERS_PATTERN,
    ):
        block = pattern.sub(blank_macro_match, block)
    return _restore_directives(block, whole) if block != whole else block


def _blank_macro_line(match: re.Match[bytes]) -> bytes:
    """Blanks out a line with only a C macro that belongs to the declaration below, or stands for struct members:
    `LIB_PRIVATE_FIELDS`."""
    block, start, end = match.string, match.start(), match.end()
    if _DECLARATION_BELOW_PATTERN.match(block, end):
        return blank_macro_match(match)
    is_last = _BODY_END_BELOW_PATTERN.match(
        _COMMENT_PATTERN.sub(b"", block[end : end + _MAX_MACRO_CONTEXT_BYTES])
    )
    if is_last and _MEMBERS_ABOVE_PATTERN.search(
        _COMMENT_PATTERN.sub(b"", block[max(0, start - _MAX_MACRO_CONTEXT_BYTES) : start])
    ):
        return blank_macro_match(match)
    return match[0]


def _has_access_label(block: bytes) -> bool:
    at = block.find(b":\n")
    while at > 0:
        if block[at - 1 : at].isupper() or block[at - 1] == _UNDERSCORE_BYTE:
            return True
        at = block.find(b":\n", at + 1)
    return any(part in block for part in (b":\r", b"signals:", b"slots:", b"SLOTS:"))


_UNDERSCORE_BYTE = ord("_")
_DIRECTIVE_PATTERN = re.compile(rb"#[ \t]*(?:define|if|elif|undef)\b(?:[^\n\\]|\\\r?\n|\\.)*")


def _restore_directives(covered: bytes, block: bytes) -> bytes:
    """Restores preprocessor directives in which macros were blanked out, because there a macro is no part of a
    declaration."""
    pieces: list[bytes] = []
    end = 0
    for match in _DIRECTIVE_PATTERN.finditer(block):
        pieces += covered[end : match.start()], match[0]
        end = match.end()
    return b"".join((*pieces, covered[end:]))


_NON_TYPE_WORDS = frozenset(
    b"static inline extern const volatile register unsigned signed struct union enum".split()
)


def _blank_macro_after_declaration(match: re.Match[bytes]) -> bytes:
    start = match.start("macro")
    return (
        blank_macro_match(match)
        if _DECLARED_NAME_PATTERN.search(match.string[max(0, start - _MAX_MACRO_CONTEXT_BYTES) : start])
        else match[0]
    )


def _blank_macro_after_type(match: re.Match[bytes]) -> bytes:
    words = match["before"].replace(b"*", b" ").split()
    return blank_macro_match(match) if any(word not in _NON_TYPE_WORDS for word in words) else match[0]


def blank_macro_match(match: re.Match[bytes]) -> bytes:
    start, end = match.start("macro") - match.start(), match.end("macro") - match.start()
    return match[0][:start] + _NOT_BLANK_PATTERN.sub(b" ", match["macro"]) + match[0][end:]
