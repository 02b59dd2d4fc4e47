"""Lines that are added to files of context."""

from pathlib import Path

import pytest

from app.resources.context_files import (
    append_list_item_to_content,
    appendable_context_files,
    text_of_appended_list_item,
)
from app.resources.paths import BayouPaths


@pytest.fixture
def paths(tmp_path: Path) -> BayouPaths:
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    return BayouPaths.from_env({"HOME": str(tmp_path / "home")}, project / "src")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", "- Use tabs\n"),
        ("# Rules\n", "\n- Use tabs\n"),
        ("# Rules\n\n- One\n", "- Use tabs\n"),
        ("# Rules", "\n\n- Use tabs\n"),
        ("- One", "\n- Use tabs\n"),
    ],
)
def test_a_line_becomes_an_item_at_the_end(text: str, added: str):
    assert text_of_appended_list_item(text, " Use \n tabs ") == added


def test_the_projects_file_stands_at_its_top_and_the_one_that_is_read_counts(paths: BayouPaths):
    (paths.top / "CLAUDE.md").write_text("# Rules\n")
    assert [file.path for file in appendable_context_files(paths)] == [
        paths.top / "CLAUDE.md",
        paths.agent_dir / "AGENTS.md",
    ]


def test_existing_notes_stay_byte_for_byte():
    before = b"\xef\xbb\xbf# Rules\r\n"
    assert append_list_item_to_content(before, "Use tabs") == before + b"\r\n- Use tabs\r\n"


def test_what_is_no_text_is_refused():
    with pytest.raises(UnicodeDecodeError):
        append_list_item_to_content(b"\xff\xfe\x00", "One")
