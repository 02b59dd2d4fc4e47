"""Decodes and checks one MCP server entry of a configuration file: errors are described, and an invalid server
never runs. Also formats a server for display, with possible secrets hidden."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

from app.resources.mcp_server_files import ServerOrigin
from tools.running.withheld_environment_variables import is_secret_variable
from tools.text_sanitizing import escape_controls

McpToolExposure = Literal["auto", "direct", "search", "hidden"]
MCP_TOOL_EXPOSURES: tuple[McpToolExposure, ...] = ("auto", "direct", "search", "hidden")
McpServerType = Literal["stdio", "http", "sse"]
McpOAuthGrant = Literal["authorization_code", "client_credentials"]

_EXPOSURE_BY_PI_EXPOSURE: dict[str, McpToolExposure] = {"codemode": "search", "deferred": "search"}
_MCP_SERVER_TYPE_BY_NAME: dict[str, McpServerType] = {
    **{"stdio": "stdio", "local": "stdio", "sse": "sse"},
    **dict.fromkeys(("http", "streamable-http", "streamableHttp", "streamable_http", "remote"), "http"),
}
_MAX_MCP_CALL_TIMEOUT_SECONDS = 1800.0
"""The longest timeout of a call. A larger number is read as milliseconds, as other programs write
timeouts."""
_PACKAGE_DOWNLOADING_PROGRAMS = ("npx", "uvx", "docker", "podman", "pnpx", "bunx", "pipx")
"""Programs that may download a server before they start it."""
_MCP_SERVER_ENTRY_KEYS = (
    *("command", "args", "env", "cwd", "type", "url", "headers", "oauth", "enabled", "disabled", "exposure"),
    *("tools", "toolExposure", "description", "startTimeout", "timeout", "trustHints"),
)
_OAUTH_GRANTS: tuple[McpOAuthGrant, ...] = ("authorization_code", "client_credentials")
_OAUTH_KEY_BY_FIELD = {
    **{
        "client_id": "clientId",
        "client_secret": "clientSecret",
        "scope": "scope",
        "client_name": "clientName",
    },
    **{"private_key": "privateKey", "algorithm": "algorithm", "issuer": "issuer"},
}
_OVERRIDABLE_MCP_SERVER_FIELDS = (
    "enabled",
    "exposure",
    "tools",
    "description",
    "start_timeout",
    "timeout",
    "trust_hints",
)


class McpOAuthConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The sign-in to an MCP server as far as it is configured. The server supplies every value that is left
    out."""

    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    callback_port: int = 0
    """0: any free port."""
    client_name: str = ""
    grant: McpOAuthGrant = "authorization_code"
    """Whether a person signs in, or the client with its own credentials."""
    private_key: str = ""
    """A private key in PEM, used instead of a secret when the client signs in by itself."""
    algorithm: str = ""
    issuer: str = ""
    """The only authorization server that may receive the secret or a token signed with the key."""

    @property
    def uses_client_credentials(self) -> bool:
        return self.grant == "client_credentials"


class McpServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server as it is configured. Values are as written: `McpConfigValueResolver.resolve` fills them
    in."""

    name: str
    origin: ServerOrigin = "user"
    file: Path | None = None
    type: McpServerType = "stdio"
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = {}
    oauth: McpOAuthConfig | None = None
    enabled: bool = True
    exposure: McpToolExposure | None = None
    """None: not configured."""
    tools: Mapping[str, McpToolExposure] = {}
    """Exposures by tool name or pattern; see `configured_exposure_of`."""
    description: str = ""
    start_timeout: float = 30.0
    timeout: float = 120.0
    trust_hints: bool = False
    problem: str = ""
    """Why the entry cannot be used; the server is then in state `error`."""

    @property
    def key(self) -> str:
        return mcp_server_name_key(self.name)

    def configured_exposure_of(self, tool: str) -> McpToolExposure | None:
        """Returns how the model reaches a tool of the server, as configured: by the tool's exact name, else by the last
        matching pattern, else as for the whole server."""
        import fnmatch  # noqa: PLC0415  (only where servers are)

        if tool in self.tools:
            return self.tools[tool]
        fitting: list[McpToolExposure] = [
            each for pattern, each in self.tools.items() if fnmatch.fnmatchcase(tool, pattern)
        ]
        return fitting[-1] if fitting else self.exposure


class McpConfigEntryProblem(msgspec.Struct, frozen=True):
    """A problem in the configuration entry of an MCP server, and the keys that it concerns."""

    keys: tuple[str, ...]
    text: str
    is_hint: bool = False
    """The problem does not keep the server from running."""


def mcp_server_name_key(name: str) -> str:
    """Returns the key under which an MCP server is looked up. Names that differ only in `-` and `_` have the
    same key."""
    return name.replace("-", "_")


def is_mcp_override_entry(entry: Any) -> bool:
    """Returns whether an entry only changes an MCP server that another file defines."""
    return isinstance(entry, dict) and not entry.get("command") and not entry.get("url")


def mcp_server_name_problem(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return ""
    return (
        f'"{escape_controls(name)[:80]}" is not a valid server name: use 1 to 64 letters, digits, "_" and "-"'
    )


def decode_mcp_server_entry(
    name: str, entry: Any, *, origin: ServerOrigin, file: Path | None = None
) -> tuple[McpServerConfig, tuple[McpConfigEntryProblem, ...]]:
    """Decodes a configuration entry; returns the MCP server with all valid values, and the problems of the
    others. Never raises."""
    return _ServerEntryReader(name, entry).read_server(origin, file)


def apply_mcp_override_entry(
    server: McpServerConfig, entry: dict[str, Any]
) -> tuple[McpServerConfig, tuple[McpConfigEntryProblem, ...]]:
    """Returns an MCP server's configuration with the changes of an override entry applied."""
    reading = _ServerEntryReader(server.name, entry)
    said = reading.read_common_fields()
    changes = {field: said[field] for field in _OVERRIDABLE_MCP_SERVER_FIELDS if field in said}
    if "tools" in changes:
        changes["tools"] = {**server.tools, **changes["tools"]}
    for key in ("args", "env", "headers", "cwd", "oauth"):
        if entry.get(key):
            text = f"`{key}` counts only beside `command` or `url`, so this is not used"
            reading.problems.append(McpConfigEntryProblem((key,), text, is_hint=True))
    wrong = next((each.text for each in reading.problems if not each.is_hint), "")
    if wrong and not server.problem:
        changes["problem"] = wrong
    return msgspec.structs.replace(server, **changes), tuple(reading.problems)


