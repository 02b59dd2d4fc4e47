"""What a part of a command does, in one letter, and what is found of a whole command.

R reads. E changes files inside, recoverably. X runs other code. N uses the network. U only the run will tell. F is
the floor: never without a typed word.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

import msgspec

Letter = Literal["R", "E", "X", "N", "U", "F"]

STRICTNESS: dict[Letter, int] = {"R": 0, "E": 1, "X": 2, "N": 3, "U": 4, "F": 5}

MEANING: dict[Letter, str] = {
    "R": "reads",
    "E": "changes files inside",
    "X": "runs other code",
    "N": "network",
    "U": "only the run will tell",
    "F": "never without a typed word",
}


NAMELESS: Final = "…"
"""A program of which only the run will tell what it is called."""


class Finding(NamedTuple):
    """One thing that a part does, and by what one can tell."""

    letter: Letter
    why: str
    stranger: str = ""
    """The program that makes it so for being known to nobody; NAMELESS if it has no name either."""


class CallPart(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a command line, wherever it stands in it."""

    text: str
    letter: Letter
    why: str
    words: tuple[str, ...] | None = None
    """Its words after wrappers, assignments and redirections are taken off; None: not all of them are known."""
    hosts: tuple[str, ...] = ()
    """`host:port` of those it says it will reach."""
    stranger: str = ""
    """The program that nobody here knows and the project does not have: that, and nothing else, makes it U."""

    @property
    def can_be_allowed(self) -> bool:
        """By a rule: the floor cannot, nor what cannot be told; a program that is only not known can, by its name."""
        return self.letter not in ("U", "F") or self.stranger not in ("", NAMELESS)


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a call does: the strictest of its parts."""

    letter: Letter
    parts: tuple[CallPart, ...]

    @property
    def why(self) -> str:
        return self.decisive.why

    @property
    def decisive(self) -> CallPart:
        """The first part that made the letter."""
        return next(part for part in self.parts if part.letter == self.letter)


def strictest(letters: Iterable[Letter]) -> Letter:
    return max(letters, key=STRICTNESS.__getitem__, default=None) or "R"


def worst(findings: Iterable[Finding]) -> Finding:
    """The first of the strictest; there has to be one."""
    return max(findings, key=lambda one: STRICTNESS[one.letter])


def verdict_of(parts: Iterable[CallPart]) -> Judgement:
    """Nothing at all does nothing."""
    parts = tuple(parts) or (CallPart(text="", letter="R", why="there is nothing to run", words=()),)
    return Judgement(letter=strictest(part.letter for part in parts), parts=parts)
