"""Reads the configured MCP servers: merges the files in their order and describes errors; changes single
values in these files, leaving the rest of the text byte for byte; and fills in variables and commands when a server is
contacted.

Settings that the user makes for a project's server are stored in the user's own file: the project's file is shared, and
a change to it would need new approval."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.mcp.server_config_entries import (
    McpConfigEntryProblem,
    McpServerConfig,
    apply_mcp_override_entry,
    decode_mcp_server_entry,
    is_mcp_override_entry,
    mcp_server_name_key,
    mcp_server_url_problem,
)
from app.providers.secret_references import SecretResolver
from app.resources.json_files import edit_json_file
from app.resources.mcp_server_files import (
    MCP_SERVERS_KEY,
    McpConfigFile,
    ServerOrigin,
    UncheckedMcpServers,
    project_mcp_server_files,
    read_mcp_server_file,
    user_mcp_servers_file,
)
from app.resources.paths import BayouPaths
from app.values.json_comments import with_json_value, without_json_key
from app.values.user_errors import FileError, UserError
from tools.running.withheld_environment_variables import is_secret_variable
from tools.text_sanitizing import escape_controls


class ProvidedMcpServer(msgspec.Struct, frozen=True):
    """An MCP server that no configuration file defines, but an extension, a client or a plugin."""

    name: str
    entry: Mapping[str, Any]
    origin: ServerOrigin = "extension"


class McpServerConfigProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in the configuration of MCP servers that the user should know, with its place and a text."""

    file: Path | None
    line: int = 0
    server: str = ""
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        about = f'server "{escape_controls(self.server)[:80]}": ' if self.server else ""
        return f"{place}{about}{self.text}"


class ConfiguredMcpServers(msgspec.Struct, frozen=True, kw_only=True):
    """All configured MCP servers. Those of an untrusted project are separate, and only shown to the user."""

    servers: tuple[McpServerConfig, ...] = ()
    untrusted: tuple[McpServerConfig, ...] = ()
    problems: tuple[McpServerConfigProblem, ...] = ()

    def find_server(self, name: str) -> McpServerConfig | None:
        key = mcp_server_name_key(name)
        return next((each for each in (*self.servers, *self.untrusted) if each.key == key), None)


def merge_configured_mcp_servers(
    paths: BayouPaths,
    *,
    is_trusted: bool,
    named_file: Path | None = None,
    plugins: Sequence[ProvidedMcpServer] = (),
    given: Sequence[ProvidedMcpServer] = (),
) -> ConfiguredMcpServers:
    """Merges the MCP servers of all sources; later ones win by name: `plugins`, user, `mcp.json`, `.mcp.json`,
    `.bayou/mcp.json`, `--mcp-config`, `given`. Overrides in the user's own file for servers defined elsewhere are
    applied last. Never raises."""
    places = server_config_files(paths, named_file)
    everything = _merge_config_files(paths, places, plugins, given).apply_overrides()
    if is_trusted:
        return everything
    own = [place for place in places if place.origin != "project"]
    counting = _merge_config_files(paths, own, plugins, given).apply_overrides(is_whole=False)
    known = {each.key for each in counting.servers}
    withheld = (each for each in everything.servers if each.origin == "project" and each.key not in known)
    return ConfiguredMcpServers(
        servers=counting.servers, untrusted=tuple(withheld), problems=counting.problems
    )


def server_config_files(paths: BayouPaths, named_file: Path | None = None) -> tuple[McpConfigFile, ...]:
    """Returns the configuration files for MCP servers in their order; a later one wins."""
    places = [McpConfigFile(user_mcp_servers_file(paths), "user")]
    places += [McpConfigFile(path, "project") for path in project_mcp_server_files(paths)]
    if named_file is not None:
        places.append(McpConfigFile(named_file, "flag"))
    # In the home folder, the user's and the project's file are the same.
    seen: dict[Path, McpConfigFile] = {}
    for place in places:
        seen.setdefault(place.path, place)
    return tuple(seen.values())


