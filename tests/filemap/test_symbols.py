"""Finding a symbol by what people and models call it."""

import pytest

from tools.filemap.file_map import find_symbols_named
from tools.filemap.file_mapper import make_file_map_of_text

PYTHON = make_file_map_of_text(
    b"class Parser:\n    def parse(self): ...\n    class Error: ...\n\n"
    b"def parse(): ...\n\nclass Writer:\n    def parse(self): ...\n",
    "p.py",
)


def lines(name: str) -> list[int]:
    return [symbol.start_line for symbol in find_symbols_named(PYTHON, name)]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("parse", [2, 5, 8]),
        ("Parser.parse", [2]),
        ("Writer::parse", [8]),
        ("Writer#parse", [8]),
        ("Parser", [1]),
        ("Parser.Error", [3]),
        ("parser.PARSE", [2]),
        ("PARSER", [1]),
        ("Reader.parse", []),
        ("par", []),
        ("", []),
        (".", []),
    ],
)
def test_names_and_paths(name: str, found: list[int]) -> None:
    assert lines(name) == found


def test_names_that_have_dots_themselves() -> None:
    made = make_file_map_of_text(
        b"Emitter.prototype.on = function (name) {};\nexports.load = function () {};\n", "e.js"
    )
    assert [symbol.start_line for symbol in find_symbols_named(made, "Emitter.prototype.on")] == [1]
    assert [symbol.start_line for symbol in find_symbols_named(made, "on")] == [1]
    assert [symbol.start_line for symbol in find_symbols_named(made, "load")] == [2]


def test_a_method_is_found_by_its_receiver_wherever_it_stands() -> None:
    made = make_file_map_of_text(b"package p\n\nfunc (q *Queue) Push() {}\n\ntype Queue struct{}\n", "q.go")
    (push,) = find_symbols_named(made, "Queue.Push")
    assert push.start_line == 3


def test_a_declaration_and_its_definition_are_both_found() -> None:
    made = make_file_map_of_text(b"class A { int f(); };\n\nint A::f() {\n  return 1;\n}\n", "a.cpp")
    assert [(symbol.start_line, symbol.end_line) for symbol in find_symbols_named(made, "A::f")] == [
        (1, 1),
        (3, 5),
    ]


def test_decorators_can_be_read_along() -> None:
    made = make_file_map_of_text(b"@cache\n@other(1)\ndef f(): ...\n", "d.py")
    (found,) = find_symbols_named(made, "f")
    assert (found.decorator_line, found.start_line) == (1, 3)
    assert found.modifiers == ("exported", "@cache", "@other")
