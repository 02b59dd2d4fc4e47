"""Ctrl+Z: gives the terminal to the shell until it resumes bayou."""

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.driver import Driver

from widgets.terminal.terminal_driver import TerminalDriver
from widgets.textual_internals import driver_of


def suspend(app: App[Any], say: Callable[[str], object]) -> None:
    driver = driver_of(app)
    if not isinstance(driver, TerminalDriver):
        return
    if not driver.suspend_to_shell():
        say("There is no shell that could bring bayou back, so it stays.")
    app.post_message(Driver.SignalResume())
