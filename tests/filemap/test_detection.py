"""Which language a file is taken for, and what outlines text that is in none of them."""

from pathlib import Path, PurePath

import pytest

from tools.filemap import ctags_outline
from tools.filemap import file_mapper as mapping
from tools.filemap.file_mapper import make_file_map, make_file_map_of_text
from tools.filemap.language_detection import detect_language
from tools.filemap.rendering.file_map_rendering import render_file_map


@pytest.mark.parametrize(
    ("name", "content", "language"),
    [
        ("a.py", b"", "python"),
        ("A.PY", b"", "python"),
        ("Dockerfile", b"", "dockerfile"),
        ("api.dockerfile", b"", "dockerfile"),
        ("Dockerfile.dev", b"", "dockerfile"),
        ("GNUmakefile", b"", "make"),
        ("CMakeLists.txt", b"", "cmake"),
        ("Cargo.lock", b"", "toml"),
        ("nginx.conf.template", b"", "ini"),
        ("run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/bin/sh -e\n", "bash"),
        ("run", b"#!/usr/bin/env -S node --flag\n", "javascript"),
        ("run", b"#!/usr/bin/ruby2.7\n", "ruby"),
        ("notes", b"-*- mode: python -*-\n", "python"),
        ("data", b'<?xml version="1.0"?>\n<a/>', "xml"),
        ("page", b"<!doctype html>\n<p>", "html"),
        ("data", b'{"a": 1}\n{"a": 2}\n{"a": 3}\n', "jsonl"),
        ("data", b'{"a": [1]}', "json"),
        ("change", b"diff --git a/x b/x\n", "diff"),
        ("x.h", b"int f(void);\n", "c"),
        ("x.h", b"namespace a { class B; }\n", "cpp"),
        ("x.h", b"@interface A : NSObject\n@end\n", "objc"),
        ("x.m", b"#import <A.h>\n@implementation A\n", "objc"),
        ("server.log.1", b"", "log"),
        ("guide.adoc", b"[[top]]\n= Guide\n", "asciidoc"),
        ("guide", b"[[top]]\n= Guide\n", None),
        ("guide", b"[#top]\n[quote]\n", None),
        ("data", b"[[1, 2], [3]]", "json"),
        ("data", b'["a", {}]', "json"),
        ("number.dtx", b"% \\section{Numbers}\n", "latex"),
        ("tests.Rraw", b"f = function() 1\n", "r"),
        ("cart.feature", b"Feature: Cart\n", "gherkin"),
        ("Makefile.am", b"", "make"),
        ("BUILD", b"", "python"),
        (".env.local", b"", "ini"),
        ("menu.inc", b"<?php echo 1;", "php"),
        ("table.inc", b"#define A 1\n", "c"),
        ("table.inc", b"namespace a { class B; }\n", "cpp"),
        ("novel.txt", b"Once upon a time.\n", None),
        ("unknown", b"some words\n", None),
    ],
)
def test_a_language_is_known_by_name_first_line_or_look(
    name: str, content: bytes, language: str | None
) -> None:
    assert detect_language(PurePath(name), content) == language


PLAIN = b"""INTRODUCTION

Some words about it.

Usage:

    run it

object Greeter
  function greet(name)
    say name
  end function

object Other
"""


def test_unknown_text_gets_an_outline_by_looks() -> None:
    made = make_file_map_of_text(PLAIN, "guide.xyz")
    assert made.parser == "heuristic"
    found = [
        (symbol.name, symbol.kind, symbol.start_line, symbol.end_line, symbol.parent)
        for symbol in made.symbols
    ]
    assert ("INTRODUCTION", "heading") in [each[:2] for each in found]
    assert ("Greeter", "object", 9, 13) in [each[:4] for each in found]
    greet = next(symbol for symbol in made.symbols if symbol.name == "greet")
    assert greet.parent is not None and made.symbols[greet.parent].name == "Greeter"


def test_prose_is_no_definition() -> None:
    made = make_file_map_of_text(
        b"The type of the value is checked.\ntype of thing that nobody wants, really.\n", "prose.txt"
    )
    assert made.symbols == ()


def test_ctags_outlines_what_it_knows_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in that speaks as universal-ctags does, so that the test needs no installed one."""
    program = tmp_path / "bin" / "ctags"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--list-features*) echo json; exit;; esac\n'
        'case "$*" in *--fields=*N*) ;; *) echo no names wanted >&2; exit 1;; esac\n'
        'echo \'{"_type":"tag","name":"Main","kind":"class","line":1,"end":4,"language":"Cobol"}\'\n'
        "echo not json\n"
        'echo \'{"_type":"tag","name":"pay","kind":"func","line":2,"end":3,"language":"Cobol"}\'\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(mapping, "_HEURISTIC_OUTLINE_TIMEOUT", 60.0)
    ctags_outline._find_ctags.cache_clear()
    try:
        source = tmp_path / "project" / "pay.cob"
        source.parent.mkdir()
        source.write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
        made = make_file_map(source)
    finally:
        ctags_outline._find_ctags.cache_clear()
    assert (made.parser, made.language) == ("universal-ctags", "Cobol")
    assert [(symbol.name, symbol.kind, symbol.end_line, symbol.parent) for symbol in made.symbols] == [
        ("Main", "class", 4, None),
        ("pay", "function", 3, 0),
    ]


@pytest.mark.skipif(ctags_outline._find_ctags() is None, reason="universal-ctags is not installed")
@pytest.mark.parametrize(
    ("name", "first_line"), [("hello.tcl", ""), ("hello", "#!/usr/bin/env tclsh\n")], ids=["by name", "by #!"]
)
def test_the_real_ctags_outlines_a_language_that_is_not_described_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first_line: str
) -> None:
    monkeypatch.setattr(mapping, "_HEURISTIC_OUTLINE_TIMEOUT", 60.0)
    source = tmp_path / name
    source.write_text(f"{first_line or '# hello'}\nproc hello {{name}} {{\n  puts $name\n}}\n")
    made = make_file_map(source, deadline_seconds=60)
    assert (made.parser, made.language) == ("universal-ctags", "Tcl")
    assert [(symbol.name, symbol.kind, symbol.signature) for symbol in made.symbols] == [
        ("hello", "procedure", "hello {name}")
    ]


def test_comments_of_code_in_no_known_language_are_no_headings() -> None:
    made = make_file_map_of_text(b"# what it does\n\nproc hello {name} {\n}\n\n# and more\n", "hello.xyz")
    assert [symbol.name for symbol in made.symbols] == ["hello"]
    assert "\nfunction proc hello {name} [3-" in render_file_map(made).text


def test_a_kind_that_the_declaration_says_is_said_once() -> None:
    made = make_file_map_of_text(b"class Checksum implements Callable {\n}\n", "checksum.xyz")
    assert "\nclass Checksum implements Callable [1-2]" in render_file_map(made).text


def test_a_script_inside_a_page_has_the_lines_of_the_page() -> None:
    made = make_file_map_of_text(b"<p>\n</p>\n<script>\nfunction go() {\n}\n</script>\n", "page.html")
    go = next(symbol for symbol in made.symbols if symbol.name == "go")
    assert (go.start_line, go.end_line) == (4, 5)
    assert go.parent is not None and made.symbols[go.parent].name == "script"
