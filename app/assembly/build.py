"""Puts a session together: settings, trust, model, tools, prompt, log. Every face begins here."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.options import Options, UsageError
from app.assembly.trusting import ProjectTrust
from app.engine.choice import ModelChoice
from app.engine.jobs_tool import jobs_tool
from app.engine.machinery import Parts
from app.engine.options import SessionOptions, read_settings, shell_settings
from app.engine.places import Places
from app.engine.prompting import PromptChoice, PromptSource
from app.engine.session import Session
from app.engine.summariser import summary_model
from app.engine.toolbox import Toolbox, ToolChoice
from app.extensions.choosing import Asked, Chosen, choose, limits_of
from app.extensions.runner import Extensions
from app.extensions.session_hooks import ExtensionHooks
from app.providers.catalogue import Catalogue
from app.providers.classify import classify
from app.providers.credentials import Credentials
from app.providers.offline.model import offline_model
from app.providers.registry import Registry
from app.providers.select import ModelNotFound, Selection, select_model, select_scope
from app.resources.in_force import InForce
from app.resources.paths import Paths
from app.resources.settings import SettingRefused, Settings
from app.resources.themes import Themes, find_themes
from app.resources.trust import Decision, decide, problem_with
from app.sessions.errors import SessionLocked, SessionTooNew
from app.sessions.folders import header_of, session_files
from app.sessions.log import SessionLog
from app.sessions.old_outputs import drop_old_outputs
from app.values.events import AgentStart, Event
from app.values.models import Model, ThinkingLevel, thinking_level
from tools.files.artifacts import Artifacts
from tools.files.presence import is_file
from tools.registry import builtin_tools
from tools.workspace import Workspace


class Assembled(msgspec.Struct, kw_only=True):
    """A session with what the face that shows it needs to know."""

    session: Session
    choice: ModelChoice
    """The session's, with the catalogue and the credentials that it chooses from."""
    registry: Registry
    in_force: InForce
    extensions: Extensions
    """None is loaded yet; `extending` does that."""
    hooks: ExtensionHooks
    """By which they are asked."""
    prompt: PromptSource
    places: Places
    project: ProjectTrust
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
    log: SessionLog | None = None,
    can_ask: bool = False,
) -> Assembled:
    """Raises `UsageError` or `SessionError` when what was asked for cannot be had.

    `can_ask`: there is a person who can be asked whether the project is trusted.
    """
    in_force, project = _settings(options, paths, can_ask)
    settings, trust = in_force.settings, project.decision
    places = Places(own=paths.sessions_dir, cwd=paths.cwd, in_force=in_force)
    catalogue = Catalogue.load(paths.agent_dir, env=env)
    credentials = Credentials(paths.agent_dir, env)
    registry = Registry()
    log, locked = (log, None) if log else _opened(options, places, paths.cwd, can_ask)
    chosen = choose(paths, settings, asked_of(options), is_trusted=trust.is_trusted)
    choice, told = _choice(options, in_force, catalogue, credentials)
    extensions = Extensions(flags=options.extension_flags, limits=lambda: limits_of(in_force.settings))
    hooks = ExtensionHooks(extensions)
    workspace = _workspace(paths, in_force, project, log, hooks)
    tools = () if options.no_builtin_tools else builtin_tools()
    toolbox = Toolbox(tools, workspace, paths.cwd, model=lambda: choice.model)
    workspace.active_tools = toolbox.active
    prompt = PromptSource(paths, toolbox, _prompt_choice(options, trust, chosen))
    session = Session(
        Parts(
            log=log,
            places=places,
            registry=registry,
            choice=choice,
            toolbox=toolbox,
            sections=prompt,
            classify=classify,
            hooks=hooks,
            options=SessionOptions(
                in_force, merges_deltas=not options.no_merge_deltas, is_read_along=can_ask
            ),
        )
    )
    session.subscribe(_following(session))
    project.tell = partial(session.notify, level="warning")
    _, summary_problem = summary_model(settings.compaction.model, choice)
    if not options.no_builtin_tools:
        session.add_tool(jobs_tool(session.job_table), owner="built-in")
    session.choose_tools(tool_choice(options, settings))
    _restore(session, options)
    themes = themes_of(options, paths, trust, chosen.themes)
    _require_themes(options.use_theme, themes)
    problems = (
        *(str(problem) for problem in in_force.problems),
        *(str(problem) for problem in catalogue.problems),
        *credentials.problems,
        *told,
        *prompt.problems,
        *log.take_problems(),
        *themes.problems,
        *([summary_problem] if summary_problem else ()),
        *([trust_problem] if (trust_problem := problem_with(paths.trust_file)) else ()),
    )
    return Assembled(
        session=session,
        choice=choice,
        registry=registry,
        in_force=in_force,
        extensions=extensions,
        hooks=hooks,
        prompt=prompt,
        places=places,
        project=project,
        chosen=chosen,
        themes=themes,
        theme=settings.display.theme,
        locked=locked,
        problems=problems,
    )


