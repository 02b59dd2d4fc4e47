"""Describes HTML, Vue, Svelte and CSS for maps of files. SCSS has a scanner (`scanners.styles`)."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    MAX_LINE_BYTES_OF_SCRIPTS,
    Language,
    NamedNode,
    NodeContext,
    NodeRule,
    child_name_rule,
    child_of_type,
    first_line_of_node,
    first_named_child,
    last_named_child,
    word_set,
)
from tools.filemap.one_line_text import MAX_SIGNATURE_CHARS, shorten_to_one_line

_LANDMARK_TAGS = word_set(
    "html head body main nav header footer section article aside form table template dialog fieldset"
)
_CSS_COMMENT_PATTERN = re.compile(rb"/\*.*?\*/", re.S)
_HEADING_TAGS = word_set("h1 h2 h3 h4 h5 h6")


def _find_start_tag(node: Node) -> Node | None:
    first = first_named_child(node)
    return first if first is not None and first.type in ("start_tag", "self_closing_tag") else None


def _read_tag_attributes(tag: Node, place: NodeContext) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in tag.named_children[1:12]:
        if part.type == "attribute":
            name, value = first_named_child(part), last_named_child(part)
            if name is not None and value is not None:
                found[place.text(name)] = place.text(value).strip("\"'")
    return found


def _name_html_element(node: Node, place: NodeContext) -> list[NamedNode] | None:
    tag = _find_start_tag(node)
    named = first_named_child(tag) if tag is not None else None
    if tag is None or named is None:
        return None
    name = place.text(named)
    if name.lower() in _HEADING_TAGS:
        text = " ".join(place.source_between(tag.end_byte, min(node.end_byte, tag.end_byte + 300)).split())
        plain = "".join(part.split(">", 1)[-1] for part in text.split("<") if not part.startswith("/h"))
        label = " ".join(plain.split())[:80] or name
        return [NamedNode(label, "heading", f"{name} {label}")]
    attributes = _read_tag_attributes(tag, place)
    shown = name
    if attributes.get("id"):
        shown += "#" + attributes["id"]
    elif name == "form" and attributes.get("name"):
        shown += "." + attributes["name"]
    if shown != name or name.lower() in _LANDMARK_TAGS or "-" in name:
        return [NamedNode(shown, "element", shown)]
    return None


def _make_section_rule(word: str, kind: str = "section") -> NodeRule:
    def name(node: Node, place: NodeContext) -> list[NamedNode]:
        tag = _find_start_tag(node)
        attributes = _read_tag_attributes(tag, place) if tag is not None else {}
        about = attributes.get("lang") or attributes.get("type") or attributes.get("src", "")
        return [NamedNode(word, kind, " ".join(part for part in (word, about) if part))]

    return NodeRule(kind, name)


def _name_svelte_block(node: Node, place: NodeContext) -> list[NamedNode]:
    line = first_line_of_node(node, place, 60, until="}").lstrip("{#")
    return [NamedNode(line, "block", line)]


_HTML_RULES = {
    "element": NodeRule("element", _name_html_element),
    "script_element": _make_section_rule("script"),
    "style_element": _make_section_rule("style"),
}
HTML = Language(
    name="html",
    display_name="HTML",
    node_rules=_HTML_RULES,
    entered_nodes=word_set("document element"),
)
VUE = Language(
    name="vue",
    node_rules={**_HTML_RULES, "template_element": _make_section_rule("template")},
    entered_nodes=word_set("document element template_element"),
)
SVELTE = Language(
    name="svelte",
    node_rules={
        **_HTML_RULES,
        "if_statement": NodeRule("block", _name_svelte_block),
        "each_statement": NodeRule("block", _name_svelte_block),
        "await_statement": NodeRule("block", _name_svelte_block),
        "snippet_statement": NodeRule("block", _name_svelte_block),
    },
    entered_nodes=word_set("document element"),
)


def _name_css_at_rule(node: Node, place: NodeContext) -> list[NamedNode] | None:
    if child_of_type(node, "block", "keyframe_block_list") is None:
        return None
    line = first_line_of_node(node, place, 100).rstrip(";")
    return [NamedNode(line, "", line)]


def _name_css_variable(node: Node, place: NodeContext) -> Node | None:
    name = first_named_child(node)
    if name is None:
        return None
    text = place.source[name.start_byte : name.start_byte + 2]
    is_variable = text.startswith(b"$") or text == b"--"
    return name if is_variable and (place.ancestor_type() == "stylesheet" or text == b"--") else None


def _name_css_rule(node: Node, place: NodeContext) -> list[NamedNode] | None:
    """Returns the symbol name of a CSS rule: all text before its block, including selectors that the grammar does
    not know."""
    block = child_of_type(node, "block")
    if block is None:
        return None
    text = _CSS_COMMENT_PATTERN.sub(b"", place.source[node.start_byte : block.start_byte]).decode(
        "utf-8", "replace"
    )
    selectors = shorten_to_one_line(text, MAX_SIGNATURE_CHARS)
    return [NamedNode(selectors, "", selectors)]


CSS = Language(
    name="css",
    display_name="CSS",
    node_rules={
        "rule_set": NodeRule("rule", _name_css_rule),
        "media_statement": NodeRule("media", _name_css_at_rule),
        "keyframes_statement": NodeRule("keyframes", child_name_rule("keyframes_name")),
        "supports_statement": NodeRule("supports", _name_css_at_rule),
        "at_rule": NodeRule("at-rule", _name_css_at_rule),
        "declaration": NodeRule("variable", _name_css_variable, is_leaf=True),
    },
    entered_nodes=word_set("stylesheet block"),
    import_rules={
        "import_statement": lambda node, place: first_line_of_node(node, place, until=";").split(None, 1)[-1]
    },
    max_outlined_line_bytes=MAX_LINE_BYTES_OF_SCRIPTS,
)

LANGUAGES = (HTML, VUE, SVELTE, CSS)