class _ServerEntryReader:
    """Reads the valid fields of an MCP server's configuration entry, and collects the problems of the
    others."""

    def __init__(self, name: str, entry: Any) -> None:
        self.problems: list[McpConfigEntryProblem] = []
        self._name = name
        self._entry: dict[str, Any] = entry if isinstance(entry, dict) else {}
        if not isinstance(entry, dict):
            self._report_problem((), 'a server must be an object: { "command": … } or { "url": … }')
        else:
            self._report_unknown_keys()

    def read_server(
        self, origin: ServerOrigin, file: Path | None
    ) -> tuple[McpServerConfig, tuple[McpConfigEntryProblem, ...]]:
        wrong_name = mcp_server_name_problem(self._name)
        if wrong_name:
            self._report_problem((), wrong_name)
        fields = {**self._read_transport(), **self.read_common_fields()}
        fields.setdefault("start_timeout", _default_start_timeout(fields.get("command")))
        wrong = next((each.text for each in self.problems if not each.is_hint), "")
        server = McpServerConfig(name=self._name, origin=origin, file=file, problem=wrong, **fields)
        return server, tuple(self.problems)

    def read_common_fields(self) -> dict[str, Any]:
        """Reads the fields that an override may contain too."""
        out: dict[str, Any] = {}
        enabled = self._read_boolean("enabled")
        if enabled is None and (disabled := self._read_boolean("disabled")) is not None:
            enabled = not disabled
        self._set_field(out, "enabled", enabled)
        if "exposure" in self._entry:
            self._set_field(out, "exposure", self._parse_exposure(self._entry["exposure"], "exposure"))
        tools: dict[str, McpToolExposure] = {}
        for key in ("toolExposure", "tools"):
            tools |= self._read_tool_exposures(key)
        if tools:
            out["tools"] = tools
        self._set_field(out, "description", self._read_text("description"))
        self._set_field(out, "start_timeout", self._read_seconds("startTimeout"))
        self._set_field(out, "timeout", self._read_seconds("timeout"))
        self._set_field(out, "trust_hints", self._read_boolean("trustHints"))
        return out

    def _read_transport(self) -> dict[str, Any]:
        """Reads from a configuration entry how the MCP server is reached: command or address."""
        out: dict[str, Any] = {}
        command, args = self._read_command()
        url = self._read_text("url")
        if command and url:
            self._report_problem(("url",), "has both `command` and `url`; remove one of them")
        kind = self._transport_type(url)
        if url:
            fault = "" if "${" in url or url.startswith("!") else mcp_server_url_problem(url)
            if fault:
                self._report_problem(("url",), fault)
            out |= {"url": url, "headers": self._read_text_map("headers")}
            self._set_field(out, "oauth", self._read_oauth())
        if command:
            out |= {"command": command, "args": args, "env": self._read_text_map("env")}
            self._set_field(out, "cwd", self._read_text("cwd"))
        out["type"] = kind
        return out

    def _read_command(self) -> tuple[str | None, tuple[str, ...]]:
        if isinstance(self._entry.get("command"), list):
            text = '`command` is one program: write "command": "npx", "args": ["-y", …]'
            self._report_problem(("command",), text)
            return None, ()
        args = self._entry.get("args", [])
        if not isinstance(args, list) or not all(_is_text_or_number(each) for each in args):
            self._report_problem(("args",), "`args` must be a list of texts")
            args = []
        return self._read_text("command"), tuple(map(str, args))

    def _transport_type(self, url: str | None) -> McpServerType:
        given = self._entry.get("type")
        if given is None:
            return "http" if url else "stdio"
        kind = _MCP_SERVER_TYPE_BY_NAME.get(given) if isinstance(given, str) else None
        if kind is None:
            self._report_problem(("type",), '`type` is one of "stdio", "http", "sse"')
            return "http" if url else "stdio"
        if (kind == "stdio") == bool(url):
            wanted = "`command`" if kind == "stdio" else "`url`"
            self._report_problem(("type",), f"`type` is {kind}, which needs {wanted}")
        elif kind == "sse":
            text = 'uses "sse", which is deprecated: use the server\'s streamable HTTP address'
            self._report_problem(("type",), text, is_hint=True)
        return kind

    def _read_oauth(self) -> McpOAuthConfig | None:
        given = self._entry.get("oauth")
        if given is None or given is False:
            return None
        if not isinstance(given, dict):
            self._report_problem(("oauth",), "`oauth` must be an object: { clientId, scope, … }")
            return None
        fields: dict[str, Any] = {}
        for field, key in _OAUTH_KEY_BY_FIELD.items():
            value = given.get(key, "")
            if isinstance(value, str):
                fields[field] = value
            else:
                self._report_problem(("oauth", key), f"`oauth.{key}` must be a text")
        port = given.get("callbackPort", 0)
        if isinstance(port, int) and not isinstance(port, bool) and 0 <= port <= 65535:
            fields["callback_port"] = port
        else:
            self._report_problem(("oauth", "callbackPort"), "`oauth.callbackPort` must be a port: 1 to 65535")
        fields["grant"] = self._read_oauth_grant(given, fields)
        return McpOAuthConfig(**fields)

    def _read_oauth_grant(self, given: dict[str, Any], fields: dict[str, Any]) -> McpOAuthGrant:
        for known in _OAUTH_GRANTS:
            if given.get("grantType", "authorization_code") != known:
                continue
            is_known = fields.get("client_id") and (fields.get("client_secret") or fields.get("private_key"))
            if known == "client_credentials" and not is_known:
                text = "client_credentials needs `clientId`, and `clientSecret` or `privateKey`"
                self._report_problem(("oauth", "grantType"), text)
            return known
        self._report_problem(
            ("oauth", "grantType"), '`oauth.grantType` is "authorization_code" or "client_credentials"'
        )
        return "authorization_code"

    def _read_tool_exposures(self, key: str) -> dict[str, McpToolExposure]:
        given = self._entry.get(key)
        if given is None or given == ["*"]:  # another program's notation for "all tools"
            return {}
        if not isinstance(given, dict):
            self._report_problem((key,), f'`{key}` must be an object: {{ "delete_*": "hidden" }}')
            return {}
        out: dict[str, McpToolExposure] = {}
        for pattern, value in given.items():
            found = self._parse_exposure(value, key, pattern)
            if found is not None:
                out[pattern] = found
        return out

    def _parse_exposure(self, value: Any, *keys: str) -> McpToolExposure | None:
        for each in MCP_TOOL_EXPOSURES:
            if value == each:
                return each
        if isinstance(value, str) and value in _EXPOSURE_BY_PI_EXPOSURE:
            return _EXPOSURE_BY_PI_EXPOSURE[value]
        told = ", ".join(f'"{each}"' for each in MCP_TOOL_EXPOSURES)
        self._report_problem(keys, f"`{escape_controls('.'.join(keys))}` must be one of {told}")
        return None

    def _read_seconds(self, key: str) -> float | None:
        value = self._entry.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            self._report_problem((key,), f"`{key}` must be a number of seconds above 0")
            return None
        return (
            float(value)
            if value <= _MAX_MCP_CALL_TIMEOUT_SECONDS
            else min(value / 1000, _MAX_MCP_CALL_TIMEOUT_SECONDS)
        )

    def _read_boolean(self, key: str) -> bool | None:
        value = self._entry.get(key)
        if value is None or isinstance(value, bool):
            return value
        self._report_problem((key,), f"`{key}` must be true or false")
        return None

    def _read_text(self, key: str) -> str | None:
        value = self._entry.get(key)
        if value is None or (isinstance(value, str) and _is_text_or_number(value)):
            return value or None
        self._report_problem((key,), f"`{key}` must be a text")
        return None

    def _read_text_map(self, key: str) -> dict[str, str]:
        given = self._entry.get(key)
        if given is None:
            return {}
        if not isinstance(given, dict):
            self._report_problem((key,), f'`{key}` must be an object: {{ "NAME": "value" }}')
            return {}
        fits: Callable[[str], object] = (
            _HEADER_NAME_PATTERN.fullmatch if key == "headers" else _VARIABLE_NAME_PATTERN.fullmatch
        )
        out: dict[str, str] = {}
        for name, value in given.items():
            if not fits(name):
                self._report_problem(
                    (key, name), f'"{escape_controls(name)[:80]}" in `{key}` is not a valid name'
                )
            elif not _is_text_or_number(value):
                self._report_problem((key, name), f"`{key}.{name}` must be a text")
            else:
                out[name] = str(value)
        return out

    def _report_unknown_keys(self) -> None:
        """Reports unknown keys of an entry that are similar to a known one, as probable typing errors; other unknown
        keys are ignored."""
        import difflib  # noqa: PLC0415  (only where servers are)

        for key in self._entry:
            close = (
                []
                if key in _MCP_SERVER_ENTRY_KEYS
                else difflib.get_close_matches(key, _MCP_SERVER_ENTRY_KEYS, n=1, cutoff=0.8)
            )
            if close:
                self._report_problem(
                    (key,),
                    f"`{escape_controls(key)}` does nothing. Did you mean `{close[0]}`?",
                    is_hint=True,
                )

    def _set_field(self, out: dict[str, Any], field: str, value: Any) -> None:
        if value is not None:
            out[field] = value

    def _report_problem(self, keys: tuple[str, ...], text: str, *, is_hint: bool = False) -> None:
        self.problems.append(McpConfigEntryProblem(keys, text, is_hint))


