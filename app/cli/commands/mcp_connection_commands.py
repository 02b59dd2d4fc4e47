"""Implements `bayou mcp test
login
logout
restart`: the commands that contact a server, in a temporary session."""

import asyncio
import os

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.cli.commands.auth_command import TerminalSignInUi
from app.engine.mcp.mcp_commands import run_mcp_command, test_server
from app.exit_codes import INTERRUPTED
from app.printing import print_line, print_note, print_problem
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError


def run(verb: str, words: list[str], paths: BayouPaths) -> int:
    flags = [word for word in words if word.startswith("-")]
    names = [word for word in words if word not in flags]
    if flags and (verb != "login" or flags != ["--no-browser"]):
        raise UsageError(f"Unknown option for bayou mcp {verb}: {flags[0]}. See bayou mcp --help.")
    if verb != "test" and len(names) != 1:
        raise UsageError(f"Server name required. Usage: bayou mcp {verb} NAME")
    try:
        return asyncio.run(_run_in_session(verb, names, paths, opens_browser=not flags))
    except KeyboardInterrupt:
        print_problem("cancelled")
        return INTERRUPTED


async def _run_in_session(verb: str, names: list[str], paths: BayouPaths, *, opens_browser: bool) -> int:
    """Runs the subcommand in a session that stores nothing; servers are reached as in a real one, sandbox
    included."""
    options = CommandLineOptions(no_session=True, no_extensions=True, safe=True)
    assembled = assemble_session(options, paths, dict(os.environ), ends_with_answer=True)
    try:
        return await (
            _test_servers(assembled, names)
            if verb == "test"
            else _run_verb(assembled, verb, names[0], opens_browser)
        )
    finally:
        await close_session(assembled.session)


async def _test_servers(assembled: AssembledSession, names: list[str]) -> int:
    """Tests the named server or all enabled ones; returns 1 if one of them cannot be reached."""
    verbs = assembled.session.mcp
    known = [view.name for view in verbs.server_views() if view.state not in ("off", "untrusted")]
    if not names and not known:
        raise UserError("No servers to test. bayou mcp list shows the configured servers.")
    worst = 0
    for name in names or known:
        print_line(f'Testing connection to "{name}"…', flush=True)
        try:
            print_line(await test_server(verbs, name))
        except UserError as problem:
            worst = 1
            print_note(str(problem))
            said = (
                verbs.server_view(name).stderr
                if any(view.name == name for view in verbs.server_views())
                else ()
            )
            for line in said[-5:]:
                print_note(f"  | {line}")
    return worst


async def _run_verb(assembled: AssembledSession, verb: str, name: str, opens_browser: bool) -> int:
    if verb == "restart":
        print_line(await test_server(assembled.session.mcp, name))
        print_line(
            "The server's tools, prompts and resources were listed again. An open session keeps its "
            f"own connection: run /mcp restart {name} there."
        )
        return 0
    ui = TerminalSignInUi(opens_browser=opens_browser)
    print_line(await run_mcp_command(assembled.session.mcp, f"{verb} {name}", ui))
    return 0
