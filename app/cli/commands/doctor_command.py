"""Implements `bayou doctor`: checks what bayou needs here, and names the next step for each fault.

It prints no secret and starts no session. It connects to the addresses of the models that have a key, and sends
nothing; with the setting `offline` it connects to none.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.commands.folder_settings_and_rules import folder_settings_and_rules
from app.cli.commands.sandbox_command import sandbox_state
from app.extensions.packages.plugin_servers import installed_plugin_mcp_servers
from app.mcp.server_config import merge_configured_mcp_servers
from app.printing import print_json, print_line, print_text
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.models import Model
from app.version import VERSION
from tools.files.path_existence import is_dir, is_file
from tools.running.programs_outside_project import find_program_outside_project
from tools.searching.ripgrep import find_bundled_ripgrep

_DOCTOR_USAGE_TEXT = (
    "bayou doctor [--json]     check what bayou needs here; exit code 1 if something needed is broken\n"
)
_PROVIDER_CONNECT_TIMEOUT_SECONDS = 3.0

FindingState = Literal["ok", "warning", "broken"]
_FINDING_STATE_LABELS: dict[FindingState, str] = {"ok": "ok", "warning": "note", "broken": "BROKEN"}


class DoctorFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result of `bayou doctor`: a subject, its state and the next step."""

    subject: str
    state: FindingState
    text: str
    next_step: str = ""


def run(words: list[str]) -> int:
    if words in (["-h"], ["--help"]):
        print_text(_DOCTOR_USAGE_TEXT)
        return 0
    if words not in ([], ["--json"]):
        raise UsageError(f"bayou doctor takes only --json. {_DOCTOR_USAGE_TEXT}")
    findings = asyncio.run(_collect_findings())
    if words:
        print_json({"version": VERSION, "findings": msgspec.to_builtins(findings)})
    else:
        for one in findings:
            step = f" {one.next_step}" if one.next_step else ""
            print_line(f"{_FINDING_STATE_LABELS[one.state]:<7} {one.subject:<12} {one.text}{step}")
    return 1 if any(one.state == "broken" for one in findings) else 0


async def _collect_findings() -> list[DoctorFinding]:
    paths = BayouPaths.from_env(os.environ, current_folder())
    settings = folder_settings_and_rules(paths).effective_settings
    credentials = Credentials(paths.agent_dir, os.environ)
    catalogue = ModelCatalogue.load_catalogue(paths.agent_dir, env=os.environ)
    models = [
        model
        for model in catalogue.all_models()
        if model.api != "offline" and credentials.has_credential(model.provider)
    ]
    return [
        _check_terminal(),
        _check_keys(paths),
        _check_program(
            "git",
            find_program_outside_project("git", outside=paths.cwd),
            "without it /undo misses some changes",
            needed=False,
        ),
        _check_program(
            "rg",
            find_bundled_ripgrep() or find_program_outside_project("rg", outside=paths.cwd),
            "required for searches",
            needed=True,
        ),
        _check_sandbox(),
        await _check_network(settings, models),
        _check_credentials(credentials, models),
        _check_models_file(catalogue),
        _check_servers(paths, settings),
        _check_settings(settings),
        _check_folder(paths.agent_dir),
    ]


def _check_terminal() -> DoctorFinding:
    name, encoding = os.environ.get("TERM", ""), sys.stdout.encoding.lower().replace("-", "")
    if not sys.stdout.isatty():
        return DoctorFinding(subject="terminal", state="ok", text="the output is not a terminal")
    size = shutil.get_terminal_size()
    text = f"{name or 'no TERM'}, {size.columns}x{size.lines}, {encoding}"
    if name in ("", "dumb"):
        return DoctorFinding(
            subject="terminal",
            state="warning",
            text=f"{text}.",
            next_step="Set TERM, such as xterm-256color.",
        )
    if encoding != "utf8":
        return DoctorFinding(
            subject="terminal", state="warning", text=f"{text}.", next_step="Set LANG to a locale with UTF-8."
        )
    return DoctorFinding(subject="terminal", state="ok", text=text)


def _check_keys(paths: BayouPaths) -> DoctorFinding:
    from app.tui.keys.keymap import read_user_key_map  # noqa: PLC0415  (of the full screen, for this check alone)

    if not is_file(paths.keybindings_file):
        return DoctorFinding(subject="keys", state="ok", text="the default keys are in use")
    found = read_user_key_map(paths.keybindings_file, ())
    if not found.is_readable:
        return DoctorFinding(
            subject="keys",
            state="broken",
            text="; ".join(found.problems) + ".",
            next_step="Correct or remove the file.",
        )
    return DoctorFinding(subject="keys", state="ok", text=f"custom keys from {paths.keybindings_file}")


