"""What becomes of a person's words before they are a prompt: commands, extensions' opinions, skills, templates."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from app.values.content import Image
from app.values.messages import CustomMessage

Source = Literal["interactive", "rpc", "print", "extension"]
WhileRunning = Literal["steer", "follow_up"]


class Refused(Exception):
    """The session cannot do that now; the text says why and what to do."""


def require_content(text: str, images: Sequence[Image]) -> None:
    if not text.strip() and not images:
        raise Refused("There is nothing to send: the message is empty.")


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What was said, by whom, and how it is to reach a running agent."""

    text: str
    images: tuple[Image, ...] = ()
    source: Source = "interactive"
    while_running: WhileRunning | None = None


async def _no_command(text: str) -> bool:
    return False


async def _no_opinion(words: Words) -> Words | None:
    return words


async def _nothing_with(words: Words) -> Sequence[CustomMessage]:
    return ()


class Intake(msgspec.Struct, kw_only=True):
    """The steps, each replaceable; the defaults let everything through as it is."""

    run_command: Callable[[str], Awaitable[bool]] = _no_command
    """Carries out an extension's `/command`; False: there is none of that name."""
    is_command: Callable[[str], bool] = lambda text: False
    consult: Callable[[Words], Awaitable[Words | None]] = _no_opinion
    """May change the words; None: somebody has dealt with them."""
    expand: Callable[[str], str] = lambda text: text
    """Skills and templates."""
    companions: Callable[[Words], Awaitable[Sequence[CustomMessage]]] = _nothing_with
    """Messages that go before the prompt that begins a run."""
    commands: Callable[[], Sequence[Any]] = lambda: ()
    """What `/name` can stand for, for programs: dictionaries as `get_commands` answers them."""

    async def take(self, words: Words, *, expand: bool = True) -> Words | None:
        """The words to send; None when they were dealt with."""
        if expand and words.text.startswith("/") and await self.run_command(words.text):
            return None
        changed = await self.consult(words)
        if changed is None or not expand:
            return changed
        return msgspec.structs.replace(changed, text=self.expand(changed.text))
