"""The results of a client's requests, but for that of `initialize`."""

from collections.abc import Sequence
from typing import Literal

from app.modes.acp.update_values import Option, Sent

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class Done(Sent, frozen=True):
    """The result of a request that has nothing to tell."""


class Mode(Sent, frozen=True):
    id: str
    name: str
    description: str


class Modes(Sent, frozen=True):
    current_mode_id: str
    available_modes: Sequence[Mode]


class OpenedSession(Sent, frozen=True):
    """A session that is open now; its id where the client has not named it."""

    modes: Modes
    config_options: Sequence[Option]
    session_id: str | None = None


class PresentOptions(Sent, frozen=True):
    config_options: Sequence[Option]


class ListedSession(Sent, frozen=True):
    session_id: str
    cwd: str
    title: str
    updated_at: str


class SessionPage(Sent, frozen=True):
    sessions: Sequence[ListedSession]
    next_cursor: str | None = None


class PromptEnd(Sent, frozen=True):
    stop_reason: StopReason
