"""Runs `bayou COMMAND …`: the commands that open no session. Each command imports its own modules."""

import os
import sys
from collections.abc import Callable

from app.printing import print_line, print_problem

Subcommand = Callable[[list[str]], int]


def _late_command(module: str) -> Subcommand:
    """Returns a command that imports its module when it runs."""

    def run(words: list[str]) -> int:
        from importlib import import_module  # noqa: PLC0415  (a start that is no command does without)

        return import_module(f"app.cli.commands.{module}").run(words)

    return run


def _package_command(name: str) -> Subcommand:
    def run(words: list[str]) -> int:
        from app.cli.change_folder import current_folder  # noqa: PLC0415
        from app.cli.confirm import confirm  # noqa: PLC0415
        from app.extensions.packages.package_commands import run_package_command as run_command  # noqa: PLC0415
        from app.resources.paths import BayouPaths  # noqa: PLC0415

        paths = BayouPaths.from_env(os.environ, current_folder())
        ask = confirm if sys.stdin.isatty() else None
        return run_command(name, words, paths, ask=ask, say=print_line, complain=print_problem)

    return run


_PACKAGE_COMMAND_BY_PLUGIN_VERB = {
    "add": "install",
    "list": "list",
    "update": "update",
    "remove": "remove",
    "marketplace": "marketplace",
}


def _run_plugin_command(words: list[str]) -> int:
    """Runs a package command under the name that other agents have for it: a plugin is a package."""
    verb = _PACKAGE_COMMAND_BY_PLUGIN_VERB.get(words[0]) if words else None
    if verb is None:
        usage = (
            "Usage: bayou plugin add SOURCE|NAME@MARKET [--yes] | list | update [NAME] [--yes] | remove "
            "NAME\n"
            "       bayou plugin marketplace add SOURCE | list [NAME] | update [NAME] | remove NAME"
        )
        if {"-h", "--help"} & set(words):
            print_line(usage)
            return 0
        print_problem(usage)
        return 2
    return _package_command(verb)(words[1:])


SUBCOMMANDS: dict[str, Subcommand] = {
    "acp": _late_command("acp_command"),
    "auth": _late_command("auth_command"),
    "batch": _late_command("batch_command"),
    "completions": _late_command("completions_command"),
    "doctor": _late_command("doctor_command"),
    "export": _late_command("export"),
    "import": _late_command("imports.import_command"),
    "import-pi": _late_command("imports.import_pi_command"),
    "install": _package_command("install"),
    "list": _package_command("list"),
    "man": _late_command("man_command"),
    "map": _late_command("map_command"),
    "mcp": _late_command("mcp_command"),
    "permissions": _late_command("permissions_command"),
    "plugin": _run_plugin_command,
    "remove": _package_command("remove"),
    "sandbox": _late_command("sandbox_command"),
    "secrets": _late_command("secrets_command"),
    "undo": _late_command("undo_command"),
    "update": _package_command("update"),
    "usage": _late_command("usage_command"),
}
SUBCOMMAND_HELP = {
    "acp": "[--login] [--log FILE]: serve an editor that speaks the Agent Client Protocol",
    "auth": "login|logout|check|list PROVIDER: keys and accounts",
    "batch": "TASKS --out DIR [--models A,B] [--repeat N] [--dry-run] …: run many tasks, each in its own folder",
    "completions": "bash|zsh|fish: print the shell script that completes flags, models and sessions",
    "doctor": "[--json]: check terminal, programs, sandbox, network, credentials, servers and settings",
    "export": "SESSION [FILE]: write a session as HTML, Markdown or JSONL",
    "import": "claude|codex|opencode|pi [--only KIND,…] [--dry-run] [--yes]: import sessions, rules, servers, …",
    "import-pi": "[--from DIR] [--yes]: copy sessions, models and settings from pi",
    "install": "SOURCE: install a package of extensions, skills, prompts, themes",
    "list": "list installed packages",
    "man": "print the manual page",
    "map": "FILE…|FOLDER [--about TEXT] [--json]: print outlines of files and folders",
    "mcp": "list|get|add|remove|enable|disable|test|login|logout|logs|import …: MCP servers",
    "permissions": "check [--json] [COMMAND …]: show how commands are judged, without running them",
    "plugin": "add|list|update|remove|marketplace …: plugins in Claude Code's format",
    "remove": "NAME: remove a package",
    "sandbox": "[--json] | explain PATH … | try COMMAND: what sandboxed commands can access",
    "secrets": "mask|list [FILE…]: mask secrets in files, or list where they are",
    "undo": "[SESSION] [--last N] [--redo] [--yes]: undo a session's file changes",
    "update": "[NAME]: update packages",
    "usage": "[--by day|model|project|session] [--days N] [--json]: tokens, cost and cache hits of all sessions",
}
