"""Puts a session together: settings, trust, model, tools, prompt, log. Every face begins here."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from app.assembly.ground import Ground
from app.assembly.mapping import Repositories
from app.assembly.model_wishes import ModelWishes
from app.assembly.opened import opened
from app.assembly.options import Options, UsageError
from app.assembly.servers import server_places
from app.assembly.tool_names import tool_choice
from app.assembly.trusting import TrustInProject, is_accepted
from app.engine.context.summariser import summary_model
from app.engine.core.model_choice import ModelChoice
from app.engine.core.options import (
    SessionOptions,
    edit_mode,
    kernel_settings,
    read_settings,
    shell_settings,
)
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import Dependencies
from app.engine.models.prompt_sources import SystemPromptOptions, SystemPromptSource
from app.engine.permissions.permission_context import PermissionContext, rules_from_settings
from app.engine.secrets.known_secrets import SecretSources
from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.extensions.guard import limits_in_force
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.extensions.loading.choosing import Asked, Chosen, choose
from app.extensions.runner import Extensions
from app.providers.classify import classify
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.registry import Registry
from app.resources.paths import Paths, docs_dir
from app.resources.settings.in_force import InForce
from app.resources.settings.settings import Settings
from app.resources.themes import Themes, find_themes
from app.resources.trust.project_trust import Decision, problem_with
from app.sessions.errors import SessionLocked
from app.sessions.log import SessionLog
from app.sessions.old_outputs import drop_old_outputs, outputs_of
from app.undo.blobs import UndoPlace
from tools.base import Tool
from tools.files.artifacts import Artifacts
from tools.files.presence import is_file
from tools.running.user_shell.shell_snapshot import OwnShell
from tools.workspace import Workspace


class Assembled(msgspec.Struct, kw_only=True):
    """A session with what the face that shows it needs to know."""

    session: Session
    choice: ModelChoice
    """The session's, with the catalogue and the credentials that it chooses from."""
    wishes: ModelWishes
    """What is named of models, looked up again when extensions have brought theirs."""
    registry: Registry
    in_force: InForce
    extensions: Extensions
    """None is loaded yet; `extending` does that."""
    hooks: ExtensionHooks
    """By which they are asked."""
    prompt: SystemPromptSource
    places: SessionPaths
    project: TrustInProject
    workspace: Workspace
    """What its tools share."""
    ground: Ground
    """The folder that the session works in; what goes by it follows when that becomes another."""
    left: Path | None = None
    """Where the person stood, if the session that they opened is about another folder: it works in its own."""
    chosen: Chosen
    """Extensions and more places of resources, of settings, command line and packages."""
    themes: Themes
    theme: str
    """The name that settings or command line want; may be `system`."""
    locked: SessionLocked | None = None
    """Another process writes the session; it is open read-only here."""
    problems: tuple[str, ...] = ()
    """What a person should be told at the start."""

    @property
    def trust(self) -> Decision:
        return self.project.decision

    @property
    def settings(self) -> Settings:
        """Those that count at this moment."""
        return self.in_force.settings


def assemble(
    options: Options,
    paths: Paths,
    env: Mapping[str, str] = os.environ,
    *,
    can_ask: bool = False,
    ends_with_answer: bool = False,
) -> Assembled:
    """Raises `UsageError` or `SessionError`. `can_ask`: a person can be asked whether the project is trusted.
    `ends_with_answer`: the program is over when its prompts are answered."""
    begun = opened(options, paths, can_ask=can_ask)
    in_force, project, places, log = begun.in_force, begun.project, begun.places, begun.log
    settings, trust = in_force.settings, project.decision
    catalogue, credentials = ModelCatalogue.load(paths.agent_dir, env=env), Credentials(paths.agent_dir, env)
    registry = Registry()
    chosen = choose(paths, settings, asked_of(options), is_trusted=trust.is_trusted)
    wishes = ModelWishes(options, in_force, catalogue, credentials)
    told, choice = wishes.look(), wishes.choice
    extensions = extensions_for(options, in_force)
    hooks = ExtensionHooks(extensions)
    in_force.subscribe(lambda before: hooks.settings_changed())
    workspace = _workspace(paths, in_force, project, log, hooks, choice, has_person=can_ask)
    ground = Ground(options, paths, begun, workspace, can_ask=can_ask)
    toolbox = Toolbox(_own_tools(options, lambda: assembled), workspace)
    workspace.active_tools = toolbox.active
    prompt = SystemPromptSource(paths, _prompt_choice(options, trust, chosen))
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
            undo=UndoPlace(
                store=paths.agent_dir / "blobs", home=paths.home, may_ask_git=project.seems_to_count
            ),
            servers=server_places(paths, project, in_force, options),
            standing=_standing(paths, project, can_ask, ends_with_answer),
            options=_session_options(options, in_force, can_ask, ends_with_answer),
        )
    )
    project.tell = ground.tell = partial(session.events.notify, level="warning")
    _, summary_problem = summary_model(settings.compaction.model, choice)
    session.tools.choose(tool_choice(options, settings))
    wishes.is_restored = _restore(session, options, has_level=choice.is_thinking_asked)
    themes = _required(options.use_theme, themes_of(options, paths, trust, chosen.themes))
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
            *map(str, (*in_force.problems, *catalogue.problems, *credentials.problems)),
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
    """Into another folder: its extensions (which are loaded elsewhere), resources, prompt, themes and tools count."""
    trust, prompt = assembled.trust, assembled.prompt
    chosen = choose(paths, assembled.settings, asked_of(options), is_trusted=trust.is_trusted)
    assembled.chosen = chosen
    prompt.choice = msgspec.structs.replace(
        prompt.choice, is_trusted=trust.is_trusted, more_skills=chosen.skills
    )
    await asyncio.to_thread(prompt.reload)
    assembled.themes = themes_of(options, paths, trust, chosen.themes)
    assembled.session.tools.choose(tool_choice(options, assembled.settings))


