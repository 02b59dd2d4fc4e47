"""What opens the body of a function in languages with braces, and what in such a body would be a symbol."""

import re

from tools.filemap.bodies import Bodies

_STATEMENTS = (
    rb"(?:if|for|while|switch|catch|with|return|else|do|try|finally|throw|await|yield|new|typeof|case"
    rb"|default)\b"
)


def _head(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?P<indent>[ \t]*)(?:" + pattern + rb")", re.S)


_JS_HEAD = _head(
    rb"\)|" + _STATEMENTS + rb"|(?:const|let|var|export|default)\b.*(?:=>[ \t]*|\bfunction\b.*\).*)$|"
    rb"(?!(?:class|interface|namespace|module|enum|type|declare|abstract|const|let|var|export|default)\b)"
    rb"[^/*{}\s].*(?:\)[^=(]*|=>[ \t]*)$"
)
_JS_LINE = re.compile(
    rb"\n[ \t]*(?:(?:export[ \t]+|declare[ \t]+|const[ \t]+)*(?:interface|enum|namespace|module|type)[ \t]+[\w$]"
    rb"|(?:describe|it|test|suite|context|before\w*|after\w*)(?:\.\w+)?[ \t]*\()"
)
_JS_METHOD = re.compile(
    rb"^[ \t]*(?:(?:async|get|set|static)[ \t]+)*(?!"
    + _STATEMENTS
    + rb")[*#]?[\w$\"']+[ \t]*\([^\n]*\)[^=]*$"
)
_JS_ONE_LINE = re.compile(
    rb"^[ \t]*(?:(?:async|get|set|static)[ \t]+)*(?!" + _STATEMENTS + rb")[*#]?[\w$\"']+[ \t]*\([^\n)]*$"
)
_JS_ARROW = re.compile(rb"[=:][ \t]*(?:async[ \t]*)?(?:<[^\n]*>[ \t]*)?(?:[\w$]+[ \t]*$|\()|^[ \t]*[})]")


def _js_defines(source: bytes, start: int, end: int) -> bool:
    """Methods of objects, arrow functions with a name, types, tests. `items.map(item => item.name)` is none of them."""
    if _JS_LINE.search(source, start, end):
        return True
    for mark, pattern in (
        (b"{\n", _JS_METHOD),
        (b"{\r\n", _JS_METHOD),
        (b") { ", _JS_ONE_LINE),
        (b"=>", _JS_ARROW),
    ):
        at = source.find(mark, start, end)
        while at >= 0:
            if pattern.search(source[source.rfind(b"\n", start, at) + 1 : at]):
                return True
            at = source.find(mark, at + 2, end)
    return False


JS_BODIES = Bodies(head=_JS_HEAD, defines=_js_defines, words=(b"function", b"class "))

GO_BODIES = Bodies(head=re.compile(rb"(?P<indent>)(?:func\b|\)|var\b)"))

_RUST_ITEM = re.compile(
    rb"\n[ \t]*(?:(?:pub(?:\([^)\n]*\))?|async|const|unsafe|extern)[ \t]+)*"
    rb"(?:fn|struct|enum|union|trait|impl|mod|const|static|type|macro_rules!|use|extern)[ \t<]"
)
RUST_BODIES = Bodies(
    head=_head(
        rb"(?:(?:pub(?:\([^)\n]*\))?|async|const|unsafe|extern(?:[ \t]+\"[^\"\n]*\")?|default)[ \t]+)*fn\b|\)"
    ),
    defines=lambda source, start, end: _RUST_ITEM.search(source, start, end) is not None,
)

_C_HEAD = (
    _STATEMENTS + rb"|[-+][ \t]*\(|(?!(?:struct|class|union|enum|namespace|extern|typedef|@\w+)\b)"
    rb"[^#/*{}:\s].*\)(?:[ \t]*(?:const|noexcept|override|final|volatile|&{1,2}))*[ \t\r]*$"
)
C_BODIES = Bodies(
    head=_head(_C_HEAD),
    before=_head(_C_HEAD),
    words=(b"namespace ", b"public:", b"private:", b"@end", b"#include"),
)

_NO_TYPE = rb"(?!.*\b(?:class|interface|enum|record|struct|namespace|new|object)\b)"
JAVA_BODIES = Bodies(
    head=_head(_NO_TYPE + rb"(?:[\w@<>\[\],.?&]+[ \t]+)+\w+[ \t]*\(.*\)[ \t]*(?:throws[ \t][\w., \t]+)?$")
)
CSHARP_BODIES = Bodies(
    head=JAVA_BODIES.head,
    before=re.compile(
        rb"[ \t]*" + _NO_TYPE + rb"(?:[\w@<>\[\],.?&]+[ \t]+)+[\w<>, ]+[ \t]*\(.*\)[ \t\r]*$", re.S
    ),
)
KOTLIN_BODIES = Bodies(head=_head(rb"(?!.*\b(?:class|interface|object)\b).*\bfun\b"))
SWIFT_BODIES = Bodies(
    head=_head(
        rb"(?!.*\b(?:class|struct|enum|extension|protocol|actor)\b[ \t]+[A-Z]).*\b(?:func|init|deinit)\b|\)"
    )
)
SCALA_BODIES = Bodies(head=_head(rb"(?!.*\b(?:class|trait|object|enum)\b).*\bdef\b.*=[ \t]*$"))
PHP_BODIES = Bodies(
    head=_head(rb".*\bfunction\b.*\)"),
    before=re.compile(rb".*\bfunction\b.*\)"),
    words=(b"function ", b"class ", b"<<<", b"?>"),
)
PERL_BODIES = Bodies(
    head=re.compile(rb"(?P<indent>[ \t]*)sub[ \t]+\w+[^#\n]*$"),
    words=(b"<<", b"\n="),
    table=re.compile(rb"^(?:our[ \t]+|my[ \t]+)?[%@$][\w:]+[ \t]*=[ \t]*[({](?=[ \t\r]*\n)", re.M),
)
