"""Finds the repository that git would use for a folder, and what is checked out there, from its files alone."""

import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tools.files.path_existence import exists, is_dir, is_link
from tools.git.git_config import GitConfiguration, read_git_configuration, read_small_text_file
from tools.git.risky_settings import find_risky_git_settings
from tools.lazy_patterns import lazy_regex

_MAX_GITFILE_BYTES = 64 * 1024
_COMMIT_ID_PATTERN = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_GIT_BRANCH_REFERENCE_PREFIX = "refs/heads/"
_GITLINK_MODE = (0o160000).to_bytes(4, "big")
"""The mode of an entry in git's index that stands for another repository (a submodule)."""
_GIT_INDEX_NAME_LENGTH_MASK = 0xFFF
_GIT_INDEX_EXTENDED_FLAG = 0x4000
_MAX_GIT_INDEX_BYTES = 16 * 1024 * 1024
_MAX_SCANNED_GIT_ENTRIES = 5_000
_HARMLESS_GIT_SETTINGS_PATTERN = lazy_regex(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|"
    r"eol|safecrlf|quotepath|abbrev|longpaths|untrackedcache|worktree)|remote\.(?:url|fetch|pushurl|prune|tagopt|"
    r"gh-resolved)|(?:user|branch|color|column|advice|gc|index|pull|push|rebase)\.[\w-]+|init\.defaultbranch|"
    r"fetch\.prune|merge\.(?:ff|conflictstyle)|commit\.(?:gpgsign|verbose)|extensions\.(?:worktreeconfig|objectformat)|"
    r"diff\.(?:algorithm|renames|colormoved)|lfs\.repositoryformatversion"
)
"""Matches git settings, by section and key, that only change how git shows the repository itself."""


class RiskyGitSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a repository that starts programs or redirects git."""

    file: Path
    text: str
    """The setting, on one line."""


class GitRepository(msgspec.Struct, frozen=True, kw_only=True):
    work_tree: Path
    """The folder that git's folder belongs to; git's folder itself in a bare repository."""
    git_folder: Path
    """The repository's git folder: `.git`, or the folder that a `.git` file names."""
    common_git_folder: Path
    """The git folder that has the configuration; it differs from `git_folder` in linked work trees."""
    is_bare: bool = False

    def configuration(self, home: Path) -> GitConfiguration:
        places = dict.fromkeys(
            (
                self.common_git_folder / "config",
                self.common_git_folder / "config.worktree",
                self.git_folder / "config.worktree",
            )
        )
        return read_git_configuration(*places, home=home)

    def risky_settings_of_git_folder(self, home: Path) -> tuple[RiskyGitSetting, ...]:
        """Returns the risky settings of the repository's configuration, without regard to where its git folder is."""
        return tuple(_make_risky_settings(self.configuration(home)))

    def risky_settings(self, home: Path) -> tuple[RiskyGitSetting, ...]:
        """Returns the repository's settings that make git start programs or look elsewhere; empty for a newly created
        repository."""
        return tuple(self._find_risky_settings(self.configuration(home)))

    def _find_risky_settings(self, configuration: GitConfiguration) -> Iterator[RiskyGitSetting]:
        if self.is_bare:
            yield RiskyGitSetting(
                file=self.work_tree / "HEAD", text="a bare repository lies open in this folder"
            )
        if not self.has_own_git_folder():
            yield RiskyGitSetting(file=self.work_tree / ".git", text=f"leads to {self.git_folder}")
        yield from _make_risky_settings(configuration)
        for entry in configuration.entries:
            is_place = (entry.section, entry.key) == ("core", "worktree") and entry.value
            if is_place and not _is_same_folder(self.git_folder / (entry.value or ""), self.work_tree):
                yield RiskyGitSetting(file=entry.file, text=f"core.worktree = {entry.value}")
        alternates = self.common_git_folder / "objects" / "info" / "alternates"
        try:
            lines = (read_small_text_file(alternates, _MAX_GITFILE_BYTES) or "").splitlines()
        except (OSError, ValueError) as problem:
            lines = [str(problem)]
        for line in lines:
            yield RiskyGitSetting(file=alternates, text=f"takes objects from {line}")

    def may_git_leave_repository(self, home: Path) -> bool:
        """Returns whether git, when it only reads, may start a program, contact another machine or read other files:
        by a setting, a linked repository, a link in git's folder, or the hook after an index refresh."""
        if self.risky_settings(home) or not all(
            _HARMLESS_GIT_SETTINGS_PATTERN.fullmatch(f"{entry.section}.{entry.key}")
            for entry in self.configuration(home).entries
        ):
            return True
        if exists(self.common_git_folder / "hooks" / "post-index-change") or self._replaces_objects():
            return True
        return self.may_have_gitlinks() or any(
            map(_has_symbolic_links, {self.git_folder, self.common_git_folder})
        )

    def _replaces_objects(self) -> bool:
        """Returns whether git may show the content of another object than the one that is asked for, because of
        replacements (git-replace(1))."""
        packed = self.common_git_folder / "packed-refs"
        if exists(self.common_git_folder / "refs" / "replace"):
            return True
        return exists(packed) and (
            packed.stat().st_size > _MAX_GIT_INDEX_BYTES or b" refs/replace/" in packed.read_bytes()
        )

    def may_have_gitlinks(self) -> bool:
        """Returns whether the repository's index may link to other repositories, judged by its bytes."""
        index = self.git_folder / "index"
        if not exists(index):
            return False
        if index.stat().st_size > _MAX_GIT_INDEX_BYTES or any(self.git_folder.glob("sharedindex.*")):
            return True
        return _GITLINK_MODE in index.read_bytes()

    def filter_tracked_paths(self, paths: Iterable[str]) -> frozenset[str]:
        """Returns those of these files that are in the repository's index; none if the index cannot be read or is
        too large."""
        index = self.git_folder / "index"
        try:
            if not exists(index) or index.stat().st_size > _MAX_GIT_INDEX_BYTES:
                return frozenset()
            held = index.read_bytes()
        except OSError:
            return frozenset()
        root = os.path.realpath(self.work_tree).rstrip("/") + "/"
        return frozenset(
            path for path in paths if _index_has_name(held, os.fsencode(path.removeprefix(root)))
        )

    def tracked_paths(self) -> tuple[str, ...] | None:
        """Returns the absolute paths of all files in the index; None where only git could tell."""
        index = self.git_folder / "index"
        try:
            if not exists(index):
                return ()
            if index.stat().st_size > _MAX_GIT_INDEX_BYTES or any(self.git_folder.glob("sharedindex.*")):
                return None
            root = os.path.realpath(self.work_tree).rstrip("/")
            return tuple(f"{root}/{os.fsdecode(name)}" for name in _read_index_names(index.read_bytes()))
        except (OSError, ValueError, struct.error):
            return None

    def has_own_git_folder(self) -> bool:
        """Whether the repository's git folder is `.git` here, or another folder that refers to this one (linked work
        tree, submodule)."""
        if self.is_bare or (
            _is_same_folder(self.git_folder, self.work_tree / ".git") and not is_link(self.work_tree / ".git")
        ):
            return True
        try:
            back = read_small_text_file(self.git_folder / "gitdir", _MAX_GITFILE_BYTES)
            if back is not None:
                return _is_same_folder(self.git_folder / back.rstrip("\n"), self.work_tree / ".git")
            configuration = read_git_configuration(self.git_folder / "config", home=self.git_folder)
        except (OSError, ValueError):
            return False
        places = [entry.value for entry in configuration.entries if entry.name == "core.worktree"]
        return bool(places) and _is_same_folder(self.git_folder / (places[-1] or ""), self.work_tree)

    def branch_or_commit_name(self) -> str:
        """Returns the name of what is checked out: the branch, a short commit id, or `git` if it cannot be read
        from the files."""
        file = self.git_folder / "HEAD"
        try:
            told = (
                str(file.readlink())
                if is_link(file)
                else (read_small_text_file(file, _MAX_GITFILE_BYTES) or "").strip()
            )
        except (OSError, ValueError):
            return "git"
        if _COMMIT_ID_PATTERN.match(told):
            return told[:7]
        branch = told.removeprefix("ref:").strip()
        if (
            not branch.startswith(_GIT_BRANCH_REFERENCE_PREFIX)
            or branch == f"{_GIT_BRANCH_REFERENCE_PREFIX}.invalid"
        ):
            return "git"
        name = branch.removeprefix(_GIT_BRANCH_REFERENCE_PREFIX)
        return name if name and name.isprintable() and " " not in name and len(name) < 256 else "git"