_HEADER_NAME_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE_NAME_PATTERN = re.compile(r"[^=\0]+")


def mcp_server_url_problem(url: str) -> str:
    """Returns what is wrong with an MCP server's URL, without repeating it, because it may hold a secret;
    empty if nothing is."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "`url` is no address"
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\x00-\x1f\x7f]", url):
        return "`url` must be an address that begins with https:// or http://"
    return ""


def _default_start_timeout(command: str | None) -> float:
    return (
        60.0 if command and Path(command).name.removesuffix(".cmd") in _PACKAGE_DOWNLOADING_PROGRAMS else 30.0
    )


def _is_text_or_number(value: Any) -> bool:
    """Returns whether a configured value is a text, or a number, which people often write without quotes."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return True
    return isinstance(value, str) and "\0" not in value


_SECRET_FLAG_PATTERN = re.compile(
    r"(?i)^--?[\w-]*(?:key|token|secret|password|passwd|auth|credential|header|bearer)[\w-]*$"
)
_SECRET_VALUE_PATTERN = re.compile(
    r"(?i)^((?:--?)?[\w-]*(?:key|token|secret|password|passwd|auth|credential|bearer)[\w-]*=).+"
)
HIDDEN_VALUE_MARK = "•••"


def mcp_server_display_address(server: McpServerConfig) -> str:
    """Returns an MCP server's command line or address as one line for display, with secrets hidden."""
    if server.url is not None:
        return escape_controls(url_without_secrets(server.url))
    return escape_controls(" ".join(_hide_secret_words((server.command or "", *server.args))))


