"""The repository that a session's tools work in, and what of it the conversation knows."""

import os

from tools.base import ToolError
from tools.files.paths import display
from tools.repomap.lookup import Definition
from tools.repomap.repository import MappedRepository
from tools.workspace import Workspace


def repository_of(workspace: Workspace) -> MappedRepository:
    repository = workspace.repository()
    if repository is None:
        raise ToolError(
            "There is no map of this folder: repositoryMaps.enabled is off, or files are not on this machine. "
            "Use grep and find."
        )
    return repository


def below_root(repository: MappedRepository, folder: str, workspace: Workspace) -> str:
    """The folder as the index names it; the root is the empty name."""
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.root))
    if below == "..":
        raise ToolError(f"{display(folder, workspace.cwd)} is above the repository {repository.root}.")
    if below.startswith("../"):
        raise ToolError(f"{display(folder, workspace.cwd)} is not in the repository {repository.root}.")
    return "" if below == "." else below


def known_files(repository: MappedRepository, workspace: Workspace) -> list[str]:
    """What the conversation has read or changed, the newest last, as the index names it."""
    root = os.path.realpath(repository.root)
    paths = [os.path.relpath(path, root) for path in workspace.read_cache.paths()]
    return [path for path in paths if not path.startswith("..")]


def symbols_like(workspace: Workspace, text: str, most: int = 100) -> list[tuple[str, Definition]]:
    """With the path of each from the session's folder on, upwards too. Empty where there is no map."""
    repository = workspace.repository()
    if repository is None:
        return []
    repository.look()
    found = repository.symbols_like(text, most=most)
    return [
        (os.path.relpath(repository.root / one.path, os.path.realpath(workspace.cwd)), one) for one in found
    ]
