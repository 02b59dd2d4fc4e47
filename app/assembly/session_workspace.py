"""Builds the workspace of a session's tools, and the context of their permissions."""

from functools import partial

from app.assembly.project_trust_checker import ProjectTrustChecker, is_explicit_trust_approval
from app.assembly.repo_map_source import MappedRepositoryFinder
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import (
    edit_tool_mode,
    kernel_settings,
    settings_of_read_tool,
    shell_settings,
)
from app.engine.permissions.permission_context import Approver, PermissionContext, rules_from_settings
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.old_command_outputs import command_output_folders_of, delete_old_command_outputs
from app.sessions.session_log import SessionLog
from app.undo.content_store import UndoStoreSettings
from tools.files.output_artifacts import OutputArtifacts
from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache
from tools.session_workspace import SessionWorkspace


def session_workspace(
    paths: BayouPaths,
    effective_settings: EffectiveSettings,
    project: ProjectTrustChecker,
    log: SessionLog,
    hooks: ExtensionHooks,
    choice: ModelChoice,
    *,
    has_person: bool,
) -> SessionWorkspace:
    folder, above = command_output_folders_of(log)
    own_shell = UserShellSnapshotCache(paths.cache_dir / "shell", paths.home)
    roots = {paths.sessions_dir, *([folder.parent] if folder else [])}
    return SessionWorkspace(
        paths.cwd,
        artifacts=OutputArtifacts(
            folder,
            above=above,
            working=paths.temporary_dir,
            before_first=lambda: delete_old_command_outputs(roots),
        ),
        shell=partial(
            shell_settings, effective_settings, project.recheck_in_thread, own_shell, has_person=has_person
        ),
        read=partial(settings_of_read_tool, effective_settings),
        kernel_settings=lambda: kernel_settings(
            effective_settings, project.recheck_in_thread, lambda: _is_harmless(project)
        ),
        edit_mode=partial(edit_tool_mode, effective_settings, choice),
        cache_dir=paths.cache_dir,
        added=paths.added_folders,
        spawn_hook=hooks.before_process_spawn,
        repositories=MappedRepositoryFinder(
            paths,
            effective_settings,
            project,
            lambda: rules_from_settings(effective_settings, make_permission_context(paths, project)).rules,
        ),
    )


def undo_config(paths: BayouPaths, project: ProjectTrustChecker) -> UndoStoreSettings:
    return UndoStoreSettings(
        store=paths.agent_dir / "blobs", home=paths.home, may_ask_git=project.recheck_without_notice
    )


def _is_harmless(project: ProjectTrustChecker) -> bool:
    """Returns whether the project is trusted, or has no files that need trust."""
    return project.decision.is_trusted or project.decision.question.is_empty


def make_permission_context(
    paths: BayouPaths,
    project: ProjectTrustChecker,
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
        check_trust=project.recheck_in_thread,
        has_nothing_to_trust=lambda: project.decision.reason == "nothing-to-trust",
        is_settings_text_accepted=lambda: is_explicit_trust_approval(project.decision),
    )
