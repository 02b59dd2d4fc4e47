"""Data files show what they hold: keys of records, columns of tables, turns of sessions."""

import json

import pytest

from tools.filemap.file_map import FileMap, find_symbols_named
from tools.filemap.file_mapper import make_file_map_of_text
from tools.files.notebook_text import parse_notebook


def outline(made: FileMap) -> list[str]:
    return [f"{symbol.kind} {symbol.name}" for symbol in made.symbols]


def mapped(text: str, name: str) -> FileMap:
    return make_file_map_of_text(text.encode(), name, deadline_seconds=60)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shop.log", "2024-01-01 10:00:00 ERROR def run failed\n"),
        ("a.patch", "--- a\n+++ b\n@@ -1 +1 @@\n def run():\n"),
    ],
)
def test_logs_and_patches_have_no_outline(name: str, text: str) -> None:
    assert outline(mapped(text, name)) == []


def test_records_show_the_keys_of_objects_in_objects_and_in_arrays() -> None:
    records = [
        {"id": 1, "buyer": {"name": "Ada"}, "lines": [{"item": "tea", "count": 2}, {"item": "cup"}]},
        {"id": 2, "buyer": None, "lines": []},
    ]
    made = mapped("\n".join(json.dumps(record) for record in records) + "\n", "orders.jsonl")
    assert [(symbol.name, symbol.signature) for symbol in made.symbols] == [
        ("2 records", ""),
        ("id", "number"),
        ("buyer", "object | null"),
        ("name", "string"),
        ("lines", "array"),
        ("item", "string"),
        ("count", "number, in 1 of 2"),
    ]
    assert [symbol.parent for symbol in made.symbols] == [None, 0, 0, 2, 0, 4, 4]


def test_keys_that_are_rather_data_do_not_flood_the_outline() -> None:
    record = {f"user-{number}": {f"day-{each}": 1 for each in range(50)} for number in range(50)}
    assert len(mapped(json.dumps(record) + "\n{}\n", "users.jsonl").symbols) <= 301


def test_a_session_tells_what_was_called_and_what_failed() -> None:
    entries: list[object] = [
        {"type": "session", "cwd": "/shop"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "message", "message": {"role": "user", "content": "Look"}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "toolCall", "name": "read", "arguments": {"path": "a.py"}},
                    {"type": "toolCall", "name": "bash", "arguments": {"command": "ls\npwd"}},
                    {"type": "toolCall", "name": "odd", "arguments": {"path": 7}},
                ],
            },
        },
        {"type": "message", "message": {"role": "toolResult", "toolName": "read", "isError": True}},
        {"type": "message", "message": {"role": "bashExecution", "command": "make", "exitCode": 2}},
        {"type": "custom_message", "customType": "note", "content": [{"type": "text", "text": "Be kind"}]},
    ]
    made = mapped("\n".join(json.dumps(entry) for entry in entries) + "\n", "s.jsonl")
    assert made.language == "Agent session"
    assert [(symbol.kind, symbol.name, symbol.signature) for symbol in made.symbols] == [
        ("session", "/shop", ""),
        ("thinking_level_change", "high", ""),
        ("user", "Look", ""),
        ("assistant", "calls read a.py, bash ls, odd", ""),
        ("toolResult", "read", "failed"),
        ("bashExecution", "make", "failed"),
        ("custom_message", "note", "note: Be kind"),
    ]


def test_a_quote_within_a_cell_opens_nothing() -> None:
    made = mapped('size\tprice\n5" pipe\t3\n6" pipe\t4\n', "pipes.tsv")
    assert made.symbols[0].name == "2 rows × 2 columns"


def test_a_quote_that_is_never_closed_costs_the_sample_alone() -> None:
    made = mapped('size\tprice\n"about 5\t3\n' + "6\t4\n" * 300, "pipes.tsv")
    assert made.symbols[0].name == "301 rows × 2 columns"


def test_cells_in_quotes_may_hold_line_ends() -> None:
    made = mapped('name,note\nAda,"first\nsecond"\nGrace,"a ""b"""\n', "people.csv")
    assert made.symbols[0].name == "2 rows × 2 columns"


def test_a_first_row_of_sentences_is_no_header() -> None:
    sentence = "Whoever wrote this row wrote a whole sentence into it, and no title of a column."
    made = mapped(f"a1\t{sentence}\nb2\t{sentence}\n", "tags.tsv")
    assert [symbol.name for symbol in made.symbols] == ["2 rows × 2 columns", "column 1", "column 2"]


def test_blocks_of_hcl_have_the_names_by_which_others_refer_to_them() -> None:
    source = 'terraform {\n}\ndata "aws_region" "here" {\n}\nresource "aws_s3_bucket" "files" {\n}\nmodule "net" {\n}\n'
    made = mapped(source, "main.tf")
    assert outline(made) == [
        "block terraform",
        "data aws_region.here",
        "resource aws_s3_bucket.files",
        "module net",
    ]
    for wanted, line in (
        ("aws_s3_bucket.files", 5),
        ("data.aws_region.here", 3),
        ("module.net", 7),
        ("files", 5),
    ):
        assert [symbol.start_line for symbol in find_symbols_named(made, wanted)] == [line]


