"""The client: its capabilities, and the requests that bayou sends to it."""

import asyncio
from typing import Any

import msgspec
from acp.connection import Connection
from acp.schema import CancelRequestNotification, ClientCapabilities
from pydantic import BaseModel

from app.modes.acp.transport import ASKED, LineTransport
from app.modes.acp.update_values import SessionNotice, Update


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities that the client has declared."""

    has_forms: bool = False
    has_pages: bool = False
    """Whether it can open the web page of a server's question."""
    has_terminals: bool = False
    """Whether it shows command output in a terminal."""

    @classmethod
    def declared(cls, capabilities: ClientCapabilities | None) -> "Abilities":
        if capabilities is None:
            return cls()
        asked = capabilities.elicitation
        more = capabilities.field_meta or {}
        return cls(
            has_forms=asked is not None and asked.form is not None,
            has_pages=asked is not None and asked.url is not None,
            has_terminals=more.get("terminal_output") is True,
        )


class Client:
    """Sends requests to the client, and cancels those that need no answer any more."""

    def __init__(self, transport: LineTransport, connection: Connection) -> None:
        self.transport = transport
        self._connection = connection
        self.abilities = Abilities()

    def update(self, session_id: str, update: Update) -> None:
        """Sends an update of a session at once."""
        self.transport.notify("session/update", plain(SessionNotice(session_id=session_id, update=update)))

    async def ask(self, method: str, parameters: BaseModel | msgspec.Struct) -> Any:
        """Sends a request and returns the result. Raises `ConnectionError` if the client is gone, and `RequestError`
        for a refusal; a cancelled request is withdrawn."""
        asked: list[Any] = []
        ASKED.set(asked)
        try:
            return await self._connection.send_request(method, plain(parameters))
        except asyncio.CancelledError:
            if asked:
                taken_back = CancelRequestNotification(request_id=asked[0])
                self.transport.notify("$/cancel_request", plain(taken_back))
            raise
        finally:
            ASKED.set(None)


def plain(value: BaseModel | msgspec.Struct) -> Any:
    """Returns a message of the SDK, or one of bayou's own, as JSON data."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return msgspec.to_builtins(value)
