"""Describes Objective-C and Objective-C++ for maps of files: classes between `@interface` or `@implementation` and
`@end`, with C around them."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    LanguageDescription,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    name_by_child_type,
    word_set,
)
from tools.filemap.languages.c_macros import blank_c_macros, blank_macro_match, make_nested_arguments_regex
from tools.filemap.languages.cfamily import C_LANGUAGE, find_declared_c_name_node
from tools.filemap.map_deadline import MapDeadline

_NOT_BLANK_PATTERN = re.compile(rb"\S")
_OBJC_CLASS_BLOCK_PATTERN = re.compile(
    rb"^(?:[A-Z][A-Z0-9_]+[ \t]*\r?\n)*[ \t]*@(?:interface|implementation|protocol)\b(?![^\n]*;[ \t]*\r?$)"
    rb".*?^[ \t]*@end\b",
    re.M | re.S,
)
_OBJC_MACRO_METHOD_PATTERN = re.compile(
    rb"^(?P<macro>[A-Z][A-Z0-9_]+\()(?P<before>(?:[ \t]*\w+[ \t]*,\s*)?)"
    rb"(?P<said>\w+(?:[ \t]*:[^{};]*?)?)(?P<close>\)[ \t]*)(?=\s*\{)",
    re.M,
)
"""Matches `RCT_EXPORT_METHOD(play:(NSString *)song) {`, whose argument is a method's head."""
_OBJC_MACRO_LINE_PATTERN = re.compile(rb"^[A-Z][A-Z0-9_]+(?:\([^(){};]*\))?[ \t]*;?[ \t]*\r?$", re.M)
_OBJC_MACRO_AFTER_DECLARATION_PATTERN = re.compile(
    rb"\s(?<=[\w*)].)\s*(?P<macro>[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:"
    + make_nested_arguments_regex(rb"[^()\n]")
    + rb")?)(?=\s*[{;])"
)
"""Matches `- (void)play:(Song *)song LIB_AVAILABLE(ios(10)) {`, and the same after a property."""
_PLACEHOLDER_METHOD_HEAD = b"- (void)"


def _blank_objc_macros(source: bytes, watch: MapDeadline) -> bytes:
    """Replaces project macros between Objective-C methods: those that define a method by a method head, others by
    spaces."""
    return blank_c_macros(
        _OBJC_CLASS_BLOCK_PATTERN.sub(lambda match: _blank_objc_macros_in_block(match[0]), source), watch
    )


_METHOD_BODY_PATTERN = re.compile(
    rb"^(?P<head>[-+][^;{}]*\{[ \t]*\r?\n)(?P<body>(?:(?![-+@}#])[^\n]*\n)+)(?=\})", re.M
)
"""Matches a method whose body the map does not need, and whose C++ or new syntax the grammar may not know."""


def _blank_objc_macros_in_block(block: bytes) -> bytes:
    def as_head(match: re.Match[bytes]) -> bytes:
        room = len(match["macro"]) + len(match["before"])
        if room < len(_PLACEHOLDER_METHOD_HEAD):
            return match[0]
        head = (
            _PLACEHOLDER_METHOD_HEAD + b" " * (room - len(_PLACEHOLDER_METHOD_HEAD))
            if b"\n" not in match["before"]
            else match["macro"] + match["before"]
        )
        return head + match["said"] + b" " * len(match["close"])

    block = _METHOD_BODY_PATTERN.sub(
        lambda match: match["head"] + _NOT_BLANK_PATTERN.sub(b" ", match["body"]), block
    )
    block = _OBJC_MACRO_LINE_PATTERN.sub(
        lambda match: _NOT_BLANK_PATTERN.sub(b" ", match[0]), _OBJC_MACRO_METHOD_PATTERN.sub(as_head, block)
    )
    return _OBJC_MACRO_AFTER_DECLARATION_PATTERN.sub(blank_macro_match, block)


_CPP_NAMESPACE_PATTERN = re.compile(rb"(?<![\w:])(?:[A-Za-z_]\w*::)+(?=[A-Za-z_])")


def _keep_only_objc_classes(source: bytes, watch: MapDeadline) -> bytes:
    """Returns an Objective-C++ source with everything but its classes blanked out, and with C++ types named without
    their namespace."""
    own = split_objective_c(source)[0]
    if b"::" in own:
        own = _CPP_NAMESPACE_PATTERN.sub(lambda match: b" " * len(match[0]), own)
    return _blank_objc_macros(own, watch)


