"""Puts a session together: settings, trust, model, tools, prompt, log. Every user interface starts here."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.extensions.extension_choice import choose_extensions, make_session_extensions
from app.assembly.helper_sessions import HelperSessions
from app.assembly.initial_model import InitialModel
from app.assembly.mcp_server_sources import mcp_server_sources
from app.assembly.prompt_and_themes import load_themes, make_system_prompt_source, require_option_theme
from app.assembly.session_opening import OpenedSession, open_session, usage_limits_from_options
from app.assembly.session_workspace import make_permission_context, session_workspace, undo_config
from app.assembly.tool_selection import selected_tools
from app.assembly.working_folder import WorkingFolder
from app.engine.core.session_options import (
    SessionOptions,
)
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import SessionDependencies
from app.engine.permissions.permission_context import Approver
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.providers.adapter_registry import AdapterRegistry
from app.providers.failure_kinds import classify_failure
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import trust_file_problem
from app.values.user_errors import UserError
from tools.tool_definition import Tool


def assemble_session(
    options: CommandLineOptions,
    paths: BayouPaths,
    env: Mapping[str, str] = os.environ,
    *,
    can_ask: bool = False,
    ends_with_answer: bool = False,
    asks: Approver | None = None,
) -> AssembledSession:
    """Builds a session. Raises `UsageError` or `SessionError`. `can_ask`: a user can be asked whether the project
    is trusted. `ends_with_answer`: the program ends when its prompts are answered. `asks` names the part that asks
    the user about calls, if it does not follow from the others."""
    begun = open_session(options, paths, can_ask=can_ask)
    effective_settings, project, log = begun.effective_settings, begun.project_trust, begun.log
    registry, settings, trust = AdapterRegistry(), effective_settings.settings, project.decision
    chosen = choose_extensions(options, paths, settings, is_trusted=trust.is_trusted)
    wishes = InitialModel(options, effective_settings, paths, env)
    told, choice = wishes.find_models(), wishes.choice
    extensions = make_session_extensions(options, effective_settings)
    hooks = ExtensionHooks(extensions)
    effective_settings.subscribe(lambda before: hooks.settings_changed())
    workspace = session_workspace(paths, effective_settings, project, log, hooks, choice, has_person=can_ask)
    ground = WorkingFolder(options, paths, begun, workspace, can_ask=can_ask)
    toolbox: Toolbox = Toolbox(_builtin_tools(options, lambda: assembled), workspace)
    workspace.active_tools = toolbox.active_tools
    prompt = make_system_prompt_source(paths, options, trust, chosen)
    session: Session = Session(
        SessionDependencies(
            session_log=log,
            session_paths=begun.session_paths,
            registry=registry,
            model_choice=choice,
            toolbox=toolbox,
            build_sections=prompt,
            classify_failure=classify_failure,
            hooks=hooks,
            enter_folder=ground.switch_to,
            secret_sources=SecretSources(agent_dir=paths.agent_dir, home=paths.home, environment=env),
            helper_source=HelperSessions(paths, env, lambda: assembled),
            undo_config=undo_config(paths, project),
            server_sources=mcp_server_sources(paths, project, effective_settings, options),
            permission_context=make_permission_context(paths, project, can_ask, ends_with_answer, asks),
            budget=usage_limits_from_options(options),
            options=_session_options(options, begun, can_ask, ends_with_answer),
        )
    )
    project.tell = ground.tell = partial(session.events.notify, level="warning")
    session.tools.choose_tools(selected_tools(options, settings))
    wishes.is_restored = _restore_session(session, options, has_level=choice.is_thinking_asked)
    themes = require_option_theme(options.use_theme, load_themes(options, paths, trust, chosen.themes))
    assembled = AssembledSession(
        session=session,
        model_choice=choice,
        initial_model=wishes,
        registry=registry,
        effective_settings=effective_settings,
        extensions=extensions,
        hooks=hooks,
        prompt=prompt,
        session_paths=begun.session_paths,
        project_trust=project,
        workspace=workspace,
        working_folder=ground,
        start_folder=begun.start_folder,
        chosen_extensions=chosen,
        themes=themes,
        theme_name=settings.display.theme,
        lock_error=begun.lock_error,
        problems=(
            *_configuration_problems(begun, wishes),
            *told,
            *prompt.file_problems,
            *log.take_problems(),
            *themes.problems,
            *filter(None, (wishes.summary_model_problem(), trust_file_problem(paths.trust_file))),
        ),
    )
    ground.subscribe(partial(_reload_for_folder, assembled, options, paths))
    return assembled


def _configuration_problems(begun: OpenedSession, wishes: InitialModel) -> Iterable[str]:
    """Returns the problems in the files of settings, models and credentials."""
    found = (
        *begun.effective_settings.problems,
        *wishes.catalogue.models_file_problems,
        *wishes.credentials.auth_file_problems,
    )
    return map(str, found)


def _builtin_tools(
    options: CommandLineOptions, assembled: Callable[[], AssembledSession]
) -> Callable[[Toolbox], Iterable[Tool]]:
    def made(toolbox: Toolbox) -> Iterable[Tool]:
        if options.no_builtin_tools:
            return ()
        from app.assembly.session_tools import session_tools  # noqa: PLC0415  (the first paint needs no tool)

        whole = assembled()
        return session_tools(
            whole.session, toolbox, whole.effective_settings, whole.model_choice, whole.prompt
        )

    return made


async def _reload_for_folder(
    assembled: AssembledSession, options: CommandLineOptions, paths: BayouPaths
) -> None:
    """Reloads prompt, themes and tools after the session moved to another folder; the folder's extensions are
    loaded elsewhere."""
    trust, prompt = assembled.project_trust.decision, assembled.prompt
    chosen = choose_extensions(
        options, paths, assembled.effective_settings.settings, is_trusted=trust.is_trusted
    )
    assembled.chosen_extensions = chosen
    prompt.choice = msgspec.structs.replace(
        prompt.choice, is_trusted=trust.is_trusted, extension_skill_folders=chosen.skills
    )
    await asyncio.to_thread(prompt.reload_files)
    assembled.themes = load_themes(options, paths, trust, chosen.themes)
    assembled.session.tools.choose_tools(selected_tools(options, assembled.effective_settings.settings))


def _session_options(
    options: CommandLineOptions, begun: OpenedSession, can_ask: bool, ends_with_answer: bool
) -> SessionOptions:
    return SessionOptions(
        begun.effective_settings,
        merges_deltas=not options.no_merge_deltas,
        is_person_reading=can_ask,
        ends_with_answer=ends_with_answer,
    )


def _restore_session(session: Session, options: CommandLineOptions, *, has_level: bool) -> bool:
    """Restores the model and thinking level of a resumed session, unless the command line names others, and
    applies --plan and --add-dir. Returns whether the session has a model."""
    if options.plan:
        session.plan.set_active(True)
    has_model = session.branches.restore_session(
        restores_model=options.model is None, restores_thinking=not has_level, name=options.name
    )
    try:
        session.folders.add_for_program(options.add_dir)
    except UserError as problem:
        raise UsageError(f"--add-dir: {problem}") from None
    return has_model
