"""Which servers there are: the files in their order, what overrides what, and what is wrong in words.

Pure but for reading the files: nothing is started, and no value is filled in (`server_values` does, at contact).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.mcp.entries import EntryProblem, ServerConfig, checked_entry, is_override, overridden, server_key
from app.resources.paths import Paths
from app.resources.server_files import (
    ServerOrigin,
    ServerPlace,
    WrittenServers,
    project_server_files,
    read_servers,
    user_servers_file,
)
from tools.text import visible


class GivenServer(msgspec.Struct, frozen=True):
    """A server that no file names: an extension's, or the client's."""

    name: str
    entry: Mapping[str, Any]
    origin: ServerOrigin = "extension"


class ServerProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in a configuration that does not count or has to be known, in words a person can act on."""

    file: Path | None
    line: int = 0
    server: str = ""
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        about = f'server "{visible(self.server)[:80]}": ' if self.server else ""
        return f"{place}{about}{self.text}"


class ConfiguredServers(msgspec.Struct, frozen=True, kw_only=True):
    """All servers, by name; those of a project without trust apart: nobody but its person hears of them."""

    servers: tuple[ServerConfig, ...] = ()
    untrusted: tuple[ServerConfig, ...] = ()
    problems: tuple[ServerProblem, ...] = ()

    def named(self, name: str) -> ServerConfig | None:
        key = server_key(name)
        return next((each for each in (*self.servers, *self.untrusted) if each.key == key), None)


def configured(
    paths: Paths,
    *,
    is_trusted: bool,
    named_file: Path | None = None,
    given: Sequence[GivenServer] = (),
) -> ConfiguredServers:
    """Later ones win by name: user, `mcp.json`, `.mcp.json`, `.bayou/mcp.json`, `--mcp-config`, given ones. What the
    person's own file says of a server that it does not define counts last of all. Never raises."""
    places = places_of(paths, named_file)
    everything = _merged(paths, places, given).done()
    if is_trusted:
        return everything
    own = [place for place in places if place.origin != "project"]
    counting = _merged(paths, own, given).done(is_whole=False)
    known = {each.key for each in counting.servers}
    withheld = (each for each in everything.servers if each.origin == "project" and each.key not in known)
    return ConfiguredServers(servers=counting.servers, untrusted=tuple(withheld), problems=counting.problems)


def places_of(paths: Paths, named_file: Path | None = None) -> tuple[ServerPlace, ...]:
    """In their order, the last wins."""
    places = [ServerPlace(user_servers_file(paths), "user")]
    places += [ServerPlace(path, "project") for path in project_server_files(paths)]
    if named_file is not None:
        places.append(ServerPlace(named_file, "flag"))
    # Who works in their home folder has one file in two places.
    seen: dict[Path, ServerPlace] = {}
    for place in places:
        seen.setdefault(place.path, place)
    return tuple(seen.values())


class _Merging:
    def __init__(self) -> None:
        self._servers: dict[str, ServerConfig] = {}
        self._problems: list[ServerProblem] = []
        self._wishes: list[tuple[str, dict[str, Any], WrittenServers]] = []
        """What the person's own file says of servers that others define."""

    def take_file(self, place: ServerPlace, way_out: str) -> None:
        written = read_servers(place.path, way_out=way_out)
        if written.fault:
            self._tell(written, written.fault, line=written.fault_line)
        keys: dict[str, str] = {}
        for name, entry in written.entries.items():
            key = server_key(name)
            if key in keys:
                text = (
                    f'is the same as "{visible(keys[key])[:80]}" above: names that differ in - and _ are one'
                )
                self._tell(written, f"{text}. The later one counts.", name, written.line_of(name))
            keys[key] = name
            if place.origin == "user" and is_override(entry):
                self._wishes.append((name, entry, written))
            else:
                self.take(name, entry, place.origin, written)

    def take(
        self, name: str, entry: Any, origin: ServerOrigin, written: WrittenServers | None = None
    ) -> None:
        below = self._servers.get(server_key(name))
        if is_override(entry) and below is not None:
            self._servers[below.key], problems = overridden(below, entry)
        else:
            file = written.path if written is not None else None
            server, problems = checked_entry(name, entry, origin=origin, file=file)
            if is_override(entry) and not server.problem:
                server = self._without_way(server, written)
            self._servers[server.key] = server
        self._tell_all(name, problems, written)

    def done(self, *, is_whole: bool = True) -> ConfiguredServers:
        """Not `is_whole`: there is more that does not count now, which a wish may be about."""
        for name, entry, written in self._wishes:
            is_about_others = not set(entry) - {"enabled", "disabled", "exposure", "tools"}
            if server_key(name) in self._servers or (is_whole and not is_about_others):
                self.take(name, entry, "user", written)
        servers = sorted(self._servers.values(), key=lambda each: each.key)
        return ConfiguredServers(servers=tuple(servers), problems=tuple(self._problems))

    def _without_way(self, server: ServerConfig, written: WrittenServers | None) -> ServerConfig:
        text = "has neither `command` nor `url`, and no file before this one defines such a server"
        line = written.line_of(server.name) if written is not None else 0
        self._tell(written, f"{text}.", server.name, line)
        return msgspec.structs.replace(server, problem=text)

    def _tell_all(
        self, name: str, problems: tuple[EntryProblem, ...], written: WrittenServers | None
    ) -> None:
        for each in problems:
            line = written.line_of(name, *each.keys) if written is not None else 0
            self._tell(written, f"{each.text}.", name, line)

    def _tell(self, written: WrittenServers | None, text: str, server: str = "", line: int = 0) -> None:
        file = written.path if written is not None else None
        self._problems.append(ServerProblem(file=file, line=line, server=server, text=text))


def _merged(paths: Paths, places: Sequence[ServerPlace], given: Sequence[GivenServer]) -> _Merging:
    reading = _Merging()
    for place in places:
        reading.take_file(place, paths.way_out(place.path) if place.origin == "project" else "")
    for each in given:
        reading.take(each.name, dict(each.entry), each.origin)
    return reading
