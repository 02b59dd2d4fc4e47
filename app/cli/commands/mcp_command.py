"""Implements `bayou mcp …`: lists and changes the configured servers, without a session. `mcp_contact` has
the commands that contact one."""

import os
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.session_opening import read_settings
from app.cli.change_folder import current_folder
from app.cli.confirm import confirm
from app.extensions.packages.plugin_servers import installed_plugin_mcp_servers
from app.mcp.import_server_configs import (
    PROGRAMS_WITH_IMPORTABLE_MCP_SERVERS,
    ImportableMcpServer,
    find_mcp_servers_of_program,
)
from app.mcp.server_config import (
    ConfiguredMcpServers,
    add_mcp_server_to_file,
    find_mcp_server_name_in_file,
    merge_configured_mcp_servers,
    remove_mcp_server_from_file,
    set_mcp_server_option,
)
from app.mcp.server_config_entries import (
    MCP_TOOL_EXPOSURES,
    McpServerConfig,
    decode_mcp_server_entry,
    mcp_server_display_address,
    mcp_server_display_lines,
    mcp_server_name_problem,
)
from app.printing import print_json, print_line, print_problem, print_text
from app.resources.mcp_server_files import user_mcp_servers_file
from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.values.user_errors import UserError
from tools.text_sanitizing import escape_for_terminal

_MAX_SHOWN_SERVER_LOG_LINES = 40


def run(words: list[str]) -> int:
    """Runs the command. Raises `UsageError` with the reason when it cannot be done."""
    try:
        return _run_subcommand(words)
    except UsageError:
        raise
    except UserError as problem:
        raise UsageError(str(problem)) from None


def _run_subcommand(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words[:2]):
        print_text(MCP_USAGE_TEXT)
        return 0
    verb, rest = words[0], words[1:]
    servers = _ServerCommands(BayouPaths.from_env(os.environ, current_folder()))
    match verb:
        case "list" if rest in ([], ["--json"]):
            return servers.list_servers(is_json=bool(rest))
        case "add":
            return servers.add(rest)
        case "import":
            return servers.import_servers(rest)
        case _ if verb in MCP_COMMANDS_THAT_CONNECT:
            from app.cli.commands.mcp_connection_commands import run as contact  # noqa: PLC0415  (a whole session stands behind it)

            return contact(verb, rest, servers.paths)
        case "get" | "remove" | "enable" | "disable" | "logs":
            return getattr(servers, verb)(_single_name(verb, rest))
        case _:
            raise UsageError(f"Unknown command: bayou mcp {' '.join(words)}. Commands:\n{MCP_USAGE_TEXT}")


