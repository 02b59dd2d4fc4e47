"""The application that shows a batch of runs: its table, and the conversations and changes that a person opens from
it."""

import asyncio
import os
from collections.abc import Awaitable, Iterator
from pathlib import Path

from textual import on
from textual.app import App
from textual.filter import LineFilter

from app.batch.patches import AppliedPatch, apply_run_patch, push_run_patch, read_run_patch
from app.batch.results import resolve_file_in_batch
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.themes import find_themes
from app.tui.batch.batch_screen import (
    BATCH_APPLY_PATCH_ACTION,
    BATCH_LEAVE_ACTION,
    BATCH_OPEN_RUN_ACTION,
    BATCH_PAUSE_ACTION,
    BATCH_PUSH_PATCH_ACTION,
    BATCH_SHOW_PATCH_ACTION,
    BATCH_STOP_RUN_ACTION,
    BatchScreen,
)
from app.tui.batch.batch_table_data import BatchTableData
from app.tui.batch.run_conversation import BatchRunConversation
from app.tui.current_theme import (
    DARK,
    TERMINAL_PALETTE_THEME,
    load_theme,
    resolve_theme_name,
    select_line_filters,
)
from app.tui.keys.keymap import make_key_binding_group, read_user_key_map
from app.values.user_errors import UserError
from bayou.batch import BatchResult
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Card, DiffBlock, TextBlock
from widgets.lists.row_list import RowList
from widgets.screens.block import BlockScreen
from widgets.screens.conversation_screen import AgentConversationScreen
from widgets.screens.dialogs import ConfirmScreen
from widgets.screens.picker import PickerScreen
from widgets.textual_internals import ClosableModalScreen
from widgets.themes import default_style_variables
from widgets.transcript.transcript_blocks import CardState, ToolCallBlock
from widgets.transcript.view import Transcript