def url_without_secrets(url: str) -> str:
    """Returns a URL for display, without user name, password and query."""
    if url.startswith("!"):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN_VALUE_MARK
    host = parts.netloc.rpartition("@")
    return urlunsplit(
        (
            parts.scheme,
            f"{HIDDEN_VALUE_MARK}@{host[2]}" if host[1] else host[2],
            parts.path,
            HIDDEN_VALUE_MARK if parts.query else "",
            "",
        )
    )


def mcp_server_display_lines(server: McpServerConfig) -> Iterator[tuple[str, str]]:
    """Yields an MCP server's configured values with their labels, for display."""
    yield ("command" if server.url is None else "address", mcp_server_display_address(server))
    if server.cwd:
        yield "folder", escape_controls(server.cwd)
    for what, values in (("variables", server.env), ("headers", server.headers)):
        if values:
            yield (
                what,
                ", ".join(
                    f"{escape_controls(name)}={hide_literal_config_value(value)}"
                    for name, value in values.items()
                ),
            )
    if server.oauth is not None and server.oauth.client_id:
        alone = ", which signs in by itself" if server.oauth.uses_client_credentials else ""
        yield "client", escape_controls(server.oauth.client_id) + alone
    yield "exposure", server.exposure or "auto"
    if server.tools:
        yield (
            "tools",
            ", ".join(f"{escape_controls(name)}: {each}" for name, each in server.tools.items()),
        )
    yield "timeouts", f"{server.start_timeout:g} s to start, {server.timeout:g} s without an answer"
    if server.trust_hints:
        yield "hints", "the hints of its tools (read-only, dangerous) are trusted"
    yield "defined in", str(server.file) if server.file else server.origin


def hide_literal_config_value(value: str) -> str:
    """Returns a configured value for display: names of variables and commands are shown, literal values are hidden."""
    is_named = value.startswith("!") or re.fullmatch(r"(?:[A-Za-z]+ )?\$\{[^}:]*\}", value)
    return escape_controls(value) if is_named else HIDDEN_VALUE_MARK


def _hide_secret_words(words: tuple[str, ...]) -> Iterator[str]:
    is_secret = False
    for word in words:
        if (is_secret and not word.startswith("-")) or is_secret_variable("", word):
            yield hide_literal_config_value(word)
        elif "://" in word:
            yield url_without_secrets(word)
        else:
            yield _SECRET_VALUE_PATTERN.sub(rf"\1{HIDDEN_VALUE_MARK}", word)
        is_secret = bool(_SECRET_FLAG_PATTERN.match(word))
