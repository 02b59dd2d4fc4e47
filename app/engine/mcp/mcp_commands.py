"""Commands about MCP servers: their state and settings; `/mcp list|test|enable|…` works the same in every
interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.engine.commands.session_command import session_command
from app.engine.mcp.session_servers import McpServers, McpServerSources
from app.engine.session import Session
from app.resources.mcp_server_files import user_mcp_servers_file
from app.values.mcp_servers import ServerView, ToolExposure
from app.values.user_errors import UserError
from tools.number_formatting import count_with_noun
from tools.text_sanitizing import one_line

if TYPE_CHECKING:
    from app.mcp.managed_server import ManagedMcpServer
    from app.mcp.mcp_token_store import McpTokenStore
    from app.mcp.server_config_entries import McpServerConfig, McpToolExposure
    from app.providers.signin.interface import SignInUi


@session_command(
    "MCP servers with their tools and states",
    "Connects to none of them.",
    answer="servers",
)
async def get_mcp_servers(session: Session) -> Sequence[ServerView]:
    return session.mcp.server_views()


@session_command("Reconnect to an MCP server and list everything it offers", answer="server")
async def mcp_test(session: Session, name: str) -> ServerView:
    return await session.mcp.test_server(name)


@session_command(
    "Switch an MCP server on or off, or choose how the model reaches its tools",
    "For this session.",
    answer="server",
)
async def mcp_set(
    session: Session,
    name: str,
    enabled: bool | None = None,
    exposure: ToolExposure | None = None,
) -> ServerView:
    if enabled is not None:
        session.mcp.set_server_enabled(name, enabled)
    if exposure is not None:
        session.mcp.set_exposure(name, exposure)
    return session.mcp.server_view(name)


@session_command(
    "Disconnect an MCP server and forget its failures; it starts again when it is needed", answer="server"
)
async def mcp_restart(session: Session, name: str) -> ServerView:
    return await session.mcp.restart_server(name)


MCP_SUBCOMMANDS = ("list", "test", "enable", "disable", "restart", "login", "logout", "logs", "remove")
_MAX_SHOWN_TOOL_NAMES = 10
_MCP_CONNECTION_FAILURE_TIPS = (
    (
        ("no such file", "not found", "enoent"),
        "Check that the program is installed and that its folder is in PATH.",
    ),
    (("permission denied", "eacces"), "The program is not executable: check its permissions."),
    (("cannot be reached", "refused"), "Check that the server is running and that the address is right."),
    (
        ("did not answer", "does not answer", "timed out"),
        "If the server starts slowly, raise its `startTimeout`.",
    ),
    (
        ("403", "more permissions"),
        "The sign-in has too few permissions: /mcp login {name} asks for more.",
    ),
    (("401", "login", "sign-in"), "Sign in: /mcp login {name}"),
    (("is not set",), "Set the variable before you start bayou, or write a default: ${{NAME:-default}}"),
)


class McpServerChanges:
    """Writes changes of an MCP server to the file that configures it and applies them at once; signs in and
    out."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def server_config(self, name: str) -> "McpServerConfig":
        return self._managed_server(name).config

    def set_server_enabled(self, name: str, is_on: bool) -> str:
        """Enables or disables an MCP server; returns a sentence about it."""
        config = self.server_config(name)
        self._servers.set_server_enabled(name, is_on)
        word = "enabled" if is_on else "disabled"
        return f'Server "{config.name}" is {word}{self._write_setting(config, "enabled", is_on)}.'

    def set_exposure(self, name: str, exposure: "McpToolExposure") -> str:
        config = self.server_config(name)
        self._servers.set_exposure(name, exposure)
        kept = self._write_setting(config, "exposure", exposure)
        return f'Tools of "{config.name}" are now {exposure}{kept}. This applies from the next prompt.'

    def remove_server(self, name: str) -> str:
        from app.mcp.server_config import find_mcp_server_name_in_file, remove_mcp_server_from_file  # noqa: PLC0415  (few change servers)

        config = self.server_config(name)
        there = find_mcp_server_name_in_file(config.file, config.name) if config.file is not None else None
        if config.file is None or there is None:
            raise UserError(
                f'Server "{config.name}" comes from an extension, not from a configuration file. Use '
                f"/mcp disable {config.name}, or remove the extension."
            )
        remove_mcp_server_from_file(config.file, there)
        own = user_mcp_servers_file(self._server_sources.paths)
        if config.file != own and (wish := find_mcp_server_name_in_file(own, config.name)) is not None:
            remove_mcp_server_from_file(own, wish)
        self._servers.reload_configuration()
        return f'Removed "{config.name}" from {config.file}.'

    async def sign_in_to_mcp_server(self, name: str, ui: "SignInUi") -> str:
        """Signs the user in to an MCP server, then connects with the new credentials."""
        from app.mcp.server_connection import load_mcp_sdk  # noqa: PLC0415  (heavy)

        life = self._managed_server(name)
        if life.config.url is None:
            raise UserError(f'"{life.config.name}" is a program on this machine, so it needs no sign-in.')
        if not life.is_usable:
            raise UserError(f'Server "{life.config.name}" is {life.state}. See /mcp.')
        await load_mcp_sdk()
        from app.mcp.http_transport import sign_in_to_mcp_server_with_browser  # noqa: PLC0415  (behind the SDK)

        config = await self._resolve_config(life.config)
        told = await sign_in_to_mcp_server_with_browser(
            config, self._token_store, ui, self._server_sources.proxy_url()
        )
        await life.reset_connection()
        return told

    async def sign_out_of_server(self, name: str) -> str:
        life = self._managed_server(name)
        config = await self._resolve_config(life.config)
        found = self._token_store.remove_sign_in(config.name, config.url or "")
        await life.reset_connection()
        return f'Signed out of "{config.name}".' if found else f'You were not signed in to "{config.name}".'

    async def is_signed_in(self, name: str) -> bool:
        config = self.server_config(name)
        if config.url is None:
            return False
        try:
            resolved = await self._resolve_config(config)
            return self._token_store.load_sign_in(config.name, resolved.url or "") is not None
        except UserError:
            return False

    @property
    def _server_sources(self) -> McpServerSources:
        assert self._servers.server_sources is not None  # without a file there would be no server to name
        return self._servers.server_sources

    async def _resolve_config(self, config: "McpServerConfig") -> "McpServerConfig":
        """Returns an MCP server's configuration with the values of its variables."""
        from app.mcp.server_config import McpConfigValueResolver  # noqa: PLC0415  (few sign in)

        return await McpConfigValueResolver(self._server_sources.environment).resolve_config_values(config)

    @property
    def _token_store(self) -> "McpTokenStore":
        from app.mcp.mcp_token_store import open_mcp_token_store  # noqa: PLC0415  (as above)

        return open_mcp_token_store(self._server_sources.paths)

    def _write_setting(self, config: "McpServerConfig", key: str, value: object) -> str:
        """Writes a setting of an MCP server and returns the file; a server without a file is changed for this
        session."""
        from app.mcp.server_config import set_mcp_server_option  # noqa: PLC0415  (few change servers)

        try:
            file = set_mcp_server_option(self._server_sources.paths, config, key, value)
        except UserError as problem:
            return f" for this session only ({problem})"
        self._servers.reload_configuration()
        return f" ({file})"

    def _managed_server(self, name: str) -> "ManagedMcpServer":
        return self._servers.registry_for_server(name).require_server(name)


