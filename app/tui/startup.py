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
from app.assembly.first_prompt import FirstInput
from app.assembly.options import Options
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.session import Session
from app.extensions.catalogue import ExtensionCatalogue
from app.resources import launch_frame
from app.resources.launch_frame import LaunchFrame
from app.resources.paths import Paths
from app.tui.display_settings import DisplaySettingsApplier
from app.tui.features.extensions.feature import TRUST
from app.tui.features.goal.feature import GOAL
from app.tui.features.permissions.feature import APPROVALS
from app.tui.features.sessions.feature import RESUME, SESSIONS
from app.tui.features.todos.feature import TODO_LIST
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import textual_spelling
from app.tui.page_protocols import KeyLabel
from app.tui.status import header_and_footer as bars
from app.values.content import Image
from widgets.editor.prompt import PromptEditor
from widgets.textual_internals import bindings_of, rows_of
from widgets.transcript.blocks import NoteKind

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions
    from app.tui.app import BayouApp

LoadExtensions = Callable[["BayouApp"], Awaitable["ConnectedExtensions"]]
"""Loads the session's extensions for the full screen."""

MIN_TERMINAL_SIZE = Size(40, 10)
TOO_SMALL_TEXT = "This terminal is {size.width}x{size.height}: make it larger, 80x24 shows everything."


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of the command line for the start."""

    extend: LoadExtensions | None = None
    opens_sessions: bool = False
    """Whether to choose a session first (`--resume`)."""
    indexes: bool = False
    """Whether to index the texts of all sessions in the background."""
    prompts: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    """Images of the first prompt."""
    typed: Callable[[], str] = str
    """Returns the text that was typed before the editor existed."""
    read: Callable[[Options], FirstInput] | None = None
    """Reads the first prompt again if words of the command line turn out to be values of
    extension flags."""

    def begin(self, app: "BayouApp") -> None:
        """Prepares the page before the first paint."""
        DisplaySettingsApplier(
            header=app.page.header,
            transcript=app.transcript,
            editor=app.editor,
            status=app.status,
            register=app.register,
            look=app.look,
            say=app.presenter.note,
            env=app.env,
        ).begin(app.assembled.effective_settings)
        if app.theme_problem:
            app.presenter.note(app.theme_problem, NoteKind.WARNING)
        key_problems = app.prompt.user_keys.read()
        app.session.subscribe(app.presenter.show)
        app.presenter.show_all()
        if app.session.log.entries:
            app.register.page(TODO_LIST).show()
        if app.session.goal.is_set:
            app.register.page(GOAL).follow()
        if app.session.model is not None and bars.is_offline(app.session.model):
            app.presenter.show_first_page()
        if app.size.width < MIN_TERMINAL_SIZE.width or app.size.height < MIN_TERMINAL_SIZE.height:
            app.presenter.note(TOO_SMALL_TEXT.format(size=app.size), NoteKind.WARNING)
        for text in (*app.assembled.problems, *key_problems):
            app.presenter.note(text, NoteKind.WARNING)
        app.editor.focus()
        if (draft := app.prompt.unsent.restore()) is not None:
            app.editor.reset(draft)
        if typed := self.typed():
            app.editor.insert(typed)
        app.status.refresh()
        app.status.follow_maps(asyncio.get_running_loop())

    async def complete(self, app: "BayouApp") -> None:
        """Completes the start after the first paint: extensions, parts of the model's provider, then
        what the command line requests."""
        app.page.garbage.begin()
        app.presenter.show_first_page()
        app.presenter.show_earlier()
        app.tasks.spawn(asyncio.to_thread(app.look.keep_rules))
        app.tasks.spawn(_look_at_system(app.session.permissions, app.status.refresh))
        _save_launch_frame(app)
        if _needs_an_answer(app) and not await app.register.page(RESUME).begin(
            app.assembled.locked, app.assembled.left
        ):
            app.exit(0)
            return
        listed = None
        if self.opens_sessions and not app.assembled.project.decision.needs_answer:
            listed = asyncio.ensure_future(app.tasks.chosen(app.register.page(SESSIONS).open(app.is_ready)))
            shown = asyncio.ensure_future(app.register.page(SESSIONS).has_shown.wait())
            await asyncio.wait({listed, shown}, return_when=asyncio.FIRST_COMPLETED)
            shown.cancel()
        await self._remember(app)
        given = FirstInput(prompts=self.prompts, images=self.images)
        if self.extend is not None:
            extended = await self.extend(app)
            connect_loaded_extensions(app, extended)
            if self.read is not None and extended.options.extension_flags:
                given = self.read(extended.options)
        app.assembled.ground.subscribe(partial(self._follow, app))
        warm_up(app)
        app.look.watch()
        app.terminal.title.show()
        app.tasks.spawn(app.status.look_at_git())
        app.is_ready.set()
        servers = app.session.mcp
        servers.begin()
        app.tasks.spawn(app.page.first_screen.count_rules(app.presenter.update_first_page))
        if self.indexes and not self.opens_sessions:  # the session list starts it after its first rows
            app.session_texts.read()
        if app.assembled.project.decision.needs_answer:
            await app.register.page(TRUST).open(is_asked_for=False)
        if self.opens_sessions:
            await (listed or app.tasks.chosen(app.register.page(SESSIONS).open()))
        for index, prompt in enumerate(given.prompts):
            await app.sending.prompt(prompt, given.images if index == 0 else ())
            await app.session.wait_until_idle()

    async def _follow(self, app: "BayouApp") -> None:
        """Updates the page after a change of the working folder: history, status, and the project's
        trust."""
        app.prompt.remembered.start_over()
        await self._remember(app)
        app.terminal.title.show()
        app.status.refresh()
        app.tasks.spawn(app.status.look_at_git())
        if app.assembled.project.decision.needs_answer:
            app.tasks.spawn(app.register.page(TRUST).open(is_asked_for=False))

    async def _remember(self, app: "BayouApp") -> None:
        """Loads older prompts into the history, followed by drafts that were never sent."""
        prompts = await asyncio.to_thread(app.prompt.remembered.read_prompts)
        abandoned = app.prompt.unsent.abandoned(app.assembled.places.folder)
        for draft in abandoned:
            app.prompt.remembered.add_prompt(draft)
        app.editor.history.replace([*prompts, *abandoned, *app.editor.history.entries])
        app.prompt.remembered.take_files(await asyncio.to_thread(app.prompt.remembered.read_files))
        if abandoned:
            key_label, is_behind = app.action_table.key_label, not app.editor.model.is_blank
            app.presenter.note(_found_again(len(abandoned), key_label, is_behind=is_behind))


async def _look_at_system(permissions: PermissionGate, tell: Callable[[], None]) -> None:
    """Checks whether the sandbox is available, for the status line."""
    await asyncio.to_thread(permissions.boxes.look)
    tell()


def _save_launch_frame(app: "BayouApp") -> None:
    """Saves or removes the launch frame for the next start in such a terminal."""
    env, cwd, size = app.env, str(app.session.cwd), (app.size.width, app.size.height)
    if not app.assembled.effective_settings.settings.terminal.launch_frame:
        launch_frame.remove_all_frames(env)
    elif (frame := frame_to_keep(app, app.editor, app.look.file, env, cwd)) is not None:
        app.tasks.spawn(asyncio.to_thread(launch_frame.write_frame, frame, size, env, cwd))


def _needs_an_answer(app: "BayouApp") -> bool:
    """Returns whether the requested session cannot continue without a question to the user."""
    log, here = app.session.log, app.assembled
    return here.locked is not None or here.left is not None or (log.is_on_disk and log.is_cwd_gone)


def _found_again(count: int, key_label: KeyLabel, *, is_behind: bool) -> str:
    """Returns a message that says where unsent drafts are. `is_behind`: the editor has text, which Up
    passes first."""
    what, are = ("A draft that was", "is") if count == 1 else (f"{count} drafts that were", "are")
    search, up = key_label("tui.editor.historySearch", "Ctrl+R"), key_label("tui.editor.cursorUp", "Up")
    if is_behind or not up:
        where = f"{are} among the older prompts{f': {search} searches them' if search else ''}"
    else:
        where = f"{are} one {up} away" if count == 1 else f"{are} behind {up}, the newest first"
    return f"{what} not sent last time {where}."


def make_extensions(assembled: AssembledSession, options: Options, paths: Paths) -> LoadExtensions:
    """Returns the function that loads the extensions once there is a page."""

    async def load(app: "BayouApp") -> "ConnectedExtensions":
        # imported after the first paint
        from app.assembly.extensions.extension_setup import connect_extensions  # noqa: PLC0415
        from app.tui.extensions.screen_ui import ScreenUi  # noqa: PLC0415

        ui = ScreenUi(
            app,
            app.page.screens.ask,
            app.presenter.note,
            asked=app.terminal.notifications.asked,
            beside=app.register.page(APPROVALS).ask,
            is_busy=lambda: app.session.state.is_busy or not app.editor.model.is_blank,
            header=app.page.header,
            transcript=app.transcript,
            prompt_editor=app.editor,
            footer=app.page.footer,
            status=app.status,
            look=app.look,
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
    app.extended = extended
    catalogue = extended.catalogue
    app.presenter.show_renderers(catalogue)
    bind_shortcuts(app, (app.editor, app.transcript), catalogue, app.action_table)


def warm_up(app: "BayouApp") -> None:
    """Imports what the chosen model needs in the background, so that the first request does not wait."""
    app.tasks.spawn(asyncio.to_thread(_load, app.session))


def _load(session: Session) -> None:
    """Imports modules without garbage collection, which would stop all threads noticeably."""
    gc.disable()
    try:
        import_module("widgets.transcript.item")  # draws the first block
        session.warm_up()
    finally:
        gc.freeze()
        gc.enable()


_ACTION = "extension_key("


def bind_shortcuts(
    app: App[Any], widgets: Sequence[Widget], catalogue: ExtensionCatalogue, table: ActionTable
) -> None:
    """Binds the extensions' keys that bayou does not use, and removes those of extensions that are
    gone.

    `widgets`: widgets of the page, whose own keys are not replaced."""
    bound = bindings_of(app)
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith(_ACTION) for binding in bindings):
            del bound[key]
    taken = [key for own in (app, *widgets) for key in bindings_of(own)]
    table.shortcuts = {}
    for key, shortcut in catalogue.shortcuts(taken, textual_spelling).items():
        action, meaning = f"{_ACTION}{shortcut.key!r})", shortcut.description or shortcut.key
        app.bind(key, action, description=meaning)
        table.shortcuts[key] = (action, meaning)


def frame_to_keep(
    app: App[Any], editor: PromptEditor, theme: str, env: Mapping[str, str], cwd: str
) -> LaunchFrame | None:
    """Returns the frame of the page after its first paint; None if the saved frame is the same."""
    if app.is_headless or not launch_frame.supports_launch_frame(env):
        return None
    frame = _frame_of(app, editor, theme)
    if frame is None or frame.is_like(launch_frame.read_frame((app.size.width, app.size.height), env, cwd)):
        return None
    return frame


def _frame_of(app: App[Any], editor: PromptEditor, theme: str) -> LaunchFrame | None:
    """Captures the page: the editor in full, and of all other rows only the background."""
    caret, area = app.cursor_position, editor.content_region
    if (
        not (editor.model.is_blank and editor.has_focus and area.contains_point(caret))
        or len(app.screen_stack) != 1
    ):
        return None
    rows: list[bytes] = []
    for number, strip in enumerate(rows_of(app.screen)):
        if not editor.region.contains_point((editor.region.x, number)):
            strip = _ground(strip)
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


def _ground(strip: Strip) -> Strip:
    last = next((segment.style for segment in reversed(list(strip)) if segment.style is not None), None)
    return Strip.blank(strip.cell_length, Style(bgcolor=last.bgcolor) if last is not None else None)
