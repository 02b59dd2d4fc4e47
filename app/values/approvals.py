"""What an approval question shows to a user or a program."""

from typing import Any

import msgspec

from app.values.wire import Wire


class JudgedPart(Wire, frozen=True, kw_only=True, gc=True):
    """One part of a tool call with its verdict in `letter`: `safe` only reads, `contained` runs in the sandbox
    or needs approval, `forbidden` needs a typed word."""

    text: str
    letter: str
    why: str


class OfferedRule(Wire, frozen=True, kw_only=True, gc=True):
    """A permission rule that would answer this approval question from now on."""

    text: str
    answers: int
    """The number of this session's questions that the rule would have answered."""


class Approval(Wire, frozen=True, kw_only=True, gc=True):
    """The call that an approval question concerns, with the verdict on it."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    parts: tuple[JudgedPart, ...]
    letter: str
    why: str
    decided_by: str
    mode: str
    confirmation_word: str | None = msgspec.field(default=None, name="floorWord")
    """The word that the user has to type to allow the call; None: a plain answer is enough."""
    rules: tuple[OfferedRule, ...] = ()
    asked: int = 0
    """The number of approval questions in this session so far."""
    helper: str | None = None
    """The kind of the helper agent whose call this is; None: the session's own call."""
    number: int = 1
    of: int = 1
    """The number of calls in the model's answer."""
