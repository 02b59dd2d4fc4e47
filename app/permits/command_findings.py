"""Findings: one effect of a command, with its risk and the reason."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from app.permits.verdicts import RISK_SEVERITY, Risk


class Finding(NamedTuple):
    """One effect that a command has or may have."""

    risk: Risk
    why: str
    uses_network: bool = False
    """Whether the effect is a known way to reach another machine."""


SAFE_FINDING: Final = Finding("safe", "only reads")


def safe_finding(why: str) -> Finding:
    return Finding("safe", why)


def contained_finding(why: str) -> Finding:
    return Finding("contained", why)


def forbidden_finding(why: str) -> Finding:
    return Finding("forbidden", why)


def network_finding(why: str) -> Finding:
    return Finding("contained", why, uses_network=True)


def worst_finding(findings: Iterable[Finding]) -> Finding:
    """Returns the finding with the highest risk; among equals one that uses the network. The list must not be empty."""
    return max(findings, key=lambda one: (RISK_SEVERITY[one.risk], one.uses_network))
