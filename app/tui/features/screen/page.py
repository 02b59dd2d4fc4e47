"""The page for actions of the screen itself (leaving, reloading files) and for session commands without a page."""

from typing import Any

from app.tui.feature import FeatureServices
from app.tui.features.extensions.feature import TRUST_FEATURE
from app.tui.features.leave_confirmation import LeaveSessionConfirmation
from app.tui.features.screen.stop_and_exit_keys import StopAndExitKeys
from app.tui.features.sessions.feature import SESSIONS_FEATURE
from app.tui.features.tree.feature import SESSION_TREE_FEATURE
from app.tui.prompt.queued_messages import QueuedMessageActions
from widgets.transcript.transcript_blocks import AppNoteKind


class AppActionsPage:
    """Runs the actions of the screen itself, such as leaving, and session commands without a page."""

    def __init__(self, screen: FeatureServices, queued: QueuedMessageActions) -> None:
        self.screen = screen
        self.stop_or_leave = StopAndExitKeys(
            screen.session,
            screen.editor,
            take_back_queued=queued.move_queue_to_editor,
            on_second_escape=self._run_second_escape_action,
            leave_app=self.quit_with_confirmation,
            confirm_and_quit=lambda: screen.tasks.run_action_in_background(self._confirm_and_quit()),
            show_temporary_text=screen.status.show_temporary_status,
            copy=screen.copy,
            add_to_history=screen.project_history.add_prompt,
            spawn=screen.tasks.spawn,
            clock=screen.clock,
            can_clear_key_stop=lambda: screen.assembled.effective_settings.settings.interaction.ctrl_c_stops,
        )

    def clear_or_leave(self, action: str) -> None:
        """Copies the selection, clears the editor or leaves bayou, whichever applies first. `action`: the action whose
        key was pressed."""
        self.stop_or_leave.copy_clear_or_leave(
            self.screen.action_table.key_of(action), self.screen.front_screen()
        )

    def quit_with_confirmation(self) -> None:
        """Leaves bayou; asks first if jobs would end."""
        if self.screen.session.jobs.running_jobs():
            self.screen.tasks.run_action_in_background(self._confirm_and_quit())
        else:
            self.screen.leave_app()

    async def _confirm_and_quit(self) -> None:
        if await LeaveSessionConfirmation(self.screen.session, self.screen.ask).confirm_quit():
            self.screen.leave_app()

    def _run_second_escape_action(self) -> None:
        match self.screen.assembled.effective_settings.settings.interaction.double_escape_action:
            case "tree":
                self.screen.tasks.run_action_in_background(self.screen.page(SESSION_TREE_FEATURE).open())
            case "fork":
                self.screen.tasks.run_action_in_background(
                    self.screen.page(SESSIONS_FEATURE).fork_at_prompt()
                )
            case "none":
                pass

    async def run_session_command(self, name: str, **given: Any) -> Any:
        """Runs the session command with this name and returns its result."""
        from app.engine.commands.command_table import COMMANDS  # noqa: PLC0415  (the first paint needs none)

        return await COMMANDS[name](self.screen.session, **given)

    async def continue_tour(self) -> None:
        """Asks the offline guide for the next page of its tour; with another model says how to get the guide."""
        from app.providers.offline.answers import next_tour_request  # noqa: PLC0415  (the first paint needs none)

        session = self.screen.session
        if session.model is None or session.model.api != "offline":
            self.screen.show_message("The offline guide gives the tour: /model offline/guide, then /tour.")
            return
        await session.prompt(next_tour_request(session.messages), while_running="follow_up")

    async def reload_files(self) -> None:
        """Reads all of the user's and the project's files again: settings, extensions, context, prompts, skills and
        keys."""
        assembled, say = self.screen.assembled, self.screen.show_message
        if (extended := self.screen.connected_extensions()) is not None:
            await extended.reload()
        else:
            assembled.prompt.reload_files()
        self.screen.session.settings.reload_if_changed()
        self.screen.session.models.reread_models_file()
        if assembled.project_trust.decision.needs_answer:
            await self.screen.page(TRUST_FEATURE).open()
        for problem in self.screen.user_keys.apply_key_file():
            say(problem, AppNoteKind.WARNING)
        say("Reloaded context files, skills, prompts, extensions, settings, models, keys and themes.")