def asked_of(options: Options) -> Asked:
    return Asked(is_safe=options.safe, only_named=options.no_extensions, named=options.extension)


def _require_themes(wanted: str | None, themes: Themes) -> None:
    for name in (wanted or "").split("/"):
        if name not in ("", "system", *themes.names):
            raise UsageError(f"--use-theme: there is no theme '{name}'. Themes: {', '.join(themes.names)}.")


def themes_of(options: Options, paths: Paths, trust: Decision, more: tuple[Path, ...]) -> Themes:
    """bayou's own, the person's, the project's and the named ones; with --no-themes only the first and the last."""
    named = [paths.cwd / Path(path).expanduser() for path in options.theme]
    if not options.no_themes:
        return find_themes(paths, is_trusted=trust.is_trusted, more=[*more, *named])
    return find_themes(paths, is_trusted=False, more=named, has_own=False)


def _settings(options: Options, paths: Paths, can_ask: bool) -> tuple[InForce, ProjectTrust]:
    """The project's own count only once it is trusted, which the person's own may say."""
    try:
        in_force = InForce(paths, flags=flags(options))
    except SettingRefused as problem:
        raise UsageError(str(problem)) from None
    flag = True if options.approve else False if options.no_approve else None
    default = in_force.settings.interaction.default_project_trust
    trust = decide(paths, flag=flag, default=default, can_ask=can_ask)
    project = ProjectTrust(paths, trust)
    in_force.trust(trust.is_trusted)
    in_force.project_counts = project.counts
    return in_force, project


def flags(options: Options) -> dict[str, Any]:
    """What the command line says of settings."""
    said = {
        "offline": options.offline or None,
        "sessionDir": options.session_dir,
        "theme": options.use_theme,
    }
    return {name: value for name, value in said.items() if value is not None}


def _following(session: Session) -> Callable[[Event], None]:
    """Every run begins with the settings as the files say them by then."""

    def note(event: Event) -> None:
        if isinstance(event, AgentStart):
            session.follow_settings()

    return note


def _opened(
    options: Options, places: Places, cwd: Path, can_ask: bool
) -> tuple[SessionLog, SessionLocked | None]:
    """What cannot be written is shown read-only; with a session of another process the person is asked what to do."""
    try:
        log = open_log(options, places, cwd)
    except SessionLocked as locked:
        if not can_ask or locked.path is None:
            raise
        return places.open(locked.path, read_only=True), locked
    except SessionTooNew as newer:
        if not can_ask or newer.path is None:
            raise
        return places.open_newer(newer.path), None
    if not can_ask:
        log.require_cwd()
    return log, None


def open_log(options: Options, places: Places, cwd: Path) -> SessionLog:
    """The log that the command line asks for. A session that cannot be opened is an error, never a new one."""
    if options.no_session:
        return SessionLog.in_memory(cwd)
    if options.fork is not None:
        return places.fork(options.fork, session_id=options.session_id)
    if options.session is not None:
        return places.find(options.session)
    if options.session_id is not None:
        return places.with_id(options.session_id)
    if options.continue_:
        return places.latest() or _first(places)
    return places.new()


def _first(places: Places) -> SessionLog:
    """There is nothing to go on with. A file that cannot be read is told, not passed over."""
    for entry in session_files(places.folder):
        if header_of(Path(entry.path)) is None:
            places.open(Path(entry.path)).close()  # raises, in words
    return places.new()


