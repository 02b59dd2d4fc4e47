"""Slash commands: a table of names, what they mean, and what they do in the full-screen face."""

from collections.abc import Awaitable, Callable

import msgspec

from app.engine.commands.base import CommandError, NoParams
from app.engine.commands.places import clone as clone_session
from app.engine.exporting import export_session
from app.providers.select import select_model
from app.tui.desk import Desk
from app.tui.keys.page_keys import copy_answer
from app.tui.pages.extensions_page import show_extensions
from app.tui.pages.jobs_page import show_jobs
from app.tui.pages.login import login, logout
from app.tui.pages.settings_page import choose_theme, show_settings
from app.tui.pages.trusting import ask_trust
from app.tui.stage import EXPECTED
from app.values.models import THINKING_LEVELS, thinking_level
from widgets.transcript.blocks import NoteKind

Run = Callable[[Desk, str], Awaitable[None]]


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    help: str
    run: Run
    hint: str = ""
    """What its argument is called."""


async def run_slash(app: Desk, text: str) -> bool:
    """Carries out `/name argument`; False when there is no such command and the text is a prompt."""
    name, _, argument = text[1:].strip().partition(" ")
    command = BY_NAME.get(name)
    if command is None:
        return False
    try:
        await command.run(app, argument.strip())
    except EXPECTED as problem:
        app.presenter.note(str(problem), NoteKind.ERROR)
    return True


async def _quit(app: Desk, argument: str) -> None:
    app.exit(0)


async def _new(app: Desk, argument: str) -> None:
    await app.sessions_page.new()


async def _model(app: Desk, argument: str) -> None:
    if not argument:
        await app.model_page.choose()
        return
    choice = app.session.choice
    selection = select_model(argument, choice.catalogue, choice.credentials)
    await app.session.set_model(selection.model)
    if selection.thinking is not None:
        await app.session.set_thinking(selection.thinking)
    app.presenter.note(f"Model: {selection.model.key}")
    if selection.warning:
        app.presenter.note(selection.warning, NoteKind.WARNING)


async def _thinking(app: Desk, argument: str) -> None:
    if not argument:
        await app.model_page.level()
        return
    level = thinking_level(argument)
    if level is None:
        raise CommandError(f"/thinking takes one of {', '.join(THINKING_LEVELS)}.")
    await app.session.set_thinking(level)
    app.presenter.note(f"Thinking: {app.session.choice.thinking}")


async def _name(app: Desk, argument: str) -> None:
    if argument:
        await app.session.rename(argument)
    app.presenter.note(f"Session name: {app.session.log.name or '(none)'}")


async def _session(app: Desk, argument: str) -> None:
    log, stats = app.session.log, app.session.stats
    usage = stats.usage
    app.presenter.note(
        "\n".join(
            (
                f"File: {log.path or '(not kept)'}",
                f"Id: {log.session_id}",
                f"Messages: {stats.user_messages} of yours, {stats.assistant_messages} answers, "
                f"{stats.tool_calls} tool calls",
                f"Tokens: {usage.input:,} in, {usage.output:,} out, {usage.cache_read:,} from the cache",
                f"Cost: ${usage.cost.total:.3f}",
            )
        )
    )


async def _copy(app: Desk, argument: str) -> None:
    copy_answer(app)


async def _clone(app: Desk, argument: str) -> None:
    await clone_session(app.session, NoParams())
    app.presenter.note(f"This is a copy now: {app.session.log.path}")


async def _tree(app: Desk, argument: str) -> None:
    await app.session_tree.open()


async def _fork(app: Desk, argument: str) -> None:
    await app.sessions_page.fork()


async def _resume(app: Desk, argument: str) -> None:
    await app.sessions_page.open()


async def _theme(app: Desk, argument: str) -> None:
    if not argument:
        await choose_theme(app)
    elif (problem := app.looks.use(argument)) is not None:
        raise CommandError(problem)


async def _export(app: Desk, argument: str) -> None:
    target = app.session.cwd / argument if argument else None
    try:
        written = export_session(app.session.log, target, folder=app.session.cwd)
    except OSError as problem:
        raise CommandError(f"{problem.filename or argument}: {problem.strerror or problem}") from None
    app.presenter.note(f"Written: {written}")


async def _trust(app: Desk, argument: str) -> None:
    await ask_trust(app)


async def _login(app: Desk, argument: str) -> None:
    await login(app, argument)


async def _logout(app: Desk, argument: str) -> None:
    await logout(app, argument)


async def _reload(app: Desk, argument: str) -> None:
    if app.extended is not None:
        await app.extended.reload()
    else:
        app.assembled.prompt.reload()
    app.session.follow_settings()
    if app.assembled.trust.needs_answer:
        await ask_trust(app)
    for problem in app.keys_page.read():
        app.presenter.note(problem, NoteKind.WARNING)
    app.presenter.note(
        "Context files, skills, prompts, extensions, settings, keys and themes were read again."
    )