class _ServerConfigMerger:
    """Merges the MCP server entries of several files to servers and problems."""

    def __init__(self) -> None:
        self._servers: dict[str, McpServerConfig] = {}
        self._problems: list[McpServerConfigProblem] = []
        self._override_entries: list[tuple[str, dict[str, Any], UncheckedMcpServers]] = []
        """Overrides in the user's own file for servers that other files define."""

    def merge_file(self, place: McpConfigFile, symlink_escape: str) -> None:
        written = read_mcp_server_file(place.path, symlink_escape=symlink_escape)
        if written.fault:
            self._add_problem(written, written.fault, line=written.fault_line)
        keys: dict[str, str] = {}
        for name, entry in written.entries.items():
            key = mcp_server_name_key(name)
            if key in keys:
                text = (
                    f'is the same as "{escape_controls(keys[key])[:80]}" above: names that differ only in - '
                    "and _ are equal"
                )
                self._add_problem(written, f"{text}. The later one is used.", name, written.line_of(name))
            keys[key] = name
            if place.origin == "user" and is_mcp_override_entry(entry):
                self._override_entries.append((name, entry, written))
            else:
                self.add_entry(name, entry, place.origin, written)

    def add_entry(
        self, name: str, entry: Any, origin: ServerOrigin, written: UncheckedMcpServers | None = None
    ) -> None:
        below = self._servers.get(mcp_server_name_key(name))
        if is_mcp_override_entry(entry) and below is not None:
            self._servers[below.key], problems = apply_mcp_override_entry(below, entry)
        else:
            file = written.path if written is not None else None
            server, problems = decode_mcp_server_entry(name, entry, origin=origin, file=file)
            if is_mcp_override_entry(entry) and not server.problem:
                server = self._server_without_transport(server, written)
            self._servers[server.key] = server
        self._add_entry_problems(name, problems, written)

    def apply_overrides(self, *, is_whole: bool = True) -> ConfiguredMcpServers:
        """Applies the user's overrides to the servers and returns the result. With `is_whole` False, some servers are
        withheld, and an override without a server is no error."""
        for name, entry, written in self._override_entries:
            is_about_others = not set(entry) - {"enabled", "disabled", "exposure", "tools"}
            if mcp_server_name_key(name) in self._servers or (is_whole and not is_about_others):
                self.add_entry(name, entry, "user", written)
        servers = sorted(self._servers.values(), key=lambda each: each.key)
        return ConfiguredMcpServers(servers=tuple(servers), problems=tuple(self._problems))

    def _server_without_transport(
        self, server: McpServerConfig, written: UncheckedMcpServers | None
    ) -> McpServerConfig:
        text = "has neither `command` nor `url`, and no earlier file defines a server of that name"
        line = written.line_of(server.name) if written is not None else 0
        self._add_problem(written, f"{text}.", server.name, line)
        return msgspec.structs.replace(server, problem=text)

    def _add_entry_problems(
        self, name: str, problems: tuple[McpConfigEntryProblem, ...], written: UncheckedMcpServers | None
    ) -> None:
        for each in problems:
            line = written.line_of(name, *each.keys) if written is not None else 0
            self._add_problem(written, f"{each.text}.", name, line)

    def _add_problem(
        self, written: UncheckedMcpServers | None, text: str, server: str = "", line: int = 0
    ) -> None:
        file = written.path if written is not None else None
        self._problems.append(McpServerConfigProblem(file=file, line=line, server=server, text=text))


def _merge_config_files(
    paths: BayouPaths,
    places: Sequence[McpConfigFile],
    plugins: Sequence[ProvidedMcpServer],
    given: Sequence[ProvidedMcpServer],
) -> _ServerConfigMerger:
    reading = _ServerConfigMerger()
    for each in plugins:
        reading.add_entry(each.name, dict(each.entry), each.origin)
    for place in places:
        reading.merge_file(place, paths.symlink_escape(place.path) if place.origin == "project" else "")
    for each in given:
        reading.add_entry(each.name, dict(each.entry), each.origin)
    return reading


_VARIABLE_REFERENCE_PATTERN = re.compile(
    r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^}]*))?\}"
)
_FOREIGN_INPUT_PATTERN = re.compile(r"\$\{(?:input|command|config):[^}]*\}")


class UnusableMcpServerConfig(UserError):
    """The error for an MCP server that cannot be contacted as it is configured. `str` names the missing value
    without showing any value."""


def secret_values_of_mcp_server(server: McpServerConfig) -> Iterator[tuple[str, str]]:
    """Yields the names and filled-in values of an MCP server's configuration that must stay secret."""
    for name, value in (*server.env.items(), *server.headers.items()):
        secret = value.rpartition(" ")[2] if name in server.headers else value
        if name.lower() == "authorization" or is_secret_variable(name.replace("-", "_"), secret):
            yield name, secret
    if server.oauth is not None:
        yield "client-secret", server.oauth.client_secret
        yield "private-key", server.oauth.private_key


