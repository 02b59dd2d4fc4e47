"""Declarations with comments, texts and errors around them."""

import pytest

from tools.filemap.file_mapper import make_file_map_of_text


@pytest.mark.parametrize("text", ["var text = `\n{}`\n", "/*\n{}*/\n"])
def test_what_stands_in_a_text_or_a_comment_is_no_declaration(text: str) -> None:
    inside = "type Told struct {\n\tName string\n}\n\nfunc (t *Told) Get() {\n\n}\n"
    source = "package a\n\n" + text.format(inside) + "\nfunc After() {\n\n}\n"
    assert {symbol.name for symbol in make_file_map_of_text(source.encode(), "a.go").symbols} - {"text"} == {
        "After"
    }


def test_members_of_something_lost_in_an_error_come_from_the_grammar() -> None:
    source = "func broken( {\n" + "type (\n\tLost struct {\n\t\tName string\n\t}\n)\n"
    names = [symbol.name for symbol in make_file_map_of_text(source.encode(), "a.go").symbols]
    assert len(names) == len(set(names))


def test_a_comment_at_the_end_of_a_line_belongs_to_that_line() -> None:
    source = "package a\n\nvar A = 1 // says A\nvar B = 2\n\n// Says C.\nvar C = 3\n"
    docs = {symbol.name: symbol.doc for symbol in make_file_map_of_text(source.encode(), "a.go").symbols}
    assert docs == {"A": "", "B": "", "C": "Says C."}


def test_each_name_of_a_group_tells_whether_it_is_exported() -> None:
    source = "package a\n\nconst (\n\tFirst = 1\n\tsecond = 2\n\tThird = 3\n)\n"
    exported = [
        symbol.name for symbol in make_file_map_of_text(source.encode(), "a.go").symbols if symbol.is_exported
    ]
    assert exported == ["First", "Third"]
