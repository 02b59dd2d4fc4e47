"""Defines who answers a session's questions, and determines the mode and rules from that and from the settings."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.core.user_questions import SharedPermissionState
from app.permits.permission_decisions import PermissionMode
from app.permits.permit_rules import PermitRule, PermitRules, UnparsedPermitRules, merge_permit_rules
from app.resources.settings.effective_settings import EffectiveSettings

Approver = Literal["none", "program", "person"]


async def _is_never_trusted() -> bool:
    return False


class PermissionContext(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a user or a program answers questions, and how far the project is trusted."""

    approver: Approver = "none"
    home: Path = msgspec.field(default_factory=Path.home)
    session_folder: Callable[[], Path] = Path.cwd
    """The session's folder."""
    agent_dir: Path = msgspec.field(default_factory=lambda: Path.home() / ".bayou" / "agent")
    sessions_dir: Path | None = None
    """The folder of all sessions, if it is outside of `agent_dir`; None otherwise."""
    is_trusted: Callable[[], bool] = lambda: False
    check_trust: Callable[[], Awaitable[bool]] = _is_never_trusted
    """A function that checks again whether the project is trusted, because changes to its files end the trust."""
    has_nothing_to_trust: Callable[[], bool] = lambda: False
    """Whether the user was not asked about trust, because the folder contains nothing that needs it."""
    session_rules: Callable[[], tuple[PermitRule, ...]] = tuple
    """A function that returns the rules for the parent's session only, for the session of a helper."""
    add_session_rule: Callable[[PermitRule], None] | None = None
    """A function that adds a rule for the parent's session, and so for all its helpers; None: for this session only."""
    shared_permissions: SharedPermissionState = msgspec.field(default_factory=SharedPermissionState)
    is_settings_text_accepted: Callable[[], bool] = lambda: False
    """Whether the user accepted the exact text of the project's settings, and not only the folder."""


def current_permission_mode(
    effective_settings: EffectiveSettings, standing: PermissionContext, *, has_box: Callable[[], bool]
) -> PermissionMode:
    """Returns the permission mode. `has_box` is called only where it matters, since it may have to probe the
    system."""
    chosen = effective_settings.settings.permissions.mode
    if chosen != "default":
        return chosen
    if standing.approver != "person":
        return "full"
    return "auto-edit" if standing.is_trusted() and has_box() else "ask"


def rules_from_settings(effective_settings: EffectiveSettings, standing: PermissionContext) -> PermitRules:
    """Returns the permission rules of the settings; the project's `allow` rules only if the user accepted them."""
    lists = {
        deed: effective_settings.layer_values(f"permissions.{deed}") for deed in ("allow", "ask", "deny")
    }
    written: list[UnparsedPermitRules] = []
    for origin, name in (
        ("session", "session"),
        ("flags", "user"),
        ("project", "project"),
        ("global", "user"),
    ):
        written.append(
            UnparsedPermitRules(
                origin=name,  # type: ignore[arg-type]
                allow_rules=lists["allow"].get(origin, ()),  # type: ignore[arg-type]
                ask_rules=lists["ask"].get(origin, ()),  # type: ignore[arg-type]
                deny_rules=lists["deny"].get(origin, ()),  # type: ignore[arg-type]
                is_file_invalid=not effective_settings.is_group_valid(origin, "permissions"),  # type: ignore[arg-type]
                may_allow=origin != "project" or standing.is_settings_text_accepted(),
            )
        )
    here = effective_settings.settings.permissions.allow_in.get(str(standing.session_folder()), ())
    written.append(UnparsedPermitRules(origin="folder", allow_rules=here))
    return merge_permit_rules(written)
