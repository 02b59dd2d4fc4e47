"""Who stands behind a session's gate, and what mode and rules come of that and of the settings."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec

from app.permits.decide import Mode
from app.permits.rules import PermitRules, WrittenRules, rules_of
from app.resources.settings.in_force import InForce

Approver = Literal["nobody", "program", "person"]


async def _never_trusted() -> bool:
    return False


class PermissionContext(msgspec.Struct, frozen=True, kw_only=True):
    """Who stands behind a session: whom it can ask, and what the project's own word counts."""

    asks: Approver = "nobody"
    home: Path = msgspec.field(default_factory=Path.home)
    folder: Callable[[], Path] = Path.cwd
    """The one that the session works in."""
    agent_dir: Path = msgspec.field(default_factory=lambda: Path.home() / ".bayou" / "agent")
    sessions_dir: Path | None = None
    """Of all sessions, where that is not in the agent folder."""
    is_trusted: Callable[[], bool] = lambda: False
    counts_now: Callable[[], Awaitable[bool]] = _never_trusted
    """The same, looked at again: what was changed or added since the answer was not part of it."""
    needs_no_trust: Callable[[], bool] = lambda: False
    """Nobody was asked, for the folder brings nothing along that would count."""
    is_accepted: Callable[[], bool] = lambda: False
    """The person said yes to the very text of the project's settings, and not only to the folder."""


def mode_of(in_force: InForce, standing: PermissionContext, *, has_box: Callable[[], bool]) -> Mode:
    """`has_box` is asked where it matters: it may have to be tried."""
    chosen = in_force.settings.permissions.mode
    if chosen != "default":
        return chosen
    if standing.asks != "person":
        return "full"
    return "auto-edit" if standing.is_trusted() and has_box() else "ask"


def rules_from_settings(in_force: InForce, standing: PermissionContext) -> PermitRules:
    """Those of the files, the project's `allow` only as the text that the person accepted."""
    lists = {deed: in_force.said(f"permissions.{deed}") for deed in ("allow", "ask", "deny")}
    written: list[WrittenRules] = []
    for origin, name in (
        ("session", "session"),
        ("flags", "user"),
        ("project", "project"),
        ("global", "user"),
    ):
        written.append(
            WrittenRules(
                origin=name,  # type: ignore[arg-type]
                allow=lists["allow"].get(origin, ()),  # type: ignore[arg-type]
                ask=lists["ask"].get(origin, ()),  # type: ignore[arg-type]
                deny=lists["deny"].get(origin, ()),  # type: ignore[arg-type]
                is_broken=not in_force.is_sound(origin, "permissions"),  # type: ignore[arg-type]
                may_allow=origin != "project" or standing.is_accepted(),
            )
        )
    here = in_force.settings.permissions.allow_in.get(str(standing.folder()), ())
    written.append(WrittenRules(origin="folder", allow=here))
    return rules_of(written)
