"""One thing that a command does, as far as its words say it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from app.permits.verdicts import SEVERITY, Risk


class Finding(NamedTuple):
    risk: Risk
    why: str
    network: bool = False
    """It is a known way to reach another machine."""


SAFE: Final = Finding("safe", "only reads")


def safe(why: str) -> Finding:
    return Finding("safe", why)


def contained(why: str) -> Finding:
    return Finding("contained", why)


def forbidden(why: str) -> Finding:
    return Finding("forbidden", why)


def network(why: str) -> Finding:
    return Finding("contained", why, network=True)


def worst(findings: Iterable[Finding]) -> Finding:
    """The first of the strictest, of equals one that uses the network; there has to be one."""
    return max(findings, key=lambda one: (SEVERITY[one.risk], one.network))
