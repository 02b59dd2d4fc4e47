"""Puts a session together: settings, trust, model, tools, prompt, log. Every user interface starts here."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from app.assembly.assembled import Assembled
from app.assembly.extensions.extension_choice import chosen_for, extensions_for
from app.assembly.ground import Ground
from app.assembly.model_wishes import ModelWishes
from app.assembly.opened import Opened, budget_of, opened
from app.assembly.options import Options
from app.assembly.prompt_and_themes import prompt_source, themes_of, with_theme
from app.assembly.servers import server_places
from app.assembly.session_workspace import session_workspace, standing_of
from app.assembly.tool_names import tool_choice
from app.engine.context.summariser import summary_model
from app.engine.core.options import (
    SessionOptions,
)
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import Dependencies
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.providers.classify import classify
from app.providers.registry import Registry
from app.resources.paths import Paths
from app.resources.trust.project_trust import problem_with
from app.undo.blobs import UndoConfig
from tools.base import Tool


def assemble(
    options: Options,
    paths: Paths,
    env: Mapping[str, str] = os.environ,
    *,
    can_ask: bool = False,
    ends_with_answer: bool = False,
) -> Assembled:
    """Builds a session. Raises `UsageError` or `SessionError`. `can_ask`: a person can be asked whether the
    project is trusted. `ends_with_answer`: the program ends when its prompts are answered."""
    begun = opened(options, paths, can_ask=can_ask)
    in_force, project, places, log = begun.in_force, begun.project, begun.places, begun.log
    settings, trust = in_force.settings, project.decision
    registry = Registry()
    chosen = chosen_for(options, paths, settings, is_trusted=trust.is_trusted)
    wishes = ModelWishes(options, in_force, paths, env)
    told, choice = wishes.look(), wishes.choice
    extensions = extensions_for(options, in_force)
    hooks = ExtensionHooks(extensions)
    in_force.subscribe(lambda before: hooks.settings_changed())
    workspace = session_workspace(paths, in_force, project, log, hooks, choice, has_person=can_ask)
    ground = Ground(options, paths, begun, workspace, can_ask=can_ask)
    toolbox = Toolbox(_own_tools(options, lambda: assembled), workspace)
    workspace.active_tools = toolbox.active
    prompt = prompt_source(paths, options, trust, chosen)
    session = Session(
        Dependencies(
            log=log,
            places=places,
            registry=registry,
            choice=choice,
            toolbox=toolbox,
            sections=prompt,
            classify=classify,
            hooks=hooks,
            enter=ground.enter,
            secrets=SecretSources(agent_dir=paths.agent_dir, home=paths.home, env=env),
            undo=UndoConfig(
                store=paths.agent_dir / "blobs", home=paths.home, may_ask_git=project.seems_to_count
            ),
            servers=server_places(paths, project, in_force, options),
            standing=standing_of(paths, project, can_ask, ends_with_answer),
            budget=budget_of(options),
            options=_session_options(options, begun, can_ask, ends_with_answer),
        )
    )
    project.tell = ground.tell = partial(session.events.notify, level="warning")
    _, summary_problem = summary_model(settings.compaction.model, choice)
    session.tools.choose(tool_choice(options, settings))
    wishes.is_restored = _restore(session, options, has_level=choice.is_thinking_asked)
    themes = with_theme(options.use_theme, themes_of(options, paths, trust, chosen.themes))
    assembled = Assembled(
        session=session,
        choice=choice,
        wishes=wishes,
        registry=registry,
        in_force=in_force,
        extensions=extensions,
        hooks=hooks,
        prompt=prompt,
        places=places,
        project=project,
        workspace=workspace,
        ground=ground,
        left=begun.left,
        chosen=chosen,
        themes=themes,
        theme=settings.display.theme,
        locked=begun.locked,
        problems=(
            *map(str, (*in_force.problems, *wishes.catalogue.problems, *wishes.credentials.problems)),
            *told,
            *prompt.problems,
            *log.take_problems(),
            *themes.problems,
            *filter(None, (summary_problem, problem_with(paths.trust_file))),
        ),
    )
    ground.subscribe(partial(_follow, assembled, options, paths))
    return assembled


def _own_tools(options: Options, assembled: Callable[[], Assembled]) -> Callable[[Toolbox], Iterable[Tool]]:
    def made(toolbox: Toolbox) -> Iterable[Tool]:
        if options.no_builtin_tools:
            return ()
        from app.assembly.own_tools import own_tools  # noqa: PLC0415  (the first paint needs no tool)

        whole = assembled()
        return own_tools(whole.session, toolbox, whole.in_force, whole.choice)

    return made


async def _follow(assembled: Assembled, options: Options, paths: Paths) -> None:
    """Switches resources, prompt, themes and tools to another folder; its extensions are loaded elsewhere."""
    trust, prompt = assembled.project.decision, assembled.prompt
    chosen = chosen_for(options, paths, assembled.in_force.settings, is_trusted=trust.is_trusted)
    assembled.chosen = chosen
    prompt.choice = msgspec.structs.replace(
        prompt.choice, is_trusted=trust.is_trusted, more_skills=chosen.skills
    )
    await asyncio.to_thread(prompt.reload)
    assembled.themes = themes_of(options, paths, trust, chosen.themes)
    assembled.session.tools.choose(tool_choice(options, assembled.in_force.settings))


def _session_options(
    options: Options, begun: Opened, can_ask: bool, ends_with_answer: bool
) -> SessionOptions:
    return SessionOptions(
        begun.in_force,
        merges_deltas=not options.no_merge_deltas,
        is_person_reading=can_ask,
        ends_with_answer=ends_with_answer,
    )


def _restore(session: Session, options: Options, *, has_level: bool) -> bool:
    """Restores the model and level of a resumed session, unless the command line names others; returns
    whether it has a model."""
    if options.plan:
        session.plan.switch(True)
    return session.branches.restore(
        restores_model=options.model is None, restores_thinking=not has_level, name=options.name
    )
