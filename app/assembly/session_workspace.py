"""Builds the workspace of a session's tools, and the context of their permissions."""

from functools import partial

from app.assembly.live_trust import LiveTrust, is_explicitly_approved
from app.assembly.mapped_repositories import MappedRepositories
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import (
    edit_tool_mode,
    kernel_settings,
    settings_of_read_tool,
    shell_settings,
)
from app.engine.permissions.permission_context import Approver, PermissionContext, rules_from_settings
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.resources.paths import Paths
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.old_outputs import delete_old_outputs, output_folders_of
from app.sessions.session_log import SessionLog
from app.undo.content_store import UndoConfig
from tools.files.artifacts import Artifacts
from tools.running.user_shell.shell_snapshot import UserShell
from tools.workspace import Workspace


def session_workspace(
    paths: Paths,
    effective_settings: EffectiveSettings,
    project: LiveTrust,
    log: SessionLog,
    hooks: ExtensionHooks,
    choice: ModelChoice,
    *,
    has_person: bool,
) -> Workspace:
    folder, above = output_folders_of(log)
    own_shell = UserShell(paths.cache_dir / "shell", paths.home)
    roots = {paths.sessions_dir, *([folder.parent] if folder else [])}
    return Workspace(
        paths.cwd,
        artifacts=Artifacts(
            folder, above=above, working=paths.temporary_dir, before_first=lambda: delete_old_outputs(roots)
        ),
        shell=partial(
            shell_settings, effective_settings, project.check_async, own_shell, has_person=has_person
        ),
        read=partial(settings_of_read_tool, effective_settings),
        kernel_settings=lambda: kernel_settings(
            effective_settings, project.check_async, lambda: _is_harmless(project)
        ),
        edit_mode=partial(edit_tool_mode, effective_settings, choice),
        cache_dir=paths.cache_dir,
        added=paths.added_folders,
        spawn_hook=hooks.before_process_spawn,
        repositories=MappedRepositories(
            paths,
            effective_settings,
            project,
            lambda: rules_from_settings(effective_settings, permission_context_of(paths, project)).rules,
        ),
    )


def undo_config(paths: Paths, project: LiveTrust) -> UndoConfig:
    return UndoConfig(store=paths.agent_dir / "blobs", home=paths.home, may_ask_git=project.check_quietly)


def _is_harmless(project: LiveTrust) -> bool:
    """Returns whether the project is trusted, or has no files that need trust."""
    return project.decision.is_trusted or project.decision.question.is_empty


def permission_context_of(
    paths: Paths,
    project: LiveTrust,
    can_ask: bool = False,
    ends_with_answer: bool = True,
    asks: Approver | None = None,
) -> PermissionContext:
    return PermissionContext(
        approver=asks or ("person" if can_ask else "none" if ends_with_answer else "program"),
        home=paths.home,
        session_folder=lambda: paths.cwd,
        agent_dir=paths.agent_dir,
        sessions_dir=paths.sessions_dir,
        is_trusted=lambda: project.decision.is_trusted,
        check_trust=project.check_async,
        has_nothing_to_trust=lambda: project.decision.reason == "nothing-to-trust",
        is_settings_text_accepted=lambda: is_explicitly_approved(project.decision),
    )
