"""Finds, loads, connects and starts the extensions of a session, for every user interface."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.extensions.extension_choice import extension_flags
from app.assembly.extensions.session_templates_and_skills import SessionTemplatesAndSkills
from app.assembly.extensions.startup_summary import startup_summary
from app.assembly.helper_sessions import offer_leftover_helper_changes
from app.assembly.project_trust_checker import untrusted_folder_notice
from app.assembly.tool_selection import selected_tools
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.extension_registrations import ExtensionSource
from app.extensions.extension_runner import Extensions
from app.extensions.extension_session_binding import ExtensionRegistrationTables, SessionBinding
from app.extensions.hooks.event_forwarder import EventForwarder
from app.extensions.hooks.payloads import ProjectTrust
from app.extensions.loading.extension_sources import ExtensionCommandLineFlags, choose_extension_sources
from app.extensions.ui_protocol import Mode, Ui
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import TrustDecision, TrustQuestion, store_trust_answer
from app.values.user_errors import FileError
from tools.running.withheld_environment_variables import environment_for_child_processes


class ConnectedExtensions(msgspec.Struct, kw_only=True):
    """A session's connected extensions."""

    extensions: Extensions
    catalogue: ExtensionCatalogue
    reload: Callable[[], Any]
    options: CommandLineOptions
    """The command line's options, without words that are values of extensions' flags."""
    trust: Callable[[TrustQuestion, bool], Any]
    """A function that applies the user's answer to a trust question, and returns when its effects are in force."""


async def connect_extensions(
    assembled: AssembledSession,
    options: CommandLineOptions,
    paths: BayouPaths,
    *,
    mode: Mode,
    ui: Ui,
    shutdown: Callable[[], None],
    reloaded: Callable[[ConnectedExtensions], None] = lambda extended: None,
) -> ConnectedExtensions:
    """Loads and starts a session's extensions. Publishes their errors as events; raises for unknown flags only.
    `reloaded` is called after every reload, for any cause."""
    session, extensions = assembled.session, assembled.extensions
    extensions.may_read = partial(_may_load_source, assembled)
    resources = SessionTemplatesAndSkills(assembled, options, paths)

    async def reload() -> None:
        bound.is_trusted = await assembled.project_trust.recheck_in_thread()
        resources.choose_resource_folders()
        await extensions.reload(assembled.chosen_extensions.sources)
        session.tools.choose_tools(selected_tools(options, assembled.effective_settings.settings))
        retry_and_report_missing_model(assembled)
        await resources.read_templates_skills_and_themes(extensions, "reload")
        reloaded(extended)

    async def follow() -> None:
        """Replaces the extensions of the former folder with those of the new one."""
        await reload()  # without the new folder's own, since no one has vouched for it yet
        if await _trust_by_extensions(assembled, paths, options):
            await reload()
        _report_untrusted_parts(assembled, mode)

    async def trust(question: TrustQuestion, is_trusted: bool) -> None:
        flags = extension_flags(options)
        apply_trust_decision(assembled, paths, flags, question, is_trusted=is_trusted, reason="answer")
        bound.is_trusted = is_trusted
        await reload()

    switch = assembled.workspace.switch_file_and_process_operations
    bound = SessionBinding(
        session=session,
        mode=mode,
        ui=ui,
        session_paths=assembled.session_paths,
        registrations=ExtensionRegistrationTables(
            session, assembled.model_choice, assembled.registry, switch
        ),
        settings=assembled.effective_settings.settings_as_in_file,
        prompt_sections=assembled.prompt.extra_sections,
        passed_variables=partial(_child_environment, assembled),
        cache_dir=paths.cache_dir,
        is_trusted=assembled.project_trust.decision.is_trusted,
        uses_context_files=not options.no_context_files,
        shutdown=shutdown,
        reload=reload,
        expand_prompt=resources.expand,
        tool_refusal=resources.commands_of_files.tool_call_refusal,
        file_commands=resources.commands,
    )
    extensions.bind(bound)
    EventForwarder(extensions, assembled.hooks.catalogue).subscribe_to_session(session)
    extended = ConnectedExtensions(
        extensions=extensions,
        catalogue=assembled.hooks.catalogue,
        reload=reload,
        trust=trust,
        options=options,
    )
    await _load_extensions(assembled, paths, options, extensions)
    bound.is_trusted = assembled.project_trust.decision.is_trusted
    session.tools.choose_tools(selected_tools(options, assembled.effective_settings.settings))
    extended.options = _without_extension_flags(options, extended.catalogue)
    retry_and_report_missing_model(assembled, assembled.initial_model.choose_model())
    refuse_cost_limit_without_prices(assembled, options)
    await resources.read_templates_skills_and_themes(extensions, "startup")
    _report_start(assembled, resources, is_summary_shown=options.verbose and mode == "tui")
    await extensions.start()
    await offer_leftover_helper_changes(session, is_told=mode in ("tui", "rpc", "acp"))
    assembled.working_folder.subscribe(follow)
    return extended


def _child_environment(assembled: AssembledSession) -> dict[str, str]:
    return environment_for_child_processes(assembled.effective_settings.settings.shell.shell_pass_environment)


