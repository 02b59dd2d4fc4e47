"""Slash commands: a table of names, what they mean, and what they do in the full-screen face."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from app.engine.session import Session
from app.tui.handed import KeyTold
from app.tui.keys.verb_words import words_of

if TYPE_CHECKING:
    from app.tui.every_page import Pages

Run = Callable[["Pages", str], Awaitable[None]]
"""With what stands behind the name; nothing, when nothing does."""


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    run: Run
    help: str = ""
    verb: str = ""
    """The session's command that it is, where that is told in its words."""
    hint: str = ""
    """What its argument is called."""
    key: tuple[str, str] = ("", "")
    """Action and usual key that `help` names as `{key}`."""

    def told(self, key_told: KeyTold) -> str:
        if self.verb:
            words = words_of(self.verb)
            return words[:1].lower() + words[1:]
        return self.help.format(key=key_told(*self.key) or "a key")


OTHER_NAMES = {"exit": "quit", "clear": "new"}
"""What hands write that have learnt another program, where it means the same. Lists do not have them."""


def command_of(text: str) -> tuple[SlashCommand, str] | None:
    """The command of `/name argument`, and its argument; None when the text is a prompt."""
    name, _, argument = text[1:].strip().partition(" ")
    command = BY_NAME.get(OTHER_NAMES.get(name, name))
    return (command, argument.strip()) if command is not None else None


async def _quit(pages: "Pages", argument: str) -> None:
    pages.leave()


async def _model(pages: "Pages", argument: str) -> None:
    await (pages.models.named(argument) if argument else pages.models.choose())


async def _thinking(pages: "Pages", argument: str) -> None:
    await (pages.models.level_named(argument) if argument else pages.models.level())


async def _copy(pages: "Pages", argument: str) -> None:
    pages.run.copy_answer()


async def _compact(pages: "Pages", argument: str) -> None:
    is_preview = argument.split(" ", 1)[0] == "--preview"
    instructions = argument.removeprefix("--preview").strip() if is_preview else argument
    if is_preview:
        await pages.context.preview(instructions or None)
    else:
        await pages.context.compact(instructions or None)


async def _map(pages: "Pages", argument: str) -> None:
    path = argument.removeprefix("@").strip("\"'")
    if not path:
        await pages.map.open()
    elif pages.sent_map.is_folder(path):
        await pages.sent_map.send_folder(path)
    else:
        await pages.sent_map.send_file(path)


