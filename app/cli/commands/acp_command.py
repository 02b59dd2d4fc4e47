"""Implements `bayou acp`: serves an editor that speaks the Agent Client Protocol on standard input and output."""

import asyncio
import os
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions, UsageError, resolve_option_paths
from app.assembly.shutdown import termination_signal
from app.cli.change_folder import current_folder
from app.cli.option_parsing import parse_command_line_options
from app.modes.acp.serve import serve_acp_over_stdio
from app.printing import print_text
from app.resources.paths import BayouPaths
from app.resources.private_folders import make_bayou_folders_private

ACP_USAGE_TEXT = """\
bayou acp                 serve an editor: sessions, prompts and questions as JSON lines
bayou acp --log FILE      and write every line into a file, with known secrets masked
bayou acp --login         sign in to a provider, in a terminal

Put `bayou acp` where your editor asks for the command of an agent; docs/acp.md has the lines for Zed, JetBrains, VS
Code, neovim and Toad. Flags that choose models, tools, permissions and resources apply to every session: bayou --help
lists them. Flags that name a session do not apply: the editor opens sessions.
"""


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(ACP_USAGE_TEXT)
        return 0
    if "--login" in words:
        return _sign_in_on_terminal()
    words, log_file = _split_log_flag(words)
    options = parse_command_line_options(["--mode", "acp", *words])
    paths = BayouPaths.from_env(os.environ, current_folder())
    make_bayou_folders_private(paths)
    return serve(resolve_option_paths(options, paths.cwd), paths, log_file)


def serve(options: CommandLineOptions, paths: BayouPaths, log_file: Path | None = None) -> int:
    """Serves one client. The client names the folder of each session."""
    _refuse_client_options(options)

    async def served() -> int:
        return await serve_acp_over_stdio(options, paths, termination_signal(), log_file)

    try:
        return asyncio.run(served())
    except OSError as problem:
        raise UsageError(f"--log {log_file}: {problem.strerror or problem}.") from None


def _sign_in_on_terminal() -> int:
    from app.cli.commands.auth_command import run as run_auth_command  # noqa: PLC0415  (needs no session)

    try:
        provider = input("Provider to sign in to (anthropic, openai, google, …): ").strip()
    except EOFError:
        provider = ""
    if not provider:
        raise UsageError("No provider was named. Name one: bayou auth login PROVIDER.")
    return run_auth_command(["login", provider])


def _split_log_flag(words: list[str]) -> tuple[list[str], Path | None]:
    if "--log" not in words:
        return words, None
    at = words.index("--log")
    if at + 1 == len(words):
        raise UsageError("--log needs a file. See bayou acp --help.")
    return [*words[:at], *words[at + 2 :]], current_folder() / Path(words[at + 1]).expanduser()


def _refuse_client_options(options: CommandLineOptions) -> None:
    named = {
        "a prompt": bool(options.words),
        "--session": options.session is not None,
        "--session-id": options.session_id is not None,
        "--continue": options.continue_,
        "--resume": options.resume,
        "--fork": options.fork is not None,
        "--name": options.name is not None,
        "--print": options.print,
        "--output-schema": options.output_schema is not None,
        "--goal-check": bool(options.goal_check),
    }
    for flag, is_said in named.items():
        if is_said:
            raise UsageError(f"bayou acp does not take {flag}: the editor opens sessions and sends prompts.")
