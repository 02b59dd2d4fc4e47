"""Starts a user interface from options: folder, settings, trust, session, and the choice of the interface."""

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING, Literal

from app.assembly.command_line_options import CommandLineOptions, UsageError, resolve_option_paths
from app.cli.change_folder import change_folder, current_folder
from app.cli.launch_frame import exit_on_signals
from app.resources.paths import BayouPaths
from app.resources.private_folders import make_bayou_folders_private

if TYPE_CHECKING:
    from widgets.terminal.early_terminal import EarlyTerminal

InterfaceKind = Literal["tui", "print", "json", "rpc", "acp"]


def start_interface(options: CommandLineOptions, held: "EarlyTerminal | None" = None) -> int:
    """Builds the session and runs its interface. `held` is the terminal with its launch frame, if shown.
    Garbage collection is off until here."""
    if options.safe and options.extension_flags:
        raise UsageError(f"Unknown option: --{next(iter(options.extension_flags))}. See bayou --help.")
    if options.cwd is not None:
        change_folder(options.cwd)
    paths = BayouPaths.from_env(os.environ, current_folder())
    options = resolve_option_paths(options, paths.cwd)
    if options.list_models or options.export is not None:
        gc.enable()
    if options.list_models:
        from app.cli.list_models import list_models  # noqa: PLC0415  (the catalogue is not needed elsewhere)

        return list_models(paths, " ".join(options.messages), is_offline=options.offline, options=options)
    if options.export is not None:
        from app.cli.commands.export import write_export  # noqa: PLC0415  (only this needs the page's parts)

        return write_export(options.export, options.messages[0] if options.messages else None, paths)
    make_bayou_folders_private(paths)
    face = choose_interface(options, stdin_is_tty=sys.stdin.isatty(), stdout_is_tty=sys.stdout.isatty())
    if options.resume and face != "tui":
        raise UsageError(
            "--resume shows a list to choose from, which needs a terminal. "
            "Use --continue for the latest session, or --session FILE|ID."
        )
    if options.goal_check and face == "tui":
        raise UsageError("--goal-check needs -p: it is for scripts. In the full screen, /goal sets a goal.")
    if face == "acp":
        gc.enable()
        from app.cli.commands.acp_command import serve  # noqa: PLC0415  (this face only)

        return serve(options, paths)
    if face == "tui":
        # Asks the terminal for its size; the environment's COLUMNS would take precedence, and ignores
        # resizing.
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
        from widgets.terminal.early_terminal import EarlyTerminal  # noqa: PLC0415  (the other faces draw nothing)

        held = held or EarlyTerminal()
        exit_on_signals()
        try:
            held.take_over_terminal()
            from app.tui.run import run_tui  # noqa: PLC0415  (Textual is the largest import of all)

            return run_tui(options, paths, held)
        finally:
            held.restore_terminal()
    if face == "rpc":
        # the full screen enables collection after its first paint, the other modes when a run takes long
        gc.enable()
    from app.cli.headless import run_headless  # noqa: PLC0415  (what the other faces share)

    return asyncio.run(run_headless(options, paths, face))


def choose_interface(
    options: CommandLineOptions, *, stdin_is_tty: bool, stdout_is_tty: bool
) -> InterfaceKind:
    """Returns RPC and JSON when asked for; print when asked for or when there is no terminal to draw on."""
    if options.mode in ("rpc", "json", "acp"):
        return options.mode
    if options.print or not stdin_is_tty or not stdout_is_tty:
        return "print"
    return "tui"
