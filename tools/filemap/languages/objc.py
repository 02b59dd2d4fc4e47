"""Objective-C, and Objective-C++: classes between `@interface` or `@implementation` and `@end`, with C around them."""

import re

from tree_sitter import Node

from tools.filemap.language import (
    Language,
    NodeContext,
    NodeRule,
    child_of_type,
    first_of_types,
    header_line,
    word_set,
)
from tools.filemap.languages.cfamily import C
from tools.filemap.languages.macros import without_macros
from tools.filemap.watch import Deadline

_NOT_BLANK = re.compile(rb"\S")
_CLASS = re.compile(
    rb"^[ \t]*@(?:interface|implementation|protocol)\b(?![^\n]*;[ \t]*\r?$).*?^[ \t]*@end\b", re.M | re.S
)
_METHOD = re.compile(
    rb"^(?P<macro>[A-Z][A-Z0-9_]+\()(?P<before>(?:[ \t]*\w+[ \t]*,\s*)?)"
    rb"(?P<said>\w+(?:[ \t]*:[^{};]*?)?)(?P<close>\)[ \t]*)(?=\s*\{)",
    re.M,
)
"""Matches `RCT_EXPORT_METHOD(play:(NSString *)song) {`, whose argument is a method's head."""
_MACRO_LINE = re.compile(rb"^[A-Z][A-Z0-9_]+(?:\([^(){};]*\))?[ \t]*;?[ \t]*\r?$", re.M)
_METHOD_HEAD = b"- (void)"


def _without_project_macros(source: bytes, watch: Deadline) -> bytes:
    """Handles macros between methods: method heads are converted to one, others are blanked out."""
    return without_macros(_CLASS.sub(lambda match: _without_macros(match[0]), source), watch)


def _without_macros(block: bytes) -> bytes:
    def as_head(match: re.Match[bytes]) -> bytes:
        room = len(match["macro"]) + len(match["before"])
        if room < len(_METHOD_HEAD):
            return match[0]
        head = (
            _METHOD_HEAD + b" " * (room - len(_METHOD_HEAD))
            if b"\n" not in match["before"]
            else match["macro"] + match["before"]
        )
        return head + match["said"] + b" " * len(match["close"])

    return _MACRO_LINE.sub(lambda match: _NOT_BLANK.sub(b" ", match[0]), _METHOD.sub(as_head, block))


def _only_classes(source: bytes, watch: Deadline) -> bytes:
    return _without_project_macros(split_objective_c(source)[0], watch)


def split_objective_c(source: bytes) -> tuple[bytes, bytes]:
    """Returns the Objective-C parts and the text around them; each with the other as spaces."""
    own, around = bytearray(_NOT_BLANK.sub(b" ", source)), bytearray(source)
    for match in _CLASS.finditer(source):
        first, last = match.span()
        own[first:last] = source[first:last]
        around[first:last] = _NOT_BLANK.sub(b" ", match[0])
    return bytes(own), bytes(around)


def _selector(node: Node, place: NodeContext) -> str | None:
    """Names `- (void)setX:(int)x forY:(int)y` as setX:forY:."""
    names = [child for child in node.named_children if child.type == "identifier"]
    parts = [place.text(name) for name in names]
    if not parts:
        return None
    if len(parts) == 1:
        has_argument = any(child.type == "method_parameter" for child in node.named_children)
        return parts[0] + (":" if has_argument else "")
    return ":".join(parts) + ":"


def _property(node: Node, place: NodeContext) -> str | None:
    line = header_line(node, place, 200, until=";")
    match = re.search(r"(\w+)\s*$", line.split(" NS_")[0].split(" API_")[0])
    return match.group(1) if match else None


def _category(node: Node, place: NodeContext) -> str | None:
    name = child_of_type(node, "identifier")
    if name is None:
        return None
    category = node.child_by_field_name("category")
    return place.text(name) + (f" ({place.text(category)})" if category is not None else "")


_RULES = {
    **C.rules,
    "class_interface": NodeRule("class", _category),
    "class_implementation": NodeRule("implementation", _category),
    "protocol_declaration": NodeRule("protocol", first_of_types("identifier")),
    "method_declaration": NodeRule("method", _selector, is_leaf=True),
    "method_definition": NodeRule("method", _selector, is_leaf=True),
    "property_declaration": NodeRule("property", _property, is_leaf=True),
}


def _objc_language(name: str, called: str, *, is_mixed: bool) -> Language:
    return Language(
        name=name,
        display_name=called,
        grammar_name="objc",
        rules=_RULES,
        enter=C.enter | word_set("implementation_definition qualified_protocol_interface_declaration"),
        imports=C.imports,
        modifiers=C.modifiers,
        has_type_before_name=True,
        prepare=_only_classes if is_mixed else _without_project_macros,
        finish=C.finish,
    )


OBJC = _objc_language("objc", "Objective-C", is_mixed=False)
OBJCPP = _objc_language("objcpp", "Objective-C++", is_mixed=True)
"""The grammar does not know C++, which is mapped separately (`embedded`)."""

LANGUAGES = (OBJC, OBJCPP)
