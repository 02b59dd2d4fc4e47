"""Lines that are added to files of context."""

from pathlib import Path

import pytest

from app.resources.context_files import append_list_item, appended_item_text, memory_files
from app.resources.paths import Paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    return Paths.from_env({"HOME": str(tmp_path / "home")}, project / "src")


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
    assert appended_item_text(text, " Use \n tabs ") == added


def test_the_projects_file_stands_at_its_top_and_the_one_that_is_read_counts(paths: Paths):
    (paths.top / "CLAUDE.md").write_text("# Rules\n")
    assert [file.path for file in memory_files(paths)] == [
        paths.top / "CLAUDE.md",
        paths.agent_dir / "AGENTS.md",
    ]


def test_existing_notes_stay_byte_for_byte():
    before = b"\xef\xbb\xbf# Rules\r\n"
    assert append_list_item(before, "Use tabs") == before + b"\r\n- Use tabs\r\n"


def test_what_is_no_text_is_refused():
    with pytest.raises(UnicodeDecodeError):
        append_list_item(b"\xff\xfe\x00", "One")
