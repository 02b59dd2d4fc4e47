"""Starts and ends the full-screen application: the session, signals and faults, and the closing message."""

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

# A key is echoed in the next frame, or in the one after it while a reply streams: 33 ms at 60 Hz. Streaming has its
# own pace, so a higher rate costs nothing. Textual reads this variable when it is imported.
os.environ.setdefault("TEXTUAL_FPS", "240")


# isort: split
from textual.driver import Driver

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.command_line_prompt import CommandLinePrompts, combine_command_line_prompts
from app.assembly.crash_report import CrashReport, print_crash_report, report_crash
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session, force_exit_after_timeout
from app.assembly.signals import TERMINATION_SIGNALS, handle_signals
from app.engine.session import Session
from app.exit_codes import CRASHED, USAGE_ERROR
from app.printing import print_problem, safe_text
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.sessions.errors import SessionError
from app.tui import current_theme
from app.tui.app import BayouApp
from app.tui.current_theme import query_terminal_appearance
from app.tui.startup import TuiStartOptions, make_extension_loader
from tools.files.path_existence import exists
from widgets.terminal.early_terminal import EarlyTerminal
from widgets.terminal.terminal_control import restore_terminal
from widgets.terminal.terminal_driver import TerminalDriver
from widgets.terminal.terminal_output import TerminalOutputDiff
from widgets.textual_internals import set_unhandled_error_handler
from widgets.transcript.leaves.safe_text import clean

SHUTDOWN_TASKS_TIMEOUT = 0.3
"""Seconds to wait at the end for cancelled tasks that the user started."""

SHUTDOWN_THREADS_TIMEOUT = 1.0
"""Seconds to wait at the end for threads. Their files are replaced atomically or continued at the
next start."""


def run_tui(options: CommandLineOptions, paths: BayouPaths, held: EarlyTerminal) -> int:
    """Runs the full screen and returns the exit code. `held`: the terminal, held since the start of
    the process, with its replies so far."""
    stood_in = paths.cwd
    try:
        assembled = assemble_session(options, paths, can_ask=True)
    except SessionError as problem:
        held.restore_terminal()
        print_problem(str(problem))
        return USAGE_ERROR
    if assembled.theme_name == "system":
        assembled.theme_name = current_theme.theme_for_terminal_background(query_terminal_appearance(held))
    read = partial(combine_command_line_prompts, cwd=stood_in, permissions=assembled.session.permissions)
    given = CommandLinePrompts() if options.extension_flags else read(options)
    opening = TuiStartOptions(
        load_extensions=make_extension_loader(assembled, options, paths),
        opens_sessions=options.resume,
        indexes_sessions=True,
        prompts=given.prompts,
        images=given.images,
        typed_text=held.take_typed_text,
        read_first_input=read,
    )
    leaving = TimedShutdown(assembled, held)
    app = BayouApp(
        assembled,
        opening=opening,
        home=paths.home,
        css_path=sorted(shipped_styles_dir().glob("*.tcss")),
        when_leaving=leaving.begin,
    )
    faults = InternalErrorReporter(app, paths.crash_dir)
    terminal = assembled.effective_settings.settings.terminal
    app.driver_class = cast(
        type[Driver],
        partial(
            TerminalDriver,
            held=held,
            ahead=app.prompt.type_ahead,
            raw=app.terminal.raw_input,
            images=app.terminal.images,
            has_plain_marks=terminal.plain_marks,
        ),
    )
    if terminal.true_color != "auto":
        current_theme.set_color_depth(app, is_true_color=terminal.true_color == "on")
    if terminal.scroll_regions:
        TerminalOutputDiff(app, app.terminal.images.overlay).install_output_diff()
    code = asyncio.run(_run_app(app, leaving, faults, mouse=terminal.mouse))
    leaving.print_closing_message_and_exit()
    if faults.refused is not None:
        raise faults.refused
    if faults.crash is not None:
        return print_crash_report(faults.crash)
    return code