def _make_risky_settings(configuration: GitConfiguration) -> Iterator[RiskyGitSetting]:
    for entry in find_risky_git_settings(configuration):
        yield RiskyGitSetting(file=entry.file, text=f"{entry.name} = {entry.value}")
    for file, problem in configuration.unreadable_files:
        yield RiskyGitSetting(file=file, text=f"cannot be understood: {problem}")


def repository_of_git_folder(folder: Path) -> GitRepository:
    """Returns the repository with this git folder, without a work tree: for example, one of `modules` or
    `worktrees`."""
    return GitRepository(
        work_tree=folder, git_folder=folder, common_git_folder=_find_common_folder(folder), is_bare=True
    )


def find_repository(folder: Path) -> GitRepository | None:
    """Finds the repository of a folder as git does: in the folder and each parent, it looks for `.git` first, and
    then checks whether the folder itself is a git folder."""
    for place in (folder, *folder.parents):
        link = place / ".git"
        if exists(link) or is_link(link):
            target = _read_gitfile_target(link)
            if target is not None and _is_git_folder(target):
                return GitRepository(
                    work_tree=place, git_folder=target, common_git_folder=_find_common_folder(target)
                )
        elif _is_git_folder(place):
            return GitRepository(
                work_tree=place, git_folder=place, common_git_folder=_find_common_folder(place), is_bare=True
            )
    return None


def _read_gitfile_target(link: Path) -> Path | None:
    if is_dir(link):
        return link
    try:
        told = read_small_text_file(link, _MAX_GITFILE_BYTES) or ""
    except (OSError, ValueError):
        return None
    if not told.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(link.parent / told.removeprefix("gitdir:").strip()))


def _find_common_folder(folder: Path) -> Path:
    try:
        told = read_small_text_file(folder / "commondir", _MAX_GITFILE_BYTES)
    except (OSError, ValueError):
        return folder
    return Path(os.path.normpath(folder / told.strip())) if told and told.strip() else folder


def _is_git_folder(folder: Path) -> bool:
    head = folder / "HEAD"
    common = _find_common_folder(folder)
    return (exists(head) or is_link(head)) and is_dir(common / "objects") and is_dir(common / "refs")


def _index_has_name(index: bytes, name: bytes) -> bool:
    """Returns whether a git index has a file name, which is stored behind its length and before a null byte."""
    at = index.find(name + b"\0")
    while at >= 0:
        if int.from_bytes(index[at - 2 : at], "big") & _GIT_INDEX_NAME_LENGTH_MASK == min(
            len(name), _GIT_INDEX_NAME_LENGTH_MASK
        ):
            return True
        at = index.find(name + b"\0", at + 1)
    return False


def _read_index_names(index: bytes) -> Iterator[bytes]:
    """Yields the file names in a git index. Raises `ValueError` for an unsupported format, such as version 4."""
    signature, version, count = struct.unpack_from(">4sLL", index)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError("not an index of version 2 or 3")
    at = 12
    for _ in range(count):
        flags = int.from_bytes(index[at + 60 : at + 62], "big")
        start = at + (64 if flags & _GIT_INDEX_EXTENDED_FLAG else 62)
        end = index.index(b"\0", start)
        if flags & _GIT_INDEX_NAME_LENGTH_MASK != min(end - start, _GIT_INDEX_NAME_LENGTH_MASK):
            raise ValueError("the hashes have another length")
        yield index[start:end]
        at += ((end - at) // 8 + 1) * 8


def _has_symbolic_links(folder: Path) -> bool:
    """Returns whether a git folder contains a symbolic link, except in objects and hooks; True as well if it has
    too many entries to check."""
    waiting, seen = [folder], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.is_symlink() or seen > _MAX_SCANNED_GIT_ENTRIES:
                    return True
                path = Path(entry.path)
                if entry.is_dir() and path not in (folder / "objects", folder / "hooks"):
                    waiting.append(path)
    return False


def _is_same_folder(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