class McpConfigValueResolver:
    """Fills in the variables and commands in an MCP server's configuration. Each command runs once; after
    `forget_config_command_outputs` it runs again at the next contact."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._secret_resolver = SecretResolver(env)

    def forget_config_command_outputs(self) -> None:
        """Forgets the output of commands in configurations, for example a token that the server refused."""
        self._secret_resolver = SecretResolver(self._env)

    async def resolve_config_values(self, server: McpServerConfig) -> McpServerConfig:
        """Returns an MCP server's configuration with all values filled in. Raises `UserError`."""
        if server.problem:
            raise UnusableMcpServerConfig(server.problem)
        changes: dict[str, object] = {}
        if server.command is not None:
            changes["command"] = self._fill_variables(server.command)
            changes["args"] = tuple(map(self._fill_variables, server.args))
            changes["env"] = await self._fill_values(server.env, "the variable")
            changes["cwd"] = self._fill_variables(server.cwd) if server.cwd is not None else None
        if server.url is not None:
            changes["url"] = await self._expand_value(server.url, "the address")
            changes["headers"] = await self._fill_values(server.headers, "the header")
        if server.oauth is not None:
            changes["oauth"] = msgspec.structs.replace(
                server.oauth,
                client_secret=await self._expand_value(server.oauth.client_secret, "the client secret"),
                private_key=await self._expand_value(server.oauth.private_key, "the private key"),
            )
        found = msgspec.structs.replace(server, **changes)
        self._check_address(found)
        return found

    async def _fill_values(self, values: Mapping[str, str], what: str) -> dict[str, str]:
        return {name: await self._expand_value(value, f"{what} {name}") for name, value in values.items()}

    async def _expand_value(self, value: str, what: str) -> str:
        if value.startswith("!"):
            return await self._secret_resolver.resolve_secret(value, what=what[:1].upper() + what[1:])
        return self._fill_variables(value)

    def _fill_variables(self, value: str) -> str:
        foreign = _FOREIGN_INPUT_PATTERN.search(value)
        if foreign:
            raise UnusableMcpServerConfig(
                f"{escape_controls(foreign[0])} is another program's syntax for an input; "
                f"write ${{NAME}} for a variable"
            )
        return _VARIABLE_REFERENCE_PATTERN.sub(self._variable_value, value)

    def _variable_value(self, match: re.Match[str]) -> str:
        found = self._env.get(match["name"])
        if match["has_default"]:
            return found or match["default"]
        if found is None:
            raise UnusableMcpServerConfig(f"${{{match['name']}}} is not set")
        return found

    def _check_address(self, server: McpServerConfig) -> None:
        fault = mcp_server_url_problem(server.url) if server.url is not None else ""
        if fault:
            raise UnusableMcpServerConfig(f"{fault}, after its variables were filled in")
        for name, value in server.headers.items():
            if re.search(r"[\r\n\0]", value):
                raise UnusableMcpServerConfig(
                    f"the header {name} would contain a line break; check where its value comes from"
                )
        for name, value in server.env.items():
            if "\0" in value:
                raise UnusableMcpServerConfig(f"the variable {name} would contain a NUL character")


def add_mcp_server_to_file(file: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Adds an MCP server to a configuration file. Raises `UserError` for an invalid entry, and when the name is
    taken."""
    _, problems = decode_mcp_server_entry(name, dict(entry), origin="user", file=file)
    for problem in problems:
        if not problem.is_hint:
            raise UserError(f'Server "{name}" was not added: {problem.text}.')
    there = find_mcp_server_name_in_file(file, name)
    if there is not None:
        raise UserError(f'{file} has a server "{there}" already. Remove it first: bayou mcp remove {there}')
    _change_config_file(file, lambda text: with_json_value(text, (MCP_SERVERS_KEY, name), dict(entry)))


def remove_mcp_server_from_file(file: Path, name: str) -> None:
    _change_config_file(file, lambda text: without_json_key(text, (MCP_SERVERS_KEY, name)))


def find_mcp_server_name_in_file(file: Path, name: str) -> str | None:
    """Returns an MCP server's name as the configuration file spells it. Raises `UserError` if the file is
    broken."""
    written = read_mcp_server_file(file)
    if written.fault:
        raise UserError(f"{file}: {written.fault} Fix the file first; it was not changed.")
    key = mcp_server_name_key(name)
    return next((each for each in written.entries if mcp_server_name_key(each) == key), None)


def set_mcp_server_option(paths: BayouPaths, server: McpServerConfig, key: str, value: Any) -> Path:
    """Writes `enabled` or `exposure` of an MCP server, and returns the file that holds the value now."""
    if server.origin not in ("user", "project"):
        raise UserError(
            f'Server "{server.name}" comes from {_describe_origin(server)}, which decides whether it is '
            "used; nothing was changed."
        )
    own = user_mcp_servers_file(paths)
    there = find_mcp_server_name_in_file(own, server.name)
    of_own = read_mcp_server_file(own).entries.get(there) if there is not None else None
    if server.origin == "project" and of_own is not None and not is_mcp_override_entry(of_own):
        raise UserError(f'"{server.name}" is also defined in {own}; change it in {server.file}.')
    _change_config_file(
        own, lambda text: with_json_value(text, (MCP_SERVERS_KEY, there or server.name, key), value)
    )
    return own


def _describe_origin(server: McpServerConfig) -> str:
    whence = {"flag": "--mcp-config", "extension": "an extension", "client": "the editor"}
    return whence.get(server.origin, str(server.file))


def _change_config_file(file: Path, edit: Callable[[str], str]) -> None:
    try:
        edit_json_file(file, edit, new_mode=0o600)  # the new text may contain a token
    except OSError as problem:
        raise FileError(file, f"cannot be written: {problem.strerror or problem}") from None
