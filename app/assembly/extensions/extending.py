"""Finds, loads, connects and starts the extensions of a session, for every user interface."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from app.assembly.assembled import Assembled
from app.assembly.extensions.extension_choice import asked_of
from app.assembly.extensions.resources import Resources
from app.assembly.extensions.summary import summary
from app.assembly.options import Options, UsageError
from app.assembly.tool_names import tool_choice
from app.assembly.trusting import unasked
from app.extensions.bound import Bound, Brought
from app.extensions.catalogue import Catalogue
from app.extensions.hooks.payloads import ProjectTrust
from app.extensions.hooks.told_events import ToldEvents
from app.extensions.loading.choosing import Asked, choose
from app.extensions.ports import Mode, Ui
from app.extensions.registrations import Source
from app.extensions.runner import Extensions
from app.resources.paths import Paths
from app.resources.trust.project_trust import Decision, Question, remember
from app.values.unable import FileFault
from tools.running.withheld import child_variables


class Extended(msgspec.Struct, kw_only=True):
    """A session's connected extensions."""

    extensions: Extensions
    catalogue: Catalogue
    reload: Callable[[], Any]
    options: Options
    """The command line's options, without words that are values of extensions' flags."""
    trust: Callable[[Question, bool], Any]
    """Applies the user's answer to a trust question; its effects are in force afterwards."""


async def extend(
    assembled: Assembled,
    options: Options,
    paths: Paths,
    *,
    mode: Mode,
    ui: Ui,
    shutdown: Callable[[], None],
    reloaded: Callable[[Extended], None] = lambda extended: None,
) -> Extended:
    """Loads and starts a session's extensions. Publishes their errors as events; raises for unknown flags only.

    `reloaded` is called after every reload, for any cause."""
    session = assembled.session
    extensions = assembled.extensions
    extensions.may_read = partial(_may_read, assembled)
    resources = Resources(assembled, options, paths)

    async def reload() -> None:
        bound.is_trusted = await assembled.project.counts_now()
        resources.choose()
        await extensions.reload(assembled.chosen.sources)
        session.tools.choose(tool_choice(options, assembled.in_force.settings))
        look_for_model(assembled)
        await resources.discover(extensions, "reload")
        reloaded(extended)

    async def follow() -> None:
        """Replaces the extensions of the former folder with those of the new one."""
        await reload()  # without the new folder's own, since no one has vouched for it yet
        if await _vouched(assembled, paths, options):
            await reload()
        _tell_unasked(assembled, mode)

    async def trust(question: Question, is_trusted: bool) -> None:
        apply_trust(assembled, paths, asked_of(options), question, is_trusted=is_trusted, reason="answer")
        bound.is_trusted = is_trusted
        await reload()

    bound = Bound(
        session=session,
        mode=mode,
        ui=ui,
        places=assembled.places,
        brought=Brought(session, assembled.choice, assembled.registry, assembled.workspace.exchange),
        settings=assembled.in_force.as_in_file,
        prompt_sections=assembled.prompt.extra_sections,
        passed_variables=lambda: child_variables(assembled.in_force.settings.shell.shell_pass_environment),
        cache_dir=paths.cache_dir,
        is_trusted=assembled.project.decision.is_trusted,
        shutdown=shutdown,
        reload=reload,
        expand=resources.expand,
        file_commands=resources.commands,
    )
    extensions.bind(bound)
    ToldEvents(extensions, assembled.hooks.catalogue).listen_to(session)
    extended = Extended(
        extensions=extensions,
        catalogue=assembled.hooks.catalogue,
        reload=reload,
        trust=trust,
        options=options,
    )
    await _load(assembled, paths, options, extensions)
    bound.is_trusted = assembled.project.decision.is_trusted
    session.tools.choose(tool_choice(options, assembled.in_force.settings))
    if wrong := extended.catalogue.wrong_flags():
        raise UsageError(wrong[0])
    extended.options = options.without_values_of(extended.catalogue.valued_flags())
    look_for_model(assembled, assembled.wishes.settle())
    await resources.discover(extensions, "startup")
    for text in (*assembled.chosen.problems, *resources.prompts.problems):
        session.events.notify(text, "warning")
    if options.verbose and mode == "tui":  # in other modes the summary goes to standard error
        session.events.notify(summary(assembled, extensions))
    await extensions.start()
    assembled.ground.subscribe(follow)
    return extended


