"""Describes HTML, Vue, Svelte and CSS for maps of files. SCSS has a scanner (`scanners.styles`)."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    MAX_OUTLINED_LINE_BYTES_OF_SCRIPTS,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    last_named_child,
    name_by_child_type,
    word_set,
)
from tools.filemap.one_line_text import MAX_SIGNATURE_CHARS, shorten_to_one_line

_HTML_LANDMARK_TAGS = word_set(
    "html head body main nav header footer section article aside form table template dialog fieldset"
)
_CSS_COMMENT_PATTERN = re.compile(rb"/\*.*?\*/", re.S)
_HTML_HEADING_TAGS = word_set("h1 h2 h3 h4 h5 h6")


def _find_start_tag(node: Node) -> Node | None:
    first = first_named_child(node)
    return first if first is not None and first.type in ("start_tag", "self_closing_tag") else None


def _read_tag_attributes(tag: Node, place: SyntaxNodeContext) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in tag.named_children[1:12]:
        if part.type == "attribute":
            name, value = first_named_child(part), last_named_child(part)
            if name is not None and value is not None:
                found[place.text(name)] = place.text(value).strip("\"'")
    return found


def _name_html_element(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    tag = _find_start_tag(node)
    named = first_named_child(tag) if tag is not None else None
    if tag is None or named is None:
        return None
    name = place.text(named)
    if name.lower() in _HTML_HEADING_TAGS:
        text = " ".join(place.source_between(tag.end_byte, min(node.end_byte, tag.end_byte + 300)).split())
        plain = "".join(part.split(">", 1)[-1] for part in text.split("<") if not part.startswith("/h"))
        label = " ".join(plain.split())[:80] or name
        return [SymbolNameNode(label, "heading", f"{name} {label}")]
    attributes = _read_tag_attributes(tag, place)
    shown = name
    if attributes.get("id"):
        shown += "#" + attributes["id"]
    elif name == "form" and attributes.get("name"):
        shown += "." + attributes["name"]
    if shown != name or name.lower() in _HTML_LANDMARK_TAGS or "-" in name:
        return [SymbolNameNode(shown, "element", shown)]
    return None


def _make_section_rule(word: str, kind: str = "section") -> SyntaxNodeRule:
    def name(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
        tag = _find_start_tag(node)
        attributes = _read_tag_attributes(tag, place) if tag is not None else {}
        about = attributes.get("lang") or attributes.get("type") or attributes.get("src", "")
        return [SymbolNameNode(word, kind, " ".join(part for part in (word, about) if part))]

    return SyntaxNodeRule(kind, name)


def _name_svelte_block(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
    line = first_line_of_node_without_body(node, place, 60, until="}").lstrip("{#")
    return [SymbolNameNode(line, "block", line)]


_HTML_RULES = {
    "element": SyntaxNodeRule("element", _name_html_element),
    "script_element": _make_section_rule("script"),
    "style_element": _make_section_rule("style"),
}
HTML_LANGUAGE = LanguageDescription(
    name="html",
    display_name="HTML",
    node_rules=_HTML_RULES,
    entered_nodes=word_set("document element"),
)
VUE_LANGUAGE = LanguageDescription(
    name="vue",
    node_rules={**_HTML_RULES, "template_element": _make_section_rule("template")},
    entered_nodes=word_set("document element template_element"),
)
SVELTE_LANGUAGE = LanguageDescription(
    name="svelte",
    node_rules={
        **_HTML_RULES,
        "if_statement": SyntaxNodeRule("block", _name_svelte_block),
        "each_statement": SyntaxNodeRule("block", _name_svelte_block),
        "await_statement": SyntaxNodeRule("block", _name_svelte_block),
        "snippet_statement": SyntaxNodeRule("block", _name_svelte_block),
    },
    entered_nodes=word_set("document element"),
)


def _name_css_at_rule(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    if first_child_of_types(node, "block", "keyframe_block_list") is None:
        return None
    line = first_line_of_node_without_body(node, place, 100).rstrip(";")
    return [SymbolNameNode(line, "", line)]


def _name_css_variable(node: Node, place: SyntaxNodeContext) -> Node | None:
    name = first_named_child(node)
    if name is None:
        return None
    text = place.source[name.start_byte : name.start_byte + 2]
    is_variable = text.startswith(b"$") or text == b"--"
    return name if is_variable and (place.ancestor_type() == "stylesheet" or text == b"--") else None


def _name_css_rule(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a CSS rule: all text before its block, including selectors that the grammar does
    not know."""
    block = first_child_of_types(node, "block")
    if block is None:
        return None
    text = _CSS_COMMENT_PATTERN.sub(b"", place.source[node.start_byte : block.start_byte]).decode(
        "utf-8", "replace"
    )
    selectors = shorten_to_one_line(text, MAX_SIGNATURE_CHARS)
    return [SymbolNameNode(selectors, "", selectors)]


CSS_LANGUAGE = LanguageDescription(
    name="css",
    display_name="CSS",
    node_rules={
        "rule_set": SyntaxNodeRule("rule", _name_css_rule),
        "media_statement": SyntaxNodeRule("media", _name_css_at_rule),
        "keyframes_statement": SyntaxNodeRule("keyframes", name_by_child_type("keyframes_name")),
        "supports_statement": SyntaxNodeRule("supports", _name_css_at_rule),
        "at_rule": SyntaxNodeRule("at-rule", _name_css_at_rule),
        "declaration": SyntaxNodeRule("variable", _name_css_variable, is_leaf=True),
    },
    entered_nodes=word_set("stylesheet block"),
    import_rules={
        "import_statement": lambda node, place: first_line_of_node_without_body(node, place, until=";").split(
            None, 1
        )[-1]
    },
    max_outlined_line_bytes=MAX_OUTLINED_LINE_BYTES_OF_SCRIPTS,
)

LANGUAGE_DESCRIPTIONS = (HTML_LANGUAGE, VUE_LANGUAGE, SVELTE_LANGUAGE, CSS_LANGUAGE)
