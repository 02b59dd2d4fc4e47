"""Implements `bayou auth login
logout
check`: the accounts of `/login` from the command line."""

import argparse
import asyncio
import getpass
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.extensions.extension_providers import load_extension_providers
from app.cli.change_folder import current_folder
from app.exit_codes import INTERRUPTED
from app.printing import print_json, print_line, print_note
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import CredentialError, Credentials
from app.providers.model_stream import Credential, StreamOptions
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS, WEB_SEARCH_SERVICES, unknown_provider_text
from app.providers.models.model_names import ModelNotFound, select_model
from app.providers.signin.interface import SignIn
from app.providers.signin.key_check import ApiKeyChecker, ApiKeyCheckResult, CheckKey
from app.resources.paths import BayouPaths, docs_dir
from app.resources.private_folders import make_bayou_folders_private
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings
from tools.running.user_browser import open_page_in_browser
from tools.tool_definition import ToolError

EXIT_CODE_BY_CREDENTIAL_STATE = {"ready": 0, "not_ready": 1, "invalid": 2}


class CredentialState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a provider has a usable credential, and why not."""

    provider: str
    state: Literal["ready", "not_ready", "invalid"]
    source: str | None = None
    detail: str = ""


async def check_credential(provider: str, credentials: Credentials) -> CredentialState:
    """Checks whether there is a readable credential. Makes no request, except to refresh a sign-in."""
    source = credentials.credential_source_of(provider)
    if source is None:
        return CredentialState(
            provider=provider, state="not_ready", detail=f"No key is configured for {provider}."
        )
    known = KNOWN_PROVIDERS.get(provider)
    if known is not None and known.missing_package_hint:
        return CredentialState(
            provider=provider, state="not_ready", source=source, detail=known.missing_package_hint
        )
    try:
        await credentials.resolve_credential(provider)
    except CredentialError as problem:
        return CredentialState(provider=provider, state="invalid", source=source, detail=str(problem))
    return CredentialState(provider=provider, state="ready", source=source)


async def sign_in(
    provider: str,
    credentials: Credentials,
    ui: "TerminalSignInUi",
    ask: CheckKey,
    *,
    with_key: bool,
    page: str,
) -> str:
    """Signs in with an account where the provider offers it and it is wanted, else with a key, which `ask`
    checks. Returns a sentence about the result. Raises `CredentialError`."""
    sign_in = credentials.sign_ins.get(provider)
    if sign_in is None or with_key or await ui.select("How?", _sign_in_choices(sign_in, page)) == "key":
        key = (await ui.secret(f"API key for {provider} (or $NAME, or !command): ")).strip()
        if not key:
            raise CredentialError("No key was entered. Run the command again and paste the key.")
        checked = await ask(provider, await credentials.credential_of_key(provider, key))
        if checked.state == "refused":
            raise CredentialError(f"{provider} rejected this key, so it was not stored. {checked.text}")
        await credentials.store_key(provider, key)
        if checked.state == "unknown":
            return f"The key could not be checked: {checked.text}"
        return f"{provider} accepts the key. {checked.text}".strip()
    await credentials.store_auth_entry(provider, await sign_in.login(ui))
    return ""


def _sign_in_choices(sign_in: SignIn, page: str) -> list[tuple[str, str]]:
    needs = ""
    if sign_in.missing:
        needs = f": needs an application of your own, its id in {sign_in.missing} ({page} says how)"
    return [("account", f"Sign in with a {sign_in.name} account{needs}"), ("key", "Use an API key")]


class TerminalSignInUi:
    """Implements the dialog of a sign-in on the terminal, line by line."""

    def __init__(self, *, opens_browser: bool = True) -> None:
        self._opens_browser = opens_browser

    async def open_url(self, url: str, instructions: str) -> None:
        print_line(f"{instructions}\n\n  {url}\n", flush=True)
        if self._opens_browser:
            await asyncio.to_thread(open_page_in_browser, url, outside=Path.cwd())

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        print_line(f"Type the code {code} at\n\n  {url}\n\nwithin {seconds / 60:.0f} minutes.", flush=True)

    async def prompt(self, question: str) -> str:
        print_line(question, flush=True)
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            if not line.done():
                line.set_result(sys.stdin.readline())

        loop.add_reader(sys.stdin.fileno(), read)  # reading in a thread could not be interrupted
        try:
            return await line
        finally:
            loop.remove_reader(sys.stdin.fileno())

    async def secret(self, question: str) -> str:
        if not sys.stdin.isatty():
            return sys.stdin.readline()
        return await asyncio.to_thread(getpass.getpass, question)

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        print_line(question)
        for number, (_, label) in enumerate(options, 1):
            print_line(f"  {number}. {label}")
        chosen = (await self.prompt("Number:")).strip()
        try:
            return options[int(chosen) - 1][0]
        except (ValueError, IndexError):
            raise CredentialError(
                f"'{chosen}' is not one of the numbers. Run the command again and type a number of the list."
            ) from None

    def progress(self, text: str) -> None:
        print_line(text, flush=True)


async def check_search_service_key(settings: Settings, name: str, given: Credential) -> ApiKeyCheckResult:
    """Checks the key of a search service with a small search."""
    from app.web.web_search_services import SearchKeyRefused, SearchServiceEngine  # noqa: PLC0415  (only these keys need it)

    async def credential(name: str) -> Credential:
        return given

    try:
        await SearchServiceEngine(name, settings, credential).search("weather", 1)
    except SearchKeyRefused as problem:
        return ApiKeyCheckResult(state="refused", text=str(problem))
    except ToolError as problem:
        return ApiKeyCheckResult(state="unknown", text=str(problem))
    return ApiKeyCheckResult(state="accepted")


def run(words: list[str]) -> int:
    paths = BayouPaths.from_env(os.environ, current_folder())
    make_bayou_folders_private(paths)
    settings = EffectiveSettings(paths).settings
    network = settings.network
    return run_auth_command(
        words,
        paths.agent_dir,
        os.environ,
        options=None if network.offline else StreamOptions(proxy=network.http_proxy),
        page=f"{docs_dir() / 'providers.md'}",
        load_extension_models=lambda catalogue, credentials: load_extension_providers(
            CommandLineOptions(), paths, catalogue, credentials
        ),
        check_service=None if network.offline else partial(check_search_service_key, settings),
    )


def run_auth_command(
    words: Sequence[str],
    agent_dir: Path,
    env: Mapping[str, str],
    *,
    options: StreamOptions | None = None,
    load_extension_models: Callable[[ModelCatalogue, Credentials], Awaitable[object]] | None = None,
    check_service: CheckKey | None = None,
    page: str = "",
) -> int:
    """Runs `bayou auth …` and returns its exit code.

    `options` configures requests; with None none are sent. `load_extension_models` adds the models of
    extensions. `check_service` checks the key of a search service. `page` is the help page about registering an
    application.
    """
    parser = _make_parser()
    try:
        given = parser.parse_args(words)
    except SystemExit as end:
        return int(end.code or 0)
    credentials = Credentials(agent_dir, env)
    for problem in credentials.auth_file_problems:
        print_note(problem)
    try:
        return asyncio.run(
            _run_action(
                given, agent_dir, env, credentials, options, load_extension_models, check_service, page
            )
        )
    except (CredentialError, ModelNotFound) as problem:
        print_note(str(problem))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


async def _run_action(
    given: argparse.Namespace,
    agent_dir: Path,
    env: Mapping[str, str],
    credentials: Credentials,
    options: StreamOptions | None,
    load_extension_models: Callable[[ModelCatalogue, Credentials], Awaitable[object]] | None,
    check_service: CheckKey | None,
    page: str,
) -> int:
    match given.action:
        case "login":
            catalogue, registry = ModelCatalogue.load_catalogue(agent_dir, env=env), AdapterRegistry()
            if load_extension_models is not None:
                await load_extension_models(catalogue, credentials)
            _refuse_unknown(given.provider, catalogue, credentials)
            ask: CheckKey = ApiKeyChecker(catalogue, registry, lambda: options)
            if given.provider in WEB_SEARCH_SERVICES and check_service is not None:
                ask = check_service
            ui = TerminalSignInUi(opens_browser=not given.no_browser)
            # Piped input is a key.
            with_key = given.api_key or not sys.stdin.isatty()
            try:
                told = await sign_in(given.provider, credentials, ui, ask, with_key=with_key, page=page)
            finally:
                await registry.close_connections()
            if told:
                print_line(told)
            print_line(f"Stored the key for {given.provider} in {agent_dir / 'auth.json'}.")
            return 0
        case "logout":
            found = await credentials.remove_stored_credential(given.provider)
            print_line(
                f"Removed the key for {given.provider}."
                if found
                else f"There was no stored key for {given.provider}."
            )
            return 0
        case _:
            return await _check_provider(given, agent_dir, env, credentials)


async def _check_provider(
    given: argparse.Namespace, agent_dir: Path, env: Mapping[str, str], credentials: Credentials
) -> int:
    provider = given.provider or given.named_provider
    if given.model:
        catalogue = ModelCatalogue.load_catalogue(agent_dir, env=env)
        providers = [select_model(given.model, catalogue, credentials, provider).model.provider]
    elif provider:
        _refuse_unknown(provider, ModelCatalogue.load_catalogue(agent_dir, env=env), credentials)
        providers = [provider]
    else:
        names = (*ModelCatalogue.load_catalogue(agent_dir, env=env).provider_ids, *WEB_SEARCH_SERVICES)
        providers = [name for name in names if credentials.has_credential(name)]
        if not providers and not given.json:
            print_note("There is no key and no sign-in. Store one: bayou auth login PROVIDER.")
    checks = [await check_credential(name, credentials) for name in providers]
    for result in checks:
        if given.json:
            print_json(msgspec.to_builtins(result))
        else:
            print_line(
                "  ".join(
                    part for part in (result.provider, result.state, result.source, result.detail) if part
                )
            )
    return max((EXIT_CODE_BY_CREDENTIAL_STATE[result.state] for result in checks), default=1)


def _refuse_unknown(provider: str, catalogue: ModelCatalogue, credentials: Credentials) -> None:
    """Raises `CredentialError` with similar names. An extension's provider with a key is known, too."""
    is_signed_in_to = provider in credentials.sign_ins or credentials.has_credential(provider)
    names = (*catalogue.provider_ids, *WEB_SEARCH_SERVICES)
    if provider not in names and not is_signed_in_to:
        raise CredentialError(unknown_provider_text(provider, names))


class _UsageErrorParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}. See {self.prog} --help.")


def _make_parser() -> argparse.ArgumentParser:
    parser = _UsageErrorParser(
        prog="bayou auth", description="Manage API keys and sign-ins of model providers."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    signing_in = actions.add_parser("login", help="store an API key, or sign in with an account")
    signing_in.add_argument("provider")
    signing_in.add_argument(
        "--api-key", action="store_true", help="use an API key even if an account can sign in"
    )
    signing_in.add_argument(
        "--no-browser", action="store_true", help="print the sign-in address instead of opening a browser"
    )
    signing_out = actions.add_parser("logout", help="remove the stored key or sign-in")
    signing_out.add_argument("provider")
    checking = actions.add_parser(
        "check", aliases=["list"], help="check whether a key works; exit code 0, 1 or 2"
    )
    checking.add_argument("provider", nargs="?", help="default: all that have a key")
    checking.add_argument("--provider", dest="named_provider")
    checking.add_argument("--model")
    checking.add_argument("--json", action="store_true")
    return parser