def look_for_model(assembled: Assembled, told: Sequence[str] = ()) -> None:
    """Looks for a model that was missing, after extensions have added theirs, and warns when it is still
    missing."""
    assembled.choice.find_missing()
    for text in told:
        assembled.session.events.notify(text, "warning")
    if assembled.choice.missing is not None:
        assembled.session.events.notify(assembled.choice.missing_model_text, "warning")


def _may_read(assembled: Assembled, source: Source) -> bool:
    """Whether an extension's file may be read: a project's own, or one named in its settings, only while the
    project is trusted."""
    is_named = source.origin == "settings" and assembled.in_force.origin("extensions") == "project"
    return not (is_named or source.origin == "project") or assembled.project.counts()


async def _load(assembled: Assembled, paths: Paths, options: Options, extensions: Extensions) -> None:
    """Loads the extensions from outside the project, which may decide its trust, then the project's own, if
    trusted."""
    asked = asked_of(options)
    if options.approve or options.no_approve or assembled.project.decision.question.is_empty:
        await extensions.load(assembled.chosen.sources)
        return
    await extensions.load(choose(paths, assembled.in_force.settings, asked, is_trusted=False).sources)
    await _ask_extensions(assembled, paths, asked, extensions)
    loaded = {extension.name for extension in extensions.hooked.loaded}
    await extensions.load([source for source in assembled.chosen.sources if source.name not in loaded])


def _tell_unasked(assembled: Assembled, mode: Mode) -> None:
    if mode != "tui" and (left_out := unasked(assembled.project.decision)) is not None:
        assembled.session.events.notify(left_out, "warning")


async def _vouched(assembled: Assembled, paths: Paths, options: Options) -> bool | None:
    """Asks extensions whether another folder is trusted, where there is no decision yet."""
    if assembled.project.decision.reason != "not-asked":
        return None
    return await _ask_extensions(assembled, paths, asked_of(options), assembled.extensions)


async def _ask_extensions(
    assembled: Assembled, paths: Paths, asked: Asked, extensions: Extensions
) -> bool | None:
    """Asks extensions whether the folder is trusted; None: none decides. None of the folder's own extensions
    is loaded."""
    question = assembled.project.decision.question
    answer = await extensions.hooked.emit(
        "project_trust",
        ProjectTrust(
            cwd=paths.cwd,
            items=tuple(item.line for item in question.items),
        ),
    )
    if answer is None or answer.trusted == "undecided":
        return None
    trusted = answer.trusted == "yes"
    if answer.remember:
        try:
            remember(paths, question, is_trusted=trusted)
        except FileFault as problem:
            assembled.session.events.notify(str(problem), "warning")
    apply_trust(assembled, paths, asked, question, is_trusted=trusted, reason="extension")
    return trusted


def apply_trust(
    assembled: Assembled,
    paths: Paths,
    asked: Asked,
    question: Question,
    *,
    is_trusted: bool,
    reason: Literal["extension", "answer"],
) -> None:
    """Applies a trust decision made after the settings were read: adds the project's settings, or removes
    them."""
    assembled.project.answer(Decision(is_trusted=is_trusted, reason=reason, question=question))
    for problem in assembled.in_force.trust(is_trusted):
        assembled.session.events.notify(str(problem), "warning")
    assembled.chosen = choose(paths, assembled.in_force.settings, asked, is_trusted=is_trusted)