def _without_extension_flags(
    options: CommandLineOptions, catalogue: ExtensionCatalogue
) -> CommandLineOptions:
    """Returns the command-line options without words that are values of extensions' flags. Raises `UsageError`
    for a wrong value."""
    if wrong := catalogue.extension_flag_errors():
        raise UsageError(wrong[0])
    return options.without_flag_values(catalogue.flags_with_values())


def _report_start(
    assembled: AssembledSession, resources: SessionTemplatesAndSkills, *, is_summary_shown: bool
) -> None:
    """Reports the start of the extensions. With `is_summary_shown`, the page shows the summary; in other modes it
    goes to standard error."""
    for text in (*assembled.chosen_extensions.problems, *resources.prompts.problems):
        assembled.session.events.notify(text, "warning")
    if is_summary_shown:
        assembled.session.events.notify(startup_summary(assembled, assembled.extensions))


def retry_and_report_missing_model(assembled: AssembledSession, told: Sequence[str] = ()) -> None:
    """Looks for a model that was missing, after extensions have added theirs, and warns when it is still
    missing."""
    assembled.model_choice.retry_missing_model()
    for text in told:
        assembled.session.events.notify(text, "warning")
    if assembled.model_choice.missing_model is not None:
        assembled.session.events.notify(assembled.model_choice.missing_model_text, "warning")


def refuse_cost_limit_without_prices(assembled: AssembledSession, options: CommandLineOptions) -> None:
    """Refuses a cost limit for a model without prices, whose cost is always zero. Raises `UsageError`."""
    model = assembled.model_choice.model
    if options.max_cost is None or model is None or model.api == "offline":
        return
    if not (model.cost.input or model.cost.output):
        raise UsageError(
            f"--max-cost: {model.key} has no prices, so its cost would stay $0. Use --max-tokens or --max-turns, "
            "or add its prices to models.json (docs/models.md)."
        )


def _may_load_source(assembled: AssembledSession, source: ExtensionSource) -> bool:
    """Returns whether an extension's file may be read: a project's own, or one named in its settings, only while
    the project is trusted."""
    is_named = source.origin == "settings" and assembled.effective_settings.origin("extensions") == "project"
    return not (is_named or source.origin == "project") or assembled.project_trust.is_trusted()


async def _load_extensions(
    assembled: AssembledSession, paths: BayouPaths, options: CommandLineOptions, extensions: Extensions
) -> None:
    """Loads the extensions from outside the project, which may decide its trust, then the project's own, if the
    project is trusted."""
    asked = extension_flags(options)
    if options.approve or options.no_approve or assembled.project_trust.decision.question.is_empty:
        await extensions.load(assembled.chosen_extensions.sources)
        return
    await extensions.load(
        choose_extension_sources(
            paths, assembled.effective_settings.settings, asked, is_trusted=False
        ).sources
    )
    await _ask_extensions_about_trust(assembled, paths, asked, extensions)
    loaded = {extension.name for extension in extensions.hooks.loaded}
    await extensions.load(
        [source for source in assembled.chosen_extensions.sources if source.name not in loaded]
    )


def _report_untrusted_parts(assembled: AssembledSession, mode: Mode) -> None:
    if mode != "tui" and (left_out := untrusted_folder_notice(assembled.project_trust.decision)) is not None:
        assembled.session.events.notify(left_out, "warning")


async def _trust_by_extensions(
    assembled: AssembledSession, paths: BayouPaths, options: CommandLineOptions
) -> bool | None:
    """Asks extensions whether a folder is trusted for which no decision exists yet."""
    if assembled.project_trust.decision.reason != "not-asked":
        return None
    return await _ask_extensions_about_trust(assembled, paths, extension_flags(options), assembled.extensions)


async def _ask_extensions_about_trust(
    assembled: AssembledSession, paths: BayouPaths, asked: ExtensionCommandLineFlags, extensions: Extensions
) -> bool | None:
    """Asks extensions whether the session's folder is trusted; None: no extension decides. The folder's own
    extensions are not loaded."""
    question = assembled.project_trust.decision.question
    answer = await extensions.hooks.emit(
        "project_trust",
        ProjectTrust(
            cwd=paths.cwd,
            items=tuple(item.display_line for item in question.items),
        ),
    )
    if answer is None or answer.trusted == "undecided":
        return None
    trusted = answer.trusted == "yes"
    if answer.remember:
        try:
            store_trust_answer(paths, question, is_trusted=trusted)
        except FileError as problem:
            assembled.session.events.notify(str(problem), "warning")
    apply_trust_decision(assembled, paths, asked, question, is_trusted=trusted, reason="extension")
    return trusted


def apply_trust_decision(
    assembled: AssembledSession,
    paths: BayouPaths,
    asked: ExtensionCommandLineFlags,
    question: TrustQuestion,
    *,
    is_trusted: bool,
    reason: Literal["extension", "answer"],
) -> None:
    """Applies a trust decision made after the settings were read: adds the project's settings, or removes
    them."""
    assembled.project_trust.set_decision(
        TrustDecision(is_trusted=is_trusted, reason=reason, question=question)
    )
    for problem in assembled.effective_settings.set_trusted(is_trusted):
        assembled.session.events.notify(str(problem), "warning")
    assembled.chosen_extensions = choose_extension_sources(
        paths, assembled.effective_settings.settings, asked, is_trusted=is_trusted
    )
