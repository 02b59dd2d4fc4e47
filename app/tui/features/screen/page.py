"""Actions of the screen itself: leaving, reloading files, and session commands that have no page."""

from typing import Any

from app.tui.feature import FeatureServices
from app.tui.features.ending_jobs import EndingWork
from app.tui.features.extensions.feature import TRUST
from app.tui.features.screen.stop_or_leave import StopOrLeave
from app.tui.features.sessions.feature import SESSIONS
from app.tui.features.tree.feature import TREE
from app.tui.prompt.queued_messages import QueuedMessages
from widgets.transcript.blocks import NoteKind


class ScreenPage:
    """Runs actions of the screen itself and commands without a page."""

    def __init__(self, screen: FeatureServices, queued: QueuedMessages) -> None:
        self.screen = screen
        self.leaving = StopOrLeave(
            screen.session,
            screen.editor,
            take_back=queued.take_back,
            on_second_escape=self._second_escape,
            end=self.quit,
            ask_and_end=lambda: screen.tasks.choose(self._ask_and_quit()),
            tell=screen.status.tell,
            copy=screen.copy,
            remember=screen.remembered.add_prompt,
            spawn=screen.tasks.spawn,
            clock=screen.clock,
            clear_stops=lambda: screen.assembled.effective_settings.settings.interaction.ctrl_c_stops,
        )

    def clear(self, action: str) -> None:
        """Copies the selection, clears the editor or leaves. `action`: the action whose key was
        pressed."""
        self.leaving.clear(self.screen.action_table.key_of(action), self.screen.front())

    def quit(self) -> None:
        """Leaves bayou; asks first if jobs would end."""
        if self.screen.session.jobs.running():
            self.screen.tasks.choose(self._ask_and_quit())
        else:
            self.screen.leave()

    async def _ask_and_quit(self) -> None:
        if await EndingWork(self.screen.session, self.screen.ask).may_quit():
            self.screen.leave()

    def _second_escape(self) -> None:
        match self.screen.assembled.effective_settings.settings.interaction.double_escape_action:
            case "tree":
                self.screen.tasks.choose(self.screen.page(TREE).open())
            case "fork":
                self.screen.tasks.choose(self.screen.page(SESSIONS).fork())
            case "none":
                pass

    async def command(self, name: str, **given: Any) -> Any:
        """Runs a command of the session by its name."""
        from app.engine.commands.command_table import COMMANDS  # noqa: PLC0415  (the first paint needs none)

        return await COMMANDS[name](self.screen.session, **given)

    async def reload(self) -> None:
        """Reads all files again: settings, extensions, context, prompts, skills and keys."""
        assembled, say = self.screen.assembled, self.screen.say
        if (extended := self.screen.extended()) is not None:
            await extended.reload()
        else:
            assembled.prompt.reload()
        self.screen.session.settings.look()
        self.screen.session.models.reread()
        if assembled.project.decision.needs_answer:
            await self.screen.page(TRUST).open()
        for problem in self.screen.user_keys.read():
            say(problem, NoteKind.WARNING)
        say("Reloaded context files, skills, prompts, extensions, settings, models, keys and themes.")