def test_a_symbol_is_found_with_its_kind_before_it_as_a_map_shows_it() -> None:
    made = mapped("class Cart:\n    def size(self): ...\n\ndef size(): ...\n", "cart.py")
    assert [symbol.start_line for symbol in find_symbols_named(made, "class Cart")] == [1]
    assert [symbol.start_line for symbol in find_symbols_named(made, "function size")] == [4]
    assert find_symbols_named(made, "class size") == []


CELLS = [
    {"cell_type": "markdown", "source": ["# Prices\n", "Some words\n", "## Taxes"]},
    {
        "cell_type": "code",
        "source": "%matplotlib inline\n!pip list\ndef total(prices):\n    return sum(prices)\n",
        "outputs": [{"output_type": "stream", "text": ["one\n", "two\n"]}],
    },
    {"cell_type": "code", "source": "%%bash\nfunction no_python() { :; }"},
]


def test_lines_of_a_notebook_are_those_of_its_text_however_the_file_is_written() -> None:
    for indent in (None, 1):
        data = json.dumps({"cells": CELLS, "metadata": {}}, indent=indent)
        made = mapped(data, "prices.ipynb")
        notebook = parse_notebook(data.encode())
        assert notebook is not None
        text = notebook.text.split("\n")
        assert made.total_lines == len(text)
        shown = [
            (symbol.name, text[symbol.start_line - 1], text[symbol.end_line - 1]) for symbol in made.symbols
        ]
        assert shown == [
            ("cell 1", "--- cell 1 [markdown] ---", "## Taxes"),
            ("Prices", "# Prices", "## Taxes"),
            ("Taxes", "## Taxes", "## Taxes"),
            ("cell 2", "--- cell 2 [code] ---", "two"),
            ("total", "def total(prices):", "    return sum(prices)"),
            ("cell 3", "--- cell 3 [code] ---", "function no_python() { :; }"),
        ]


@pytest.mark.parametrize("data", [b'{"cells": ["\xff"]}', b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_json_are_no_notebook(data: bytes) -> None:
    assert parse_notebook(data) is None


def test_what_only_has_the_ending_of_a_notebook_is_shown_as_json() -> None:
    assert outline(mapped('{\n "pages": [],\n "title": "x"\n}\n', "odd.ipynb")) == ["key pages", "key title"]


def outline_of(source: str, file: str) -> list[tuple[str, str, int, int]]:
    return [
        (symbol.kind, symbol.name, symbol.start_line, symbol.end_line)
        for symbol in make_file_map_of_text(source.encode(), file).symbols
    ]


def test_sections_of_asciidoc_and_none_in_its_listings() -> None:
    source = (
        "= Guide\n:toc:\n\n[[setup]]\n== Setup of `run`\n\n----\n== no section\n----\n\n=== Steps\n\n"
        "Old Form\n--------\n\n* a\n--\nmore\n--\n"
    )
    assert outline_of(source, "guide.adoc") == [
        ("heading", "Guide", 1, 19),
        ("heading", "Setup of run", 5, 12),
        ("heading", "Steps", 11, 12),
        ("heading", "Old Form", 13, 19),
    ]


LITERATE = r"""% \section{Numbers}
% \begin{macro}{\num_get:n, \num_get:V}
% \begin{macro}[EXP]
%   {
%     \num_aux:n ,
%   }
%   Says \texttt{\def\x{}} only.
%    \begin{macrocode}
\cs_new:Npn \num_get:n #1 { \num_aux:n {#1} }
\cs_new:Npn \num_aux:n #1 {#1}
%    \end{macrocode}
% \end{macro}
% \end{macro}
%    \begin{macrocode}
\NewDocumentCommand \num { m } { \num_get:n {#1} }
%    \end{macrocode}
"""


def test_literate_latex_has_what_it_documents_and_what_it_does_not() -> None:
    assert outline_of(LITERATE, "number.dtx") == [
        ("heading", "Numbers", 1, 16),
        ("macro", r"\num_get:n", 2, 13),
        ("macro", r"\num_get:V", 2, 13),
        ("macro", r"\num_aux:n", 3, 12),
        ("macro", r"\num", 15, 15),
    ]


def test_features_in_any_language() -> None:
    source = (
        'Feature: Cart\n  Rule: Full\n    Background:\n      Given a: b\n    Scenario Outline: add <n>\n      """\n'
        '      Scenario: none\n      """\n      Examples:\n        | n |\n'
    )
    assert outline_of(source, "cart.feature") == [
        ("feature", "Cart", 1, 10),
        ("rule", "Full", 2, 10),
        ("background", "Background", 3, 4),
        ("scenario", "add <n>", 5, 10),
        ("examples", "Examples", 9, 10),
    ]
    german = "# language: de\nFunktionalität: Korb\n  Szenario: leer\n    Angenommen nichts\n"
    assert outline_of(german, "korb.feature") == [
        ("feature", "Korb", 2, 4),
        ("scenario", "leer", 3, 4),
    ]
