"""Finds the files of git that a command must not change, so that it can commit and cause no other effect.

The set follows from the names that exist before the command: whether git would accept a folder as a repository
does not matter, because a command can turn it into one. Everything here only reads."""

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from tools.box.nested_repositories import GIT_ALIAS_PREFIX, NestedRepositoryFinder
from tools.box.sandbox_policy import innermost_containing
from tools.files.paths import real_path
from tools.git.git_config import (
    expand_git_path,
    read_git_configuration,
    read_small_text_file,
    read_user_git_configuration,
)
from tools.git.git_repository import GitRepository, find_repository
from tools.git.risky_settings import git_setting_starts_program

_GIT_CONTROL_FILES: Final = ("hooks", "config", "config.worktree", "commondir", "gitdir")
"""The files in each git folder that decide which programs git runs and which folders it uses."""
COMMONDIR_CONTENT_WITHOUT_EFFECT: Final = "."
"""The content of a `commondir` file that names its own folder, and so has the same effect as no such file."""
NEUTRAL_CONTENT_BY_GIT_FILE: Final = {"commondir": COMMONDIR_CONTENT_WITHOUT_EFFECT, "config.worktree": ""}
"""Optional files of git, with a content that has the same effect as no file."""
_MAX_GIT_POINTER_FILE_BYTES: Final = 64 * 1024
_MAX_FOLLOWED_LINKS: Final = 40
"""The maximum number of symbolic links that the system follows in a path."""
_HOOK_FOLDER_SETTINGS: Final = (("core", "hookspath"), ("init", "templatedir"))
"""Git settings that name a folder of hooks, which git runs or copies into new repositories."""
MAX_PROTECTED_GIT_FOLDERS: Final = 300
_MAX_GUARDED_HOOKS: Final = 200
_MAX_GUARDED_PACK_FILES: Final = 200
_MAX_GUARDED_PROGRAMS: Final = 300


class GitSandboxPaths(msgspec.Struct, frozen=True):
    writable: tuple[str, ...] = ()
    """Paths of git outside the workspace that commands may write."""
    guarded: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Symbolic links that must not change; their targets are guarded too."""
    pinned: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Missing paths that would be guarded if they existed."""
    repositories: tuple[str, ...] = ()
    """The git folders of the workspace's repositories."""
    packs: tuple[str, ...] = ()
    """Pack files, which never change; git removes them after it repacked their objects."""
    reserved: tuple[str, ...] = ()
    """Missing files by which a command could make git use another folder or configuration, and existing ones with
    the neutral content."""
    commands: tuple[str, ...] = ()
    """The values of git settings that start programs."""
    hook_folders: tuple[str, ...] = ()
    """The folders of hooks that git's configurations name."""
    started: tuple[str, ...] = ()
    """The files that git may start by these settings and hook folders, and the links on the way to them."""


def find_git_sandbox_paths(
    workspace: str,
    home: Path,
    nested: NestedRepositoryFinder,
    git_folders: Iterable[str] = (),
    earlier: GitSandboxPaths | None = None,
) -> GitSandboxPaths:
    """Returns the places of git that a command must not change: of the workspace's repository and its submodules
    (`git_folders`: each `.git` below the workspace). `nested` has searched the workspace. With `earlier` places, what
    their configurations may start by now is found instead of what the present ones may."""
    found = _GitSandboxPathSearch(home)
    writable: tuple[str, ...] = ()
    found.add_repository(f"{workspace}/.git")
    repository = _repository(workspace)
    if repository is not None:
        folder, common = real_path(repository.git_folder), real_path(repository.common_git_folder)
        found.add_repository(
            str(repository.work_tree if repository.is_bare else repository.work_tree / ".git")
        )
        is_linked = Path(folder).parent == Path(common, "worktrees")
        if not repository.is_bare and repository.has_own_git_folder() and (common == folder or is_linked):
            writable = tuple(dict.fromkeys((common, folder)))
    for owner in found.git_folders():
        found.protect_settings_and_hooks_of(owner)
    for link in git_folders:
        found.guard_submodule_link(link)
    found.guard_files_started_by_git(nested, earlier)
    return msgspec.structs.replace(found.places(), writable=writable)


