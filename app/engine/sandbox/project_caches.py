"""Gives the sandboxed commands of each project caches that no program outside the sandbox uses.

A build runs much of what its cache contains: packages, plugins, hooks, compiled files. Commands therefore cannot write
the user's caches. Variables lead tools to a folder of the project, which has links to what the user has downloaded. A
tool that no row of `tools.protected.user_caches` names finds `XDG_CACHE_HOME`, or may not write."""

import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tools.box.sandbox_policy import innermost_containing
from tools.files.paths import real_path
from tools.protected.user_caches import PACKAGE_STORES, USER_CACHES, UserCache

_CACHE_PROJECT_LINK_NAME: Final = ".project"
"""The name of the link from a project's cache folder to the project."""
_MAX_UNUSED_CACHE_SECONDS: Final = 30 * 24 * 3600
_MAX_CACHE_LINKS: Final = 20_000
_MAX_COPIED_CACHE_BYTES: Final = 4 << 20
_OPEN_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SandboxProjectCaches:
    """The caches of a session's commands, by the folder of work."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._folders: dict[tuple[str, str], str] = {}
        self._stamps: dict[tuple[str, str, str], int] = {}
        """The time at which the user's folder of each pattern last changed, by the project's cache folder, tool and
        pattern."""

    def project_folder(self, project: str, private: str, writable: Iterable[str], server: str = "") -> str:
        """Returns the folder of a project's caches, with links to what the user has downloaded.

        It is in the session's folder `private`, and lasts as long, if commands could write the folder of all
        caches, or if bayou cannot. `server` is an MCP server, which has separate caches because it runs what
        is in them with keys that commands do not have.
        """
        found = self._folders.get((project, server))
        if found is None or not os.path.isdir(found):  # noqa: PTH112  (a text)
            is_safe = innermost_containing(self._caches_folder, writable) is None
            found = _make_cache_folder(self._caches_folder, project, server) if is_safe else None
            found = found or f"{private}/caches{_path_digest(server) if server else ''}"
            with suppress(FileExistsError):
                os.mkdir(found, 0o700)  # noqa: PTH102
            self._folders[project, server] = found
        self._link_downloads(found, is_in_home=innermost_containing(project, (self._home,)) is not None)
        return found

    @property
    def _caches_folder(self) -> str:
        """The folder that contains the caches of all projects."""
        return f"{real_path(self._user_folder(USER_CACHES[0]))}/bayou-box"

    @property
    def user_cache_paths(self) -> tuple[str, ...]:
        """The paths of the user's caches and stores, existing or not."""
        found = [self._user_folder(cache) for cache in USER_CACHES]
        return (*found, *(f"{self._home}/{store.folder}" for store in PACKAGE_STORES))

    def existing_user_caches(self) -> tuple[str, ...]:
        """Returns the user's existing caches and stores, with links resolved."""
        return _folders_of(self.user_cache_paths)

    def cache_write_danger_of(self, place: str) -> str | None:
        """Returns why commands should not write a place (a path without links), because it contains a whole cache
        or caches of projects; None for a folder inside a cache."""
        if innermost_containing(place, (self._caches_folder,)) is not None:
            return "caches of other projects are in it"
        caches = (real_path(self._user_folder(cache)) for cache in USER_CACHES)
        if any(innermost_containing(path, (place,)) is not None for path in caches):
            return "your programs run what is in this cache"
        return None

    def existing_package_stores(self, programs: Collection[str]) -> tuple[str, ...]:
        """Returns the existing stores of these package managers."""
        return _folders_of(
            f"{self._home}/{store.folder}" for store in PACKAGE_STORES if store.program in programs
        )

    def cache_variables(self, folder: str, usable: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Returns the variables that lead tools to the caches in a project's folder. A cache of the user in one of the
        `usable` places is used itself."""
        found: list[tuple[str, str]] = []
        for cache in USER_CACHES:
            user = real_path(self._user_folder(cache))
            if innermost_containing(user, usable) is None:
                own = f"{folder}/{cache.project_folder}".rstrip("/")
                before = self._environment.get(cache.environment_variable, "")
                options = f"{before} {cache.option_format.format(own=own)}"
                found.append((cache.environment_variable, options.strip() if cache.option_format else own))
        for store in PACKAGE_STORES:
            place = f"{self._home}/{store.folder}"
            if store.variable and not self._environment.get(store.variable) and os.path.isdir(place):  # noqa: PTH112
                found.append((store.variable, place))
        return tuple(found)

    def _link_downloads(self, folder: str, *, is_in_home: bool) -> None:
        """Links new downloads of the user into a project's caches. Commands write in that folder, so no link in it
        is followed."""
        for cache in USER_CACHES:
            user = real_path(self._user_folder(cache))
            links = cache.linked_patterns if is_in_home else (*cache.linked_patterns, *cache.linked_settings)
            for pattern in (*links, *cache.copied_patterns):
                if not self._has_changed(folder, cache, user, pattern):
                    continue
                put = os.symlink if pattern in links else _copy_cache_file
                for path in itertools.islice(Path(user).glob(pattern), _MAX_CACHE_LINKS):
                    own = f"{cache.project_folder}/{path.relative_to(user)}"
                    if os.path.lexists(f"{folder}/{own}"):
                        continue
                    with suppress(OSError), _open_parent_folder(folder, own) as (parent, name):
                        put(str(path), name, dir_fd=parent)

    def _has_changed(self, folder: str, cache: UserCache, user: str, pattern: str) -> bool:
        fixed = "/".join(itertools.takewhile(lambda part: "*" not in part, pattern.split("/")[:-1]))
        try:
            stamp = os.stat(f"{user}/{fixed}").st_mtime_ns  # noqa: PTH116  (a text)
        except OSError:
            return False
        key = (folder, cache.environment_variable, pattern)
        known, self._stamps[key] = self._stamps.get(key), stamp
        return known != stamp

    def _user_folder(self, cache: UserCache) -> str:
        said = "" if cache.option_format else self._environment.get(cache.environment_variable, "")
        return said if said.startswith("/") else f"{self._home}/{cache.user_folder}"


def _path_digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]


def _make_cache_folder(parent: str, project: str, server: str) -> str | None:
    """Returns the folder for a project's caches, and creates it if it is missing; None if it cannot be created.
    Removes the folders of projects that no longer exist, and those not used for a month."""
    name = os.path.basename(project) or "root"  # noqa: PTH119  (a text)
    folder = f"{parent}/{name[:40]}-{_path_digest(project)}{f'-{_path_digest(server)}' if server else ''}"
    draft = f"{folder}.{os.getpid()}"
    try:
        os.makedirs(parent, mode=0o700, exist_ok=True)  # noqa: PTH103
        if not os.path.isdir(folder):  # noqa: PTH112
            os.mkdir(draft, 0o700)  # noqa: PTH102
            os.symlink(project, f"{draft}/{_CACHE_PROJECT_LINK_NAME}")  # noqa: PTH211
            os.rename(draft, folder)  # noqa: PTH104
        if real_path(folder) != folder:
            return None  # A session in the folder of all caches has put a link there.
        os.utime(folder)
    except OSError:
        return None
    with suppress(OSError):
        _remove_unused_caches(parent, folder)
    return folder


def _copy_cache_file(source: str, name: str, *, dir_fd: int) -> None:
    if real_path(source) != source or os.path.getsize(source) > _MAX_COPIED_CACHE_BYTES:  # noqa: PTH202
        return
    made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=dir_fd)
    with open(made, "wb") as file:  # noqa: PTH123
        file.write(Path(source).read_bytes())


@contextmanager
def _open_parent_folder(folder: str, path: str) -> Generator[tuple[int, str]]:
    """Opens the folder of a path below `folder`, and creates what is missing."""
    *above, name = path.strip("/").split("/")
    opened = os.open(folder, _OPEN_FOLDER_FLAGS)
    try:
        for part in above:
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=opened)
            below = os.open(part, _OPEN_FOLDER_FLAGS, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened, name
    finally:
        os.close(opened)


def _folders_of(paths: Iterable[str]) -> tuple[str, ...]:
    found = (real_path(path) for path in paths if os.path.isdir(path))  # noqa: PTH112
    return tuple(dict.fromkeys(found))


def _remove_unused_caches(parent: str, kept: str) -> None:
    oldest = time.time() - _MAX_UNUSED_CACHE_SECONDS
    with os.scandir(parent) as entries:
        for entry in entries:
            if entry.path == kept or not entry.is_dir(follow_symlinks=False):
                continue
            is_old = entry.stat(follow_symlinks=False).st_mtime < oldest
            if is_old or not os.path.exists(f"{entry.path}/{_CACHE_PROJECT_LINK_NAME}"):  # noqa: PTH110
                _remove_cache_folder(entry.path)


def _remove_cache_folder(path: str) -> None:
    with suppress(OSError):
        for _, _, _, opened in os.fwalk(path):
            os.fchmod(opened, 0o700)  # Go's modules are folders that may not be written.
    shutil.rmtree(path, ignore_errors=True)
