"""A person's words on their way in, and what is said when they, or anything else, cannot be taken now."""

from typing import Literal

import msgspec

from app.values.content import Image
from app.values.unable import Unable

PromptSource = Literal["interactive", "rpc", "print", "extension"]
WhileRunning = Literal["steer", "follow_up"]


class Refused(Unable):
    """The session cannot do that now; the text says why and what to do."""


class MissingApiKey(Refused):
    """Nobody has given a key for the provider of the model; each face says how."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"No API key found for {provider}. Add one with /login {provider}.")
        self.provider = provider


class Busy(Refused):
    """Something is under way that the person can stop; each face says how."""


class SwitchCancelled(Refused):
    """An extension cancelled going to another session."""


class PromptInput(msgspec.Struct, frozen=True, kw_only=True):
    """What was said, by whom, and how it is to reach a running agent."""

    text: str
    images: tuple[Image, ...] = ()
    source: PromptSource = "interactive"
    while_running: WhileRunning | None = None
    sends_secrets: bool = False
    """Secrets in it are sent, because the person said so."""