def _standing(
    paths: Paths, project: TrustInProject, can_ask: bool = False, ends_with_answer: bool = True
) -> PermissionContext:
    return PermissionContext(
        asks="person" if can_ask else "nobody" if ends_with_answer else "program",
        home=paths.home,
        folder=lambda: paths.cwd,
        agent_dir=paths.agent_dir,
        sessions_dir=paths.sessions_dir,
        is_trusted=lambda: project.decision.is_trusted,
        counts_now=project.counts_now,
        needs_no_trust=lambda: project.decision.reason == "nothing-to-trust",
        is_accepted=lambda: is_accepted(project.decision),
    )


def _session_options(
    options: Options, in_force: InForce, can_ask: bool, ends_with_answer: bool
) -> SessionOptions:
    return SessionOptions(
        in_force,
        merges_deltas=not options.no_merge_deltas,
        is_read_along=can_ask,
        ends_with_answer=ends_with_answer,
    )


def asked_of(options: Options) -> Asked:
    return Asked(is_safe=options.safe, only_named=options.no_extensions, named=options.extension)


def _required(wanted: str | None, themes: Themes) -> Themes:
    for name in (wanted or "").split("/"):
        if name not in ("", "system", *themes.names):
            raise UsageError(f"--use-theme: there is no theme '{name}'. Themes: {', '.join(themes.names)}.")
    return themes


def themes_of(options: Options, paths: Paths, trust: Decision, more: tuple[Path, ...]) -> Themes:
    """bayou's own, the person's, the project's and the named ones; with --no-themes only the first and the last."""
    named = [paths.cwd / Path(path).expanduser() for path in options.theme]
    if not options.no_themes:
        return find_themes(paths, is_trusted=trust.is_trusted, more=[*more, *named])
    return find_themes(paths, is_trusted=False, more=named, has_own=False)


def _workspace(
    paths: Paths,
    in_force: InForce,
    project: TrustInProject,
    log: SessionLog,
    hooks: ExtensionHooks,
    choice: ModelChoice,
    *,
    has_person: bool,
) -> Workspace:
    folder, above = outputs_of(log)
    own_shell = OwnShell(paths.cache_dir / "shell", paths.home)
    roots = {paths.sessions_dir, *([folder.parent] if folder else [])}
    return Workspace(
        paths.cwd,
        artifacts=Artifacts(
            folder, above=above, working=paths.working_dir, before_first=lambda: drop_old_outputs(roots)
        ),
        shell=partial(shell_settings, in_force, project.counts_now, own_shell, has_person=has_person),
        read=partial(read_settings, in_force),
        kernel_settings=lambda: kernel_settings(in_force, project.counts_now, lambda: _is_harmless(project)),
        edit_mode=partial(edit_mode, in_force, choice),
        cache_dir=paths.cache_dir,
        spawn_hook=hooks.before_spawn,
        repositories=Repositories(
            paths, in_force, project, lambda: rules_from_settings(in_force, _standing(paths, project)).rules
        ),
    )


def _is_harmless(project: TrustInProject) -> bool:
    """Its person trusts it, or it has nothing to be trusted."""
    return project.decision.is_trusted or project.decision.question.is_empty


def _prompt_choice(options: Options, trust: Decision, chosen: Chosen) -> SystemPromptOptions:
    return SystemPromptOptions(
        is_trusted=trust.is_trusted,
        system=_text_or_file(options.system_prompt),
        appended=tuple(text for given in options.append_system_prompt if (text := _text_or_file(given))),
        use_context_files=not options.no_context_files,
        use_skills=not options.no_skills,
        skills=tuple(Path(path).expanduser().resolve() for path in options.skill),
        more_skills=chosen.skills,
        own_skills=(docs_dir() / "extending-bayou",),
        docs_dir=docs_dir().as_posix(),
    )


def _text_or_file(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        path = Path(given).expanduser()
        return path.read_text(encoding="utf-8") if is_file(path) else given
    except (OSError, ValueError):
        return given


def extensions_for(options: Options, in_force: InForce) -> Extensions:
    """None is loaded yet."""
    return Extensions(
        flags=options.extension_flags,
        behind=options.value_behind,
        limits=partial(limits_in_force, in_force),
    )


def _restore(session: Session, options: Options, *, has_level: bool) -> bool:
    """A resumed session keeps its own model and level, unless the command line names one; whether it has a model."""
    if options.plan:
        session.plan.switch(True)
    return session.branches.restore(
        restores_model=options.model is None, restores_thinking=not has_level, name=options.name
    )