async def run_mcp_command(servers: McpServers, text: str, ui: "SignInUi | None" = None) -> str:
    """Runs `/mcp TEXT` and returns its output. Raises `UserError`."""
    verb, _, name = text.strip().partition(" ")
    name = name.strip()
    if verb in ("", "list"):
        return mcp_servers_text(servers)
    if verb not in MCP_SUBCOMMANDS:
        raise UserError(
            f"Unknown command: /mcp {one_line(verb)[:40]}. Commands: {', '.join(MCP_SUBCOMMANDS)}"
        )
    if not name:
        raise UserError(f"Server name required. Usage: /mcp {verb} <name>")
    match verb:
        case "test":
            return await test_server(servers, name)
        case "enable" | "disable":
            return servers.server_configuration_changes.set_server_enabled(name, verb == "enable")
        case "restart":
            view = await servers.restart_server(name)
            return f'Server "{view.name}" was stopped; it starts again on next use.'
        case "login":
            if ui is None:
                raise UserError(f"Signing in needs a terminal. Run: bayou mcp login {name}")
            told = await servers.server_configuration_changes.sign_in_to_mcp_server(name, ui)
            return f"{told}\n{await test_server(servers, name)}"
        case "logout":
            return await servers.server_configuration_changes.sign_out_of_server(name)
        case "remove":
            return servers.server_configuration_changes.remove_server(name)
        case _:
            view = servers.server_view(name)
            said = "\n".join(view.stderr) or "The server has no log output yet."
            return f"{said}\n({view.log})" if view.log else said


