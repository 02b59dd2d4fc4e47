"""Rules that let later sandboxed commands write places that the sandbox refused."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.engine.core.user_questions import RuleScope
from app.engine.sandbox.sandbox_places import PlaceAccess
from app.permits.permit_rules import PermitRule
from app.permits.sandbox_exceptions import path_of_sandbox_rule, sandbox_write_rule_for_path
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.messages import Message, ToolResultMessage
from app.values.wire import convert
from tools.box.sandbox_refusals import narrowest_place_to_allow, path_with_tilde
from tools.files.path_existence import exists

_MAX_MESSAGES_SEARCHED_FOR_REFUSALS = 12
_MAX_OFFERED_SANDBOX_RULES = 3


class PlaceRefusedBySandbox(msgspec.Struct, frozen=True):
    """A place that the sandbox refused, as the tool result reports it."""

    kind: str
    place: str


def sandbox_rules_for_refused_places(messages: Sequence[Message], home: Path) -> tuple[str, ...]:
    """Returns rules for the places that the sandbox refused according to recent tool results, the latest first."""
    at_home = os.path.realpath(home)
    found: list[str] = []
    for message in messages[-_MAX_MESSAGES_SEARCHED_FOR_REFUSALS:][::-1]:
        for one in _refused_places(message) if isinstance(message, ToolResultMessage) else ():
            place = narrowest_place_to_allow(one.place, at_home, lambda name: exists(Path(name)))
            if one.kind == "write" and place is not None:
                found.append(sandbox_write_rule_for_path(path_with_tilde(place, at_home)))
    return tuple(dict.fromkeys(found))[:_MAX_OFFERED_SANDBOX_RULES]


def _refused_places(message: ToolResultMessage) -> tuple[PlaceRefusedBySandbox, ...]:
    try:
        details = convert(message.details or {}, dict[str, Any])
        sandbox = convert(details.get("sandbox", {}), dict[str, Any])
        return convert(sandbox.get("refused", ()), tuple[PlaceRefusedBySandbox, ...])
    except msgspec.ValidationError:
        return ()


def allow_sandbox_place(rule: str, effective_settings: EffectiveSettings, *, keeps: bool) -> bool:
    """Lets sandboxed commands write a place, in this session or permanently. Returns False if the rule is of
    another kind."""
    place = path_of_sandbox_rule(rule)
    if place is None:
        return False
    said = effective_settings.layer_values("sandbox.write")
    if keeps:
        effective_settings.save_value("sandbox.write", tuple(dict.fromkeys((*said.get("global", ()), place))))
    else:
        effective_settings.set("sandbox.write", tuple(dict.fromkeys((*said.get("session", ()), place))))
    return True


def allowed_places(rules: Iterable[PermitRule], verb: PlaceAccess) -> tuple[str, ...]:
    """Returns the places that rules let sandboxed commands write outside the workspace, or read among its
    secrets."""
    return tuple(rule.pattern for rule in rules if rule.kind == f"sandbox.{verb}" and rule.action == "allow")


def save_permission_rule(
    rule: str, keeps: RuleScope, effective_settings: EffectiveSettings, folder: str
) -> None:
    """Writes a permission rule into the user's settings, for all sessions or for this folder."""
    if keeps == "person":
        mine = effective_settings.layer_values("permissions.allow").get("global", ())
        if rule not in mine:
            effective_settings.save_value("permissions.allow", (*mine, rule))
    elif keeps == "project":
        known = dict(effective_settings.layer_values("permissions.allowIn").get("global", {}))
        if rule not in known.get(folder, ()):
            known[folder] = (*known.get(folder, ()), rule)
            effective_settings.save_value("permissions.allowIn", known)
