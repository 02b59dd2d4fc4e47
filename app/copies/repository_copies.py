"""Copies of repositories to work in, and the changes made there, compared with a state that is recorded elsewhere.

A person's repository is only read. Clones share no refs, index or configuration with it or with each other. All git
that runs here is disarmed."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.values.user_errors import UserError
from tools.git.git_command import ReadOnlyGitCommand, make_read_only_git_command
from tools.git.git_config import GitConfiguration

_COPY_GIT_TIMEOUT_SECONDS = 600.0
_GIT_ALLOW_FILE_CLONE_OPTIONS = ("-c", "protocol.file.allow=always")
_MAX_PATCH_BYTES = 64 << 20
_GIT_PATCH_DIFF_COMMAND = (
    *("diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)


class GitFailed(UserError):
    """Raised if a git command failed."""


class RepositoryGit(msgspec.Struct, frozen=True):
    """Runs git commands for copies of repositories, without hooks and without the repository's configuration."""

    home: Path

    async def run_and_read_text(self, folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Runs a git command and returns its output as text. Raises `GitFailed`."""
        return (await self.read_bytes(folder, *words, env=env)).decode("utf-8", "surrogateescape")

    async def read_bytes(
        self, folder: Path, *words: str, env: Mapping[str, str] | None = None, given: bytes = b""
    ) -> bytes:
        """Runs a git command and returns its output; `given` is git's input. Raises `GitFailed`."""
        command = self._command(folder, words, env or {})
        try:
            code, told = await command.run_async(_COPY_GIT_TIMEOUT_SECONDS, given)
        except TimeoutError:
            raise GitFailed(
                f"git {_git_subcommand(words)} in {folder} took longer than {_COPY_GIT_TIMEOUT_SECONDS:g} s."
            ) from None
        except OSError as problem:
            raise GitFailed(f"git cannot be started: {problem.strerror}.") from None
        if code:
            raise GitFailed(f"git {_git_subcommand(words)} in {folder} failed with exit code {code}.")
        if len(told) > _MAX_PATCH_BYTES:
            raise GitFailed(
                f"git {_git_subcommand(words)} in {folder} printed more than {_MAX_PATCH_BYTES >> 20} MB."
            )
        return told

    def _command(self, folder: Path, words: tuple[str, ...], env: Mapping[str, str]) -> ReadOnlyGitCommand:
        command = make_read_only_git_command(folder, *words, repository=GitConfiguration(), home=self.home)
        if command is None:
            raise GitFailed("git is not installed. Install it: patches are made with it.")
        return msgspec.structs.replace(command, environment={**command.environment, **env})

    async def resolve(self, repository: Path, revision: str) -> str | None:
        """Returns the commit id of a revision; None if there is none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        try:
            return (await self.run_and_read_text(repository, *words)).strip()
        except GitFailed:
            return None

    async def has_uncommitted_changes(self, repository: Path) -> bool:
        """Whether files of the folder differ from the last commit, or are new."""
        return bool(
            await self.run_and_read_text(
                repository, "status", "--porcelain", "-z", "--untracked-files=normal"
            )
        )


class FolderBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a folder before anyone works in it: a tree or a commit in a store, with a separate index."""

    git: RepositoryGit
    store: Path
    """The git folder that stores the state. It is outside the folder, so that nothing in the folder can change its
    configuration."""
    index: Path
    tree: str

    @classmethod
    async def record_folder(
        cls, git: RepositoryGit, store: Path, index: Path, folder: Path
    ) -> "FolderBaseline":
        """Records all files of a folder that git would not ignore, and returns them as a baseline."""
        return await cls(git=git, store=store, index=index, tree="").record_present_state(folder)

    async def record_present_state(self, folder: Path) -> "FolderBaseline":
        """Records the present state of the folder, and returns it as a new baseline."""
        await self.run_and_read_text(folder, "add", "--all")
        tree = (await self.run_and_read_text(folder, "write-tree")).strip()
        return msgspec.structs.replace(self, tree=tree)

    async def patch(self, folder: Path) -> str:
        """Returns the changes since the baseline, including new files, in the form that `git apply` reads."""
        await self.run_and_read_text(folder, "add", "--all")
        return await self.run_and_read_text(folder, *_GIT_PATCH_DIFF_COMMAND, self.tree)

    async def run_and_read_text(self, folder: Path, *words: str) -> str:
        """Runs a git command with the baseline's store and index, and returns its output as text."""
        return (await self.read_bytes(folder, *words)).decode("utf-8", "surrogateescape")

    async def read_bytes(self, folder: Path, *words: str, given: bytes = b"") -> bytes:
        places = (f"--git-dir={self.store}", f"--work-tree={folder}", "-c", "core.bare=false")
        env = {"GIT_INDEX_FILE": str(self.index)}
        return await self.git.read_bytes(folder, *places, *words, env=env, given=given)


class RepositoryCopies:
    """Copies each repository once into a store, when the first clone of it is made."""

    def __init__(self, git: RepositoryGit, folder: Path, *, shares_objects: bool = False) -> None:
        """Prepares the store. With `shares_objects`, the copies read the objects of their repositories, which costs
        no time and no space but needs the repositories to stay."""
        self._git = git
        self._folder = folder
        self._clone_options = ("--shared",) if shares_objects else ("--no-hardlinks", "--dissociate")
        self._stores: dict[str, asyncio.Task[Path]] = {}

    async def clone_store_for(self, repository: Path) -> Path:
        name = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
        if name not in self._stores:
            self._stores[name] = asyncio.ensure_future(
                self._clone_repository(repository, self._folder / name)
            )
        return await asyncio.shield(self._stores[name])

    async def empty_git_store(self) -> Path:
        """Returns an empty git store for folders that are no repositories."""
        if "" not in self._stores:
            self._stores[""] = asyncio.ensure_future(self._make_empty_store(self._folder / "folders.git"))
        return await asyncio.shield(self._stores[""])

    async def stop(self) -> None:
        """Cancels the copying that is still in progress."""
        for making in self._stores.values():
            making.cancel()
        await asyncio.gather(*self._stores.values(), return_exceptions=True)

    async def _clone_repository(self, repository: Path, place: Path) -> Path:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        words = ("clone", "--quiet", "--no-checkout", *self._clone_options, "--template=")
        env = {"GIT_ALLOW_PROTOCOL": "file"}
        await self._git.run_and_read_text(
            place.parent, *_GIT_ALLOW_FILE_CLONE_OPTIONS, *words, "--", str(repository), str(place), env=env
        )
        await self._git.run_and_read_text(place, "remote", "remove", "origin")
        return place / ".git"

    async def _make_empty_store(self, place: Path) -> Path:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        await self._git.run_and_read_text(place.parent, "init", "--quiet", "--bare", str(place))
        return place

    async def check_out(self, repository: Path, commit: str, folder: Path, index: Path) -> FolderBaseline:
        """Makes `folder` a clone of the store at that commit, on no branch and without a remote."""
        store = await self.clone_store_for(repository)
        await asyncio.to_thread(
            shutil.copytree, store, folder / ".git", symlinks=True, copy_function=_link_or_copy
        )
        await self._git.run_and_read_text(folder, "checkout", "--quiet", "--detach", commit)
        await asyncio.to_thread(shutil.copyfile, folder / ".git" / "index", index)
        return FolderBaseline(git=self._git, store=store, index=index, tree=commit)


def _link_or_copy(source: str, place: str) -> None:
    """Hard-links git objects, which never change, so that clones share them, and copies every other file."""
    if f"{os.sep}objects{os.sep}" in source:
        try:
            os.link(source, place)
            return
        except OSError:
            pass  # a file system without hard links, or with too many
    shutil.copy2(source, place)


def _git_subcommand(words: tuple[str, ...]) -> str:
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")
