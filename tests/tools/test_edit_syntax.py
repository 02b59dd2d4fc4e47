"""The syntax check reports only errors that the edit caused."""

import random
from pathlib import Path

import pytest

from bench.edit_corpus import closer_removals, corpus, count_languages, harmless_edits
from tests.tools.conftest import ToolCaller
from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.syntax_checks import MAX_SYNTAX_CHECKED_BYTES, SyntaxCheckCache


def test_harmless_edits_are_hardly_ever_an_alarm() -> None:
    """In real files of over thirty languages. The figures for more edits are in the bench."""
    files, luck = corpus(), random.Random(3)
    found = [file.problems(span) for file in files for span in harmless_edits(file, 4, luck)]
    assert count_languages(files) >= 30 and len(found) > 400
    assert sum(bool(one) for one in found) <= len(found) * 0.005


def test_lost_closing_lines_are_found() -> None:
    files, luck = corpus(), random.Random(3)
    wanted = ("javascript", "typescript", "go", "rust", "java", "python")
    found = [
        file.problems(span)
        for file in files
        if file.grammar in wanted
        for span in closer_removals(file, 4, luck)
    ]
    assert len(found) > 80
    assert sum(bool(one) for one in found) >= len(found) * 0.97


def found_in(name: str, text: str, old: str, new: str) -> list[str] | None:
    start = text.index(old)
    span = TextEdit(start=start, end=start + len(old), new_text=new, strategy="exact")
    problems = SyntaxCheckCache().check_file(name, text).find_new_syntax_errors(text, (span,))
    return None if problems is None else [f"{problem.line}: {problem.message}" for problem in problems]


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "wanted"),
    [
        ("a.js", "f();\nif (a) {\n  g();\n}\n", "  g();\n}\n", "  g();\n", ['missing "}"']),
        ("a.py", "def f():\n    return 1\n", "    return 1\n", "", ["expected an indented block"]),
        ("a.py", "if a:\n    b\nelse:\n    c\n", "    c\n", "    d\n", []),
        ("a.py", "x = (1\ny = 2\n", "y = 2", "y = 3", []),  # it was broken before
        ("a.js", "f(;\n" * 3 + "g();\n", "g();", "h();", []),
        ("a.js", "f(;\ng();\nh();\n", "g();\nh();", "h();", []),
    ],
)
def test_only_what_is_new_is_reported(name: str, text: str, old: str, new: str, wanted: list[str]) -> None:
    found = found_in(name, text, old, new)
    assert found is not None and len(found) == len(wanted)
    assert all(words in one for one, words in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html", "a.yaml"])
def test_of_prose_and_markup_nothing_is_said(name: str) -> None:
    assert found_in(name, "x\n", "x", "((") is None


def test_places_are_right_behind_letters_of_several_bytes() -> None:
    text = "// é漢😀\nf();\nif (a) {\n  g();\n}\n"
    found = found_in("a.js", text, "}\n", "")
    assert found is not None and len(found) == 1 and found[0].endswith('missing "}"')


def test_what_is_too_large_is_not_looked_at() -> None:
    assert found_in("a.js", "f();\n" * (MAX_SYNTAX_CHECKED_BYTES // 5) + "g(1);\n", "g(1)", "g(") is None


async def test_a_warning_names_the_line_and_never_refuses(hands: ToolCaller, project: Path) -> None:
    (project / "a.js").write_text("function f() {\n  if (a) {\n    g();\n  }\n}\n")
    result = await hands("edit", path="a.js", edits=[{"oldText": "    g();\n  }\n", "newText": "    g();\n"}])
    assert 'missing "}". The file parsed before this edit.' in result.text
    assert (project / "a.js").read_text() == "function f() {\n  if (a) {\n    g();\n}\n"
    assert result.details is not None and "New syntax error" in result.details["warning"]


async def test_lines_given_twice_stay_where_nothing_proves_a_mistake(
    hands: ToolCaller, project: Path
) -> None:
    (project / "a.js").write_text("a();\nb();\nc();\n")
    await hands("edit", path="a.js", edits=[{"oldText": "b();\n", "newText": "x();\nc();\n"}])
    assert (project / "a.js").read_text() == "a();\nx();\nc();\nc();\n"
