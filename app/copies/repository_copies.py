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
from tools.git.command import GitCommand, git_command
from tools.git.config import Configuration

_GIT_SECONDS = 600.0
_LOCAL = ("-c", "protocol.file.allow=always")
_MAX_PATCH_BYTES = 64 << 20
_DIFF = (
    *("diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)


class GitFailed(UserError):
    """A git command failed."""


class Git(msgspec.Struct, frozen=True):
    """Runs git commands for copies of repositories."""

    home: Path

    async def ask(self, folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Returns the output as a text. Raises `GitFailed`."""
        return (await self.read(folder, *words, env=env)).decode("utf-8", "surrogateescape")

    async def read(
        self, folder: Path, *words: str, env: Mapping[str, str] | None = None, given: bytes = b""
    ) -> bytes:
        """Returns the output; `given` is git's input. Raises `GitFailed`."""
        command = self._command(folder, words, env or {})
        try:
            code, told = await command.ask(_GIT_SECONDS, given)
        except TimeoutError:
            raise GitFailed(f"git {_verb(words)} in {folder} took longer than {_GIT_SECONDS:g} s.") from None
        except OSError as problem:
            raise GitFailed(f"git cannot be started: {problem.strerror}.") from None
        if code:
            raise GitFailed(f"git {_verb(words)} in {folder} ended with {code}.")
        if len(told) > _MAX_PATCH_BYTES:
            raise GitFailed(f"git {_verb(words)} in {folder} printed more than {_MAX_PATCH_BYTES >> 20} MB.")
        return told

    def _command(self, folder: Path, words: tuple[str, ...], env: Mapping[str, str]) -> GitCommand:
        command = git_command(folder, *words, repository=Configuration(), home=self.home)
        if command is None:
            raise GitFailed("git is not installed. Install it: patches are made with it.")
        return msgspec.structs.replace(command, environment={**command.environment, **env})

    async def resolve(self, repository: Path, revision: str) -> str | None:
        """Returns the commit of a revision; None if there is none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        try:
            return (await self.ask(repository, *words)).strip()
        except GitFailed:
            return None

    async def has_changes(self, repository: Path) -> bool:
        """Whether files differ from the last commit, or are new."""
        return bool(await self.ask(repository, "status", "--porcelain", "-z", "--untracked-files=normal"))


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a folder before anyone works in it: a tree or a commit in a store, with a separate index."""

    git: Git
    store: Path
    """A git folder elsewhere, whose configuration nobody who works in the folder can change."""
    index: Path
    tree: str

    @classmethod
    async def of_folder(cls, git: Git, store: Path, index: Path, folder: Path) -> "Baseline":
        """Records all files of the folder that git would not ignore."""
        return await cls(git=git, store=store, index=index, tree="").renewed(folder)

    async def renewed(self, folder: Path) -> "Baseline":
        """Records the present state of the folder."""
        await self.ask(folder, "add", "--all")
        tree = (await self.ask(folder, "write-tree")).strip()
        return msgspec.structs.replace(self, tree=tree)

    async def patch(self, folder: Path) -> str:
        """Returns the changes since then, including new files, in the form that `git apply` reads."""
        await self.ask(folder, "add", "--all")
        return await self.ask(folder, *_DIFF, self.tree)

    async def ask(self, folder: Path, *words: str) -> str:
        """Returns the output of git for this folder, store and index."""
        return (await self.read(folder, *words)).decode("utf-8", "surrogateescape")

    async def read(self, folder: Path, *words: str, given: bytes = b"") -> bytes:
        places = (f"--git-dir={self.store}", f"--work-tree={folder}", "-c", "core.bare=false")
        env = {"GIT_INDEX_FILE": str(self.index)}
        return await self.git.read(folder, *places, *words, env=env, given=given)


class RepositoryCopies:
    """Copies each repository once, when its first clone is made."""

    def __init__(self, git: Git, folder: Path, *, shares_objects: bool = False) -> None:
        """`shares_objects`: the copies read the objects of their repositories, which costs no time and no space, but
        needs the repository to stay."""
        self._git = git
        self._folder = folder
        self._how = ("--shared",) if shares_objects else ("--no-hardlinks", "--dissociate")
        self._made: dict[str, asyncio.Task[Path]] = {}

    async def of(self, repository: Path) -> Path:
        name = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
        if name not in self._made:
            self._made[name] = asyncio.ensure_future(self._make(repository, self._folder / name))
        return await asyncio.shield(self._made[name])

    async def empty(self) -> Path:
        """Returns a store for folders that are no repositories."""
        if "" not in self._made:
            self._made[""] = asyncio.ensure_future(self._make_empty(self._folder / "folders.git"))
        return await asyncio.shield(self._made[""])

    async def stop(self) -> None:
        """Ends what is still being copied."""
        for making in self._made.values():
            making.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    async def _make(self, repository: Path, place: Path) -> Path:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        words = ("clone", "--quiet", "--no-checkout", *self._how, "--template=")
        env = {"GIT_ALLOW_PROTOCOL": "file"}
        await self._git.ask(place.parent, *_LOCAL, *words, "--", str(repository), str(place), env=env)
        await self._git.ask(place, "remote", "remove", "origin")
        return place / ".git"

    async def _make_empty(self, place: Path) -> Path:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        await self._git.ask(place.parent, "init", "--quiet", "--bare", str(place))
        return place

    async def check_out(self, repository: Path, commit: str, folder: Path, index: Path) -> Baseline:
        """Makes `folder` a clone at that commit, on no branch and without a remote."""
        store = await self.of(repository)
        await asyncio.to_thread(
            shutil.copytree, store, folder / ".git", symlinks=True, copy_function=_link_object
        )
        await self._git.ask(folder, "checkout", "--quiet", "--detach", commit)
        await asyncio.to_thread(shutil.copyfile, folder / ".git" / "index", index)
        return Baseline(git=self._git, store=store, index=index, tree=commit)


def _link_object(source: str, place: str) -> None:
    """Objects never change, so clones share them, as those of `git clone` do; everything else is copied."""
    if f"{os.sep}objects{os.sep}" in source:
        try:
            os.link(source, place)
            return
        except OSError:
            pass  # a file system without hard links, or with too many
    shutil.copy2(source, place)


def _verb(words: tuple[str, ...]) -> str:
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")
