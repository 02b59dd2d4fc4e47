"""Collects the settings, permission context and rules of a folder, for commands that open no session."""

from typing import NamedTuple

from app.assembly.opened import flags
from app.assembly.options import Options
from app.assembly.trusting import is_accepted
from app.engine.permissions.permission_context import PermissionContext, rules_from_settings
from app.permits.rules import PermitRules
from app.resources.paths import Paths
from app.resources.settings.in_force import InForce
from app.resources.trust.project_trust import decide


class RulesHere(NamedTuple):
    """The settings, permission context and rules of a folder."""

    in_force: InForce
    standing: PermissionContext
    rules: PermitRules


def rules_here(paths: Paths) -> RulesHere:
    """Reads the rules as for the full screen; a project's settings apply where the user trusts it."""
    in_force = InForce(paths, flags=flags(Options()))
    trust = decide(paths, default=in_force.settings.interaction.default_project_trust)
    in_force.trust(trust.is_trusted)
    standing = PermissionContext(
        asks="person",
        home=paths.home,
        folder=lambda: paths.cwd,
        agent_dir=paths.agent_dir,
        is_trusted=lambda: trust.is_trusted,
        is_accepted=lambda: is_accepted(trust),
    )
    return RulesHere(in_force, standing, rules_from_settings(in_force, standing))
