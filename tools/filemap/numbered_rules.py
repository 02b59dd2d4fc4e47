"""Translates a language's description into the numbers of its grammar: built once, used at every node."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tree_sitter import Language as Grammar

from tools.filemap.language_description import Language, NameRule, NodeRule
from tools.filemap.languages.registry import language_named
from tools.filemap.parsing import load_grammar

_ERROR_NODE = 0xFFFF


class NumberedRule(NamedTuple):
    """A rule for a syntax node whose fields are numbers of the grammar (0: the grammar has no such field)."""

    name: int
    name_rule: NameRule | None
    body: int
    value: int
    kind: str
    node_type: str
    is_leaf: bool


class NumberedRules(NamedTuple):
    """The description of a language with node types as numbers of its grammar."""

    language: Language
    grammar: Grammar
    types: dict[int, str]
    rules: dict[int, NumberedRule]
    enter: frozenset[int]
    wrappers: frozenset[int]
    between: frozenset[int]
    imports: dict[int, str | NameRule]
    attached: frozenset[int]


@cache
def _node_type_ids(grammar_name: str) -> dict[str, list[int]]:
    grammar = load_grammar(grammar_name)
    ids: dict[str, list[int]] = {}
    for number in range(grammar.node_kind_count):
        kind = grammar.node_kind_for_id(number)
        if kind and grammar.node_kind_is_named(number):
            ids.setdefault(kind, []).append(number)
    return ids


@cache
def _node_type_names(grammar_name: str) -> dict[int, str]:
    """Returns the names of a grammar's node types by number."""
    grammar = load_grammar(grammar_name)
    names = {number: grammar.node_kind_for_id(number) or "" for number in range(grammar.node_kind_count)}
    return {**names, _ERROR_NODE: "ERROR"}


@cache
def numbered_rules(name: str) -> NumberedRules:
    """Translates a language's description into the node type numbers of its grammar."""
    language = language_named(name)
    ids, grammar = _node_type_ids(language.grammar), load_grammar(language.grammar)

    def numbers(kinds: Iterable[str]) -> frozenset[int]:
        return frozenset(number for kind in kinds for number in ids.get(kind, ()))

    return NumberedRules(
        language=language,
        grammar=grammar,
        types=_node_type_names(language.grammar),
        rules={
            number: _number_rule(rule, kind, grammar)
            for kind, rule in language.rules.items()
            for number in ids.get(kind, ())
        },
        enter=numbers(language.enter) | {_ERROR_NODE},
        wrappers=numbers(language.wrappers),
        between=numbers(language.between),
        imports={number: rule for kind, rule in language.imports.items() for number in ids.get(kind, ())},
        attached=numbers(language.comments) | numbers(language.between),
    )


def _number_rule(rule: NodeRule, kind: str, grammar: Grammar) -> NumberedRule:
    def field(name: str) -> int:
        return (grammar.field_id_for_name(name) or 0) if name else 0

    return NumberedRule(
        name=field(rule.name) if isinstance(rule.name, str) else 0,
        name_rule=None if isinstance(rule.name, str) else rule.name,
        body=field(rule.body),
        value=field(rule.value),
        kind=rule.kind,
        node_type=kind,
        is_leaf=rule.is_leaf,
    )