class _ServerCommands:
    """The servers configured for one folder, with a method for each subcommand."""

    def __init__(self, paths: BayouPaths) -> None:
        self.paths = paths
        _, project = read_settings(CommandLineOptions(), paths, can_ask=False)
        self._found: ConfiguredMcpServers = merge_configured_mcp_servers(
            paths, is_trusted=project.is_trusted(), plugins=installed_plugin_mcp_servers(paths)
        )

    def list_servers(self, *, is_json: bool) -> int:
        rows = [(server, self._server_state(server)) for server in self._all_servers()]
        if is_json:
            told = [
                {
                    "name": server.name,
                    "state": state,
                    "reason": server.problem,
                    "type": server.type,
                    "address": mcp_server_display_address(server),
                    "exposure": server.exposure or "auto",
                    "file": str(server.file),
                }
                for server, state in rows
            ]
            print_json(told, indent=2)
        elif not rows:
            print_line(
                "No MCP servers are configured. Add one: bayou mcp add NAME -- COMMAND, or bayou mcp "
                "import PROGRAM"
            )
        else:
            wide = max(len(server.name) for server, _ in rows)
            for server, state in rows:
                file = self.paths.shown(server.file) if server.file else server.origin
                name = escape_for_terminal(server.name)
                print_line(
                    f"{name:{wide}}  {state:9}  {mcp_server_display_address(server) or server.problem}  ({file})"
                )
        for problem in self._found.problems:
            print_problem(str(problem))
        if self._found.untrusted and not is_json:
            print_line(
                "Servers of an untrusted project are not used. To trust it, open bayou here and answer "
                "the question, or run /trust."
            )
        return 0

    def get(self, name: str) -> int:
        server = self._find_server(name)
        print_line(f"{server.name}  {self._server_state(server)}")
        for what, value in mcp_server_display_lines(server):
            print_line(f"  {what:11}  {value}")
        for problem in self._found.problems:
            if problem.server and self._found.find_server(problem.server) is server:
                print_problem(str(problem))
        return 0

    def add(self, words: list[str]) -> int:
        added = parse_mcp_add_arguments(words)
        file = self._config_file(is_local=added.is_local)
        add_mcp_server_to_file(file, added.name, added.entry)
        print_line(f'Added "{added.name}" to {file}. Try it: bayou mcp test {added.name}')
        return 0

    def remove(self, name: str) -> int:
        server = self._find_server(name)
        if server.origin == "plugin":
            raise UserError(
                f'Server "{name}" is part of a plugin: bayou plugin remove NAME removes the plugin, and bayou mcp '
                f"disable {name} switches the server off."
            )
        if server.file is None or (there := find_mcp_server_name_in_file(server.file, name)) is None:
            raise UserError(f'Server "{name}" is not in a configuration file.')
        remove_mcp_server_from_file(server.file, there)
        own = user_mcp_servers_file(self.paths)
        if server.file != own and (wish := find_mcp_server_name_in_file(own, name)) is not None:
            remove_mcp_server_from_file(own, wish)
        print_line(f'Removed "{there}" from {server.file}.')
        return 0

    def enable(self, name: str) -> int:
        return self._set_enabled(name, is_on=True)

    def disable(self, name: str) -> int:
        return self._set_enabled(name, is_on=False)

    def logs(self, name: str) -> int:
        """Shows the end of a server's log from sessions, and the log's path."""
        server = self._find_server(name)
        file = self.paths.agent_dir / "mcp-logs" / f"{server.name}.log"
        lines = (read_text(file) or "").splitlines()
        for line in lines[-_MAX_SHOWN_SERVER_LOG_LINES:]:
            print_line(line)
        print_line(f"({file})" if lines else f'"{server.name}" has no log output yet.')
        return 0

    def import_servers(self, words: list[str]) -> int:
        flags = {word for word in words if word.startswith("-")}
        programs = [word for word in words if word not in flags]
        if len(programs) != 1 or flags - {"-l", "--yes"}:
            raise UsageError(
                f"usage: bayou mcp import {'|'.join(PROGRAMS_WITH_IMPORTABLE_MCP_SERVERS)} [-l] [--yes]"
            )
        found = find_mcp_servers_of_program(programs[0], self.paths.home, self.paths.cwd, os.environ)
        for problem in found.problems:
            print_problem(problem)
        if not found.servers:
            looked = "\n".join(f"  {self.paths.shown(file)}" for file in found.searched_files)
            raise UserError(f"No servers of {programs[0]} were found in:\n{looked}")
        file = self._config_file(is_local="-l" in flags)
        new = [each for each in found.servers if self._print_import(each, file)]
        if not new:
            print_line("There is nothing to import.")
            return 0
        if "--yes" not in flags and not confirm(f"Import {len(new)} into {file}?"):
            return 1
        for each in new:
            add_mcp_server_to_file(file, each.name, each.entry)
        print_line(f"Imported into {file}: {', '.join(each.name for each in new)}.")
        return 0

    def _print_import(self, found: ImportableMcpServer, file: Path) -> bool:
        """Shows an imported server, and whether it can be added."""
        there = find_mcp_server_name_in_file(file, found.name) if not found.problem else None
        why = found.problem or (f"{file} already has a server of that name" if there is not None else "")
        server, _ = decode_mcp_server_entry(found.name, dict(found.entry), origin="user")
        mark = "not" if why else "+"
        print_line(
            f"{mark:3} {found.name}: {why or mcp_server_display_address(server)}  "
            f"({self.paths.shown(found.source_file)})"
        )
        for note in found.conversion_notes if not why else ():
            print_line(f"      {note}")
        return not why

    def _set_enabled(self, name: str, *, is_on: bool) -> int:
        server = self._find_server(name)
        file = set_mcp_server_option(self.paths, server, "enabled", is_on)
        print_line(f'Server "{server.name}" is {"enabled" if is_on else "disabled"} ({file}).')
        return 0

    def _find_server(self, name: str) -> McpServerConfig:
        server = self._found.find_server(name)
        if server is None:
            raise UserError(f'Server "{name}" not found.\nTip: Run bayou mcp list to see available servers.')
        return server

    def _all_servers(self) -> tuple[McpServerConfig, ...]:
        both = (*self._found.servers, *self._found.untrusted)
        return tuple(sorted(both, key=lambda server: server.key))

    def _server_state(self, server: McpServerConfig) -> str:
        if server in self._found.untrusted:
            return "untrusted"
        if server.problem:
            return "error"
        return "on" if server.enabled else "off"

    def _config_file(self, *, is_local: bool) -> Path:
        return self.paths.project_dir / "mcp.json" if is_local else user_mcp_servers_file(self.paths)


def _single_name(verb: str, words: list[str]) -> str:
    if len(words) != 1 or words[0].startswith("-"):
        raise UsageError(f"Server name required. Usage: bayou mcp {verb} NAME")
    return words[0]


