"""Files that change together: learned from a repository's history, which git is asked for only after trust."""

import itertools
import math
import os
from collections import Counter
from pathlib import Path

from tools.git.command import git_command
from tools.git.config import Configuration
from tools.git.repository import find_repository
from tools.repomap.store import IndexStore

_COMMITS = 3000
_MOST_FILES = 30
"""A commit of more says nothing of any two of them."""
_MOST_NEAR = 30
"""Of each file."""
_WHOLE = 1000
"""What two files that are all of the newest commit have in common by it."""
_HALF_AS_MUCH = 300
"""Commits later. With it, 568 questions of sixteen repositories with one file known had another among the first five
in 82 % (79 by counting alone); other ways to fall were as good within the noise."""
_SECONDS = 30.0


def learn(store: IndexStore, root: Path, home: Path) -> None:
    """Brings what is known up to the present head. Without git, or without a history, nothing is known."""
    repository = find_repository(root)
    if repository is None or repository.is_bare:
        return
    configuration = repository.configuration(home)
    head = _asked(repository.top, ("rev-parse", "HEAD"), configuration, home)
    if not head or store.meta("near_head") == head.decode().strip():
        return
    words = ("log", "--no-merges", "--no-renames", f"-n{_COMMITS}", "--name-only", "-z", "--format=%x01")
    log = _asked(repository.top, words, configuration, home)
    if log is None:
        return
    below = os.fsencode(os.path.relpath(os.path.realpath(root), os.path.realpath(repository.top)))
    store.set_near(_near(store, log, b"" if below == b"." else below + b"/"))
    store.set_meta("near_head", head.decode().strip())


def state_of_git(root: Path) -> tuple[int, ...]:
    """Another one when another commit is checked out, or something is added to the next."""
    repository = find_repository(root)
    if repository is None:
        return ()
    told: list[int] = []
    for name in ("HEAD", "index", "logs/HEAD"):
        try:
            state = (repository.folder / name).stat()
        except OSError:
            continue
        told += [state.st_mtime_ns, state.st_size]
    return tuple(told)


def _asked(top: Path, words: tuple[str, ...], configuration: Configuration, home: Path) -> bytes | None:
    command = git_command(top, *words, repository=configuration, home=home)
    if command is None:
        return None
    try:
        code, told = command.run(_SECONDS)
    except OSError:
        return None
    return told if code == 0 else None


def _near(store: IndexStore, log: bytes, below: bytes) -> dict[int, dict[int, int]]:
    """What changed together long ago, or with many others, says less."""
    ids = {os.fsencode(file.path): file.id for file in store.files()}
    together: dict[int, Counter[int]] = {}
    for age, commit in enumerate(log.split(b"\x01")):
        names = [name.lstrip(b"\n") for name in commit.split(b"\0")]
        paths = [name.removeprefix(below) for name in names if name and name.startswith(below)]
        if not 2 <= len(paths) <= _MOST_FILES:
            continue
        says = round(_WHOLE / (1 + age / _HALF_AS_MUCH) / math.log2(len(paths)))
        known = {ids[path] for path in paths if path in ids}
        for one, other in itertools.permutations(known, 2):
            together.setdefault(one, Counter())[other] += says
    return {id: dict(others.most_common(_MOST_NEAR)) for id, others in together.items()}
