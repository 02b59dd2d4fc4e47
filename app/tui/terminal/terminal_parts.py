"""The parts for the terminal that the application runs in: programs in it, images, clipboard, title, notifications,
links."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from textual.app import App
from textual.driver import Driver
from textual.screen import Screen

from app.assembly.assembled_session import AssembledSession
from app.resources.settings.effective_settings import EffectiveSettings
from app.tui.page_protocols import CopyText, FindProgram, SpawnTask
from app.tui.terminal.notifications import DesktopNotifications
from app.tui.terminal.title import TerminalTitle
from tools.running.programs_outside_project import find_program_outside_project
from tools.running.pty.pty_host import PtyProgram
from tools.running.user_browser import open_page_in_browser
from tools.running.withheld_environment_variables import environment_for_child_processes
from widgets.graphics.image_support import TerminalImageSupport
from widgets.graphics.terminal_images import TerminalImages
from widgets.terminal import clipboard
from widgets.terminal.raw_input import RawInputListeners
from widgets.terminal.terminal_control import write_through_driver
from widgets.terminal.terminal_driver import TerminalDriver
from widgets.textual_internals import terminal_driver_of
from widgets.transcript.painting.sgr_encoding import color_system

if TYPE_CHECKING:
    from app.tui.terminal.shown_terminal_program import ShownTerminalProgram


class TerminalParts:
    """The parts of the application for its terminal, and the programs of the machine."""

    def __init__(
        self,
        app: App[Any],
        assembled: AssembledSession,
        spawn: SpawnTask,
        *,
        env: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        self._session, self._in_force = assembled.session, assembled.effective_settings
        self._app, self._spawn = app, spawn
        self._env = env
        settings = lambda: assembled.effective_settings.settings  # noqa: E731
        self.programs = TerminalProgramHost(app)
        self._session.use_terminal(self.programs)
        self.images = make_terminal_images(app, assembled.effective_settings, env, self.find_program)
        self.raw_input = RawInputListeners()
        self.title = TerminalTitle(self._session, partial(write_through_driver, app), settings)
        self.notifications = DesktopNotifications(
            partial(write_through_driver, app), settings, clock=clock, env=env
        )
        self.clipboard = ClipboardCopier(
            lambda: driver.write if (driver := terminal_driver_of(app)) is not None else None,
            partial(show_confirmation, app),
            spawn,
            fallback=assembled.prompt.paths.cache_dir / "clipboard.txt",
            env=self.program_env,
            find_program=self.find_program,
        )

    def reports_alt_separately(self) -> bool:
        """Returns whether the terminal sends Alt with a key in another way than an Escape followed by that key."""
        driver = terminal_driver_of(self._app)
        return not isinstance(driver, TerminalDriver) or driver.reports_alt_separately

    def find_program(self, name: str) -> str | None:
        """Returns the path of a program of the machine, never one in the project folder; None if there is none."""
        return find_program_outside_project(name, outside=self._session.cwd, env=self._env)

    @property
    def program_env(self) -> Mapping[str, str]:
        """The environment variables for programs that bayou starts: without secrets, except those that the user passes
        on."""
        return environment_for_child_processes(
            self._in_force.settings.shell.shell_pass_environment, self._env
        )

    def open_page(self, address: str) -> None:
        self._spawn(open_page_in_browser(address, outside=self._session.cwd))

    def open_link(self, address: str) -> None:
        open_link(address, self.open_page, self.clipboard.copy, self._env)


CONFIRMATION_DISPLAY_SECONDS = 2.5
"""Seconds for which a confirmation is shown."""


def show_confirmation(app: App[Any], text: str) -> None:
    """Shows a short confirmation of an action in place of the previous one."""
    app.clear_notifications()
    app.notify(text, markup=False, timeout=CONFIRMATION_DISPLAY_SECONDS)


class ClipboardCopier:
    """Copies texts to the clipboard for one application and tells the user the outcome."""

    def __init__(
        self,
        write: Callable[[], Callable[[str], None] | None],
        notify: Callable[[str], None],
        spawn: SpawnTask,
        *,
        fallback: Path,
        env: Mapping[str, str],
        find_program: FindProgram,
    ) -> None:
        """Creates the clipboard. `write`: writes to the terminal, if there is one; `fallback`: the file to write
        without a clipboard."""
        self._write = write
        self._notify = notify
        self._spawn = spawn
        self._fallback = fallback
        self._env = env
        self._own_program = find_program

    def copy(self, text: str, what: str) -> None:
        """Copies a text to the clipboard in the background, because a system tool may take a while, and tells the user
        the outcome."""
        self._spawn(self._copy_and_notify(text, what))

    async def _copy_and_notify(self, text: str, what: str) -> None:
        copied = await asyncio.to_thread(
            clipboard.copy_to_clipboard,
            text,
            self._write(),
            fallback=self._fallback,
            env=self._env,
            find=self._own_program,
        )
        self._notify(f"{copied.text}: {what}")


def make_terminal_images(
    app: App[Any],
    effective_settings: EffectiveSettings,
    env: Mapping[str, str],
    find_program: Callable[[str], str | None],
) -> TerminalImages:
    ability = TerminalImageSupport(
        effective_settings.settings.images.protocol,
        env=env,
        find_program=find_program,
        color_system=lambda: color_system(app.console),
    )
    images = TerminalImages(
        lambda sequence: write_through_driver(app, sequence), ability, lines=lambda: app.size.height
    )
    effective_settings.subscribe(
        lambda before: images.apply_setting(effective_settings.settings.images.protocol)
    )
    return images


class TerminalProgramHost:
    """Opens terminal programs on screens over one application."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._screens: WeakSet[Screen[Any]] = WeakSet()

    def open(self, program: PtyProgram) -> "ShownTerminalProgram":
        from app.tui.terminal.shown_terminal_program import ShownTerminalProgram  # noqa: PLC0415  (loads the emulator, with the first program)

        shown = ShownTerminalProgram(self._app, program)
        self._screens.add(shown.screen)
        return shown

    @property
    def has_keyboard(self) -> bool:
        """Whether the screen of a terminal program is in front, so that the program gets all keys."""
        return bool(self._screens) and self._app.screen in self._screens


def suspend_to_shell(app: App[Any], say: Callable[[str], object]) -> None:
    driver = terminal_driver_of(app)
    if not isinstance(driver, TerminalDriver):
        return
    if not driver.suspend_to_shell():
        say("bayou cannot be suspended, because no shell could resume it.")
    app.post_message(Driver.SignalResume())


def open_link(address: str, open_page: Callable[[str], None], copy: CopyText, env: Mapping[str, str]) -> None:
    """Opens a web page in the browser; over SSH, or for addresses that are no web page, copies the address instead."""
    is_remote = env.get("SSH_CONNECTION") or env.get("SSH_TTY")
    if is_remote or not address.startswith(("http://", "https://")):
        copy(address, "address")
    else:
        open_page(address)