def _check_program(name: str, path: str | None, use: str, *, needed: bool) -> DoctorFinding:
    state: FindingState = "broken" if needed else "warning"
    if path is None:
        return DoctorFinding(
            subject=name, state=state, text=f"not found; {use}.", next_step=f"Install {name}."
        )
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, cwd="/", check=True
        )
    except (OSError, subprocess.SubprocessError) as problem:
        return DoctorFinding(
            subject=name,
            state=state,
            text=f"{path} does not run: {problem}.",
            next_step=f"Install {name} again.",
        )
    return DoctorFinding(subject=name, state="ok", text=done.stdout.splitlines()[0] if done.stdout else path)


def _check_sandbox() -> DoctorFinding:
    state = sandbox_state()
    if state.is_in_force:
        return DoctorFinding(subject="sandbox", state="ok", text=f"commands run in it: {state.step}")
    needed: FindingState = "broken" if state.setting == "required" else "warning"
    return DoctorFinding(
        subject="sandbox",
        state=needed,
        text=f"commands cannot run in it: {state.why or f'the setting is {state.setting}'}.",
        next_step="Run bayou sandbox for details.",
    )


async def _check_network(settings: EffectiveSettings, models: list[Model]) -> DoctorFinding:
    network = settings.settings.network
    if network.offline:
        return DoctorFinding(
            subject="network", state="ok", text="connections are not checked: the setting offline is on"
        )
    if network.http_proxy or os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return DoctorFinding(
            subject="network", state="ok", text="connections are not checked: requests use a proxy"
        )
    hosts = sorted({host for model in models if (host := _model_host(model)) is not None})
    reached = await asyncio.gather(*map(_is_reachable, hosts))
    failed = [host for host, is_reached in zip(hosts, reached, strict=True) if not is_reached]
    if failed:
        names = ", ".join(f"{host}:{port}" for host, port in failed)
        return DoctorFinding(
            subject="network",
            state="warning",
            text=f"no connection to {names}.",
            next_step="Check the connection or the setting httpProxy.",
        )
    text = "all model servers can be reached" if hosts else "connections are not checked: no model has a key"
    return DoctorFinding(subject="network", state="ok", text=text)


def _model_host(model: Model) -> tuple[str, int] | None:
    url = urlsplit(model.base_url)
    return (url.hostname, url.port or (443 if url.scheme == "https" else 80)) if url.hostname else None


async def _is_reachable(address: tuple[str, int]) -> bool:
    try:
        async with asyncio.timeout(_PROVIDER_CONNECT_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(*address)
    except OSError:  # a TimeoutError too
        return False
    writer.close()
    return True


def _check_credentials(credentials: Credentials, models: list[Model]) -> DoctorFinding:
    if credentials.auth_file_problems:
        return DoctorFinding(
            subject="credentials",
            state="broken",
            text="; ".join(credentials.auth_file_problems),
            next_step="Sign in again: bayou auth login PROVIDER.",
        )
    providers = sorted({model.provider for model in models})
    if not providers:
        return DoctorFinding(
            subject="credentials",
            state="warning",
            text="no provider has a key; only the offline guide answers.",
            next_step="Sign in: bayou auth login PROVIDER.",
        )
    told = ", ".join(f"{provider} ({credentials.credential_source_of(provider)})" for provider in providers)
    return DoctorFinding(subject="credentials", state="ok", text=told)


def _check_models_file(catalogue: ModelCatalogue) -> DoctorFinding:
    problems = [str(problem) for problem in catalogue.models_file_problems]
    if problems:
        return DoctorFinding(
            subject="models", state="broken", text="; ".join(problems), next_step="Correct models.json."
        )
    return DoctorFinding(subject="models", state="ok", text=f"{len(catalogue.all_models()):,} known")


def _check_servers(paths: BayouPaths, settings: EffectiveSettings) -> DoctorFinding:
    found = merge_configured_mcp_servers(paths, is_trusted=False, plugins=installed_plugin_mcp_servers(paths))
    problems = [str(problem) for problem in found.problems]
    if problems:
        return DoctorFinding(
            subject="servers",
            state="warning",
            text="; ".join(problems),
            next_step="Run bayou mcp list for details.",
        )
    count = len(found.servers)
    return DoctorFinding(
        subject="servers",
        state="ok",
        text=f"{count} configured; bayou mcp test connects to them" if count else "none",
    )


def _check_settings(settings: EffectiveSettings) -> DoctorFinding:
    problems = [str(problem) for problem in settings.problems]
    if problems:
        return DoctorFinding(
            subject="settings",
            state="broken",
            text="; ".join(problems),
            next_step="Correct the file. The other settings are in use.",
        )
    return DoctorFinding(subject="settings", state="ok", text="readable")


def _check_folder(folder: Path) -> DoctorFinding:
    existing = next(each for each in (folder, *folder.parents) if is_dir(each))
    if os.access(existing, os.W_OK):
        return DoctorFinding(subject="bayou's folder", state="ok", text=str(folder))
    return DoctorFinding(
        subject="bayou's folder",
        state="broken",
        text=f"{folder} cannot be written.",
        next_step="Change its permissions, or set BAYOU_AGENT_DIR.",
    )
