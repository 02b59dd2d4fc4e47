"""Macros of C and C++ that a grammar takes for something else, covered up before parsing. Positions stay the same."""

import re

from tools.filemap.scanners.lines import Blocks
from tools.filemap.watch import Watch

_NAME = rb"_{0,2}[A-Z][A-Z0-9]*_[A-Z0-9_]+"
_ARGUMENTS = rb"\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)"
_ALONE = re.compile(
    rb"^[ \t]*(?:[A-Z][A-Z0-9_]*(?:BEGIN|END|NAMESPACE|PUSH|POP|DIAG|DECLS|ENABLE|DISABLE|PRAGMA|WARN)[A-Z0-9_]*"
    rb"(?:" + _ARGUMENTS + rb")?|(?:Q_OBJECT|Q_GADGET))[ \t]*\r?$",
    re.M,
)
"""A line with nothing but `LIB_BEGIN_NAMESPACE`."""
_ABOVE = re.compile(
    rb"(?m:^)[ \t]*(?P<macro>"
    + _NAME
    + rb")(?=[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*[ \t]*(?!\w+[ \t]*\()[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[ \t\r\n*&]+[A-Za-z_~])"
)
"""`LIB_NODISCARD` on the line above a declaration."""
_CALL = re.compile(
    rb"(?m:^)[ \t]*(?P<macro>" + _NAME + _ARGUMENTS + rb")(?=[ \t]*(?://[^\n]*)?\r?\n(?!\s*[{:]))"
)
"""A line with nothing but `LIB_COMPARED(eq, ==)`, which no body follows."""
_IN_FRONT = re.compile(
    rb"(?m:^)(?P<before>[ \t]*(?:(?:static|inline|virtual|explicit|friend|constexpr|extern|template[ \t]*<[^<>\n]*>)"
    rb"[ \t]+)*)(?P<macro>" + _NAME + rb"(?:" + _ARGUMENTS + rb")?)"
    rb"(?=[ \t]+(?:static[ \t]|inline[ \t]|virtual[ \t]|constexpr[ \t]|explicit[ \t]|friend[ \t]|const[ \t]"
    rb"|class[ \t]|struct[ \t]|template[ \t]*<|[A-Za-z_]\w*::~?[A-Za-z_]\w*[ \t]*\("
    rb"|[A-Za-z_][\w:]*(?:<[^;{}()\n]*>)?(?:[ \t]+|[ \t]*[*&]+[ \t]*)[*&]*~?[A-Za-z_][\w:]*[ \t]*[(=;]))"
)
"""`LIB_API int f(…)`: in front of a whole declaration."""
_BETWEEN = re.compile(
    rb"[\w>*&](?<!define)[ \t]+(?P<macro>" + _NAME + rb")(?=[ \t]+~?[A-Za-z_][\w:]*[ \t]*\()"
)
"""`int LIB_CALL f(…)`."""
_IN_NAME = re.compile(
    rb"[cseu](?<![\w.].)(?:lass|truct|nion|num)(?P<macro>[ \t]+"
    + _NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?)(?=[ \t]+\w+[ \t\w:<>,]*[{:\r\n])"
)
"""`class LIB_EXPORT Name {`."""
_AS_TYPE = re.compile(
    rb"(?P<macro>[A-Z](?<![\w#].)[A-Z0-9]*_[A-Z0-9_]+" + _ARGUMENTS + rb")(?=[ \t]+[A-Za-z_~][\w:]*[ \t]*\()"
)
"""`LIB_ENABLE_IF((…), (int)) f(…)`: in place of a type."""
_AFTER_NAME = re.compile(
    rb"[cns](?<!\w.)(?:lass|truct|amespace)[ \t]+[A-Za-z_]\w*[ \t]+(?P<macro>"
    + _NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?)(?=\s*[{:])"
)
"""`namespace name LIB_VISIBILITY(default) {`."""
_BEHIND = re.compile(
    rb"\)(?:\s+(?:const|volatile|noexcept|override|final)\b)*\s+(?P<macro>"
    + _NAME
    + rb"(?:"
    + _ARGUMENTS
    + rb")?|\w+\((?=\()"
    + _ARGUMENTS
    + rb"\)(?=\s*;))(?=[ \t]*(?:[;{]|\r?\n))"
)
"""`f() LIB_NOEXCEPT {`, `f() lib_format((printf, 1, 2));`."""
_CANDIDATE = re.compile(rb"[A-Z]{2}")


def without_macros(source: bytes, watch: Watch) -> bytes:
    """The source with such macros as spaces."""
    pieces = []
    for _row, _start, block in Blocks(source, watch):
        pieces.append(_covered(block) if _CANDIDATE.search(block) else block)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _covered(block: bytes) -> bytes:
    block = _ALONE.sub(
        lambda match: b" " * len(match[0].rstrip(b"\r")) + b"\r" * match[0].endswith(b"\r"), block
    )
    block = _AS_TYPE.sub(lambda match: b"int" + b" " * (len(match["macro"]) - 3), block)
    for pattern in (_CALL, _ABOVE, _IN_FRONT, _BETWEEN, _IN_NAME, _AFTER_NAME, _BEHIND):
        block = pattern.sub(_blank, block)
    return block


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.start("macro") - match.start(), match.end("macro") - match.start()
    return match[0][:start] + b" " * (end - start) + match[0][end:]