async def _help(pages: "Pages", argument: str) -> None:
    await pages.keys.commands({command.name: command.hint for command in COMMANDS})


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(name="model", hint="[name]", verb="set_model", run=_model),
    SlashCommand(
        name="scoped-models",
        help="which models the cycle keys go through",
        run=lambda pages, _: pages.models.scope(),
    ),
    SlashCommand(name="thinking", hint="[level]", verb="set_thinking_level", run=_thinking),
    SlashCommand(name="tree", help="the session tree", run=lambda pages, _: pages.tree.open()),
    SlashCommand(name="resume", verb="switch_session", run=lambda pages, _: pages.sessions.open()),
    SlashCommand(
        name="fork",
        verb="fork",
        run=lambda pages, _: pages.sessions.fork(),
    ),
    SlashCommand(name="new", verb="new_session", run=lambda pages, _: pages.sessions.new()),
    SlashCommand(name="clone", verb="clone", run=lambda pages, _: pages.sessions.clone()),
    SlashCommand(
        name="name",
        hint="[name]",
        verb="set_session_name",
        run=lambda pages, text: pages.sessions.rename(text),
    ),
    SlashCommand(name="session", verb="get_session_stats", run=lambda pages, _: pages.sessions.tell_counts()),
    SlashCommand(
        name="context",
        help="what fills the window, and dropping parts of it",
        run=lambda pages, _: pages.context.open(),
    ),
    SlashCommand(
        name="usage",
        help="what all sessions used, by day, model and project",
        run=lambda pages, _: pages.usage.open(),
    ),
    SlashCommand(name="compact", hint="[--preview] [focus]", verb="compact", run=_compact),
    SlashCommand(name="uncompact", verb="undo_compaction", run=lambda pages, _: pages.context.undo()),
    SlashCommand(
        name="undo",
        hint="[prompts]",
        verb="undo_files",
        run=lambda pages, text: pages.files.undo(text),
    ),
    SlashCommand(name="redo", verb="redo_files", run=lambda pages, _: pages.files.redo()),
    SlashCommand(
        name="rules",
        help="rules of the project and your own: why each is in force",
        run=lambda pages, _: pages.rules.open(),
    ),
    SlashCommand(name="init", verb="init_context", run=lambda pages, _: pages.command("init_context")),
    SlashCommand(
        name="review",
        hint="[branch|commit]",
        verb="review",
        run=lambda pages, text: pages.command("review", what=text),
    ),
    SlashCommand(
        name="btw",
        hint="question",
        verb="ask_beside",
        run=lambda pages, text: pages.beside.ask(text),
    ),
    SlashCommand(
        name="handoff",
        hint="goal",
        help="a new session with what its goal needs of this one",
        run=lambda pages, text: pages.beside.hand_over(text),
    ),
    SlashCommand(
        name="plan",
        hint="[prompt]",
        verb="set_plan_mode",
        run=lambda pages, text: pages.plans.toggle(text),
    ),
    SlashCommand(
        name="todos",
        help="what is to be done: states, texts, new items",
        run=lambda pages, _: pages.todos.open(),
    ),
    SlashCommand(name="pending", verb="list_pending", run=lambda pages, _: pages.pending.open()),
    SlashCommand(
        name="diff",
        hint="[session|prompt|git]",
        verb="get_diff",
        run=lambda pages, text: pages.diff.open(text or "session"),
    ),
    SlashCommand(
        name="map",
        hint="[path]",
        help="the map of the repository, or of a file or folder",
        run=_map,
    ),
    SlashCommand(
        name="jobs",
        verb="list_jobs",
        run=lambda pages, _: pages.jobs.open(pages.action_table.key_of("app.tools.background")),
    ),
    SlashCommand(
        name="mcp",
        hint="[list | test | enable | disable | restart | login | logout | logs | remove] [name]",
        help="MCP servers: how they stand, their tools, sign in",
        run=lambda pages, text: pages.mcp.open(text),
    ),
    SlashCommand(
        name="kernel",
        hint="[restart|run file]",
        help="the Python of `$` and eval, its names",
        run=lambda pages, text: pages.kernel.open(text),
    ),
    SlashCommand(name="kill", hint="job", verb="kill_job", run=lambda pages, text: pages.jobs.kill(text)),
    SlashCommand(
        name="pin",
        hint="job",
        verb="pin_job",
        run=lambda pages, text: pages.jobs.pin(text),
    ),
    SlashCommand(name="copy", help="copy the last answer", run=_copy),
    SlashCommand(
        name="export",
        hint="[file]",
        help="write the session as HTML, .md or .jsonl",
        run=lambda pages, text: pages.sessions.export(text),
    ),
    SlashCommand(
        name="import",
        hint="file",
        help="copy a session file in and go on with it",
        run=lambda pages, text: pages.sessions.import_file(text),
    ),
    SlashCommand(
        name="extensions",
        help="which extensions run, and what is wrong",
        run=lambda pages, _: pages.show_extensions(),
    ),
    SlashCommand(
        name="settings", help="all settings, changed in place", run=lambda pages, _: pages.settings.open()
    ),
    SlashCommand(
        name="permissions",
        hint="[mode]",
        help="what runs without a question, and why",
        run=lambda pages, text: pages.permissions.open(text),
    ),
    SlashCommand(name="secrets", verb="get_secrets", run=lambda pages, _: pages.secrets.open()),
    SlashCommand(name="unmask", verb="unmask", run=lambda pages, _: pages.secrets.unmask()),
    SlashCommand(
        name="sandbox",
        hint="[auto|off|required]",
        help="what commands can write and reach",
        run=lambda pages, text: pages.permissions.sandbox.open(text),
    ),
    SlashCommand(
        name="theme", hint="[name]", help="choose a theme", run=lambda pages, text: pages.themes.choose(text)
    ),
    SlashCommand(
        name="trust", help="whether this folder's own parts are used", run=lambda pages, _: pages.ask_trust()
    ),
    SlashCommand(
        name="login",
        hint="[provider]",
        help="connect a provider: key or account",
        run=lambda pages, text: pages.login.connect(text),
    ),
    SlashCommand(
        name="logout",
        hint="[provider]",
        help="forget a stored key",
        run=lambda pages, text: pages.login.forget(text),
    ),
    SlashCommand(
        name="reload",
        help="read files again: context, skills, extensions, keys, themes",
        run=lambda pages, _: pages.reload(),
    ),
    SlashCommand(
        name="hotkeys",
        help="all keys; {key} gives an action another",
        key=("tui.select.confirm", "Enter"),
        run=lambda pages, _: pages.keys.open(),
    ),
    SlashCommand(name="keys", help="the same as /hotkeys", run=lambda pages, _: pages.keys.open()),
    SlashCommand(name="help", help="all commands", run=_help),
    SlashCommand(name="quit", help="leave bayou", run=_quit),
)
BY_NAME = {command.name: command for command in COMMANDS}


def command_names(session: Session, key_told: KeyTold) -> list[tuple[str, str]]:
    """All that there are, with their meaning: bayou's, then extensions', prompts, skills. The first counts."""
    names = {command.name: command.told(key_told) for command in COMMANDS}
    for other in session.commands():
        names.setdefault(other["name"], other.get("description", ""))
    return list(names.items())