async def _jobs(app: Desk, argument: str) -> None:
    if app.session.jobs.all():
        await show_jobs(app)
    else:
        key = app.key_table.key_of("app.tools.background")
        app.presenter.note(f"No job has run in the background.{f' {key} puts a tool there.' if key else ''}")


async def _extensions(app: Desk, argument: str) -> None:
    await show_extensions(app)


async def _settings(app: Desk, argument: str) -> None:
    await show_settings(app)


async def _kill(app: Desk, argument: str) -> None:
    try:
        job = app.session.jobs.kill(argument, tell=True)
    except KeyError as problem:
        raise CommandError(str(problem.args[0])) from None
    app.presenter.note(f"{job.id} is being ended.")


async def _pin(app: Desk, argument: str) -> None:
    try:
        job = app.session.jobs.get(argument)
    except KeyError as problem:
        raise CommandError(str(problem.args[0])) from None
    app.session.jobs.pin(job.id, not job.is_pinned)
    goes_on = "goes on when this session is left" if job.is_pinned else "ends with this session"
    app.presenter.note(f"{job.id} {goes_on}.")


async def _compact(app: Desk, argument: str) -> None:
    is_preview = argument.split(" ", 1)[0] == "--preview"
    instructions = argument.removeprefix("--preview").strip() if is_preview else argument
    if is_preview:
        await app.context_page.preview(instructions or None)
    else:
        await app.context_page.compact(instructions or None)


async def _uncompact(app: Desk, argument: str) -> None:
    await app.context_page.undo()


async def _context(app: Desk, argument: str) -> None:
    await app.context_page.open()


async def _import(app: Desk, argument: str) -> None:
    if not argument:
        raise CommandError("/import takes a session file (.jsonl).")
    session = app.session
    copied = session.places.fork(argument)
    await session.abort()
    await session.open(copied, "resume")
    app.presenter.note(f"Copied in and opened: {session.log.path}")


async def _hotkeys(app: Desk, argument: str) -> None:
    await app.keys_page.table()


async def _scoped_models(app: Desk, argument: str) -> None:
    await app.model_page.scope()


async def _help(app: Desk, argument: str) -> None:
    await app.keys_page.commands({command.name: command.hint for command in COMMANDS})


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(name="model", hint="[name]", help="switch the model", run=_model),
    SlashCommand(name="scoped-models", help="which models the cycle keys go through", run=_scoped_models),
    SlashCommand(name="thinking", hint="[level]", help="how hard the model thinks", run=_thinking),
    SlashCommand(name="tree", help="the session tree", run=_tree),
    SlashCommand(name="resume", help="go on with another session", run=_resume),
    SlashCommand(name="fork", help="go on from before a prompt, in a new file", run=_fork),
    SlashCommand(name="new", help="begin a new session", run=_new),
    SlashCommand(name="clone", help="go on in a copy of this branch", run=_clone),
    SlashCommand(name="name", hint="[name]", help="name the session", run=_name),
    SlashCommand(name="session", help="file, counts, tokens, cost", run=_session),
    SlashCommand(name="context", help="what fills the window, and dropping parts of it", run=_context),
    SlashCommand(name="compact", hint="[--preview] [focus]", help="summarise the older part", run=_compact),
    SlashCommand(name="uncompact", help="back to the full history", run=_uncompact),
    SlashCommand(name="jobs", help="background jobs", run=_jobs),
    SlashCommand(name="kill", hint="job", help="end a background job", run=_kill),
    SlashCommand(name="pin", hint="job", help="let a job outlive this session, or not", run=_pin),
    SlashCommand(name="copy", help="copy the last answer", run=_copy),
    SlashCommand(name="export", hint="[file]", help="write the session as HTML, .md or .jsonl", run=_export),
    SlashCommand(name="import", hint="file", help="copy a session file in and go on with it", run=_import),
    SlashCommand(name="extensions", help="which extensions run, and what is wrong", run=_extensions),
    SlashCommand(name="settings", help="all settings, changed in place", run=_settings),
    SlashCommand(name="theme", hint="[name]", help="choose a theme", run=_theme),
    SlashCommand(name="trust", help="whether this folder's own parts are used", run=_trust),
    SlashCommand(name="login", hint="[provider]", help="connect a provider: key or account", run=_login),
    SlashCommand(name="logout", hint="[provider]", help="forget a stored key", run=_logout),
    SlashCommand(
        name="reload", help="read files again: context, skills, extensions, keys, themes", run=_reload
    ),
    SlashCommand(name="hotkeys", help="all keys; Enter gives an action another", run=_hotkeys),
    SlashCommand(name="keys", help="the same as /hotkeys", run=_hotkeys),
    SlashCommand(name="help", help="all commands", run=_help),
    SlashCommand(name="quit", help="leave bayou", run=_quit),
)
BY_NAME = {command.name: command for command in COMMANDS}
