"""Runs `bayou COMMAND …`: the commands that open no session. Each command imports its own modules."""

import os
import sys
from collections.abc import Callable

from app.printing import print_line, print_problem

Subcommand = Callable[[list[str]], int]


def _of(module: str) -> Subcommand:
    """Returns a command that imports its module when it runs."""

    def run(words: list[str]) -> int:
        from importlib import import_module  # noqa: PLC0415  (a start that is no command does without)

        return import_module(f"app.cli.commands.{module}").run(words)

    return run


def _packages(name: str) -> Subcommand:
    def run(words: list[str]) -> int:
        from app.cli.change_folder import current_folder  # noqa: PLC0415
        from app.cli.confirm import confirm  # noqa: PLC0415
        from app.extensions.packages.package_commands import run as run_command  # noqa: PLC0415
        from app.resources.paths import Paths  # noqa: PLC0415

        paths = Paths.from_env(os.environ, current_folder())
        ask = confirm if sys.stdin.isatty() else None
        return run_command(name, words, paths, ask=ask, say=print_line, complain=print_problem)

    return run


_PLUGIN_VERBS = {"add": "install", "list": "list", "update": "update", "remove": "remove"}


def _plugin(words: list[str]) -> int:
    """Runs a package command under the name that other agents have for it: a plugin is a package."""
    verb = _PLUGIN_VERBS.get(words[0]) if words else None
    if verb is None:
        usage = "Usage: bayou plugin add SOURCE [--yes] | list | update [NAME] [--yes] | remove NAME"
        if {"-h", "--help"} & set(words):
            print_line(usage)
            return 0
        print_problem(usage)
        return 2
    return _packages(verb)(words[1:])


SUBCOMMANDS: dict[str, Subcommand] = {
    "acp": _of("acp_command"),
    "auth": _of("auth_command"),
    "batch": _of("batch_command"),
    "completions": _of("completions_command"),
    "doctor": _of("doctor_command"),
    "export": _of("export"),
    "import-pi": _of("import_command"),
    "install": _packages("install"),
    "list": _packages("list"),
    "man": _of("man_command"),
    "map": _of("map_command"),
    "mcp": _of("mcp_command"),
    "permissions": _of("permissions_command"),
    "plugin": _plugin,
    "remove": _packages("remove"),
    "sandbox": _of("sandbox_command"),
    "secrets": _of("secrets_command"),
    "undo": _of("undo_command"),
    "update": _packages("update"),
    "usage": _of("usage_command"),
}
HELP = {
    "acp": "[--login] [--log FILE]: serve an editor that speaks the Agent Client Protocol",
    "auth": "login|logout|check PROVIDER: keys and accounts",
    "batch": "TASKS --out DIR [--models A,B] [--repeat N] [--dry-run] …: run many tasks, each in its own folder",
    "completions": "bash|zsh|fish: print the shell script that completes flags, models and sessions",
    "doctor": "[--json]: check terminal, programs, sandbox, network, credentials, servers and settings",
    "export": "SESSION [FILE]: write a session as HTML, Markdown or JSONL",
    "import-pi": "[--from DIR] [--yes]: copy sessions, models and settings from pi",
    "install": "SOURCE: install a package of extensions, skills, prompts, themes",
    "list": "list installed packages",
    "man": "print the manual page",
    "map": "FILE…|FOLDER [--about TEXT] [--json]: outlines of files and folders",
    "mcp": "list|get|add|remove|enable|disable|test|login|logout|logs|import …: MCP servers",
    "permissions": "check [--json] [COMMAND …]: show how commands are judged, without running them",
    "plugin": "add|list|update|remove …: plugins in Claude Code's form, which are packages",
    "remove": "NAME: remove a package",
    "sandbox": "[--json] | explain PATH … | try COMMAND: what sandboxed commands can access",
    "secrets": "mask|list [FILE…]: mask secrets in files, or list where they are",
    "undo": "[SESSION] [--last N] [--redo] [--yes]: undo a session's file changes",
    "update": "[NAME]: update packages",
    "usage": "[--by day|model|project|session] [--days N] [--json]: tokens, cost and cache hits of all sessions",
}
