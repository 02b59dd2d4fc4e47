"""`bayou COMMAND …`: what can be asked for without opening a session. Each command imports its own needs."""

import os
import sys
from collections.abc import Callable

Subcommand = Callable[[list[str]], int]


def _map(words: list[str]) -> int:
    from app.cli.map_command import run  # noqa: PLC0415

    return run(words)


def _auth(words: list[str]) -> int:
    from app.assembly.options import Options  # noqa: PLC0415
    from app.assembly.providers import bring_providers  # noqa: PLC0415
    from app.cli.folder import current_folder  # noqa: PLC0415
    from app.providers.contract import StreamOptions  # noqa: PLC0415
    from app.providers.signin.command import run_auth  # noqa: PLC0415
    from app.resources.in_force import InForce  # noqa: PLC0415
    from app.resources.paths import Paths, docs_dir  # noqa: PLC0415

    paths = Paths.from_env(os.environ, current_folder())
    network = InForce(paths).settings.network
    return run_auth(
        words,
        paths.agent_dir,
        os.environ,
        options=None if network.offline else StreamOptions(proxy=network.http_proxy),
        page=f"{docs_dir() / 'providers.md'}",
        bring=lambda catalogue, credentials: bring_providers(Options(), paths, catalogue, credentials),
    )


def _import_pi(words: list[str]) -> int:
    from app.cli.import_command import run  # noqa: PLC0415

    return run(words)


def _mcp(words: list[str]) -> int:
    from app.cli.mcp_command import run  # noqa: PLC0415

    return run(words)


def _undo(words: list[str]) -> int:
    from app.cli.undo_command import run  # noqa: PLC0415

    return run(words)


def _permissions(words: list[str]) -> int:
    from app.cli.permissions_command import run  # noqa: PLC0415

    return run(words)


def _sandbox(words: list[str]) -> int:
    from app.cli.sandbox_command import run  # noqa: PLC0415

    return run(words)


def _secrets(words: list[str]) -> int:
    from app.cli.secrets_command import run  # noqa: PLC0415

    return run(words)


def _export(words: list[str]) -> int:
    from app.cli.export import run  # noqa: PLC0415

    return run(words)


def _usage(words: list[str]) -> int:
    from app.cli.usage_command import run  # noqa: PLC0415

    return run(words)


def _packages(name: str) -> Subcommand:
    def run(words: list[str]) -> int:
        from app.cli.folder import current_folder  # noqa: PLC0415
        from app.extensions.package_commands import run as run_command  # noqa: PLC0415
        from app.resources.paths import Paths  # noqa: PLC0415

        paths = Paths.from_env(os.environ, current_folder())
        ask = _ask if sys.stdin.isatty() else None
        return run_command(name, words, paths, ask=ask, say=_say, complain=_complain)

    return run


SUBCOMMANDS: dict[str, Subcommand] = {
    "auth": _auth,
    "export": _export,
    "import-pi": _import_pi,
    "install": _packages("install"),
    "list": _packages("list"),
    "map": _map,
    "mcp": _mcp,
    "permissions": _permissions,
    "remove": _packages("remove"),
    "sandbox": _sandbox,
    "secrets": _secrets,
    "undo": _undo,
    "update": _packages("update"),
    "usage": _usage,
}
HELP = {
    "auth": "login|logout|check PROVIDER: keys and accounts",
    "export": "SESSION [FILE] [--notebook]: write a session as HTML, Markdown, JSONL, or its cells as a notebook",
    "import-pi": "[--from DIR] [--yes]: take over what a pi user has",
    "install": "SOURCE: install a package of extensions, skills, prompts, themes",
    "list": "the installed packages",
    "map": "FILE…|FOLDER [--about TEXT] [--json]: outlines of files and folders",
    "mcp": "list|get|add|remove|enable|disable|test|login|logout|logs|import …: MCP servers",
    "permissions": "check [--json] [COMMAND …]: what commands may do here, running nothing",
    "remove": "NAME: remove a package",
    "sandbox": "[--json] | explain PATH … | try COMMAND: what the agent's commands can do here",
    "secrets": "mask|list [FILE…]: mask the secrets in texts, or tell where some are",
    "undo": "[SESSION] [--last N] [--redo] [--yes]: put back what a session did to files",
    "update": "[NAME]: bring packages up to date",
    "usage": "[--by day|model|project|session] [--days N] [--json]: tokens, cost and cache hits of all sessions",
}


def _ask(question: str) -> bool:
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(text: str) -> None:
    sys.stderr.write(f"bayou: {text}\n")
