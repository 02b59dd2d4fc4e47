"""What a person or a program is told when a call waits for a yes or a no."""

from typing import Any

import msgspec

from app.values.wire import Wire


class JudgedPart(Wire, frozen=True, kw_only=True, gc=True):
    """One part of a call. Its class, which stands in `letter`: `safe` only reads, `contained` runs in the sandbox or is
    asked about, `forbidden` never runs without a typed word."""

    text: str
    letter: str
    why: str


class OfferedRule(Wire, frozen=True, kw_only=True, gc=True):
    """A rule that would answer this question from now on."""

    text: str
    answers: int
    """How many of this session's questions it would have answered."""


class Approval(Wire, frozen=True, kw_only=True, gc=True):
    """What a question about a call is about, for those who show more than its title."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    parts: tuple[JudgedPart, ...]
    letter: str
    why: str
    decided_by: str
    mode: str
    confirmation_word: str | None = msgspec.field(default=None, name="floorWord")
    """The word that a person must type; None: the command is not a dangerous one."""
    rules: tuple[OfferedRule, ...] = ()
    asked: int = 0
    """Questions of this session so far."""
    number: int = 1
    of: int = 1
    """Of the calls of one answer."""
