"""Imports in context files: what is followed, how far, and what is left alone."""

from pathlib import Path

import msgspec
import pytest

from app.resources.context_files import find_context_files, nested_context_files
from app.resources.context_imports import MAX_CONTEXT_IMPORT_DEPTH, possible_import_names
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import trust_question_for


def texts(paths: BayouPaths, *, is_trusted: bool = True) -> list[str]:
    return [file.text for file in find_context_files(paths, is_trusted=is_trusted).files]


def test_an_import_follows_the_file_that_names_it(paths: BayouPaths, put):
    put(paths.cwd / "CLAUDE.md", "See @docs/style.md and @nowhere.md.")
    put(paths.cwd / "docs" / "style.md", "Use tabs. @names.md")
    put(paths.cwd / "docs" / "names.md", "Use nouns.")
    assert texts(paths) == ["See @docs/style.md and @nowhere.md.", "Use tabs. @names.md", "Use nouns."]


def test_imports_of_a_project_wait_for_trust_and_are_named_in_the_question(paths: BayouPaths, put):
    put(paths.cwd / "AGENTS.md", "@style.md")
    style = put(paths.cwd / "style.md", "Use tabs.")
    assert texts(paths, is_trusted=False) == ["@style.md"]
    question = trust_question_for(paths)
    assert [item.display_line for item in question.items] == ["prompt AGENTS.md imports style.md"]
    style.write_text("Use blanks.")
    assert trust_question_for(paths).fingerprint != question.fingerprint


def test_an_import_of_a_context_file_may_change_as_that_file_may(paths: BayouPaths, put):
    (paths.cwd / ".git").mkdir()
    top = put(paths.cwd / "AGENTS.md", "Use tabs.")
    below = msgspec.structs.replace(paths, cwd=paths.cwd / "web")
    put(below.cwd / "CLAUDE.md", "@../AGENTS.md")
    question = trust_question_for(below)
    assert len(question.items) == 1
    top.write_text("Use blanks.")
    assert trust_question_for(below).fingerprint == question.fingerprint


def test_circular_imports_are_read_once(paths: BayouPaths, put):
    put(paths.cwd / "AGENTS.md", "@a.md")
    put(paths.cwd / "a.md", "a @b.md @AGENTS.md")
    put(paths.cwd / "b.md", "b @a.md @b.md")
    assert texts(paths) == ["@a.md", "a @b.md @AGENTS.md", "b @a.md @b.md"]


def test_imports_end_at_their_depth_and_say_so(paths: BayouPaths, put):
    put(paths.cwd / "AGENTS.md", "@1.md")
    for number in range(1, MAX_CONTEXT_IMPORT_DEPTH + 2):
        put(paths.cwd / f"{number}.md", f"text @{number + 1}.md")
    found = find_context_files(paths, is_trusted=True)
    assert len(found.files) == 1 + MAX_CONTEXT_IMPORT_DEPTH
    assert (
        f"@{MAX_CONTEXT_IMPORT_DEPTH + 1}.md was not read: imports may be nested at most" in found.problems[0]
    )


def test_a_project_imports_nothing_from_outside_but_instructions(paths: BayouPaths, put, tmp_path: Path):
    put(paths.home / ".ssh" / "id", "key")
    put(paths.home / ".claude" / "mine.md", "Be kind.")
    put(paths.home / ".claude" / "history.jsonl", "private")
    put(tmp_path / "outside.md", "outside")
    (paths.cwd / "link.md").symlink_to(tmp_path / "outside.md")
    names = "@~/.ssh/id @~/.claude/mine.md @~/.claude/history.jsonl @link.md"
    put(paths.cwd / "AGENTS.md", f"{names} @{tmp_path}/outside.md")
    found = find_context_files(paths, is_trusted=True)
    assert [file.text for file in found.files[1:]] == ["Be kind."]
    assert len(found.problems) == 4


def test_ones_own_file_imports_from_the_home_without_trust(paths: BayouPaths, put):
    put(paths.agent_dir / "AGENTS.md", "@~/notes.txt")
    put(paths.home / "notes.txt", "Mine.")
    assert texts(paths, is_trusted=False) == ["@~/notes.txt", "Mine."]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@a.md, (@b/c.md) and @./d.md.", ["a.md", "b/c.md", "./d.md"]),
        ("mail me@a.md or `@b.md` or ``x @c.md``", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("@@a.md /@b.md", []),
    ],
)
def test_words_that_may_be_imports(text: str, names: list[str]):
    assert list(possible_import_names(text)) == names


def test_the_context_files_above_a_touched_file_are_found(paths: BayouPaths, put, tmp_path: Path):
    web = put(paths.cwd / "web" / "AGENTS.md", "web")
    source = put(paths.cwd / "web" / "src" / "CLAUDE.md", "src")
    put(paths.cwd / "AGENTS.md", "top")
    assert list(nested_context_files(paths, paths.cwd / "web" / "src" / "form.ts")) == [web, source]
    assert list(nested_context_files(paths, paths.cwd / "form.ts")) == []
    assert list(nested_context_files(paths, tmp_path / "elsewhere" / "form.ts")) == []
