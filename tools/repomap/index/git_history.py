"""Learns from a repository's history: which files earlier changes touched, and how their messages described them.

Git is asked only in trusted folders, about each commit once; the index stores the answer by commit id."""

import os
import re
from pathlib import Path

from tools.git.git_command import make_read_only_git_command
from tools.git.git_config import GitConfiguration
from tools.git.git_repository import find_repository
from tools.repomap.index.repository_index import IndexedCommit, RepositoryIndex

_MAX_INDEXED_COMMITS = 12_000
_COMMITS_PER_GIT_LOG_CALL = 1000
MAX_FILES_OF_INDEXED_COMMIT = 15
"""The maximum number of files of a commit; one that touches more is ignored."""
_MAX_COMMIT_MESSAGE_CHARS = 4000
_GIT_LOG_TIMEOUT = 30.0
_COMMIT_HASH_PATTERN = re.compile(rb"[0-9a-f]{40,64}")


def index_git_history(store: RepositoryIndex, root: Path, home: Path) -> None:
    """Updates the history that the index stores up to the current commit. Does nothing without git or without
    commits."""
    repository = find_repository(root)
    if repository is None or repository.is_bare:
        return
    configuration = repository.configuration(home)
    head = _run_git(repository.work_tree, ("rev-parse", "HEAD"), configuration, home)
    if not head or store.get_index_property("head") == head.decode().strip():
        return
    below = os.fsencode(os.path.relpath(os.path.realpath(root), os.path.realpath(repository.work_tree)))
    prefix = b"" if below == b"." else below + b"/"
    log = _run_git(
        repository.work_tree,
        ("rev-list", "--no-merges", f"-n{_MAX_INDEXED_COMMITS}", "HEAD"),
        configuration,
        home,
    )
    if log is None:
        return
    hashes = [bytes.fromhex(word.decode()) for word in log.split()]
    known = store.known_commits()
    missing = [one for one in hashes if one not in known]
    for at in range(0, len(missing), _COMMITS_PER_GIT_LOG_CALL):
        words = (
            "log", "--no-walk=unsorted", "--no-renames", "--name-only", "-z", "--format=%x01%H%n%B%x02",
            *(one.hex() for one in missing[at : at + _COMMITS_PER_GIT_LOG_CALL]),
        )  # fmt: skip
        told = _run_git(repository.work_tree, words, configuration, home)
        if told is None:
            break  # what has been learned stays; the rest is asked for with the next head
        store.store_commits(
            filter(None, (_parse_git_log_entry(entry, prefix) for entry in told.split(b"\x01")))
        )
    store.set_commit_ages(hashes)
    store.set_index_property("head", head.decode().strip())


def read_git_head_state(root: Path) -> tuple[int, ...]:
    """Returns a value that changes when another commit is checked out or git's index changes."""
    repository = find_repository(root)
    if repository is None:
        return ()
    told: list[int] = []
    for name in ("HEAD", "index", "logs/HEAD"):
        try:
            state = (repository.git_folder / name).stat()
        except OSError:
            continue
        told += [state.st_mtime_ns, state.st_size]
    return tuple(told)


def _run_git(top: Path, words: tuple[str, ...], configuration: GitConfiguration, home: Path) -> bytes | None:
    command = make_read_only_git_command(top, *words, repository=configuration, home=home)
    if command is None:
        return None
    try:
        code, told = command.run(_GIT_LOG_TIMEOUT)
    except OSError:
        return None
    return told if code == 0 else None


def _parse_git_log_entry(entry: bytes, prefix: bytes) -> IndexedCommit | None:
    """Parses one commit of git's output; a commit with too many files, or none below the folder, keeps no files."""
    head, separator, names = entry.partition(b"\x02")
    hash, _, message = head.partition(b"\n")
    if not separator or not _COMMIT_HASH_PATTERN.fullmatch(hash):
        return None
    paths = tuple(name for name in (one.lstrip(b"\n") for one in names.split(b"\0")) if name)
    inside = tuple(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
    if not inside or len(paths) > MAX_FILES_OF_INDEXED_COMMIT:
        message, inside = b"", ()
    text = message[:_MAX_COMMIT_MESSAGE_CHARS].decode("utf-8", "replace")
    return IndexedCommit(bytes.fromhex(hash.decode()), text, inside)