class BatchApp(App[None]):
    """The full-screen application for `bayou batch`: shows one batch until the person leaves it."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "bayou batch"

    def __init__(self, view: BatchTableData, paths: BayouPaths) -> None:
        super().__init__(css_path=[str(path) for path in sorted(shipped_styles_dir().glob("*.tcss"))])
        self.view = view
        self._paths = paths
        self._batch_screen = BatchScreen(view)
        self._running_tasks: set[asyncio.Task[None]] = set()
        themes = find_themes(paths, is_trusted=False)
        wanted = EffectiveSettings(paths).settings.display.theme
        for name in (TERMINAL_PALETTE_THEME if self.no_color else resolve_theme_name(wanted), DARK):
            theme = load_theme(themes, name)[1]
            if theme is not None:
                self.register_theme(theme)
                self.theme = theme.name
                break

    def get_line_filters(self) -> list[LineFilter]:
        filters = super().get_line_filters()
        return list(select_line_filters(filters, no_color=self.no_color, is_ansi=self.native_ansi_color))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def on_mount(self) -> None:
        place = make_key_binding_group(
            "a batch",
            BatchScreen.BINDINGS,
            PickerScreen.BINDINGS,
            RowList.BINDINGS,
            ClosableModalScreen.BINDINGS,
        )
        self.set_keymap(read_user_key_map(self._paths.keybindings_file, (place,)).keys_by_action)
        self.push_screen(self._batch_screen)

    @on(Transcript.CopyRequested)
    def _copy_text(self, message: Transcript.CopyRequested) -> None:
        self.copy_to_clipboard(message.text)

    @on(PickerScreen.ActionRequested)
    def _handle_request(self, request: PickerScreen.ActionRequested) -> None:
        if request.action == BATCH_LEAVE_ACTION:
            self._leave_or_confirm()
        elif request.action == BATCH_PAUSE_ACTION:
            self._toggle_pause()
        elif request.row is not None:
            self._run_action(request.action, request.row.id)

    def _run_action(self, action: str, key: str) -> None:
        result, pool = self.view.find_result(key), self.view.pool
        if action == BATCH_OPEN_RUN_ACTION:
            self._open_run(key)
        elif action == BATCH_STOP_RUN_ACTION:
            if pool is not None:
                pool.stop_run(key)
        elif result is None:
            self._batch_screen.show_note("the run is still in progress")
        elif action == BATCH_SHOW_PATCH_ACTION:
            self._show_patch(result)
        elif action == BATCH_APPLY_PATCH_ACTION:
            self._run_in_background(self._apply_patch_of(result))
        elif action == BATCH_PUSH_PATCH_ACTION:
            self._run_in_background(self._push_patch_of(result))

    def _toggle_pause(self) -> None:
        pool = self.view.pool
        if pool is not None and self.view.is_running:
            pool.pause(not pool.is_paused)
            self._batch_screen.show_note("paused: running runs continue" if pool.is_paused else "")

    def _leave_or_confirm(self) -> None:
        pool = self.view.pool
        if pool is None or not self.view.is_running:
            self.exit()
        elif pool.stopped_by is None:
            text = f"{len(pool.running)} runs are in progress. Run the same command to continue later."
            self.push_screen(
                ConfirmScreen("Stop the batch?", text, yes="stop", no="go on", is_dangerous=True),
                self._stop_if_confirmed,
            )

    def _stop_if_confirmed(self, is_meant: bool | None) -> None:
        if is_meant and self.view.pool is not None:
            self.view.pool.stop("interrupted")

    def _open_run(self, key: str) -> None:
        view = self.view
        ended = view.find_result(key)
        if ended is not None and ended.session is None:
            self._batch_screen.show_note(f"no session: {one_line(ended.reason)[:60]}")
            return
        if ended is not None and ended.session is not None:
            try:
                resolve_file_in_batch(view.batch_folder, ended.session)
            except UserError as problem:
                self._batch_screen.show_note(one_line(str(problem)))
                return

        async def session() -> Path | None:
            if (run := view.find_running_batch_run(key)) is not None:
                return await run.live_session_file()
            result = view.find_result(key)
            if result is None or not result.session:
                return None
            return resolve_file_in_batch(view.batch_folder, result.session)

        def footer() -> str:
            if (run := view.find_running_batch_run(key)) is not None:
                return f"running · {one_line(run.state.line)[:80]}"
            result = view.find_result(key)
            return (
                ""
                if result is None
                else one_line(" · ".join(filter(None, (result.outcome, result.reason))))[:100]
            )

        def stop() -> None:
            if view.pool is not None:
                view.pool.stop_run(key)

        conversation = BatchRunConversation(
            key,
            session=session,
            footer=footer,
            is_running=lambda: view.find_running_batch_run(key) is not None,
            stop=stop,
        )
        self.push_screen(AgentConversationScreen(conversation))

    def _show_patch(self, result: BatchResult) -> None:
        try:
            patch = read_run_patch(self.view.batch_folder, result).decode("utf-8", "replace")
        except UserError as problem:
            self._batch_screen.show_note(str(problem))
            return
        card = Card(title="changes", subject=one_line(result.key), blocks=tuple(_patch_blocks(patch)))
        self._show_card("Changes", card)

    def _show_card(self, title: str, card: Card, state: CardState = CardState.DONE) -> None:
        block = ToolCallBlock(id="card", card=card, state=state)
        self.push_screen(BlockScreen(title, lambda: block))

    async def _apply_patch_of(self, result: BatchResult) -> None:
        applied: AppliedPatch = await apply_run_patch(self.view.batch_folder, result, self._paths)
        self._batch_screen.show_note(applied.text)
        if applied.conflicts:
            blocks = [
                TextBlock(text=escape_controls(f"{conflict.path}\n{conflict.text}"))
                for conflict in applied.conflicts
            ]
            subject = one_line(applied.text)
            card = Card(title="conflicts", subject=subject, blocks=tuple(blocks))
            self._show_card("Conflicts", card, CardState.FAILED)

    async def _push_patch_of(self, result: BatchResult) -> None:
        self._batch_screen.show_note("pushing…")
        self._batch_screen.show_note(await push_run_patch(self.view.batch_folder, result, self._paths))

    def _run_in_background(self, work: Awaitable[None]) -> None:
        async def do() -> None:
            try:
                await work
            except UserError as problem:
                self._batch_screen.show_note(str(problem))

        self._running_tasks.add(task := asyncio.ensure_future(do()))
        task.add_done_callback(self._running_tasks.discard)


def _patch_blocks(patch: str) -> Iterator[DiffBlock | TextBlock]:
    """Yields a transcript block for each file of a git patch."""
    for part in f"\n{patch}".split("\ndiff --git ")[1:]:
        head, mark, hunks = part.partition("\n@@ ")
        path = one_line(head.split("\n", 1)[0].rpartition(" b/")[2])
        if not mark:
            yield TextBlock(text=escape_controls(f"{path}: {' · '.join(head.split(os.linesep)[1:3])}"))
            continue
        text = escape_controls(f"@@ {hunks}")
        lines = text.split("\n")
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        yield DiffBlock(path=path, diff=text, added=added, removed=removed)