def split_objective_c(source: bytes) -> tuple[bytes, bytes]:
    """Splits an Objective-C++ source into its Objective-C parts and the C++ around them, each with spaces in place of
    the other."""
    own, around = bytearray(_NOT_BLANK_PATTERN.sub(b" ", source)), bytearray(source)
    for match in _OBJC_CLASS_BLOCK_PATTERN.finditer(source):
        first, last = match.span()
        own[first:last] = source[first:last]
        around[first:last] = _NOT_BLANK_PATTERN.sub(b" ", match[0])
    return bytes(own), bytes(around)


def _name_objc_method(node: Node, place: SyntaxNodeContext) -> str | None:
    """Returns the symbol name of an Objective-C method, its selector: that of `- (void)setX:(int)x forY:(int)y` is
    setX:forY:."""
    names = [child for child in node.named_children if child.type == "identifier"]
    parts = [place.text(name) for name in names]
    if not parts:
        return None
    if len(parts) == 1:
        has_argument = any(child.type == "method_parameter" for child in node.named_children)
        return parts[0] + (":" if has_argument else "")
    return ":".join(parts) + ":"


def _name_objc_property(node: Node, place: SyntaxNodeContext) -> list[Node] | str | None:
    declared = first_child_of_types(node, "struct_declaration")
    names = _name_objc_variables(declared, place) if declared is not None else None
    if names:
        return names
    line = first_line_of_node_without_body(node, place, 200, until=";")
    match = re.search(r"(\w+)\s*$", line.split(" NS_")[0].split(" API_")[0])
    return match.group(1) if match else None


def _name_objc_class(node: Node, place: SyntaxNodeContext) -> str | None:
    name = first_child_of_types(node, "identifier")
    if name is None:
        return None
    category = node.child_by_field_name("category")
    return place.text(name) + (f" ({place.text(category)})" if category is not None else "")


def _name_objc_variables(node: Node, _place: SyntaxNodeContext) -> list[Node] | None:
    """Returns the symbol names of the instance variables of an Objective-C class: `@interface A { int _count; }`."""
    declared = (child for child in node.named_children if child.type == "struct_declarator")
    return [
        name for each in declared if (name := find_declared_c_name_node(first_named_child(each))) is not None
    ] or None


_OBJC_RULES = {
    **C_LANGUAGE.node_rules,
    "class_interface": SyntaxNodeRule("class", _name_objc_class),
    "class_implementation": SyntaxNodeRule("implementation", _name_objc_class),
    "protocol_declaration": SyntaxNodeRule("protocol", name_by_child_type("identifier")),
    "method_declaration": SyntaxNodeRule("method", _name_objc_method, is_leaf=True),
    "method_definition": SyntaxNodeRule("method", _name_objc_method, is_leaf=True),
    "property_declaration": SyntaxNodeRule("property", _name_objc_property, is_leaf=True),
    "struct_declaration": SyntaxNodeRule("field", _name_objc_variables, is_leaf=True),
}


def _objc_language(name: str, called: str, *, is_mixed: bool) -> LanguageDescription:
    return LanguageDescription(
        name=name,
        display_name=called,
        grammar_name="objc",
        node_rules=_OBJC_RULES,
        entered_nodes=C_LANGUAGE.entered_nodes
        | word_set(
            "implementation_definition qualified_protocol_interface_declaration instance_variables instance_variable"
        ),
        import_rules=C_LANGUAGE.import_rules,
        modifier_words=C_LANGUAGE.modifier_words,
        has_type_before_name=True,
        definition_filter=C_LANGUAGE.definition_filter,
        prepare_source=_keep_only_objc_classes if is_mixed else _blank_objc_macros,
        finish_symbols=C_LANGUAGE.finish_symbols,
    )


OBJC_LANGUAGE = _objc_language("objc", "Objective-C", is_mixed=False)
OBJCPP_LANGUAGE = _objc_language("objcpp", "Objective-C++", is_mixed=True)
"""The description of Objective-C++. Its C++ parts, which the grammar does not know, are outlined separately
(`tools.filemap.embedded_code`)."""

LANGUAGE_DESCRIPTIONS = (OBJC_LANGUAGE, OBJCPP_LANGUAGE)
