"""The results of an ACP client's requests, except that of `initialize`."""

from collections.abc import Sequence
from typing import Literal

from app.modes.acp.update_messages import AcpMessagePart, SessionConfigOption

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class EmptyRequestResult(AcpMessagePart, frozen=True):
    """The empty result of a request."""


class AcpSessionMode(AcpMessagePart, frozen=True):
    id: str
    name: str
    description: str


class AcpSessionModes(AcpMessagePart, frozen=True):
    current_mode_id: str
    available_modes: Sequence[AcpSessionMode]


class OpenedSessionResult(AcpMessagePart, frozen=True):
    """The result of opening a session: its modes and options, and its id unless the client named the session."""

    modes: AcpSessionModes
    config_options: Sequence[SessionConfigOption]
    session_id: str | None = None


class SetOptionResult(AcpMessagePart, frozen=True):
    config_options: Sequence[SessionConfigOption]


class ListedSession(AcpMessagePart, frozen=True):
    session_id: str
    cwd: str
    title: str
    updated_at: str


class ListSessionsResult(AcpMessagePart, frozen=True):
    sessions: Sequence[ListedSession]
    next_cursor: str | None = None


class PromptRequestResult(AcpMessagePart, frozen=True):
    stop_reason: StopReason
