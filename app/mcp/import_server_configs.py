"""Reads the MCP servers configured in other programs and converts them to bayou's entries. Reads files on
request, writes none."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.mcp.server_config_entries import decode_mcp_server_entry, mcp_server_name_problem
from app.resources.text_files import read_text
from app.values.json_comments import JsonSyntaxError, parse_json_with_comments
from app.values.user_errors import FileError, UserError

PROGRAMS_WITH_IMPORTABLE_MCP_SERVERS = ("claude", "cursor", "vscode", "codex", "opencode", "pi")
_ENV_REFERENCE_PATTERN = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_INPUT_REFERENCE_PATTERN = re.compile(r"\$\{input:([^}]*)\}")


class ImportableMcpServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server configured in another program, converted to an entry of bayou's."""

    name: str
    source_file: Path
    entry: Mapping[str, Any]
    conversion_notes: tuple[str, ...] = ()
    """Values that were changed in the conversion, or must be set by hand."""
    problem: str = ""
    """Why the server cannot be imported."""


class McpServerImportPreview(msgspec.Struct, frozen=True):
    """The MCP servers found in another program, and the files that could not be read."""

    servers: tuple[ImportableMcpServer, ...]
    searched_files: tuple[Path, ...]
    """The files that were looked for."""
    problems: tuple[str, ...] = ()


def find_mcp_servers_of_program(
    program: str, home: Path, cwd: Path, env: Mapping[str, str]
) -> McpServerImportPreview:
    """Returns the MCP servers that a program has configured; of several with one name, that of the nearest
    file. Raises `UserError` for an unknown program."""
    if program not in PROGRAMS_WITH_IMPORTABLE_MCP_SERVERS:
        raise UserError(
            f'Unknown program "{program}". Programs: {", ".join(PROGRAMS_WITH_IMPORTABLE_MCP_SERVERS)}.'
        )
    files = tuple(_config_files(program, home, cwd, env))
    found: dict[str, ImportableMcpServer] = {}
    problems: list[str] = []
    for file in files:
        try:
            data = _read_config_file(file)
        except FileError as problem:
            problems.append(str(problem))
            continue
        for name, entry in _server_entries(program, data, cwd):
            found[name] = _parse_server(program, name, entry, file)
    return McpServerImportPreview(tuple(found.values()), files, tuple(problems))


def _config_files(program: str, home: Path, cwd: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """Returns a program's configuration files, the user's own before those of the folder."""
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    support = home / "Library" / "Application Support"
    match program:
        case "claude":
            for base in (config, support):
                yield base / "Claude" / "claude_desktop_config.json"
            yield home / ".claude.json"
        case "cursor":
            yield home / ".cursor" / "mcp.json"
            yield cwd / ".cursor" / "mcp.json"
        case "vscode":
            for base in (config, support):
                yield base / "Code" / "User" / "settings.json"
                yield base / "Code" / "User" / "mcp.json"
            yield cwd / ".vscode" / "mcp.json"
        case "codex":
            yield Path(env.get("CODEX_HOME") or home / ".codex") / "config.toml"
            yield cwd / ".codex" / "config.toml"
        case "opencode":
            for folder in (config / "opencode", cwd):
                yield folder / "opencode.json"
                yield folder / "opencode.jsonc"
        case _:
            yield home / ".pi" / "agent" / "mcp.json"
            yield cwd / ".pi" / "mcp.json"


def _read_config_file(file: Path) -> dict[str, Any]:
    text = read_text(file)
    if text is None or not text.strip():
        return {}
    if file.suffix == ".toml":
        import tomllib  # noqa: PLC0415  (one program's files only)

        try:
            data: Any = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as problem:
            raise FileError(file, f"cannot be read: {problem}") from None
    else:
        try:
            data = parse_json_with_comments(text)
        except JsonSyntaxError as problem:
            raise FileError(file, problem.message, problem.line, problem.column) from None
    return data if isinstance(data, dict) else {}


def _server_entries(program: str, data: dict[str, Any], cwd: Path) -> Iterator[tuple[str, Any]]:
    tables: list[Any] = [data.get("mcpServers")]
    match program:
        case "claude":
            projects = data.get("projects")
            project = projects.get(str(cwd)) if isinstance(projects, dict) else None
            tables.append(project.get("mcpServers") if isinstance(project, dict) else None)
        case "vscode":
            older = data.get("mcp")
            tables = [older.get("servers") if isinstance(older, dict) else None, data.get("servers")]
        case "codex":
            tables = [data.get("mcp_servers")]
        case "opencode":
            tables = [data.get("mcp")]
        case _:
            pass
    for table in tables:
        if isinstance(table, dict):
            yield from table.items()


def _parse_server(program: str, name: str, entry: Any, file: Path) -> ImportableMcpServer:
    renamed = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64]
    notes = [f'is called "{renamed}" here'] if renamed != name else []
    if not isinstance(entry, dict) or mcp_server_name_problem(renamed):
        return ImportableMcpServer(
            name=name, source_file=file, entry={}, problem="is not a server that bayou can use"
        )
    converted = _EntryConverter(entry, notes).convert_entry()
    _, problems = decode_mcp_server_entry(renamed, converted, origin="user")
    wrong = next((each.text for each in problems if not each.is_hint), "")
    if not wrong and not converted.get("command") and not converted.get("url"):
        wrong = "has neither a command nor an address"
    return ImportableMcpServer(
        name=renamed, source_file=file, entry=converted, conversion_notes=tuple(notes), problem=wrong
    )


