"""Collects the settings, permission context and rules of a folder, for commands that open no session."""

from typing import NamedTuple

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.project_trust_checker import is_explicit_trust_approval
from app.assembly.session_opening import settings_from_flags
from app.engine.permissions.permission_context import PermissionContext, rules_from_settings
from app.permits.permit_rules import PermitRules
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.trust.project_trust import decide_project_trust


class FolderSettingsAndRules(NamedTuple):
    """The settings, permission context and rules of a folder."""

    effective_settings: EffectiveSettings
    standing: PermissionContext
    rules: PermitRules


def folder_settings_and_rules(paths: BayouPaths) -> FolderSettingsAndRules:
    """Collects the settings, permission context and rules of a folder as the full screen does; a project's
    settings apply where the user trusts it."""
    effective_settings = EffectiveSettings(paths, flags=settings_from_flags(CommandLineOptions()))
    trust = decide_project_trust(paths, default=effective_settings.settings.interaction.default_project_trust)
    effective_settings.set_trusted(trust.is_trusted)
    standing = PermissionContext(
        approver="person",
        home=paths.home,
        session_folder=lambda: paths.cwd,
        agent_dir=paths.agent_dir,
        is_trusted=lambda: trust.is_trusted,
        is_settings_text_accepted=lambda: is_explicit_trust_approval(trust),
    )
    return FolderSettingsAndRules(
        effective_settings, standing, rules_from_settings(effective_settings, standing)
    )
