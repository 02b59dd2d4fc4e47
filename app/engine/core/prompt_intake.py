"""The user's prompt before it is sent, and the errors for requests that cannot be accepted now."""

from typing import Any, Literal

import msgspec

from app.values.content import Image
from app.values.user_errors import UserError

PromptSource = Literal["interactive", "rpc", "print", "extension"]
QueueWhileRunning = Literal["steer", "follow_up"]


class SessionRequestRefused(UserError):
    """Raised if the session cannot do now what was requested; the text says why and what to do."""


class MissingApiKey(SessionRequestRefused):
    """Raised if there is no API key for the model's provider; each interface says how to set one."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"No API key found for {provider}. Add one with /login {provider}.")
        self.provider = provider


class SessionBusy(SessionRequestRefused):
    """Raised if the session is running something that the user can stop; each interface says how."""


class SessionSwitchCancelled(SessionRequestRefused):
    """Raised if an extension cancelled the switch to another session."""


class PromptInput(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the user with its source, and how it is delivered to a running agent."""

    text: str
    images: tuple[Image, ...] = ()
    source: PromptSource = "interactive"
    queue_while_running: QueueWhileRunning | None = None
    is_sent_unmasked: bool = False
    """Whether secrets in the text are sent unmasked, because the user asked for it."""
    request_id: Any = None
    """The id under which a client learns the outcome of this prompt; None: the client wants no outcome."""
