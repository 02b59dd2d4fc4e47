"""Finds repositories that git's index links to: git enters them by itself, wherever they are."""

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from tools.git.git_command import make_read_only_git_command
from tools.git.git_repository import GitRepository, find_repository

MAX_GITLINKED_REPOSITORIES: Final = 300
_LIST_GITLINKS_TIMEOUT: Final = 20.0


class GitlinkedRepositories(msgspec.Struct, frozen=True):
    git_paths: tuple[str, ...] = ()
    """The `.git` path of each repository."""
    unreadable_indexes: tuple[str, ...] = ()
    """Indexes that could not be read."""
    is_complete: bool = True


class GitlinkFinder:
    """Finds the repositories that git indexes link to, for one session. An unchanged index is not read again."""

    def __init__(self) -> None:
        self._links_by_index: dict[str, tuple[tuple[int, ...], tuple[str, ...] | None]] = {}

    def find_gitlinked_repositories(self, folders: Iterable[str]) -> GitlinkedRepositories:
        """Returns the repositories linked by the repositories in these folders, recursively."""
        waiting, found, unread = deque(folders), dict[str, None](), list[str]()
        seen = set[str]()
        while waiting:
            repository = _repository_of_folder(waiting.popleft())
            if repository is None or repository.is_bare or str(repository.git_folder) in seen:
                continue
            seen.add(str(repository.git_folder))
            links = self._cached_links(repository)
            if links is None:
                unread.append(str(repository.git_folder / "index"))
                continue
            for link in links:
                if f"{link}/.git" not in found and os.path.lexists(f"{link}/.git"):
                    if len(found) == MAX_GITLINKED_REPOSITORIES:
                        return GitlinkedRepositories(tuple(found), tuple(unread), is_complete=False)
                    found[f"{link}/.git"] = None
                    waiting.append(link)
        return GitlinkedRepositories(tuple(found), tuple(unread))

    def _cached_links(self, repository: GitRepository) -> tuple[str, ...] | None:
        index = str(repository.git_folder / "index")
        try:
            status = os.stat(index)  # noqa: PTH116  (a text)
        except FileNotFoundError:
            return ()
        except OSError:
            return None
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._links_by_index.get(index)
        if known is None or known[0] != stamp:
            known = self._links_by_index[index] = (stamp, _read_index_links(repository))
        return known[1]


def _repository_of_folder(folder: str) -> GitRepository | None:
    try:
        return find_repository(Path(folder))
    except (OSError, ValueError):
        return None


def _read_index_links(repository: GitRepository) -> tuple[str, ...] | None:
    """Returns the links in an index, as listed by git; None if git fails."""
    try:
        if not repository.may_have_gitlinks():
            return ()
        home = Path.home()
        where = (f"--git-dir={repository.git_folder}", f"--work-tree={repository.work_tree}")
        words = (*where, "ls-files", "--stage", "-z")
        git = make_read_only_git_command(
            repository.work_tree, *words, repository=repository.configuration(home), home=home
        )
        if git is None:
            return ()
        code, told = git.run(_LIST_GITLINKS_TIMEOUT)
    except (OSError, ValueError):
        return None
    if code:
        return None
    names = (entry.partition(b"\t")[2] for entry in told.split(b"\0") if entry.startswith(b"160000 "))
    return tuple(dict.fromkeys(f"{repository.work_tree}/{os.fsdecode(name)}" for name in names))
