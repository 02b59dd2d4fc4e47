"""The parameters of an ACP client's requests and notifications. Fields that bayou does not use are left out, so
they may have any form. Capabilities and `_meta` may have any form too: the protocol wants a wrong one read as an
absent one."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec


class _RequestParameters(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class InitializeParams(_RequestParameters, frozen=True):
    protocol_version: int
    client_capabilities: Any = None


class AuthenticateParams(_RequestParameters, frozen=True):
    method_id: str


class HeaderOrVariable(_RequestParameters, frozen=True):
    """A variable of a server's environment, or a header."""

    name: str
    value: str


class ClientMcpServer(_RequestParameters, frozen=True):
    """An MCP server of the client: a program (`stdio`), or an address."""

    name: str
    type: Literal["stdio", "http", "sse", "acp"] = "stdio"
    command: str = ""
    args: Sequence[str] = ()
    env: Sequence[HeaderOrVariable] = ()
    url: str = ""
    headers: Sequence[HeaderOrVariable] = ()


class NewSessionParams(_RequestParameters, frozen=True):
    cwd: str
    mcp_servers: Sequence[ClientMcpServer] | None = None
    additional_directories: Sequence[str] | None = None


class OpenSessionParams(_RequestParameters, frozen=True):
    """The parameters of `session/load`, `session/resume` and `session/fork`."""

    session_id: str
    cwd: str
    mcp_servers: Sequence[ClientMcpServer] | None = None
    additional_directories: Sequence[str] | None = None


class ListSessionsParams(_RequestParameters, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class SessionIdParams(_RequestParameters, frozen=True):
    """The parameters of `session/close`, `session/delete` and `session/cancel`."""

    session_id: str


class SetModeParams(_RequestParameters, frozen=True):
    session_id: str
    mode_id: str


class SetOptionParams(_RequestParameters, frozen=True):
    session_id: str
    config_id: str
    value: Any


class CancelRequestParams(_RequestParameters, frozen=True):
    request_id: str | int | None


class TextBlock(_RequestParameters, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageBlock(_RequestParameters, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


class AudioBlock(_RequestParameters, frozen=True, tag_field="type", tag="audio"):
    pass


class LinkBlock(_RequestParameters, frozen=True, tag_field="type", tag="resource_link"):
    uri: str


class EmbeddedResource(_RequestParameters, frozen=True):
    """A file with its content: a text, or data in Base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str = ""


class ResourceBlock(_RequestParameters, frozen=True, tag_field="type", tag="resource"):
    resource: EmbeddedResource


PromptBlock = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class PromptParams(_RequestParameters, frozen=True):
    session_id: str
    prompt: Sequence[PromptBlock]
    meta: Any = msgspec.field(name="_meta", default=None)


def nested_value(data: Any, *path: str) -> Any:
    """Returns a value within objects of any form; None where there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data