class _EntryConverter:
    """Converts one MCP server entry of any supported program; the programs' keys do not contradict each
    other."""

    def __init__(self, entry: dict[str, Any], notes: list[str]) -> None:
        self._entry = entry
        self._notes = notes

    def convert_entry(self) -> dict[str, Any]:
        entry, out = self._entry, dict[str, Any]()
        command = entry.get("command")
        words = [command, *_as_list(entry.get("args"))] if isinstance(command, str) else _as_list(command)
        if words:
            out["command"], out["args"] = (
                self._convert_variable_references(words[0]),
                [self._convert_variable_references(word) for word in words[1:]],
            )
            env = {**_as_object(entry.get("environment")), **_as_object(entry.get("env"))}
            env |= {
                str(name): f"${{{name}}}" for name in _as_list(entry.get("env_vars")) if isinstance(name, str)
            }
            self._set_field(
                out, "env", {name: self._convert_variable_references(value) for name, value in env.items()}
            )
            self._set_field(out, "cwd", self._convert_variable_references(entry.get("cwd")))
        url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
        if url:
            out["url"] = self._convert_variable_references(url)
            if entry.get("type") == "sse":
                out["type"] = "sse"
            self._set_field(out, "headers", self._convert_headers())
            self._set_field(out, "oauth", self._convert_oauth())
        if entry.get("enabled") is False or entry.get("disabled") is True:
            out["enabled"] = False
        self._set_field(out, "tools", self._convert_tools())
        self._set_field(out, "exposure", entry.get("exposure"))
        self._set_field(out, "description", entry.get("description"))
        self._set_field(out, "startTimeout", entry.get("startup_timeout_sec") or entry.get("startTimeout"))
        self._set_field(out, "timeout", entry.get("tool_timeout_sec") or entry.get("timeout"))
        for key in ("envFile", "sandboxEnabled", "trust"):
            if entry.get(key):
                self._notes.append(f"`{key}` is not taken over")
        return out

    def _convert_headers(self) -> dict[str, Any]:
        entry = self._entry
        headers = {**_as_object(entry.get("http_headers")), **_as_object(entry.get("headers"))}
        out = {name: self._convert_variable_references(value) for name, value in headers.items()}
        for name, variable in _as_object(entry.get("env_http_headers")).items():
            out[name] = f"${{{variable}}}"
        bearer = entry.get("bearer_token_env_var")
        if isinstance(bearer, str) and bearer:
            out["Authorization"] = f"Bearer ${{{bearer}}}"
        return out

    def _convert_oauth(self) -> dict[str, Any]:
        given = _as_object(self._entry.get("oauth") or self._entry.get("auth"))
        aliases = {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "client_id": "clientId"}
        aliases |= {"client_secret": "clientSecret", "grant_type": "grantType", "grant": "grantType"}
        renamed = {
            aliases.get(key, key): self._convert_variable_references(value) for key, value in given.items()
        }
        return {
            key: renamed[key]
            for key in ("clientId", "clientSecret", "scope", "callbackPort", "grantType")
            if key in renamed
        }

    def _convert_tools(self) -> dict[str, Any]:
        given = self._entry.get("toolExposure") or self._entry.get("tools")
        out = dict(given) if isinstance(given, dict) else {}
        enabled = [each for each in _as_list(self._entry.get("enabled_tools")) if isinstance(each, str)]
        if isinstance(given, list) and given != ["*"]:
            enabled += [each for each in given if isinstance(each, str)]
        if enabled:
            out |= {"*": "hidden", **dict.fromkeys(enabled, "auto")}
        hidden = (*_as_list(self._entry.get("disabled_tools")), *_as_list(self._entry.get("disabledTools")))
        return out | {each: "hidden" for each in hidden if isinstance(each, str)}

    def _convert_variable_references(self, value: Any) -> Any:
        """Converts the other programs' notations for variables in a value to bayou's."""
        if not isinstance(value, str):
            return value

        def asked(match: re.Match[str]) -> str:
            name = re.sub(r"\W+", "_", match[1]).strip("_").upper() or "INPUT"
            self._notes.append(f"set the variable {name}: that program asks for it")
            return f"${{{name}}}"

        text = _ENV_REFERENCE_PATTERN.sub(r"${\1}", re.sub(r"\$\{env:", "${", value))
        text = _INPUT_REFERENCE_PATTERN.sub(asked, text)
        text = re.sub(r"\$\{workspaceFolder(?::[^}]*)?\}", ".", text)
        return re.sub(r"\$\{userHome\}", "${HOME}", text)

    def _set_field(self, out: dict[str, Any], key: str, value: Any) -> None:
        if value not in (None, "", {}, []):
            out[key] = value


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _as_object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
