"""The sandbox policy of a command as plain data: writable places, hidden places, network access. Pure.

The same policy binds processes, enforced by the system, and bayou's own file access."""

import posixpath
from collections.abc import Iterable
from typing import Literal

import msgspec

SandboxWriteMode = Literal["read", "work"]
SandboxNetworkAccess = Literal["off", "own", "open"]
"""The network that a sandboxed command has: none, the session's own network with its proxy, or this machine's
network."""


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox policy of a command: what it may read, write and connect to. All paths are absolute and without
    links."""

    kind: SandboxWriteMode
    writable: tuple[str, ...] = ()
    """Folders and files that the command may write, each with everything below."""
    guarded: tuple[str, ...] = ()
    """Read-only paths in the writable places."""
    unwatched: tuple[str, ...] = ()
    """Guarded paths that other programs change all the time, so that they are not compared before and after a
    command."""
    linked: tuple[str, ...] = ()
    """Files with further hard links elsewhere, which are read-only for processes, because writing in place would
    change those too. bayou's own tools may change them, because they write a copy."""
    pinned: tuple[str, ...] = ()
    """Writable places that must not be moved."""
    links: tuple[str, ...] = ()
    """Symbolic links that must not be moved."""
    reserved: tuple[str, ...] = ()
    """Missing names that must not be taken: a placeholder file is put there before a command runs."""
    searched: tuple[str, ...] = ()
    """The folders that are searched for new repositories and autorun files after a command."""
    repositories: tuple[str, ...] = ()
    """Git folders whose destructible parts are copied before a command, so that they can be restored."""
    vcs_folders: tuple[str, ...] = ()
    """Folders of version control whose files get their own copies before a command, if they have names elsewhere."""
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    """Files and sockets that the command cannot see."""
    private: tuple[str, ...] = ()
    """Hidden files and folders that are in no table of known secrets but look like files with keys."""
    shown: tuple[str, ...] = ()
    """Paths in hidden folders that stay visible, by their names, including links."""
    sockets: tuple[str, ...] = ()
    """Places whose sockets can be connected to. Writable ones are also unmovable and separate mounts, so that no
    socket from elsewhere can be moved there."""
    watched: tuple[str, ...] = ()
    """Places that should be guarded and cannot be, so that they are compared before and after a command."""
    network: SandboxNetworkAccess = "off"
    allowed: tuple[str, ...] = ()
    """Autorun places in the workspace that the user allowed commands to write."""
    shared: tuple[str, ...] = ()
    """Hard-linked files, as in `linked`, that a running process can write nevertheless; they are compared before
    and after."""
    granted: tuple[str, ...] = ()
    """Files that the user allowed bayou's own tools to read and write despite the policy."""
    caller: str = ""
    """The name by which the commands ask the proxy for hosts."""
    has_terminal: bool = False
    """Whether the command gets a terminal that the user sees; otherwise no terminal of this machine is reachable."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables that are set for each process."""

    @property
    def hidden(self) -> tuple[str, ...]:
        return (*self.hidden_folders, *self.hidden_files)

    def may_read(self, path: str) -> bool:
        """Returns whether the policy lets a path without links be read."""
        return path in self.granted or not self.hides(path)

    def hides(self, path: str) -> bool:
        place = innermost_containing(path, self.hidden)
        if place is None:
            return False
        shown = innermost_containing(path, self.shown)
        return shown is None or len(shown) < len(place)

    def may_write(self, path: str) -> bool:
        if path in self.granted:
            return True
        if self.hides(path):
            return False
        place, guard = (
            innermost_containing(path, self.writable),
            innermost_containing(path, (*self.guarded, *self.reserved)),
        )
        return place is not None and (guard is None or len(guard) < len(place))

    def may_write_in_place(self, path: str) -> bool:
        """Returns whether the policy lets processes, which write files in place, write the path."""
        return self.may_write(path) and innermost_containing(path, self.linked) is None


def add_private_folder_to_policy(box: SandboxPolicy, folder: str) -> SandboxPolicy:
    """Returns a sandbox policy to which a visible, writable folder of bayou's is added."""
    return msgspec.structs.replace(box, writable=(*box.writable, folder), shown=(*box.shown, folder))


def innermost_containing(path: str, places: Iterable[str]) -> str | None:
    """Returns the nearest of `places` that is `path` or contains it."""
    found = [place for place in places if path == place or is_inside_folder(path, place)]
    return max(found, key=len, default=None)


def is_inside_folder(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def outermost_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns the paths that are not below others of them, without duplicates."""
    found = sorted({posixpath.normpath(path) for path in paths})
    return tuple(
        path for path in found if not any(other != path and is_inside_folder(path, other) for other in found)
    )