def merge_git_sandbox_paths(
    roots: Iterable[str],
    home: Path,
    nested: NestedRepositoryFinder,
    git_folders: Iterable[str] = (),
    earlier: GitSandboxPaths | None = None,
) -> GitSandboxPaths:
    """Returns the places of git that a command must not change, for the repositories of several folders."""
    git_folders = tuple(git_folders)
    found = [find_git_sandbox_paths(root, home, nested, git_folders, earlier) for root in roots]
    return GitSandboxPaths(
        **{
            name: tuple(dict.fromkeys(path for one in found for path in getattr(one, name)))
            for name in GitSandboxPaths.__struct_fields__
        }
    )


def _repository(workspace: str) -> GitRepository | None:
    try:
        return find_repository(Path(workspace))
    except (OSError, ValueError):
        return None


class _GitSandboxPathSearch:
    """Collects the places of git that a command must not change, of all repositories."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._user_config = read_user_git_configuration(home)
        self._folders_to_search: deque[tuple[str, str]] = deque()
        """Git folders to be searched, each with the folder that its files belong to."""
        self._worktree_by_folder: dict[str, str] = {}
        self._guarded: dict[str, None] = {}
        self._links: dict[str, None] = {}
        self._pinned: dict[str, None] = {}
        self._missing_paths: dict[str, None] = {}
        self._reserved: dict[str, None] = {}
        self._commands: dict[str, None] = {}
        self._hook_folders: dict[str, None] = {}
        self._started: dict[str, None] = {}

    def places(self) -> GitSandboxPaths:
        return GitSandboxPaths(
            guarded=tuple(self._guarded),
            links=tuple(self._links),
            pinned=tuple(path for path in self._pinned if path not in self._guarded),
            missing=tuple(self._missing_paths),
            reserved=tuple(self._reserved),
            repositories=tuple(self._worktree_by_folder),
            commands=tuple(self._commands),
            hook_folders=tuple(self._hook_folders),
            started=tuple(self._started),
            packs=tuple(
                pack for owner in self._worktree_by_folder for pack in _pack_files(f"{owner}/objects/pack")
            )[:_MAX_GUARDED_PACK_FILES],
        )

    def add_repository(self, link: str) -> None:
        """Adds the repository of a `.git`: a folder, a file that names one, or a link."""
        if not os.path.lexists(link):
            return
        target = real_path(link)
        if os.path.islink(link):  # noqa: PTH114  (a text)
            self._links[link] = None
        if os.path.isdir(target):  # noqa: PTH112  (a text)
            self._folders_to_search.append((target, os.path.dirname(link)))  # noqa: PTH120
            return
        self._guarded[target] = None
        self._folders_to_search.append((resolve_git_folder(target), os.path.dirname(link)))  # noqa: PTH120

    def guard_submodule_link(self, link: str) -> None:
        """Guards the file that leads from the parent repository to one of its `modules` or `worktrees`."""
        if os.path.islink(link) or not os.path.isfile(link):  # noqa: PTH113, PTH114  (a text)
            return
        folder = resolve_git_folder(link)
        if folder in self._worktree_by_folder and ("/modules/" in folder or "/worktrees/" in folder):
            self._guarded[link] = None

    def git_folders(self) -> Iterable[str]:
        """Returns the git folders, including those of submodules and other work trees."""
        while self._folders_to_search:
            owner, top = self._folders_to_search.popleft()
            if owner in self._worktree_by_folder or not os.path.isdir(owner):  # noqa: PTH112  (a text)
                continue
            self._worktree_by_folder[owner] = top
            common = _first_line(f"{owner}/commondir")
            if common:
                self._folders_to_search.append((real_path(os.path.join(owner, common)), top))  # noqa: PTH118
            if len(self._worktree_by_folder) > MAX_PROTECTED_GIT_FOLDERS:
                self._guarded[owner] = None  # too many to guard one by one: the folder becomes read-only
                continue
            self._add_nested_folders(f"{owner}/worktrees", top, depth=1)
            self._add_nested_folders(f"{owner}/modules", top, depth=8)
            yield owner

    def _add_nested_folders(self, folder: str, top: str, *, depth: int) -> None:
        """Adds each git folder in `modules` or `worktrees`, whose names may contain slashes."""
        if os.path.islink(folder):  # noqa: PTH114  (a text)
            self._links[folder] = None
        names = _list_names(folder)
        if not names:
            return
        self._pinned[real_path(folder)] = None
        for name in names:
            path = real_path(f"{folder}/{name}")
            if depth == 1 or _is_git_folder(path):
                self._folders_to_search.append((path, self._work_tree(path) or top))
            elif os.path.isdir(path):  # noqa: PTH112  (a text)
                self._add_nested_folders(path, top, depth=depth - 1)

    def _work_tree(self, owner: str) -> str:
        """Returns the folder whose files belong to one of the `worktrees` or `modules`; empty if it names none."""
        link = _first_line(f"{owner}/gitdir")
        if link:
            return os.path.dirname(real_path(os.path.join(owner, link)))  # noqa: PTH118, PTH120
        entries = read_git_configuration(Path(owner, "config"), home=self._home).entries
        said = [one.value for one in entries if (one.section, one.key) == ("core", "worktree") and one.value]
        return real_path(os.path.join(owner, said[-1])) if said else ""  # noqa: PTH118

    def protect_settings_and_hooks_of(self, owner: str) -> None:
        self._pinned[owner] = None
        for name in _GIT_CONTROL_FILES:
            path = f"{owner}/{name}"
            if (
                name in NEUTRAL_CONTENT_BY_GIT_FILE
                and _is_git_folder(owner)
                and not git_file_has_effect(path)
            ):
                self._reserved[path] = None
            elif os.path.lexists(path):
                self._guard_path(path)
            elif name in ("hooks", "config"):
                self._missing_paths[path] = None
        for name in _list_names(f"{owner}/hooks")[:_MAX_GUARDED_HOOKS]:
            hook = f"{owner}/hooks/{name}"
            if os.path.islink(hook):  # noqa: PTH114  (a text)
                self._guard_target(real_path(hook))
        self._guard_configured_files(owner)

    def _guard_configured_files(self, owner: str) -> None:
        """Guards files that the configuration includes, and collects the folders and programs that it names."""
        places = [Path(owner, name) for name in ("config", "config.worktree")]
        in_repository = read_git_configuration(*places, home=self._home).entries
        for entry in (*in_repository, *self._user_config.entries):
            value = expand_git_path(entry.value or "", self._home)
            if entry.section in ("include", "includeif") and entry.key == "path" and value:
                self._guard_path(str(entry.file.parent / value))
            elif (entry.section, entry.key) in _HOOK_FOLDER_SETTINGS and value:
                self._hook_folders[value] = None
            elif value and entry.section == "alias" and not value.startswith("!"):
                self._commands[GIT_ALIAS_PREFIX + value] = None
            elif value and git_setting_starts_program(entry):
                self._commands[value] = None

    def guard_files_started_by_git(
        self, nested: NestedRepositoryFinder, earlier: GitSandboxPaths | None
    ) -> None:
        """Guards the folders of hooks and the files that the configurations spell, relative ones in each work tree, the
        home and git's folders, with the links on the way to them. What git itself writes in its folders (`HEAD`,
        references) is not executable."""
        commands, folders = self._commands, self._hook_folders
        if earlier is not None:
            commands, folders = dict.fromkeys(earlier.commands), dict.fromkeys(earlier.hook_folders)
        tops = tuple(dict.fromkeys(self._worktree_by_folder.values()))
        for folder in dict.fromkeys(os.path.join(top, folder) for folder in folders for top in tops):  # noqa: PTH118
            self._guard_path(folder)
            hooks = [f"{folder}/{name}" for name in _list_names(folder)]
            for path in (folder, *hooks):
                self._add_started(path)
            for path in hooks[:_MAX_GUARDED_HOOKS]:
                if os.path.islink(path):  # noqa: PTH114  (a text)
                    self._guard_target(real_path(path))
        git_folders = tuple(self._worktree_by_folder)
        places = (*tops, str(self._home), *git_folders)
        for number, path in enumerate(
            nested.find_files_at_command_paths(tuple(commands), places, str(self._home))
        ):
            if os.access(path, os.X_OK) or innermost_containing(real_path(path), git_folders) is None:
                self._add_started(path)
                if number < _MAX_GUARDED_PROGRAMS:
                    self._guard_path(path)

    def _add_started(self, path: str) -> None:
        links = (*_links_on_path(path), real_path(path))
        self._started.update(dict.fromkeys(one for one in links if os.path.lexists(one)))

    def _guard_path(self, path: str) -> None:
        """Protects a path from changes, and the links on the way to it, which could be redirected."""
        self._links.update(dict.fromkeys(_links_on_path(path)))
        self._guard_target(real_path(path))

    def _guard_target(self, path: str) -> None:
        (self._guarded if os.path.lexists(path) else self._missing_paths)[path] = None


def _pack_files(folder: str) -> Iterable[str]:
    if real_path(folder) == folder:
        yield from (f"{folder}/{name}" for name in _list_names(folder) if name.endswith((".pack", ".idx")))


def _links_on_path(path: str) -> Iterable[str]:
    """Yields all symbolic links that are followed on the way to the path."""
    done, waiting, count = "", [part for part in reversed(path.split("/")) if part], 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            done = done.rpartition("/")[0]
        elif part != ".":
            done += f"/{part}"
            if os.path.islink(done) and count < _MAX_FOLLOWED_LINKS:  # noqa: PTH114  (a text)
                yield done
                count += 1
                try:
                    target = os.readlink(done)  # noqa: PTH115  (a text)
                except OSError:
                    return  # as the root of another user's process
                done = "" if target.startswith("/") else done.rpartition("/")[0]
                waiting += [one for one in reversed(target.split("/")) if one]


def git_file_has_effect(path: str) -> bool:
    """Returns whether an optional git file exists with other content than the neutral content that bayou gives it."""
    return os.path.islink(path) or _first_line(path) not in ("", COMMONDIR_CONTENT_WITHOUT_EFFECT)  # noqa: PTH114  (a text)


def _is_git_folder(folder: str) -> bool:
    """Returns whether the folder is a git folder or could become one, because it has some of the files."""
    return any(os.path.lexists(f"{folder}/{name}") for name in ("HEAD", "objects", "config", "hooks"))


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  (texts are wanted)
    except OSError:
        return []


def _first_line(path: str) -> str:
    try:
        return (read_small_text_file(Path(path), _MAX_GIT_POINTER_FILE_BYTES) or "").strip()
    except (OSError, ValueError):
        return ""


def resolve_git_folder(link: str) -> str:
    """Returns the git folder of a `.git`: a folder, a file that names one, or a link."""
    target = real_path(link)
    if not os.path.isfile(target):  # noqa: PTH113  (a text)
        return target
    named = _first_line(target).removeprefix("gitdir:").strip()
    return real_path(os.path.join(os.path.dirname(target), named)) if named else target  # noqa: PTH118, PTH120


def folders_between_roots_and_paths(paths: Iterable[str], roots: Iterable[str]) -> tuple[str, ...]:
    """Returns the folders between these paths and their roots. They must not be moved either, because the path
    would move with them."""
    found: dict[str, None] = {}
    places = tuple(roots)
    for path in paths:
        root = innermost_containing(path, places)
        folder = os.path.dirname(path)  # noqa: PTH120  (a text)
        while root is not None and folder != "/" and folder.startswith(root.rstrip("/") + "/"):
            found[folder] = None
            folder = os.path.dirname(folder)  # noqa: PTH120
    return tuple(found)
