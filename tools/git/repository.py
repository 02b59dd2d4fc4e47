"""Finds the repository that git would use for a folder, and what is checked out there, from its files alone."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tools.files.presence import exists, is_dir, is_link
from tools.git.config import Configuration, read_configuration, read_small_text
from tools.git.steering import risky_entries
from tools.patterns import late

_MAX_POINTER_BYTES = 64 * 1024
_COMMIT = late(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_BRANCH = "refs/heads/"
_GITLINK = (0o160000).to_bytes(4, "big")
"""Mode of an index entry that stands for another repository."""
_NAME_LENGTH = 0xFFF
_MAX_INDEX = 16 * 1024 * 1024
_NETWORK_OR_SIGNING_KEYS = frozenset(
    ("diff.submodule", "status.submodulesummary", "extensions.partialclone", "log.showsignature")
)
"""Settings by which git reads other repositories, contacts another machine or checks signatures."""


class RiskySetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a repository that starts programs or redirects git."""

    file: Path
    text: str
    """The setting, on one line."""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    top: Path
    """The folder that git's folder belongs to; git's folder itself in a bare repository."""
    folder: Path
    """Git's folder: `.git`, or the target of a file of that name."""
    common: Path
    """The folder of the configuration; differs from `folder` in linked work trees."""
    is_bare: bool = False

    def configuration(self, home: Path) -> Configuration:
        places = dict.fromkeys(
            (self.common / "config", self.common / "config.worktree", self.folder / "config.worktree")
        )
        return read_configuration(*places, home=home)

    def risky_settings(self, home: Path) -> tuple[RiskySetting, ...]:
        """Returns the settings that make git start programs or look elsewhere; empty for a newly created repository."""
        return tuple(self._find_risky_settings(self.configuration(home)))

    def _find_risky_settings(self, configuration: Configuration) -> Iterator[RiskySetting]:
        if self.is_bare:
            yield RiskySetting(file=self.top / "HEAD", text="a bare repository lies open in this folder")
        if not self.has_own_git_folder():
            yield RiskySetting(file=self.top / ".git", text=f"leads to {self.folder}")
        for entry in risky_entries(configuration):
            yield RiskySetting(file=entry.file, text=f"{entry.name} = {entry.value}")
        for entry in configuration.entries:
            is_place = (entry.section, entry.key) == ("core", "worktree") and entry.value
            if is_place and not _is_same_folder(self.folder / (entry.value or ""), self.top):
                yield RiskySetting(file=entry.file, text=f"core.worktree = {entry.value}")
        for file, problem in configuration.unreadable:
            yield RiskySetting(file=file, text=f"cannot be understood: {problem}")
        alternates = self.common / "objects" / "info" / "alternates"
        try:
            lines = (read_small_text(alternates, _MAX_POINTER_BYTES) or "").splitlines()
        except (OSError, ValueError) as problem:
            lines = [str(problem)]
        for line in lines:
            yield RiskySetting(file=alternates, text=f"takes objects from {line}")

    def may_start_programs(self, home: Path) -> bool:
        """Returns whether git, when it only reads, may start a program that a repository names: by a risky setting,
        in a linked repository, by the hook after an index refresh, or to fetch missing objects."""
        if self.risky_settings(home) or any(
            entry.name in _NETWORK_OR_SIGNING_KEYS or (entry.section, entry.key) == ("remote", "promisor")
            for entry in self.configuration(home).entries
        ):
            return True
        if exists(self.common / "hooks" / "post-index-change"):
            return True
        return self.may_have_links()

    def may_have_links(self) -> bool:
        """Returns whether the index may link to other repositories, judged by its bytes."""
        index = self.folder / "index"
        if not exists(index):
            return False
        if index.stat().st_size > _MAX_INDEX or any(self.folder.glob("sharedindex.*")):
            return True
        return _GITLINK in index.read_bytes()

    def tracked(self, paths: Iterable[str]) -> frozenset[str]:
        """Returns those of these files that are in the index; none where only git could tell."""
        index = self.folder / "index"
        try:
            if not exists(index) or index.stat().st_size > _MAX_INDEX:
                return frozenset()
            held = index.read_bytes()
        except OSError:
            return frozenset()
        root = os.path.realpath(self.top).rstrip("/") + "/"
        return frozenset(
            path for path in paths if _index_has_name(held, os.fsencode(path.removeprefix(root)))
        )

    def has_own_git_folder(self) -> bool:
        """Whether git's folder is `.git` here, or another folder that refers to this one (linked work tree,
        submodule)."""
        if self.is_bare or (
            _is_same_folder(self.folder, self.top / ".git") and not is_link(self.top / ".git")
        ):
            return True
        try:
            back = read_small_text(self.folder / "gitdir", _MAX_POINTER_BYTES)
            if back is not None:
                return _is_same_folder(self.folder / back.rstrip("\n"), self.top / ".git")
            configuration = read_configuration(self.folder / "config", home=self.folder)
        except (OSError, ValueError):
            return False
        places = [entry.value for entry in configuration.entries if entry.name == "core.worktree"]
        return bool(places) and _is_same_folder(self.folder / (places[-1] or ""), self.top)

    def head(self) -> str:
        """Returns the branch, a short commit id if no branch is checked out, or `git` where only git can tell."""
        file = self.folder / "HEAD"
        try:
            told = (
                str(file.readlink())
                if is_link(file)
                else (read_small_text(file, _MAX_POINTER_BYTES) or "").strip()
            )
        except (OSError, ValueError):
            return "git"
        if _COMMIT.match(told):
            return told[:7]
        branch = told.removeprefix("ref:").strip()
        if not branch.startswith(_BRANCH) or branch == f"{_BRANCH}.invalid":
            return "git"
        name = branch.removeprefix(_BRANCH)
        return name if name and name.isprintable() and " " not in name and len(name) < 256 else "git"


def find_repository(folder: Path) -> Repository | None:
    """Searches upwards as git does: `.git` first, then whether the folder itself is a git folder."""
    for place in (folder, *folder.parents):
        link = place / ".git"
        if exists(link) or is_link(link):
            target = _gitfile_target(link)
            if target is not None and _is_git_folder(target):
                return Repository(top=place, folder=target, common=_common_folder(target))
        elif _is_git_folder(place):
            return Repository(top=place, folder=place, common=_common_folder(place), is_bare=True)
    return None


def _gitfile_target(link: Path) -> Path | None:
    if is_dir(link):
        return link
    try:
        told = read_small_text(link, _MAX_POINTER_BYTES) or ""
    except (OSError, ValueError):
        return None
    if not told.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(link.parent / told.removeprefix("gitdir:").strip()))


def _common_folder(folder: Path) -> Path:
    try:
        told = read_small_text(folder / "commondir", _MAX_POINTER_BYTES)
    except (OSError, ValueError):
        return folder
    return Path(os.path.normpath(folder / told.strip())) if told and told.strip() else folder


def _is_git_folder(folder: Path) -> bool:
    head = folder / "HEAD"
    common = _common_folder(folder)
    return (exists(head) or is_link(head)) and is_dir(common / "objects") and is_dir(common / "refs")


def _index_has_name(index: bytes, name: bytes) -> bool:
    """Searches an index for a name, which stands behind its length and before a null byte."""
    at = index.find(name + b"\0")
    while at >= 0:
        if int.from_bytes(index[at - 2 : at], "big") & _NAME_LENGTH == min(len(name), _NAME_LENGTH):
            return True
        at = index.find(name + b"\0", at + 1)
    return False


def _is_same_folder(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
