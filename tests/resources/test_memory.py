"""Lines that are added to files of context."""

from pathlib import Path

import pytest

from app.resources.context_files import add_line, appended_item_text, memory_files
from app.resources.paths import Paths
from app.values.user_errors import FileError


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


def test_what_was_there_stays_byte_for_byte(paths: Paths):
    file = memory_files(paths)[0]
    file.path.write_bytes(b"\xef\xbb\xbf# Rules\r\n")
    add_line(file, "Use tabs", paths)
    assert file.path.read_bytes() == b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs\r\n"


def test_it_is_added_to_what_the_file_is_by_then(paths: Paths):
    file = memory_files(paths)[1]
    add_line(file, "One", paths)
    file.path.write_text("- Else\n")
    add_line(file, "Two", paths)
    assert file.path.read_text() == "- Else\n- Two\n"


def test_a_file_that_leads_elsewhere_or_is_no_text_is_refused(paths: Paths, tmp_path: Path):
    outside = tmp_path / "outside.md"
    outside.write_text("theirs\n")
    file = memory_files(paths)[0]
    file.path.symlink_to(outside)
    with pytest.raises(FileError, match="was not saved"):
        add_line(file, "One", paths)
    assert outside.read_text() == "theirs\n"
    file.path.unlink()
    file.path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="not UTF-8"):
        add_line(file, "One", paths)
