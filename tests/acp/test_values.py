"""The fields that bayou reads and sends are those of the published schema."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from app.modes.acp import request_params, request_results, update_messages
from tests.acp.peers import SCHEMA

DEFINITIONS: Mapping[str, str | tuple[str, ...]] = {
    "InitializeParams": "InitializeRequest",
    "AuthenticateParams": "AuthenticateRequest",
    "HeaderOrVariable": ("EnvVariable", "HttpHeader"),
    "ClientMcpServer": ("McpServerStdio", "McpServerHttp", "McpServerSse"),
    "NewSessionParams": "NewSessionRequest",
    "OpenSessionParams": ("LoadSessionRequest", "ResumeSessionRequest"),
    "ListSessionsParams": "ListSessionsRequest",
    "SessionIdParams": ("CloseSessionRequest", "DeleteSessionRequest", "CancelNotification"),
    "SetModeParams": "SetSessionModeRequest",
    "SetOptionParams": "SetSessionConfigOptionRequest",
    "CancelRequestParams": "CancelRequestNotification",
    "PromptParams": "PromptRequest",
    "TextBlock": "TextContent",
    "ImageBlock": "ImageContent",
    "LinkBlock": "ResourceLink",
    "EmbeddedResource": ("TextResourceContents", "BlobResourceContents"),
    "ResourceBlock": "EmbeddedResource",
}
"""The definitions of the schema that a value of `request_params` is decoded from."""
_BEYOND = {"type", "value"}
"""Fields that the schema has in branches of a definition."""


def properties(name: str) -> set[str]:
    return set(SCHEMA["$defs"][name]["properties"]) | _BEYOND


@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_is_read_has_the_names_of_the_schema(name: str) -> None:
    known = DEFINITIONS[name]
    kind = getattr(request_params, name)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    offered = [properties(one) for one in ((known,) if isinstance(known, str) else known)]
    assert set(fields) <= set.union(*offered)
    needed = {one for one, field in fields.items() if field.required}
    assert needed <= set.intersection(*offered), "what bayou insists on is in each form"


def test_what_a_prompt_ends_with_and_the_states_of_a_call_are_those_of_the_schema() -> None:
    for values, name in (
        (request_results.StopReason, "StopReason"),
        (update_messages.CallStatus, "ToolCallStatus"),
        (update_messages.PlanStatus, "PlanEntryStatus"),
        (update_messages.PermissionKind, "PermissionOptionKind"),
        (update_messages.ToolKind, "ToolKind"),
    ):
        assert set(values.__args__) <= constants(SCHEMA["$defs"][name])


def constants(schema: Any) -> set[str]:
    return {one["const"] for one in schema.get("oneOf", schema.get("anyOf", ())) if "const" in one}
