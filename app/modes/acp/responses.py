"""The results of an ACP client's requests, except that of `initialize`."""

from collections.abc import Sequence
from typing import Literal

from app.modes.acp.update_values import ConfigOption, WireObject

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class EmptyResult(WireObject, frozen=True):
    """The empty result of a request."""


class SessionMode(WireObject, frozen=True):
    id: str
    name: str
    description: str


class SessionModes(WireObject, frozen=True):
    current_mode_id: str
    available_modes: Sequence[SessionMode]


class OpenedSession(WireObject, frozen=True):
    """The result of opening a session: its modes and options, and its id unless the client named the session."""

    modes: SessionModes
    config_options: Sequence[ConfigOption]
    session_id: str | None = None


class OptionsResult(WireObject, frozen=True):
    config_options: Sequence[ConfigOption]


class ListedSession(WireObject, frozen=True):
    session_id: str
    cwd: str
    title: str
    updated_at: str


class SessionPage(WireObject, frozen=True):
    sessions: Sequence[ListedSession]
    next_cursor: str | None = None


class PromptEnd(WireObject, frozen=True):
    stop_reason: StopReason
