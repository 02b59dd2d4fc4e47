"""The ACP client: its capabilities, the answer to `initialize`, and the sending of updates."""

from collections.abc import Iterator
from typing import Any

import msgspec

from app.modes.acp.json_rpc_connection import JsonRpcConnection
from app.modes.acp.request_params import nested_value
from app.modes.acp.update_messages import SessionUpdateParams, Update
from app.version import VERSION

ACP_PROTOCOL_VERSION = 1
_API_KEY_SIGN_IN_METHODS = (
    ("anthropic", "Anthropic", "ANTHROPIC_API_KEY"),
    ("openai", "OpenAI", "OPENAI_API_KEY"),
    ("google", "Google", "GEMINI_API_KEY"),
)


class AcpClientCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities that the client has declared."""

    has_form_elicitation: bool = False
    has_url_elicitation: bool = False
    """Whether it can open the web page of a server's question."""
    has_terminals: bool = False
    """Whether it shows command output in a terminal."""
    has_login_terminal: bool = False
    """Whether it can run a sign-in in a terminal."""

    @classmethod
    def from_capabilities(cls, capabilities: Any) -> "AcpClientCapabilities":
        return cls(
            has_form_elicitation=nested_value(capabilities, "elicitation", "form") is not None,
            has_url_elicitation=nested_value(capabilities, "elicitation", "url") is not None,
            has_terminals=nested_value(capabilities, "_meta", "terminal_output") is True,
            has_login_terminal=nested_value(capabilities, "auth", "terminal") is True,
        )


class AcpClient:
    """The client at the other end of a connection; its capabilities are known from `initialize` on."""

    def __init__(self, connection: JsonRpcConnection) -> None:
        self.connection = connection
        self.abilities = AcpClientCapabilities()

    def update(self, session_id: str, update: Update) -> None:
        """Sends an update of a session at once."""
        self.connection.send_notification(
            "session/update", SessionUpdateParams(session_id=session_id, update=update)
        )


def make_initialize_result(abilities: AcpClientCapabilities) -> dict[str, Any]:
    return {
        "protocolVersion": ACP_PROTOCOL_VERSION,
        "agentInfo": {"name": "bayou", "title": "bayou", "version": VERSION},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {
                name: {} for name in ("list", "resume", "fork", "close", "delete", "additionalDirectories")
            },
        },
        "authMethods": list(_auth_methods(abilities)),
    }


def _auth_methods(abilities: AcpClientCapabilities) -> Iterator[dict[str, Any]]:
    """Yields a sign-in in a terminal, if the client can open one, and the key variables of the environment."""
    if abilities.has_login_terminal:
        yield {
            "type": "terminal",
            "id": "login",
            "name": "Sign in",
            "description": "Choose a provider, and sign in with an account or a key",
            "args": ["--login"],
        }
    for provider, name, variable in _API_KEY_SIGN_IN_METHODS:
        key = f"{name} API key"
        yield {
            "type": "env_var",
            "id": f"{provider}-key",
            "name": key,
            "vars": [{"name": variable, "label": key}],
        }
