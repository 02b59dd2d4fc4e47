"""Files that change together: learned from a repository's history, which git is asked for only after trust."""

import itertools
import os
import subprocess
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
    store.set_near(_pairs(store, log, b"" if below == b"." else below + b"/"))
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
        done = subprocess.run(
            command.argv,
            cwd=command.cwd,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _pairs(store: IndexStore, log: bytes, below: bytes) -> list[tuple[int, int, int]]:
    ids = {os.fsencode(file.path): file.id for file in store.files()}
    together: Counter[tuple[int, int]] = Counter()
    for commit in log.split(b"\x01"):
        names = [name.lstrip(b"\n") for name in commit.split(b"\0")]
        paths = [name.removeprefix(below) for name in names if name and name.startswith(below)]
        if not 2 <= len(paths) <= _MOST_FILES:
            continue
        known = sorted({ids[path] for path in paths if path in ids})
        together.update(itertools.combinations(known, 2))
    kept: Counter[int] = Counter()
    pairs: list[tuple[int, int, int]] = []
    for (one, other), times in together.most_common():
        if kept[one] < _MOST_NEAR and kept[other] < _MOST_NEAR:
            kept[one] += 1
            kept[other] += 1
            pairs.append((one, other, times))
    return pairs
