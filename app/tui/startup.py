"""The start of the page: as little as possible before the first paint, the rest after it. Saves the empty page as the
next start's launch frame."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.command_line_prompt import CommandLinePrompts
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.session import Session
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.resources import launch_frame
from app.resources.launch_frame import LaunchFrame
from app.resources.paths import BayouPaths
from app.tui.display_settings import DisplaySettingsApplier
from app.tui.features.extensions.feature import TRUST_FEATURE
from app.tui.features.goal.feature import GOAL_FEATURE
from app.tui.features.permissions.feature import APPROVALS_FEATURE
from app.tui.features.sessions.feature import RESUME_FEATURE, SESSIONS_FEATURE
from app.tui.features.todos.feature import TODO_BAR_FEATURE
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import textual_key_spelling
from app.tui.page_protocols import KeyLabel
from app.tui.status import header_and_footer as bars
from app.values.content import Image
from widgets.editor.prompt_editor import PromptEditor
from widgets.textual_internals import node_bindings, render_screen_strips
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions
    from app.tui.app import BayouApp

LoadExtensions = Callable[["BayouApp"], Awaitable["ConnectedExtensions"]]
"""Loads the session's extensions for the full screen."""

MIN_TERMINAL_SIZE = Size(40, 10)
TERMINAL_TOO_SMALL_TEXT = "This terminal is {size.width}x{size.height}: enlarge it to at least 80x24."


class TuiStartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line requests for the start of the full screen, such as a first prompt or the session list."""

    load_extensions: LoadExtensions | None = None
    opens_sessions: bool = False
    """Whether to choose a session first (`--resume`)."""
    indexes_sessions: bool = False
    """Whether to index the texts of all sessions in the background."""
    prompts: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    """Images of the first prompt."""
    typed_text: Callable[[], str] = str
    """Returns the text that was typed before the editor existed."""
    read_first_input: Callable[[CommandLineOptions], CommandLinePrompts] | None = None
    """Reads the first prompt again if words of the command line turn out to be values of
    extension flags."""

    def prepare_first_paint(self, app: "BayouApp") -> None:
        """Prepares the page before its first paint: applies settings and keys, shows the session with its warnings, and
        restores the unsent draft."""
        DisplaySettingsApplier(
            header=app.page.header,
            transcript=app.transcript,
            editor=app.editor,
            status=app.status,
            feature_register=app.feature_register,
            current_theme=app.theme_control,
            show_message=app.presenter.add_note,
            env=app.env,
        ).apply_and_follow(app.assembled.effective_settings)
        if app.theme_problem:
            app.presenter.add_note(app.theme_problem, AppNoteKind.WARNING)
        key_problems = app.prompt.user_keys.apply_key_file()
        app.session.subscribe(app.presenter.show_event)
        app.presenter.rebuild_transcript()
        if app.session.log.entries:
            app.feature_register.page(TODO_BAR_FEATURE).show()
        if app.session.goal.is_set:
            app.feature_register.page(GOAL_FEATURE).poll_goal_files()
        if app.session.model is not None and bars.is_offline(app.session.model):
            app.presenter.show_welcome_page()
        if app.size.width < MIN_TERMINAL_SIZE.width or app.size.height < MIN_TERMINAL_SIZE.height:
            app.presenter.add_note(TERMINAL_TOO_SMALL_TEXT.format(size=app.size), AppNoteKind.WARNING)
        for text in (*app.assembled.problems, *key_problems):
            app.presenter.add_note(text, AppNoteKind.WARNING)
        app.editor.focus()
        if (draft := app.prompt.unsent_draft.restore()) is not None:
            app.editor.reset(draft)
        if typed := self.typed_text():
            app.editor.insert(typed)
        app.status.refresh()
        app.status.show_map_building_progress(asyncio.get_running_loop())

    async def complete_start_after_paint(self, app: "BayouApp") -> None:
        """Completes the start after the first paint: loads extensions, imports what the model needs, then does what the
        command line requests."""
        app.page.garbage_scheduler.freeze_startup_objects()
        app.presenter.show_welcome_page()
        app.presenter.show_earlier_blocks()
        app.tasks.spawn(asyncio.to_thread(app.theme_control.save_parsed_style_rules))
        app.tasks.spawn(_check_sandbox_support(app.session.permissions, app.status.refresh))
        _save_launch_frame(app)
        if _needs_session_question(app) and not await app.feature_register.page(
            RESUME_FEATURE
        ).ask_about_started_session(app.assembled.lock_error, app.assembled.start_folder):
            app.exit(0)
            return
        listed = None
        if self.opens_sessions and not app.assembled.project_trust.decision.needs_answer:
            listed = asyncio.ensure_future(
                app.tasks.run_action(app.feature_register.page(SESSIONS_FEATURE).open(app.is_ready))
            )
            shown = asyncio.ensure_future(
                app.feature_register.page(SESSIONS_FEATURE).first_shown_event.wait()
            )
            await asyncio.wait({listed, shown}, return_when=asyncio.FIRST_COMPLETED)
            shown.cancel()
        await self._load_prompt_history(app)
        given = CommandLinePrompts(prompts=self.prompts, images=self.images)
        if self.load_extensions is not None:
            extended = await self.load_extensions(app)
            connect_loaded_extensions(app, extended)
            if self.read_first_input is not None and extended.options.extension_flags:
                given = self.read_first_input(extended.options)
        app.assembled.working_folder.subscribe(partial(self._update_after_folder_change, app))
        import_model_modules_in_background(app)
        app.theme_control.watch_theme_file()
        app.terminal.title.show_title_state()
        app.tasks.spawn(app.status.update_git_state())
        app.is_ready.set()
        servers = app.session.mcp
        servers.connect_new_servers()
        app.tasks.spawn(app.page.first_screen.load(app.presenter.update_welcome_page))
        if (
            self.indexes_sessions and not self.opens_sessions
        ):  # the session list starts it after its first rows
            app.session_texts.index_new_texts()
        if app.assembled.project_trust.decision.needs_answer:
            await app.feature_register.page(TRUST_FEATURE).open(is_asked_for=False)
        if self.opens_sessions:
            await (listed or app.tasks.run_action(app.feature_register.page(SESSIONS_FEATURE).open()))
        for index, prompt in enumerate(given.prompts):
            await app.prompt_sender.send_command_line_prompt(prompt, given.images if index == 0 else ())
            await app.session.wait_until_idle()

    async def _update_after_folder_change(self, app: "BayouApp") -> None:
        """Updates the page after a change of the working folder: history, status, and the project's
        trust."""
        app.prompt.project_history.clear_mentioned_file_scores()
        await self._load_prompt_history(app)
        app.terminal.title.show_title_state()
        app.status.refresh()
        app.tasks.spawn(app.status.update_git_state())
        if app.assembled.project_trust.decision.needs_answer:
            app.tasks.spawn(app.feature_register.page(TRUST_FEATURE).open(is_asked_for=False))

    async def _load_prompt_history(self, app: "BayouApp") -> None:
        """Loads this project's older prompts into the editor's history, and after them drafts that were never sent."""
        prompts = await asyncio.to_thread(app.prompt.project_history.read_prompts)
        abandoned = app.prompt.unsent_draft.take_abandoned_drafts(app.assembled.session_paths.project_folder)
        for draft in abandoned:
            app.prompt.project_history.add_prompt(draft)
        app.editor.history.replace([*prompts, *abandoned, *app.editor.history.entries])
        app.prompt.project_history.merge_mentioned_file_scores(
            await asyncio.to_thread(app.prompt.project_history.read_mentioned_file_scores)
        )
        if abandoned:
            key_label, is_behind = app.action_table.key_label, not app.editor.model.is_blank
            app.presenter.add_note(_unsent_drafts_text(len(abandoned), key_label, is_behind=is_behind))


async def _check_sandbox_support(permissions: PermissionGate, tell: Callable[[], None]) -> None:
    """Checks in the background whether the sandbox is available, for the status line."""
    await asyncio.to_thread(permissions.boxes.probe_system)
    tell()


def _save_launch_frame(app: "BayouApp") -> None:
    """Saves the empty page as the launch frame for the next start in such a terminal, or removes all frames if the
    setting is off."""
    env, cwd, size = app.env, str(app.session.cwd), (app.size.width, app.size.height)
    if not app.assembled.effective_settings.settings.terminal.launch_frame:
        launch_frame.remove_all_launch_frames(env)
    elif (frame := make_launch_frame(app, app.editor, app.theme_control.file, env, cwd)) is not None:
        app.tasks.spawn(asyncio.to_thread(launch_frame.write_launch_frame, frame, size, env, cwd))


def _needs_session_question(app: "BayouApp") -> bool:
    """Returns whether the requested session can continue only after a question to the user: it is locked, or belongs
    elsewhere."""
    log, here = app.session.log, app.assembled
    return (
        here.lock_error is not None or here.start_folder is not None or (log.is_on_disk and log.is_cwd_gone)
    )


def _unsent_drafts_text(count: int, key_label: KeyLabel, *, is_behind: bool) -> str:
    """Returns a message that unsent drafts of the last run are in the prompt history, and the key to reach them.
    `is_behind`: the editor has text, which Up passes first."""
    what = "an unsent draft" if count == 1 else f"{count} unsent drafts"
    search, up = key_label("tui.editor.historySearch", "Ctrl+R"), key_label("tui.editor.cursorUp", "Up")
    if is_behind or not up:
        hint = f": {search} searches it" if search else ""
    else:
        hint = f": press {up}"
    return f"The prompt history has {what} from last time{hint}."


def make_extension_loader(
    assembled: AssembledSession, options: CommandLineOptions, paths: BayouPaths
) -> LoadExtensions:
    """Returns the function that loads the extensions once there is a page."""

    async def load(app: "BayouApp") -> "ConnectedExtensions":
        # imported after the first paint
        from app.assembly.extensions.extension_setup import connect_extensions  # noqa: PLC0415
        from app.tui.extensions.screen_ui import FullScreenExtensionUi  # noqa: PLC0415

        ui = FullScreenExtensionUi(
            app,
            app.page.screens.ask,
            app.presenter.add_note,
            notify_waiting=app.terminal.notifications.notify_question,
            ask_in_bar=app.feature_register.page(APPROVALS_FEATURE).ask,
            is_busy=lambda: app.session.state.is_busy or not app.editor.model.is_blank,
            header=app.page.header,
            transcript=app.transcript,
            prompt_editor=app.editor,
            footer=app.page.footer,
            status=app.status,
            current_theme=app.theme_control,
            raw_input=app.terminal.raw_input,
        )
        return await connect_extensions(
            assembled,
            options,
            paths,
            mode="tui",
            ui=ui,
            shutdown=lambda: app.exit(0),
            reloaded=lambda extended: connect_loaded_extensions(app, extended),
        )

    return load


def connect_loaded_extensions(app: "BayouApp", extended: "ConnectedExtensions") -> None:
    """Connects loaded extensions to the page, the first time and after every reload."""
    app.connected_extensions = extended
    catalogue = extended.catalogue
    app.presenter.redraw_extension_blocks(catalogue)
    bind_extension_keys(app, (app.editor, app.transcript), catalogue, app.action_table)


def import_model_modules_in_background(app: "BayouApp") -> None:
    """Imports the modules that the chosen model needs in the background, so that the first request does not wait."""
    app.tasks.spawn(asyncio.to_thread(_import_model_modules, app.session))


def _import_model_modules(session: Session) -> None:
    """Imports the modules that the chosen model needs, without garbage collection, which would stop all threads
    noticeably."""
    gc.disable()
    try:
        import_module("widgets.transcript.block_item")  # draws the first block
        session.warm_up()
    finally:
        gc.freeze()
        gc.enable()


_EXTENSION_KEY_ACTION = "extension_key("


def bind_extension_keys(
    app: App[Any], widgets: Sequence[Widget], catalogue: ExtensionCatalogue, table: ActionTable
) -> None:
    """Binds the keys that extensions register and bayou does not use, and removes those of extensions that are gone.

    `widgets`: widgets of the page, whose own keys are not replaced."""
    bound = node_bindings(app)
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith(_EXTENSION_KEY_ACTION) for binding in bindings):
            del bound[key]
    taken = [key for own in (app, *widgets) for key in node_bindings(own)]
    table.shortcuts = {}
    for key, shortcut in catalogue.shortcuts(taken, textual_key_spelling).items():
        action, meaning = f"{_EXTENSION_KEY_ACTION}{shortcut.key!r})", shortcut.description or shortcut.key
        app.bind(key, action, description=meaning)
        table.shortcuts[key] = (action, meaning)


def make_launch_frame(
    app: App[Any], editor: PromptEditor, theme: str, env: Mapping[str, str], cwd: str
) -> LaunchFrame | None:
    """Returns the frame of the page after its first paint; None if the saved frame is the same."""
    if app.is_headless or not launch_frame.supports_launch_frame(env):
        return None
    frame = _capture_frame(app, editor, theme)
    if frame is None or frame.is_equal_to(
        launch_frame.read_launch_frame((app.size.width, app.size.height), env, cwd)
    ):
        return None
    return frame


def _capture_frame(app: App[Any], editor: PromptEditor, theme: str) -> LaunchFrame | None:
    """Returns the drawn page for a launch frame: the editor without its status, and of all other rows only the
    background."""
    caret, area = app.cursor_position, editor.content_region
    if (
        not (editor.model.is_blank and editor.has_focus and area.contains_point(caret))
        or len(app.screen_stack) != 1
    ):
        return None
    rows: list[bytes] = []
    for number, strip in enumerate(render_screen_strips(app.screen)):
        if not editor.region.y <= number < editor.region.bottom - 1:
            strip = _background_strip(strip)
        rows.append(b"\x1b[%d;1H" % (number + 1) + strip.render(app.console).encode())
    style = Strip([Segment("x", editor.rich_style)]).render(app.console).partition("x")[0]
    return LaunchFrame(
        row=caret.y + 1,
        column=caret.x + 1,
        room=area.right - caret.x,
        style=style.encode(),
        theme=theme,
        content=b"".join(rows),
    )


def _background_strip(strip: Strip) -> Strip:
    last = next((segment.style for segment in reversed(list(strip)) if segment.style is not None), None)
    return Strip.blank(strip.cell_length, Style(bgcolor=last.bgcolor) if last is not None else None)
