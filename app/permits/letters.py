"""What a part of a command does, in one letter, and what is found of a whole command.

R reads. E changes files inside, recoverably. X runs other code. N uses the network. U only the run will tell. F is
the floor: never without a typed word.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from app.permits.verdicts import Risk

Letter = Literal["R", "E", "X", "N", "U", "F"]

STRICTNESS: dict[Letter, int] = {"R": 0, "E": 1, "X": 2, "N": 3, "U": 4, "F": 5}


class Finding(NamedTuple):
    """One thing that a part does, and by what one can tell."""

    letter: Letter
    why: str


def strictest(letters: Iterable[Letter]) -> Letter:
    return max(letters, key=STRICTNESS.__getitem__, default=None) or "R"


def worst(findings: Iterable[Finding]) -> Finding:
    """The first of the strictest; there has to be one."""
    return max(findings, key=lambda one: STRICTNESS[one.letter])


def risk_of_letter(letter: Letter) -> Risk:
    """The class of what was found."""
    return "safe" if letter == "R" else "forbidden" if letter == "F" else "contained"
