"""What differs from the last commit: as git tells it, new files too, and no program of the repository's runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.undo.change_lists import ChangedFileList
from app.undo.git_diff import GitRefused, list_changes_against_git
from tests.undo.test_footprints import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def commit(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")


def asked(root: Path, *, trusted: bool = False) -> ChangedFileList:
    return list_changes_against_git(root, home=root.parent, may_ask_git=lambda: trusted, max_bytes=1 << 20)


def told(found: ChangedFileList) -> dict[str, tuple[str, int, int]]:
    return {file.path: (file.deed, file.added, file.removed) for file in found.files}


def test_all_kinds_of_differences(root: Path) -> None:
    commit(root, a="1\n2\n", gone="g\n", run="x\n", staged="s\n", same="=\n")
    (root / "a").write_text("1\n3\n--- no header\n")
    (root / "gone").unlink()
    (root / "run").chmod(0o755)
    (root / "staged").write_text("s\nt\n")
    git(root, "add", "staged")
    (root / "new file").write_text("n\n")
    (root / "picture").write_bytes(b"\0\1")
    (root / "naïve ☃").write_text("snow\n")
    git(root, "add", "naïve ☃")
    found = asked(root)
    assert told(found) == {
        "a": ("changed", 2, 1),
        "gone": ("removed", 0, 1),
        "naïve ☃": ("new", 1, 0),
        "new file": ("new, not in git", 1, 0),
        "picture": ("new, not in git", 0, 0),
        "run": ("mode", 0, 0),
        "staged": ("changed", 1, 0),
    }
    assert "since the last commit of main" in found.title
    text, lacking = found.patches()
    assert lacking == ("picture (no text: 2 B)",)
    after = {path.name: path.read_bytes() for path in root.iterdir() if path.is_file()}
    git(root, "stash", "-qu")
    subprocess.run(["git", "apply", "-"], cwd=root, input=text.encode(), check=True)
    now = {path.name: path.read_bytes() for path in root.iterdir() if path.is_file()}
    assert now == {name: data for name, data in after.items() if name != "picture"}


def test_what_is_binary_can_be_copied_though_not_shown(root: Path) -> None:
    (root / "p.png").write_bytes(b"\0\1\2" * 400)
    commit(root)
    (root / "p.png").write_bytes(b"\0\1\3" * 400)
    found = asked(root)
    assert [(file.path, file.why) for file in found.files] == [("p.png", "no text")]
    text, lacking = found.patches()
    assert lacking == ()
    git(root, "checkout", "-q", "--", ".")
    subprocess.run(["git", "apply", "-"], cwd=root, input=text.encode(), check=True)
    assert (root / "p.png").read_bytes() == b"\0\1\3" * 400


def test_without_a_commit_everything_is_new(root: Path) -> None:
    (root / "a").write_text("a\n")
    git(root, "add", "a")
    (root / "b").write_text("b\n")
    assert told(asked(root)) == {"a": ("new", 1, 0), "b": ("new, not in git", 1, 0)}


def test_a_merge_in_the_midst(root: Path) -> None:
    commit(root, a="base\n", z="z\n")
    git(root, "checkout", "-qb", "other")
    commit(root, a="other\n")
    git(root, "checkout", "-q", "main")
    commit(root, a="main\n")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "other")
    (root / "z").write_text("zz\n")
    found = asked(root)
    assert set(told(found)) == {"a", "z"}
    assert "+<<<<<<<" in found.patch("a").text and "+zz" in found.patch("z").text


def test_in_a_folder_of_the_repository(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/in").write_text("1\n")
    commit(root, out="1\n")
    (root / "sub/in").write_text("2\n")
    (root / "out").write_text("2\n")
    found = asked(root / "sub")
    assert {file.path for file in found.files} == {"in", str(root / "out")}
    assert {file.absolute_path for file in found.files} == {str(root / "sub/in"), str(root / "out")}
    assert "-1\n+2\n" in found.patch("in").text


def test_nothing_of_the_repository_runs(root: Path, tmp_path: Path) -> None:
    (root / ".gitattributes").write_text("* filter=mine diff=mine\n")
    commit(root, a="1\n")
    (root / "a").write_text("2\n")
    mark = tmp_path / "ran"
    for key in (
        "filter.mine.clean",
        "diff.mine.textconv",
        "diff.mine.command",
        "diff.external",
        "core.fsmonitor",
    ):
        git(root, "config", key, f"touch {mark}; cat")
    with pytest.raises(GitRefused, match="/trust"):
        asked(root)
    assert told(asked(root, trusted=True)) == {"a": ("changed", 1, 1)}
    assert not mark.exists()


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GitRefused, match="not in a git repository"):
        asked(tmp_path)
