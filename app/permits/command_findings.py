"""Findings: one effect of a command, with its risk and the reason."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from app.permits.risk_classes import RISK_SEVERITY, Risk


class RiskFinding(NamedTuple):
    """One effect that a command has or may have."""

    risk: Risk
    why: str
    uses_network: bool = False
    """Whether the effect is a known way to reach another machine."""


READS_ONLY_FINDING: Final = RiskFinding("safe", "only reads")


def safe_risk_finding(why: str) -> RiskFinding:
    return RiskFinding("safe", why)


def contained_risk_finding(why: str) -> RiskFinding:
    return RiskFinding("contained", why)


def forbidden_risk_finding(why: str) -> RiskFinding:
    return RiskFinding("forbidden", why)


def network_risk_finding(why: str) -> RiskFinding:
    return RiskFinding("contained", why, uses_network=True)


def highest_risk_finding(findings: Iterable[RiskFinding]) -> RiskFinding:
    """Returns the finding with the highest risk; among equals one that uses the network. The list must not be empty."""
    return max(findings, key=lambda one: (RISK_SEVERITY[one.risk], one.uses_network))