def _choice(
    options: Options,
    in_force: InForce,
    catalogue: Catalogue,
    credentials: Credentials,
) -> tuple[ModelChoice, list[str]]:
    """The choice, and what is to be told of it. What the command line names must be there; what the settings name
    may have gone since.
    """
    told: list[str] = []
    settings = in_force.settings
    level = thinking_level(options.thinking) or settings.model.default_thinking_level
    selection: Selection | None = None
    try:
        scope = select_scope(options.models.split(","), catalogue, credentials) if options.models else ()
        if options.model is not None:
            selection = select_model(options.model, catalogue, credentials, options.provider)
    except ModelNotFound as problem:
        raise UsageError(" ".join([str(problem), *map(str, catalogue.problems)])) from None
    try:
        if not options.models:
            scope = select_scope(settings.model.enabled_models or (), catalogue, credentials)
    except ModelNotFound as problem:
        told.append(f"The setting enabledModels: {problem} All models are offered.")
    wanted = settings.model.default_model
    try:
        if selection is None and wanted is not None and not options.models:
            selection = select_model(wanted, catalogue, credentials, settings.model.default_provider)
    except ModelNotFound as problem:
        told.append(f"The setting defaultModel: {problem}")
    model: Model | None = None
    if selection is not None:
        model = selection.model
        level = _level(
            options, selection.thinking, settings.model.model_thinking_levels.get(model.key, level)
        )
        told += [selection.warning] if selection.warning else []
    if options.api_key is not None and model is not None:
        credentials.use_for_this_run(model.provider, options.api_key)
    choice = ModelChoice(
        catalogue,
        credentials,
        model=model,
        thinking=level,
        scope=scope,
        levels_of=lambda: in_force.settings.model.model_thinking_levels,
    )
    if choice.model is None:
        choice.set(scope[0] if scope else _default_model(choice))
        if (asked := thinking_level(options.thinking)) is not None:
            choice.set_thinking(asked)
    return choice, told


def _level(options: Options, of_pattern: ThinkingLevel | None, otherwise: ThinkingLevel) -> ThinkingLevel:
    return thinking_level(options.thinking) or of_pattern or otherwise


def _default_model(choice: ModelChoice) -> Model:
    """The default of the first provider that has credentials; with none, the offline guide."""
    for provider in choice.catalogue.providers:
        if choice.credentials.has(provider) and (model := choice.catalogue.default_of(provider)):
            return model
    return offline_model()


def _workspace(
    paths: Paths, in_force: InForce, project: ProjectTrust, log: SessionLog, hooks: ExtensionHooks
) -> Workspace:
    folder = log.path.with_suffix(".artifacts") if log.path else None
    roots = {paths.sessions_dir, *([folder.parent] if folder else [])}
    return Workspace(
        paths.cwd,
        artifacts=Artifacts(folder, before_first=lambda: drop_old_outputs(roots)),
        shell=lambda: shell_settings(in_force, project.counts_now),
        read=lambda: read_settings(in_force),
        cache_dir=paths.cache_dir,
        spawn_hook=hooks.before_spawn,
    )


def tool_choice(options: Options, settings: Settings) -> ToolChoice:
    if options.no_tools:
        return ToolChoice(only=())
    names = options.tools.split(",") if options.tools else settings.tools.default_tools or ()
    try:
        choice = ToolChoice.parse([name.strip() for name in names if name.strip()])
    except ValueError as problem:
        raise UsageError(f"--tools: {problem}") from None
    excluded = tuple(name.strip() for name in (options.exclude_tools or "").split(",") if name.strip())
    return msgspec.structs.replace(choice, remove=(*choice.remove, *excluded))


def _prompt_choice(options: Options, trust: Decision, chosen: Chosen) -> PromptChoice:
    return PromptChoice(
        is_trusted=trust.is_trusted,
        system=_text_or_file(options.system_prompt),
        appended=tuple(text for given in options.append_system_prompt if (text := _text_or_file(given))),
        use_context_files=not options.no_context_files,
        use_skills=not options.no_skills,
        skills=tuple(Path(path).expanduser().resolve() for path in options.skill),
        more_skills=chosen.skills,
    )


def _text_or_file(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        path = Path(given).expanduser()
        return path.read_text(encoding="utf-8") if is_file(path) else given
    except (OSError, ValueError):
        return given


def _restore(session: Session, options: Options) -> None:
    """A resumed session keeps its own model, unless the command line names one."""
    session.restore(restores_model=options.model is None, name=options.name)
