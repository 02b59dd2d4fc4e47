"""What is remembered of a repository's history, of ordinary and of odd ones."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repomap.boat_repository import shown, write
from tools.repomap.index.git_history import MAX_FILES_OF_INDEXED_COMMIT
from tools.repomap.index.repository_index import RepositoryIndex
from tools.repomap.mapped_repository import MappedRepository

Commit = Callable[..., str]


def git(folder: Path, *words: str, given: str | None = None) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def commit(folder: Path) -> Commit:
    git(folder, "init", "-q", "-b", "main")

    def made(message: str, *names: str) -> str:
        for name in names:
            path = folder / name
            write(folder, name, (path.read_text() if path.exists() else "") + "x = 1\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "--file=-", given=message)
        return git(folder, "rev-parse", "HEAD")

    made("All of it")
    return made


def mapped(folder: Path, home: Path) -> MappedRepository:
    made = MappedRepository(folder, home / "cache", asks_git_at_home=lambda: home)
    assert made.complete_index(workers=0) == ""
    return made


def test_words_of_earlier_commits_lead_to_what_they_touched(folder: Path, commit: Commit, tmp_path: Path):
    commit("Barnacles no longer slow the hull", "harbour/oars.py")
    assert shown(mapped(folder, tmp_path), "barnacles on the hull")[0] == "harbour/oars.py"


def test_a_recent_commit_counts_more_than_one_long_ago(folder: Path, commit: Commit, tmp_path: Path):
    commit("Barnacles no longer slow the hull", "harbour/oars.py")
    head = git(folder, "rev-parse", "HEAD")
    name = "a <a@b> 1700000000 +0000"
    others = "".join(
        f"commit refs/heads/main\nauthor {name}\ncommitter {name}\ndata 5\nGulls\n"
        + f"from {head}\n" * (not n)
        for n in range(600)
    )
    git(folder, "fast-import", "--quiet", "--force", given=others)
    commit("Barnacles no longer slow the hull", "harbour/boats.py")
    order = shown(mapped(folder, tmp_path), "barnacles on the hull")
    assert order.index("harbour/boats.py") < order.index("harbour/oars.py")


def test_commits_that_the_head_does_not_come_from_are_not_remembered_by(
    folder: Path, commit: Commit, tmp_path: Path
):
    git(folder, "checkout", "-q", "-b", "other")
    commit("Barnacles no longer slow the hull", "harbour/oars.py")
    assert shown(mapped(folder, tmp_path), "barnacles on the hull") != []
    git(folder, "checkout", "-q", "main")
    repository = mapped(folder, tmp_path)
    assert shown(repository, "barnacles on the hull") == []
    git(folder, "checkout", "-q", "other")
    assert shown(mapped(folder, tmp_path), "barnacles on the hull")[0] == "harbour/oars.py"


def test_going_back_to_a_branch_gives_files_the_versions_they_had(
    folder: Path, commit: Commit, tmp_path: Path
):
    def versions() -> dict[str, int]:
        with RepositoryIndex(mapped(folder, tmp_path).index) as store:
            return {file.path: file.id for file in store.indexed_files()}

    before = versions()
    git(folder, "checkout", "-q", "-b", "other")
    commit("Oars", "harbour/oars.py", "harbour/new.py")
    there = versions()
    assert there["harbour/oars.py"] != before["harbour/oars.py"]
    git(folder, "checkout", "-q", "main")
    assert versions() == before
    git(folder, "checkout", "-q", "other")
    assert versions() == there


def test_a_shallow_clone_remembers_what_it_has(folder: Path, commit: Commit, tmp_path: Path):
    commit("Barnacles no longer slow the hull", "harbour/oars.py")
    commit("Gulls sit on the mast", "harbour/boats.py")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{folder}", "shallow")
    repository = mapped(tmp_path / "shallow", tmp_path)
    assert shown(repository, "the cache directory")[0] == "harbour/cache.py"


def test_a_history_of_one_commit_and_one_without_any_answer(folder: Path, commit: Commit, tmp_path: Path):
    assert shown(mapped(folder, tmp_path), "the cache directory")[0] == "harbour/cache.py"
    git(folder, "update-ref", "-d", "HEAD")
    assert shown(mapped(folder, tmp_path), "the cache directory")[0] == "harbour/cache.py"


def test_a_squashed_history_says_nothing_of_its_many_files(folder: Path, commit: Commit, tmp_path: Path):
    many = [f"many/part{number}.py" for number in range(MAX_FILES_OF_INDEXED_COMMIT + 1)]
    commit("Barnacles, gulls and everything since the beginning", *many)
    assert shown(mapped(folder, tmp_path), "barnacles and gulls") == []


def test_a_commit_of_10_000_files_is_passed_over(folder: Path, commit: Commit, tmp_path: Path):
    blob = git(folder, "hash-object", "-w", "--stdin", given="x = 1\n")
    entries = "".join(f"100644 blob {blob}\tfile{number}.py\n" for number in range(10_000))
    inner = git(folder, "mktree", given=entries)
    tree = git(folder, "mktree", given=f"040000 tree {inner}\tmany\n")
    made = git(folder, "commit-tree", tree, "-p", "HEAD", "-m", "Barnacles everywhere")
    git(folder, "update-ref", "HEAD", made)
    commit("Gulls sit on the mast", "harbour/boats.py")
    repository = mapped(folder, tmp_path)
    assert shown(repository, "barnacles everywhere") == []


def test_messages_of_a_megabyte_and_of_other_scripts_are_taken(folder: Path, commit: Commit, tmp_path: Path):
    commit("Barnacles " + "and so on " * 100_000, "harbour/oars.py")
    commit("キャッシュの場所を直す", "harbour/boats.py")
    commit("a \x01 mark \x02 within", "harbour/cache.py")
    repository = mapped(folder, tmp_path)
    assert shown(repository, "barnacles")[0] == "harbour/oars.py"
    assert shown(repository, "キャッシュが消える")[0] == "harbour/boats.py"


@pytest.mark.parametrize(
    "question",
    [
        "cache",
        "the cache directory " + " ".join(f"word{number}" for number in range(5000)),
        "cache " * 5000,
        'Traceback (most recent call last):\n  File "/x/harbour/cache.py", line 8, in get\nKeyError: "cache"\n',
        "\n".join(f"  at Cache.get (harbour/cache.py:{line})" for line in range(1, 400)),
        'cache AND ("OR* NEAR(',
        "cache 漢字 \x00 \ud800 é",
    ],
)
def test_odd_questions_find_what_they_are_about(repository: MappedRepository, question: str):
    assert shown(repository, question)[0] == "harbour/cache.py"


@pytest.mark.parametrize("question", ["", "the of", "...", "\x00", "/", "::", "~" * 5000])
def test_questions_that_say_nothing_find_nothing(repository: MappedRepository, question: str):
    assert shown(repository, question) == []


def test_a_path_that_is_written_out_is_first(repository: MappedRepository):
    assert shown(repository, "the cache directory of harbour/oars.py")[0] == "harbour/oars.py"


def test_what_is_not_in_the_index_is_not_among_the_likely_and_says_why(folder: Path, tmp_path: Path):
    write(folder, "harbour/huge_cache.sql", "-- the cache directory\n" * 60_000)
    (folder / "harbour" / "cache_directory.bin").write_bytes(bytes(range(256)) * 9)
    repository = MappedRepository(folder, tmp_path / "cache")
    assert repository.complete_index(workers=0) == ""
    assert all(path.endswith((".py", ".md")) for path in shown(repository, "the cache directory is huge"))
    answer = repository.map_files_for_task("why is harbour/huge_cache.sql not in harbour/cache_directory.bin")
    assert dict(answer.omitted_files) == {
        "harbour/huge_cache.sql": "over 1 MB",
        "harbour/cache_directory.bin": "binary",
    }
    with RepositoryIndex(repository.index) as store:
        assert dict(store.path_only_reasons()) == {"over 1 MB": 1, "binary": 1, "named like a secret": 1}


def test_a_folder_below_the_top_of_its_repository_has_memory_too(folder: Path, tmp_path: Path):
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Barnacles on the hull")
    inner = MappedRepository(folder / "harbour", tmp_path / "cache", asks_git_at_home=lambda: tmp_path)
    assert inner.complete_index(workers=0) == ""
    assert set(shown(inner, "barnacles")) == {"boats.py", "cache.py", "oars.py", "made_pb2.py"}
