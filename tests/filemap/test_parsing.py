"""What a parse leaves in memory."""

import sys

import pytest

from tools.filemap.languages.language_registry import language_named
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar, parse_source_with_grammar

SOURCES = {
    "python": "def run(a):\n    return a\n\n\n" * 2000,
    "go": "func Run() int {\n\treturn 1\n}\n\n" * 2000,
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_parsed_source_is_let_go(name: str) -> None:
    source = bytes(bytearray(SOURCES[name].encode()))
    grammar = load_tree_sitter_grammar(language_named(name).grammar)
    before = sys.getrefcount(source)
    parse_source_with_grammar(grammar, source, MapDeadline(60))
    assert sys.getrefcount(source) == before
