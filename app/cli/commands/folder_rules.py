"""Collects the settings, permission context and rules of a folder, for commands that open no session."""

from typing import NamedTuple

from app.assembly.live_trust import is_explicitly_approved
from app.assembly.options import Options
from app.assembly.session_opening import flag_settings
from app.engine.permissions.permission_context import PermissionContext, rules_from_settings
from app.permits.rules import PermitRules
from app.resources.paths import Paths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.trust.project_trust import decide_trust


class FolderRules(NamedTuple):
    """The settings, permission context and rules of a folder."""

    effective_settings: EffectiveSettings
    standing: PermissionContext
    rules: PermitRules


def folder_rules(paths: Paths) -> FolderRules:
    """Collects the settings, permission context and rules of a folder as the full screen does; a project's
    settings apply where the user trusts it."""
    effective_settings = EffectiveSettings(paths, flags=flag_settings(Options()))
    trust = decide_trust(paths, default=effective_settings.settings.interaction.default_project_trust)
    effective_settings.set_trusted(trust.is_trusted)
    standing = PermissionContext(
        approver="person",
        home=paths.home,
        session_folder=lambda: paths.cwd,
        agent_dir=paths.agent_dir,
        is_trusted=lambda: trust.is_trusted,
        is_settings_text_accepted=lambda: is_explicitly_approved(trust),
    )
    return FolderRules(effective_settings, standing, rules_from_settings(effective_settings, standing))