MCP_USAGE_TEXT = (
    "bayou mcp list [--json]            list configured servers and their files; connects to "
    "none\nbayou mcp get NAME                 show a server's configuration\nbayou mcp add "
    "NAME [-l] -- COMMAND [ARG …]\nbayou mcp add NAME [-l] --url "
    "URL\n                                   add a server for you, or with -l for this "
    "folder (.bayou/mcp.json)\n      --env NAME=VALUE             environment variable for "
    "the command (repeatable)\n      --header NAME=VALUE          HTTP header for the "
    "address (repeatable)\n      --bearer-env NAME            send the token in the "
    "environment variable NAME\n      --exposure auto|direct|search|hidden\nbayou mcp remove "
    "NAME              remove a server from its configuration file\nbayou mcp enable|disable "
    "NAME      switch a server on or off\nbayou mcp test [NAME …]            connect to "
    "these servers, or to all; exit code 1 if one fails\nbayou mcp restart NAME             "
    "reconnect and list tools, prompts and resources again\nbayou mcp login NAME "
    "[--no-browser]\nbayou mcp logout NAME              sign in to a remote server, or sign "
    "out\nbayou mcp logs NAME                print the end of the server's log and the path "
    "of the whole log\nbayou mcp import PROGRAM [-l] "
    "[--yes]\n                                   import servers of claude, cursor, vscode, "
    "codex, opencode or pi\n"
)
MCP_COMMANDS_THAT_CONNECT = ("test", "login", "logout", "restart")
_MCP_FLAGS_WITH_VALUE = ("--url", "--env", "--header", "--bearer-env", "--exposure")


class McpAddArguments(msgspec.Struct, kw_only=True):
    """The arguments of `bayou mcp add`."""

    name: str
    is_local: bool = False
    entry: dict[str, Any] = msgspec.field(default_factory=dict)


def parse_mcp_add_arguments(words: list[str]) -> McpAddArguments:
    """Parses the arguments of `bayou mcp add`. Raises `UsageError`."""
    rest, command = list(words), list[str]()
    if "--" in rest:
        at = rest.index("--")
        rest, command = rest[:at], rest[at + 1 :]
    added = McpAddArguments(name="")
    while rest:
        word = rest.pop(0)
        word, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _MCP_FLAGS_WITH_VALUE and not is_joined:
            if not rest:
                raise UsageError(f"{word} needs a value. See bayou mcp --help.")
            value = rest.pop(0)
        if word.startswith("-"):
            _set_flag(added, word, value)
        elif added.name:
            told = (
                f'Unexpected argument "{word}". Put the server\'s command after --: bayou mcp add NAME '
                f"-- {word} …"
            )
            raise UsageError(told)
        else:
            added.name = word
    if command:
        added.entry |= {"command": command[0], "args": command[1:]}
    _check_added(added)
    return added


def _set_flag(added: McpAddArguments, word: str, value: str) -> None:
    entry = added.entry
    match word:
        case "-l" | "--local":
            added.is_local = True
        case "--url" | "--exposure":
            entry[word[2:]] = value
        case "--env":
            entry["env"] = {**entry.get("env", {}), **_split_pair(word, value)}
        case "--header":
            entry["headers"] = {**entry.get("headers", {}), **_split_pair(word, value)}
        case "--bearer-env":
            entry["headers"] = {**entry.get("headers", {}), "Authorization": f"Bearer ${{{value}}}"}
        case _:
            raise UsageError(
                f"Unknown option: {word}. Put options of the server's own command after --.\n{MCP_USAGE_TEXT}"
            )


def _check_added(added: McpAddArguments) -> None:
    entry = added.entry
    if not added.name:
        raise UsageError("Server name required. Usage: bayou mcp add NAME …")
    if wrong := mcp_server_name_problem(added.name):
        raise UsageError(f"{wrong}.")
    if ("command" in entry) == bool(entry.get("url")):
        raise UsageError("A server needs either a command (after --) or an address (--url), not both.")
    if entry.get("exposure", "auto") not in MCP_TOOL_EXPOSURES:
        raise UsageError(f"--exposure is one of {', '.join(MCP_TOOL_EXPOSURES)}.")
    if "headers" in entry and "command" in entry:
        raise UsageError("--header and --bearer-env are for an address; a command gets --env.")
    if "env" in entry and "command" not in entry:
        raise UsageError("--env is for a command; an address gets --header.")


def _split_pair(flag: str, text: str) -> dict[str, str]:
    """Splits `NAME=VALUE`, and for headers `Name: value` as well."""
    separators = [mark for mark in ("=", ":") if mark in text]
    if not separators or (flag == "--env" and "=" not in text):
        raise UsageError(f"{flag} needs NAME=VALUE.")
    mark = "=" if flag == "--env" else min(separators, key=text.index)
    name, _, value = text.partition(mark)
    return {name.strip(): value.strip() if flag == "--header" else value}
