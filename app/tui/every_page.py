"""The pages of one application: each is made, with what it needs, when it is first asked for.

What keys (`keys.page_keys`) and commands (`slash`) reach for is here by name. Nothing here decides; and no page knows
of this: each is handed what it takes. Pages and their screens are imported when one opens: at the start nobody waits
for them.
"""

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from app.tui.features.pending.questions import StagedQuestions
from app.tui.features.permissions.approvals import Approvals
from app.tui.keys.leaving import StopOrLeave
from app.tui.keys.run_keys import RunKeys
from app.tui.prompt.from_elsewhere import editor_wanted
from app.tui.prompt.queued_messages import QueuedMessages
from app.tui.slash import command_of
from app.tui.terminal.suspending import suspend
from app.values.messages import CustomMessage
from widgets.terminal.terminal_manners import editor_command, open_externally
from widgets.transcript.blocks import NoteKind

# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from app.resources.trust.project_trust import Question
    from app.tui.app import BayouApp


class Pages:
    def __init__(self, app: "BayouApp") -> None:
        self._app = app
        self._paths = app.assembled.prompt.paths
        self._ask, self._say = app.screens.ask, app.presenter.note
        self._copy = app.system_clipboard.copy
        self._session = app.session
        self.action_table, self._key_told = app.action_table, app.action_table.key_told
        self.transcript, self.search_bar = app.transcript, app.search_bar
        self.suspend = partial(suspend, app, self._say)
        self.queued = QueuedMessages(app.session, app.queue_view, app.editor, self._say)
        self.approvals = Approvals(
            app.session.permissions,
            app.approval_bar,
            app.editor,
            preview=app.session.previews.of,
            show_screen=self._ask,
            say=self._say,
            told=app.notifications.asked,
            key_told=self._key_told,
        )
        self.staged = StagedQuestions(app.session, self.approvals, self._say, app.tasks.spawn)
        self.todo_list, self.side_lists = app.todo_list, app.side_lists
        self.run = RunKeys(app.session, app.presenter, app.transcript, self._copy, self._key_told)
        self.leaving = StopOrLeave(
            app.session,
            app.editor,
            take_back=self.queued.take_back,
            on_second_escape=self._second_escape,
            end=self.leave,
            tell=app.status.tell,
            copy=self._copy,
            remember=app.remembered.add_prompt,
            spawn=app.tasks.spawn,
            clock=lambda: app.clock(),
        )

    # What several of them are handed

    @property
    def screen(self) -> Screen[Any]:
        """The one in front."""
        return self._app.screen

    def leave(self) -> None:
        self._app.exit(0)

    def _write(self, text: str, *, focus: bool = False) -> None:
        self._app.editor.set_text(text)
        if focus:
            self._app.editor.focus()

    def _edit(self, path: Path, line: int = 1) -> str:
        app = self._app
        program = editor_command(editor_wanted(app.assembled), app.program_env)
        return open_externally(app, path, line, program, app.program_env)

    def _under_way(self, text: str) -> None:
        if not text:
            self._app.presenter.summary_card.end()
        self._app.status.say_stoppable(text)

    def _second_escape(self) -> None:
        match self._app.assembled.settings.interaction.double_escape_action:
            case "tree":
                self._app.tasks.choose(self.tree.open())
            case "fork":
                self._app.tasks.choose(self.sessions.fork())
            case "none":
                pass

    # The pages

    @cached_property
    def models(self):
        from app.tui.features.models.page import ModelPage, look_up

        app, choice = self._app, self._app.models
        return ModelPage(
            self._session,
            choice,
            self._ask,
            self._say,
            self.settings.keep,
            self._key_told,
            connect=self.login.connect,
            look_up=lambda provider: look_up(
                choice,
                provider,
                agent_dir=self._paths.agent_dir,
                proxy=app.assembled.settings.network.http_proxy,
            ),
        )

    @cached_property
    def login(self):
        from app.providers.contract import StreamOptions
        from app.providers.signin.checking import KeyChecker
        from app.tui.features.login.page import LoginPage

        app, models = self._app, self._app.models
        network = lambda: app.assembled.settings.network  # noqa: E731
        check = KeyChecker(
            models.catalogue,
            app.assembled.registry,
            lambda: None if network().offline else StreamOptions(proxy=network().http_proxy),
        )
        return LoginPage(models.credentials, lambda: models.catalogue.providers, self._ask, self._say, check)

    @cached_property
    def resuming(self):
        from app.tui.features.sessions.resuming import Resuming

        app = self._app
        return Resuming(
            self._session,
            app.assembled.places,
            self._ask,
            self._say,
            enter=app.assembled.ground.enter,
            home=app.home,
        )

    @cached_property
    def sessions(self):
        from app.tui.features.sessions.page import SessionsPage

        app = self._app
        return SessionsPage(
            self._session,
            app.assembled.places,
            self._ask,
            self._say,
            self._write,
            self._key_told,
            go_on=self.resuming.open,
            bring_in=self.resuming.bring_in,
            read_texts=app.session_texts.read,
            spawn=app.tasks.spawn,
            home=app.home,
        )

    @cached_property
    def kernel(self):
        from app.tui.features.kernel.page import KernelPage

        return KernelPage(self._session.cells, self._ask, self._say, lambda: self._session.cwd)

    @cached_property
    def files(self):
        from app.tui.features.undo.page import FilesPage

        return FilesPage(self._session, self._ask, self._say)

    @cached_property
    def diff(self):
        from app.tui.features.diff.page import DiffPage

        return DiffPage(self._session, self._ask, self._copy, edit=self._edit)

    @cached_property
    def tree(self):
        from app.tui.features.tree.page import TreePage

        return TreePage(
            self._session,
            self._ask,
            self._say,
            self._write,
            self._copy,
            files=self.files,
            under_way=self._under_way,
            settings=lambda: self._app.assembled.settings,
            clock=self._app.clock,
        )

    @cached_property
    def context(self):
        from app.tui.features.context.page import ContextPage

        return ContextPage(
            self._session, self._ask, self._say, self._write, self._key_told, under_way=self._under_way
        )

    @cached_property
    def usage(self):
        from app.tui.features.usage.page import UsagePage

        app = self._app
        return UsagePage(app.assembled.places, self._paths.cache_dir, self._ask, home=app.home)

    @cached_property
    def jobs(self):
        from app.tui.features.jobs.page import JobsPage

        return JobsPage(self._session, self._ask, self._say, self._copy)

    @cached_property
    def pending(self):
        from app.tui.features.pending.page import PendingPage

        return PendingPage(self._session, self._ask, self._say)

    @cached_property
    def todos(self):
        from app.tui.features.todos.page import TodosPage

        return TodosPage(self._session, self._ask, self._say)

    @cached_property
    def beside(self):
        from app.tui.features.beside.page import BesidePage

        return BesidePage(self._session, self._ask, self._say)

    @cached_property
    def notes(self):
        from app.tui.features.notes.page import NotesPage

        prompt = self._app.assembled.prompt
        return NotesPage(lambda: prompt.paths, self._ask, self._say, reload=prompt.reload)

    @cached_property
    def rules(self):
        from app.tui.features.rules.page import RulesPage

        assembled = self._app.assembled
        return RulesPage(
            lambda: assembled.prompt.paths,
            self._ask,
            self._say,
            settings=lambda: assembled.settings.rules,
            is_trusted=lambda: assembled.trust.is_trusted,
        )

    @cached_property
    def plans(self):
        from app.tui.features.todos.plans import PlansPage

        return PlansPage(
            self._session, self._ask, self._say, told=self._app.notifications.asked, clock=self._app.clock
        )

    @cached_property
    def mcp(self):
        from app.tui.features.mcp.page import McpPage

        app, servers = self._app, self._session.mcp
        told, spawn = app.notifications.asked, app.tasks.spawn
        return McpPage(servers, self._ask, self._say, told, edit=self._edit, spawn=spawn, clock=app.clock)

    @cached_property
    def permissions(self):
        from app.tui.features.permissions.page import PermissionsPage

        return PermissionsPage(self._session.permissions, self._ask, self._say, self.settings.keep)

    @cached_property
    def secrets(self):
        from app.tui.features.secrets.page import SecretsPage

        return SecretsPage(self._session.secrets, self._session.unmask, self._ask, self._say)

    @cached_property
    def blocks(self):
        from app.tui.extensions.overlay import show_widget_of
        from app.tui.features.blocks.page import BlockPage

        session, renderers = self._session, self._app.presenter.renderers
        return BlockPage(
            self.transcript,
            self._ask,
            self._write,
            self._copy,
            cwd=session.cwd,
            show_widget=lambda block_id: show_widget_of(block_id, session.log, renderers, self._ask),
        )

    @cached_property
    def map(self):
        from app.tui.features.map.page import MapPage

        return MapPage(
            self._session.repository,
            self._ask,
            self._say,
            self._write,
            self._copy,
            cwd=lambda: self._session.cwd,
            open_file=self._open_file,
        )

    @cached_property
    def sent_map(self):
        from app.tui.features.map.sent import SentMap

        return SentMap(
            self._session.repository,
            self._ask,
            self._say,
            cwd=lambda: self._session.cwd,
            send=self._steer,
            send_outline=lambda path: self._session.prompt(f"/map {path}"),
            permissions=self._session.permissions,
        )

    def _open_file(self, path: str, line: int) -> None:
        if problem := self._edit(self._session.cwd / path, line):
            self._say(problem, NoteKind.ERROR)

    def _steer(self, message: CustomMessage) -> None:
        self._app.tasks.spawn(self._session.send(message, deliver_as="steer"))

    @cached_property
    def keys(self):
        from app.tui.features.keys.page import KeysPage
        from app.tui.keys.doing import do_action

        app, own = self._app, self._app.own_keys
        do = partial(do_action, app, (app, app.editor, app.transcript))
        return KeysPage(self.action_table, self._ask, self._write, file=own.file, read_again=own.read, do=do)

    @cached_property
    def settings(self):
        from app.tui.features.settings.own_shell import OwnShellPage
        from app.tui.features.settings.page import SettingsPage

        own_shell = OwnShellPage(self._session.own_shell, self._ask)
        return SettingsPage(self._app.assembled.in_force, self._ask, {"bash.ownShell": own_shell})

    @cached_property
    def themes(self):
        from app.tui.features.settings.page import ThemePage

        return ThemePage(self._app.look, self._ask, self.settings.keep)

    # Single questions and commands

    async def command(self, name: str, **given: Any) -> Any:
        """One of the session's own."""
        from app.engine.commands.table import COMMANDS

        return await COMMANDS[name](self._session, **given)

    async def run_slash(self, text: str) -> bool:
        """Carries out `/name argument`; False when there is no such command and the text is a prompt."""
        found = command_of(text)
        if found is None:
            return False
        command, argument = found
        await self._app.tasks.chosen(command.run(self, argument))
        return True

    async def ask_trust(self, *, is_asked_for: bool = True) -> None:
        from app.tui.features.trust.page import ask_trust

        app, say = self._app, self._say

        async def apply(question: "Question", is_trusted: bool) -> bool:
            if app.extended is None:
                return False
            await app.extended.trust(question, is_trusted)
            return True

        await ask_trust(
            self._paths,
            app.assembled.trust.question,
            self._ask,
            say,
            apply,
            home=app.home,
            clock=app.clock,
            is_asked_for=is_asked_for,
        )

    async def show_extensions(self) -> None:
        from app.tui.features.extensions.page import show_extensions

        extended = self._app.extended
        await show_extensions(extended.extensions.status() if extended is not None else (), self._ask)

    async def reload(self) -> None:
        """Everything that files say."""
        app = self._app
        if app.extended is not None:
            await app.extended.reload()
        else:
            app.assembled.prompt.reload()
        app.session.settings.look()
        if app.assembled.trust.needs_answer:
            await self.ask_trust()
        for problem in app.own_keys.read():
            self._say(problem, NoteKind.WARNING)
        self._say("Context files, skills, prompts, extensions, settings, keys and themes were read again.")
