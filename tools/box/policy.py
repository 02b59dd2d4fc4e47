"""What a command may do, as plain data: which places it can write, which it cannot see, what it reaches of the network.

The same for processes, to which the system holds them, and for bayou's own reading and writing of files. Pure.
"""

import posixpath
from collections.abc import Iterable
from typing import Literal

import msgspec

BoxKind = Literal["read", "work"]
BoxNetwork = Literal["off", "own", "open"]
"""None; one of the session's own, with whatever its proxy lets through; this machine's."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """All paths are absolute and without links."""

    kind: BoxKind
    writable: tuple[str, ...] = ()
    """Folders and files, each with what is below it."""
    guarded: tuple[str, ...] = ()
    """In writable places, but not to be written."""
    linked: tuple[str, ...] = ()
    """What has further names elsewhere, which written in place would change there too: not to be written by processes.
    bayou's own tools may, for they make a copy.
    """
    pinned: tuple[str, ...] = ()
    """Can be written, but not moved away."""
    links: tuple[str, ...] = ()
    """Symbolic links that cannot be moved away either."""
    reserved: tuple[str, ...] = ()
    """Names that are not there and must not be taken: a file is put there before a command runs."""
    searched: str = ""
    """The folder below which new repositories and files that run later are looked for afterwards."""
    repositories: tuple[str, ...] = ()
    """Git's folders, of which a copy is kept while a command runs."""
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    """Files and sockets."""
    shown: tuple[str, ...] = ()
    """In hidden folders, and seen all the same; by their names, links too."""
    sockets: tuple[str, ...] = ()
    """Places whose sockets can be connected to. Those that can be written are pinned too, and so are mounts of their
    own: no socket from elsewhere can be moved there.
    """
    watched: tuple[str, ...] = ()
    """What should be guarded and cannot be: looked at before and after."""
    network: BoxNetwork = "off"
    allowed: tuple[str, ...] = ()
    """Places in the workspace that a person let commands write, though what is there runs later."""
    granted: tuple[str, ...] = ()
    """Files that a person let bayou's own tools read and write all the same."""
    caller: str = ""
    """The name by which its commands ask the proxy for hosts."""
    has_terminal: bool = False
    """One that a person sees; else no terminal of this machine is in reach."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that a process in it gets."""

    @property
    def hidden(self) -> tuple[str, ...]:
        return (*self.hidden_folders, *self.hidden_files)

    def may_read(self, path: str) -> bool:
        """`path` without links."""
        return path in self.granted or not self.hides(path)

    def hides(self, path: str) -> bool:
        place = covering_place(path, self.hidden)
        if place is None:
            return False
        shown = covering_place(path, self.shown)
        return shown is None or len(shown) < len(place)

    def may_write(self, path: str) -> bool:
        if path in self.granted:
            return True
        if self.hides(path):
            return False
        place, guard = (
            covering_place(path, self.writable),
            covering_place(path, (*self.guarded, *self.reserved)),
        )
        return place is not None and (guard is None or len(guard) < len(place))

    def may_write_in_place(self, path: str) -> bool:
        """As processes write."""
        return self.may_write(path) and covering_place(path, self.linked) is None


def with_private_folder(box: Box, folder: str) -> Box:
    """The same, with a folder of bayou's own that it shows and lets be written."""
    return msgspec.structs.replace(box, writable=(*box.writable, folder), shown=(*box.shown, folder))


def covering_place(path: str, places: Iterable[str]) -> str | None:
    """The nearest of `places` that is `path` or holds it."""
    found = [place for place in places if path == place or is_below(path, place)]
    return max(found, key=len, default=None)


def is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Without those that lie in others of them, and without doubles."""
    found = sorted({posixpath.normpath(path) for path in paths})
    return tuple(
        path for path in found if not any(other != path and is_below(path, other) for other in found)
    )
