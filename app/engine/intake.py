"""What becomes of a person's words before they are a prompt: commands, extensions' opinions, skills, templates."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.sessions.log import SessionLog
from app.values.content import Image, text_of
from app.values.messages import CustomMessage

Source = Literal["interactive", "rpc", "print", "extension"]
WhileRunning = Literal["steer", "follow_up"]
Leaving = Literal["new", "resume", "fork"]


_LEAVING: dict[str, Leaving] = {"new": "new", "resume": "resume", "fork": "fork"}


class Refused(Exception):
    """The session cannot do that now; the text says why and what to do."""


class Stayed(Refused):
    """An extension cancelled going to another session."""


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


async def _nothing_ends() -> None:
    return None


async def _may_leave(reason: Leaving, target: Path | None) -> bool:
    return True


async def _may_fork(entry_id: str, position: Literal["before", "at"]) -> bool:
    return True


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

    shown_text: Callable[[CustomMessage], str] = lambda message: text_of(message.content)
    """What a person reads of an extension's message where there is only text."""
    may_leave: Callable[[Leaving, Path | None], Awaitable[bool]] = _may_leave
    """Asked before the session goes on with another file; False: it stays. A fork is asked about with `may_fork`."""
    may_fork: Callable[[str, Literal["before", "at"]], Awaitable[bool]] = _may_fork
    """Asked before an entry's path is copied into a new session."""
    ended: Callable[[], Awaitable[None]] = _nothing_ends
    """Called once, when the process is about to end."""

    async def leave(self, log: SessionLog, reason: str) -> None:
        """Raises `Stayed`, with the other log closed, when somebody wants to stay."""
        if reason in _LEAVING and not await self.may_leave(_LEAVING[reason], log.path):
            log.close()
            raise Stayed("An extension wants to stay in this session.")

    async def take(self, words: Words, *, expand: bool = True) -> Words | None:
        """The words to send; None when they were dealt with."""
        if expand and words.text.startswith("/") and await self.run_command(words.text):
            return None
        changed = await self.consult(words)
        if changed is None or not expand:
            return changed
        return msgspec.structs.replace(changed, text=self.expand(changed.text))
