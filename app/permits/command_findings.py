"""Findings: one effect of a command, with its risk and the reason."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from app.permits.verdicts import SEVERITY, Risk


class Finding(NamedTuple):
    """One effect that a command has or may have."""

    risk: Risk
    why: str
    network: bool = False
    """Whether this is a known way to reach another machine."""


SAFE: Final = Finding("safe", "only reads")


def safe(why: str) -> Finding:
    return Finding("safe", why)


def contained(why: str) -> Finding:
    return Finding("contained", why)


def forbidden(why: str) -> Finding:
    return Finding("forbidden", why)


def network(why: str) -> Finding:
    return Finding("contained", why, network=True)


def worst_finding(findings: Iterable[Finding]) -> Finding:
    """The finding with the highest risk; among equals one that uses the network. The list must not be empty."""
    return max(findings, key=lambda one: (SEVERITY[one.risk], one.network))
