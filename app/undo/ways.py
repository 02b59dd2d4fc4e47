"""Which way a folder is scanned: by git where a repository may be asked, else by looking at every file."""

import os
from collections.abc import Callable
from pathlib import Path

from app.undo.collecting import INDEXES
from app.undo.git_way import GitWay
from app.undo.holding import Holder
from app.undo.nested_ways import NestedWays
from app.undo.plain_way import PlainWay
from app.undo.scans import ScanWay
from tools.git.command import git_command
from tools.git.repository import find_repository


def way_for(
    root: Path, holder: Holder, *, home: Path, store: Path, may_ask_git: Callable[[], bool], max_bytes: int
) -> ScanWay | str:
    """The way, opened, or why there is none. Blocks."""
    agent = Path(os.path.realpath(store))
    if not root.is_dir():
        return "the session's folder is gone"

    def open_git(folder: Path) -> GitWay | None:
        return _by_git(
            folder, holder, root=root, home=home, agent=agent, may_ask_git=may_ask_git, max_bytes=max_bytes
        )

    opened = open_git(root)
    if opened is not None:
        return NestedWays(opened, open_git)
    if str(root) == "/" or root == Path(os.path.realpath(home)):
        return f"what commands change in {root} is not held"
    return PlainWay(holder, root=root, outside=agent.parent)


def _by_git(
    folder: Path,
    holder: Holder,
    *,
    root: Path,
    home: Path,
    agent: Path,
    may_ask_git: Callable[[], bool],
    max_bytes: int,
) -> GitWay | None:
    repository = find_repository(folder)
    if repository is None or repository.is_bare or agent.is_relative_to(os.path.realpath(repository.top)):
        return None
    if repository.oddities(home) and not may_ask_git():
        return None
    configuration = repository.configuration(home)
    if git_command(repository.top, "status", repository=configuration, home=home) is None:
        return None
    way = GitWay(
        repository,
        configuration,
        holder,
        root=root,
        home=home,
        folder=agent / INDEXES,
        max_bytes=max_bytes,
    )
    try:
        way.open()
    except OSError:
        return None
    return way
