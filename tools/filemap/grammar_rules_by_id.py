"""Translates the names of node types and fields in a language's description into the numbers of its grammar: built
once, used at every node."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tree_sitter import Language as Grammar

from tools.filemap.language_description import LanguageDescription, SymbolNameRule, SyntaxNodeRule
from tools.filemap.languages.language_registry import language_named
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar

_ERROR_NODE_ID = 0xFFFF


class SyntaxNodeRuleById(NamedTuple):
    """A rule for a type of syntax node, with fields given as numbers of the grammar (0: the grammar has no such
    field)."""

    name_field_id: int
    name_rule: SymbolNameRule | None
    body_field_id: int
    value_field_id: int
    kind: str
    node_type: str
    is_leaf: bool


class LanguageRulesById(NamedTuple):
    """The description of a language with node types as numbers of its grammar."""

    language: LanguageDescription
    grammar: Grammar
    node_type_names: dict[int, str]
    rules: dict[int, SyntaxNodeRuleById]
    entered_node_ids: frozenset[int]
    wrapper_node_ids: frozenset[int]
    attribute_node_ids: frozenset[int]
    import_rules: dict[int, str | SymbolNameRule]
    attached_node_ids: frozenset[int]


@cache
def _node_ids_by_type(grammar_name: str) -> dict[str, list[int]]:
    grammar = load_tree_sitter_grammar(grammar_name)
    ids: dict[str, list[int]] = {}
    for number in range(grammar.node_kind_count):
        kind = grammar.node_kind_for_id(number)
        if kind and grammar.node_kind_is_named(number):
            ids.setdefault(kind, []).append(number)
    return ids


@cache
def _node_types_by_id(grammar_name: str) -> dict[int, str]:
    """Returns the names of a grammar's node types, indexed by their numbers."""
    grammar = load_tree_sitter_grammar(grammar_name)
    names = {number: grammar.node_kind_for_id(number) or "" for number in range(grammar.node_kind_count)}
    return {**names, _ERROR_NODE_ID: "ERROR"}


@cache
def make_language_rules_by_id(name: str) -> LanguageRulesById:
    """Translates a language's description into the node type numbers of its grammar."""
    language = language_named(name)
    ids, grammar = _node_ids_by_type(language.grammar), load_tree_sitter_grammar(language.grammar)

    def numbers(kinds: Iterable[str]) -> frozenset[int]:
        return frozenset(number for kind in kinds for number in ids.get(kind, ()))

    return LanguageRulesById(
        language=language,
        grammar=grammar,
        node_type_names=_node_types_by_id(language.grammar),
        rules={
            number: _node_rule_by_id(rule, kind, grammar)
            for kind, rule in language.node_rules.items()
            for number in ids.get(kind, ())
        },
        entered_node_ids=numbers(language.entered_nodes) | {_ERROR_NODE_ID},
        wrapper_node_ids=numbers(language.wrapper_nodes),
        attribute_node_ids=numbers(language.attribute_nodes),
        import_rules={
            number: rule for kind, rule in language.import_rules.items() for number in ids.get(kind, ())
        },
        attached_node_ids=numbers(language.comment_nodes) | numbers(language.attribute_nodes),
    )


def _node_rule_by_id(rule: SyntaxNodeRule, kind: str, grammar: Grammar) -> SyntaxNodeRuleById:
    def field(name: str) -> int:
        return (grammar.field_id_for_name(name) or 0) if name else 0

    return SyntaxNodeRuleById(
        name_field_id=field(rule.name_rule) if isinstance(rule.name_rule, str) else 0,
        name_rule=None if isinstance(rule.name_rule, str) else rule.name_rule,
        body_field_id=field(rule.body_field),
        value_field_id=field(rule.value_field),
        kind=rule.kind,
        node_type=kind,
        is_leaf=rule.is_leaf,
    )
