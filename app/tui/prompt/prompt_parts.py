"""The user's input: drafts, history, completion, key bindings, and sending."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from textual.app import App

from app.assembly.assembled_session import AssembledSession
from app.tui.keys.action_table import ActionTable
from app.tui.keys.key_hints import KeyHintUpdater
from app.tui.keys.type_ahead import TypeAheadBuffer
from app.tui.keys.user_keys import UserKeyBindings
from app.tui.page_parts import PageParts
from app.tui.page_protocols import FindProgram
from app.tui.prompt.completions import GetExtensions, make_completion_popup, slash_command_argument_sources
from app.tui.prompt.project_history import ProjectPromptHistory
from app.tui.prompt.prompt_sender import PromptSender
from app.tui.prompt.unsent_draft import UnsentDraft
from widgets.completion.completion_popup import CompletionPopup


class PromptInputParts:
    """Connects the keyboard, the prompt editor and the session of one application: history, drafts, completion,
    sending."""

    def __init__(
        self, app: App[Any], assembled: AssembledSession, page: PageParts, table: ActionTable
    ) -> None:
        session, editor, status = assembled.session, page.editor, page.status
        self._assembled = assembled
        self._page = page
        self._table = table
        self.unsent_draft = UnsentDraft(session, lambda: (editor.text, editor.attachments))
        self.project_history = ProjectPromptHistory(
            assembled.prompt.paths,
            most_prompts=lambda: assembled.effective_settings.settings.editor.history_size,
        )
        self.key_texts = KeyHintUpdater(
            table.key_of,
            is_read_only=lambda: session.state.is_read_only,
            editor=editor,
            queue_view=page.queue_view,
            presenter=page.presenter,
        )
        self.user_keys = UserKeyBindings(
            assembled.prompt.paths.keybindings_file,
            table,
            app,
            page.presenter.add_note,
            show_chord=lambda text: (
                status.show_temporary_status(text, is_hints=True) if text else status.restore_activity()
            ),
            on_changed=self.key_texts.update_all,
        )
        self.type_ahead = TypeAheadBuffer(app, page.tasks)

    def make_sender(
        self,
        *,
        may_begin: Callable[[], Awaitable[object]],
        run_slash_command: Callable[[str], Awaitable[bool]],
        note: Callable[[str], Awaitable[str]],
    ) -> PromptSender:
        """Creates the sender of prompts. `run_slash_command` runs a slash command; `note` saves a note."""
        session, page = self._assembled.session, self._page
        return PromptSender(
            session,
            session.cells,
            page.editor,
            page.presenter,
            page.status,
            self.unsent_draft,
            settings=lambda: self._assembled.effective_settings.settings,
            wait_until_ready=may_begin,
            expand_suggestion=page.first_screen.expand_suggestion,
            run_slash_command=run_slash_command,
            save_note=note,
            key_label=self._table.key_label,
            slash_command_descriptions=self._table.slash_command_descriptions,
        )

    def completion_popup(
        self,
        *,
        hints: Mapping[str, str],
        themes: Callable[[], Sequence[str]],
        extended: GetExtensions,
        find_program: FindProgram,
    ) -> CompletionPopup:
        """Creates the editor's completion list. `hints`: argument names of bayou's commands."""
        session = self._assembled.session
        return make_completion_popup(
            self._page.editor,
            lambda: session.cwd,
            self.project_history,
            added=lambda: session.folders.all_folders,
            slash_command_descriptions=self._table.slash_command_descriptions,
            hints=hints,
            arguments=slash_command_argument_sources(session, self._assembled.model_choice, themes),
            extended=extended,
            find_program=find_program,
            maps=session.repository,
            cells=session.cells,
            servers=session.mcp,
            max_rows=self._assembled.effective_settings.settings.editor.autocomplete_max_visible,
        )