class TimedShutdown:
    """Ends the application within two seconds even if parts of it hang, restores the terminal and prints how to
    resume."""

    def __init__(self, assembled: AssembledSession, held: EarlyTerminal) -> None:
        self._assembled = assembled
        self._early_terminal = held
        self._code: int | None = None
        self._cancel_deadline: Callable[[], None] = lambda: None
        self._goodbye = threading.Lock()
        self._problems: list[str] = []
        """Messages to print after the page, because a signal ends the session while the page is still shown."""

    def begin(self, code: int) -> None:
        """Starts the shutdown; further calls have no effect."""
        if self._code is None:
            self._code = code
            self._cancel_deadline = force_exit_after_timeout(code, self._force_exit)

    async def close_session(self, session: Session) -> None:
        await close_session(session, self._problems.append)

    def limit_wait_for_threads(self) -> None:
        """Limits the wait for threads, the last step of the shutdown, because an export can take
        seconds."""
        timer = threading.Timer(SHUTDOWN_THREADS_TIMEOUT, self._end_without_threads)
        timer.daemon = True
        timer.start()

    def print_closing_message_and_exit(self) -> None:
        """Prints the closing message and ends the process. There is no time limit, because the message may be a whole
        transcript; Ctrl+C ends it."""
        self._goodbye.acquire()  # never released: the other side ends the process
        self._print_goodbye_and_force_exit()

    def _end_without_threads(self) -> None:
        if self._goodbye.acquire(blocking=False):
            self._print_goodbye_and_force_exit()
            os._exit(self._code or 0)

    def _print_goodbye_and_force_exit(self) -> None:
        self._cancel_deadline()
        try:
            print_closing_message(self._assembled)
            sys.stdout.flush()
            for problem in self._problems:
                print_problem(problem)
        except OSError:
            pass  # the terminal is gone
        force_exit_after_timeout(self._code or 0)

    def _force_exit(self) -> None:
        """Called when the shutdown takes too long: restores the terminal, prints how to resume and ends the process."""
        if not self._goodbye.acquire(blocking=False):
            return
        if not self._early_terminal.is_terminal_restored:
            restore_terminal(self._early_terminal.terminal_attributes)
        problems = "".join(f"bayou: {safe_text(problem)}\n" for problem in self._problems)
        os.write(1, f"{resume_command_hint(self._assembled)}{problems}".encode())


async def _run_app(
    app: BayouApp, leaving: TimedShutdown, faults: "InternalErrorReporter", *, mouse: bool
) -> int:
    ending: set[asyncio.Task[None]] = set()

    def end_on_signal(number: int) -> None:
        """Closes the session first and restores the terminal afterwards, which can block for ever if the terminal is
        gone."""
        if ending:
            return
        app.prepare_exit(128 + number)
        ending.add(asyncio.ensure_future(_end_app(app, leaving, 128 + number)))

    handle_signals(TERMINATION_SIGNALS, end_on_signal, at_once=lambda number: leaving.begin(128 + number))
    try:
        code = await app.run_async(mouse=mouse)
    finally:
        leaving.begin(1)
        await asyncio.gather(
            app.tasks.cancel_running(SHUTDOWN_TASKS_TIMEOUT), leaving.close_session(app.session)
        )
    if faults.crash is None and faults.refused is None:
        leaving.limit_wait_for_threads()
    return code or 0


async def _end_app(app: BayouApp, leaving: TimedShutdown, code: int) -> None:
    await leaving.close_session(app.session)
    app.exit(code)


class InternalErrorReporter:
    """Ends the program on an internal error with a report file, without a traceback on the terminal."""

    def __init__(self, app: BayouApp, crash_dir: Path) -> None:
        self._app = app
        self._crash_dir = crash_dir
        self.crash: CrashReport | None = None
        self.refused: UsageError | None = None
        """An error in the command line that was found only after the start."""
        set_unhandled_error_handler(app, self.report_internal_error)

    def report_internal_error(self, error: Exception) -> None:
        if isinstance(error, UsageError):
            self.refused = error
            self._app.exit(USAGE_ERROR)
        elif self.crash is None:
            self.crash = report_crash(self._crash_dir, error)
            self._app.exit(CRASHED)


_MAX_CLOSING_MESSAGE_CELLS = 100
"""The maximum line width of the closing message, for readability."""


def print_closing_message(assembled: AssembledSession) -> None:
    """Prints to the terminal after the full screen ended: by the setting the last answer, the whole transcript or
    nothing, then how to resume."""
    wanted = assembled.effective_settings.settings.display.fullscreen_exit_output
    log = assembled.session.log
    message = assembled.session.last_answer
    if wanted == "transcript":
        from app.sessions.export.markdown import export_markdown  # noqa: PLC0415  (only for this way out)

        secrets = assembled.session.secrets
        sys.stdout.write(clean(secrets.masked_text(export_markdown(log), "export")))
    elif wanted == "last-answer" and message is not None and message.text:
        from widgets.transcript.markdown.markdown_stream import format_for_print  # noqa: PLC0415  (only for this way out)

        width = min(_MAX_CLOSING_MESSAGE_CELLS, shutil.get_terminal_size().columns)
        sys.stdout.write(format_for_print(_last_paragraphs(message.text), width).rstrip("\n") + "\n\n")
    sys.stdout.write(resume_command_hint(assembled))


def _last_paragraphs(text: str) -> str:
    """Returns only the last paragraphs of a very large answer, because formatting all of it would take seconds."""
    if len(text) <= _MAX_PRINTED_ANSWER_CHARS:
        return text
    start = text.find("\n\n", len(text) - _MAX_PRINTED_ANSWER_CHARS)
    start = len(text) - _MAX_PRINTED_ANSWER_CHARS if start < 0 else start + 2
    fence = "```\n" if text.count("\n```", 0, start) % 2 else ""
    return f"(The beginning of this answer is in the session.)\n\n{fence}{text[start:]}"


_MAX_PRINTED_ANSWER_CHARS = 50_000
"""The maximum number of characters of the last answer in the closing message."""


def resume_command_hint(assembled: AssembledSession) -> str:
    log = assembled.session.log
    if log.path is None or not exists(log.path):
        return ""
    return f"To resume this session: bayou --session {log.session_id}\n"
