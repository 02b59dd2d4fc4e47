"""Parses a source with its tree-sitter grammar and collects the symbols; a source that the grammar cannot parse is
simplified and parsed again."""

from functools import partial
from typing import NamedTuple

from tree_sitter import Node

from tools.filemap.grammar_rules_by_id import make_language_rules_by_id
from tools.filemap.language_description import FoundSymbol, LanguageDescription
from tools.filemap.languages.test_titles import (
    TEST_TITLE_PATTERN_BY_LANGUAGE,
    add_test_symbols,
    find_titled_tests,
)
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.symbol_list_changes import add_route_symbols
from tools.filemap.tree_sitter_parsing import parse_source_with_grammar
from tools.filemap.tree_walk import SymbolCollectingTreeWalk


class SourceOutline(NamedTuple):
    """The symbols and imports of one source."""

    symbols: list[FoundSymbol]
    imports: list[str]
    has_syntax_errors: bool


def outline_with_grammar(language: LanguageDescription, source: bytes, watch: MapDeadline) -> SourceOutline:
    """Returns the symbols and imports of a source in a language with a grammar. Raises `FileMapTimeLimitReached` or
    `FileMapCancelled`."""
    prepared = language.prepare_source(source, watch) if language.prepare_source is not None else source
    plan, imports = make_language_rules_by_id(language.name), list[str]()
    walk = SymbolCollectingTreeWalk(plan, source, watch, imports)
    tree = parse_source_with_grammar(plan.grammar, prepared, watch)
    walk.run(tree)
    has_errors = tree.root_node.has_error
    is_lost = has_errors and language.simplify_source is not None and _is_mostly_error(tree.root_node)
    titles = TEST_TITLE_PATTERN_BY_LANGUAGE.get(language.name)
    tests = (
        find_titled_tests(source, titles, partial(_is_in_string_or_comment, tree.root_node))
        if titles is not None
        else []
    )
    del tree  # for a large source, the largest object in memory
    drafts = walk.symbols
    if is_lost and language.simplify_source is not None:
        again = SymbolCollectingTreeWalk(plan, source, watch, imports)
        again.run(parse_source_with_grammar(plan.grammar, language.simplify_source(prepared, watch), watch))
        if len(again.symbols) > len(drafts):
            drafts = again.symbols
    if has_errors and language.recover_symbols is not None:
        drafts = language.recover_symbols(drafts, prepared)
    if language.finish_symbols is not None:
        drafts = language.finish_symbols(drafts, source)
    if language.find_routes is not None:
        drafts = add_route_symbols(drafts, source, language.find_routes(source))
    return SourceOutline(add_test_symbols(drafts, tests), imports, has_errors)


def _is_mostly_error(root: Node) -> bool:
    """Returns whether a syntax error covers most of the source, so that the tree is of no use."""
    half = root.end_byte // 2
    # `Node.first_child_for_byte` may crash the interpreter where no child contains the byte.
    return root.is_error or any(
        child.is_error and child.end_byte - child.start_byte > half for child in root.children
    )


def _is_in_string_or_comment(root: Node, place: int) -> bool:
    """Returns whether a byte position of a source is within a string or a comment."""
    node = root.descendant_for_byte_range(place, place + 1)
    while node is not None and not node.is_error:
        if node.start_byte < place and any(word in node.type for word in _STRING_OR_COMMENT_NODE_WORDS):
            return True
        node = node.parent
    return False


_STRING_OR_COMMENT_NODE_WORDS = ("string", "comment", "heredoc", "pod")