def mcp_servers_text(servers: McpServers) -> str:
    """Returns one line for each MCP server, and the errors in the configuration files."""
    views = servers.server_views()
    if not views and not servers.configuration_problems:
        return (
            "No MCP servers are configured. In a terminal: bayou mcp add NAME -- COMMAND, or bayou "
            "mcp import PROGRAM"
        )
    wide = max((len(view.name) for view in views), default=0)
    lines = [line for view in views for line in (mcp_server_line(view, wide), *_omission_lines(view))]
    return "\n".join([*lines, *servers.configuration_problems])


def mcp_server_line(view: ServerView, wide: int = 0) -> str:
    reason = f"  {one_line(view.reason)}" if view.reason else ""
    suggested_rules = f"  {mcp_offered_tools_text(view)}" if view.tools else ""
    return f"{view.name:{wide}}  {view.state:9}{suggested_rules}{reason}  ({view.origin})"


def mcp_offered_tools_text(view: ServerView) -> str:
    parts = [count_with_noun(len(view.tools), "tool")] if view.tools else []
    parts += [count_with_noun(view.prompt_count, "prompt")] if view.prompt_count else []
    parts += [count_with_noun(view.resource_count, "resource")] if view.resource_count else []
    return ", ".join(parts)


async def test_server(servers: McpServers, name: str) -> str:
    """Connects to an MCP server and returns a sentence about it. Raises `UserError` with the failure and
    advice."""
    try:
        view = await servers.test_server(name)
    except UserError as problem:
        text = str(problem)
        if text.startswith("Server "):
            raise
        raise UserError(mcp_connection_failure_text(name, text)) from None
    lines = [f'✓ Successfully connected to "{view.name}"']
    lines += [f"  {view.version}"] if view.version else []
    lines.append(f"  {mcp_offered_tools_text(view) or 'no tools'}")
    if 0 < len(view.tools) <= _MAX_SHOWN_TOOL_NAMES:
        lines.append(f"  {', '.join(tool.name for tool in view.tools)}")
    return "\n".join([*lines, *_omission_lines(view)])


def _omission_lines(view: ServerView) -> list[str]:
    return [f"  {text}" for text in view.omissions]


def mcp_connection_failure_text(name: str, why: str) -> str:
    text = why.lower()
    tip = next(
        (tip for words, tip in _MCP_CONNECTION_FAILURE_TIPS if any(word in text for word in words)), ""
    )
    told = f'Failed to connect to "{name}": {why.removeprefix(f"{name} is not available: ")}'
    return f"{told}\nTip: {tip.format(name=name)}" if tip else told
