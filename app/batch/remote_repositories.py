"""Repositories that tasks name by an address: cloned once into the cache, and fetched when a revision is missing."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from app.batch.tasks import BatchError
from app.copies.repository_copies import GitFailed, RepositoryGit
from app.copies.user_git import run_user_git
from app.resources.paths import BayouPaths
from tools.files.path_existence import is_dir
from tools.lazy_patterns import lazy_regex

_COMMIT_ID_PATTERN = lazy_regex(r"[0-9a-f]{7,64}")
_CLONE_FOLDER_NAME_PATTERN = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def remote_clone_folder(address: str, cache: Path) -> Path:
    """Returns the folder in the cache for the clone of a remote repository, which has the repository's name."""
    last = address.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
    name = last if _CLONE_FOLDER_NAME_PATTERN.fullmatch(last) else "repository"
    return cache / "repositories" / hashlib.sha256(address.encode()).hexdigest()[:16] / name


async def update_local_clone(address: str, paths: BayouPaths, commit: str | None) -> Path:
    """Returns the local clone of a remote repository, which has the commit if there is one; without a commit the
    clone is up to date. Raises `UserError`."""
    place = remote_clone_folder(address, paths.cache_dir)
    try:
        if not is_dir(place):
            await _clone_repository(address, place)
        elif commit is None or await RepositoryGit(paths.home).resolve(place, commit) is None:
            await run_user_git(place, "fetch", "--quiet", "--prune", "--no-auto-maintenance", "origin")
            await run_user_git(place, "remote", "set-head", "origin", "--auto")
    except GitFailed as problem:
        raise BatchError(f"{address} cannot be cloned: {problem}") from None
    except OSError as problem:
        raise BatchError(f"{place}: {problem.strerror}. Make room, or correct the folder's rights.") from None
    return place


async def resolve_remote_commit(address: str, revision: str | None, paths: BayouPaths) -> str | None:
    """Returns the commit that a branch, tag or commit has at the address now; None if there is none. Raises
    `UserError`."""
    git, is_commit = (
        RepositoryGit(paths.home),
        revision is not None and _COMMIT_ID_PATTERN.fullmatch(revision) is not None,
    )
    place = await update_local_clone(address, paths, revision if is_commit else None)
    names = ("refs/remotes/origin/HEAD",)
    if revision is not None:
        names = (f"refs/remotes/origin/{revision}", f"refs/tags/{revision}", revision)
    for name in names:
        if (commit := await git.resolve(place, name)) is not None:
            return commit
    return None


async def _clone_repository(address: str, place: Path) -> None:
    """Clones beside the place and moves the clone there, so that an interrupted one is never used."""
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".cloning-", dir=place.parent))
    try:
        await run_user_git(
            scratch, "clone", "--quiet", "--no-checkout", "--", address, str(scratch / place.name)
        )
        try:
            (scratch / place.name).rename(place)
        except OSError:
            if not is_dir(place):  # else another process was faster
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
