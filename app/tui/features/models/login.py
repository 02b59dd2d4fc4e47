"""The page for `/login` and `/logout`: the user chooses a provider and stores an API key or signs in to an account."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from app.providers.credentials import Credentials, CredentialSource, is_api_key_too_short
from app.providers.models.known_providers import KNOWN_PROVIDERS, unknown_provider_text
from app.providers.signin.interface import SignIn, SignInEntry
from app.providers.signin.key_check import CheckKey
from app.tui.features.models.own_model_server import (
    LOCAL_MODEL_SERVER_NAMES,
    OWN_MODEL_SERVER_ROW,
    OwnModelServerSetup,
)
from app.tui.features.shared_dialogs import ask_text, confirm, pick_list_row
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.values.user_errors import UserError
from tools.number_formatting import count_with_noun
from tools.running.user_browser import open_page_in_browser
from widgets.lists.list_rows import ListRow, RowBadge
from widgets.screens.dialogs import WaitingDialog
from widgets.transcript.transcript_blocks import AppNoteKind

_CREDENTIAL_SOURCE_TEXTS: dict[CredentialSource, str] = {
    "run": "connected with --api-key",
    "stored": "connected with a stored API key",
    "sign-in": "connected with an account",
    "extension": "connected by an extension",
    "models.json": "connected with models.json",
    "environment": "connected with an environment variable",
    "surroundings": "connected with cloud credentials",
}


class SignInScreenUi:
    """What a sign-in shows to the user: messages in the transcript and small dialogs."""

    def __init__(self, ask: AskOnScreen, say: ShowMessage) -> None:
        self._ask = ask
        self._show_message = say
        self._waiting: asyncio.Future[None] | None = None

    async def sign_in(self, account: SignIn) -> SignInEntry | None:
        """Runs the sign-in to an account and returns its tokens; None if the user cancelled. Raises
        `CredentialError`."""
        self._login_task = asyncio.ensure_future(account.login(self))
        try:
            await asyncio.wait((self._login_task,))
            return None if self._login_task.cancelled() else self._login_task.result()
        finally:
            self._login_task.cancel()
            if self._waiting is not None:
                self._waiting.cancel()

    async def open_url(self, url: str, instructions: str) -> None:
        self._show_message(f"{instructions}\n{url}")
        await open_page_in_browser(url, outside=Path.cwd())

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        """Shows the code that the user enters at the provider's web page, while the provider is polled; closing the
        dialog cancels the sign-in."""
        text = f"Go to {url} and enter {code} (within {seconds / 60:.0f} minutes)."
        self._waiting = asyncio.ensure_future(self._ask(WaitingDialog("Sign in with a code", text)))
        self._waiting.add_done_callback(lambda _: self._login_task.cancel())

    async def prompt(self, question: str) -> str:
        return await ask_text(self._ask, question) or ""

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        rows = [ListRow(id=name, title=text) for name, text in options]
        picked = await pick_list_row(self._ask, question, rows)
        return picked.row.id if picked is not None else ""

    def progress(self, text: str) -> None:
        self._show_message(text)


class LoginPage(msgspec.Struct, frozen=True):
    """Adds and removes the user's credentials for providers, which are never displayed."""

    credentials: Credentials
    providers: Callable[[], Sequence[str]]
    """Returns the names of all current providers."""
    ask: AskOnScreen
    show_message: ShowMessage
    check: CheckKey
    """Asks a provider whether it accepts a key."""
    other_server: OwnModelServerSetup

    async def connect(self, provider: str = "") -> None:
        """Connects a provider, which the user chooses if none is given: stores an API key or the tokens of an
        account."""
        if not provider:
            rows = [_provider_row(self.credentials, name) for name in self.providers()]
            picked = await pick_list_row(self.ask, "Connect a provider", [*rows, OWN_MODEL_SERVER_ROW])
            if picked is None:
                return
            provider = picked.row.id
        if not self._has_sign_in(provider):
            if provider != OWN_MODEL_SERVER_ROW.id and provider.casefold() not in LOCAL_MODEL_SERVER_NAMES:
                raise UserError(unknown_provider_text(provider, self.providers()))
            await self.other_server.connect()
            return
        if await self._connect(provider):
            self.show_message(f"{provider_title(provider)} is connected. /model selects one of its models.")

    def _has_sign_in(self, provider: str) -> bool:
        """Returns whether a provider can be connected: it has models, or a sign-in, which an extension may offer before
        it has models."""
        return provider in self.providers() or provider in self.credentials.sign_ins

    async def _connect(self, provider: str) -> bool:
        """Connects one provider by an account or an API key; returns False if the user cancelled."""
        account, known = self.credentials.sign_ins.get(provider), KNOWN_PROVIDERS.get(provider)
        if (
            account is not None
            and not account.missing
            and known
            and not (known.key_variables or known.token_variables)
        ):
            return await self._sign_in(provider, account)
        told = "The key is stored in auth.json, which only you can read."
        if account is not None and account.missing:
            told += f" Signing in to an account needs {account.missing} (docs/providers.md)."
        elif account is not None:
            told += f" To sign in with a {account.name} account instead, leave the field empty."
        key = await ask_text(self.ask, f"API key for {provider_title(provider)}", told, is_secret=True)
        if key is None:
            return False
        if key.strip():
            return await self._connect_by_key(provider, key.strip())
        if account is None or account.missing:
            return False
        return await self._sign_in(provider, account)

    async def _sign_in(self, provider: str, account: SignIn) -> bool:
        entry = await SignInScreenUi(self.ask, self.show_message).sign_in(account)
        if entry is not None:
            await self.credentials.store_auth_entry(provider, entry)
        return entry is not None

    async def _connect_by_key(self, provider: str, key: str) -> bool:
        """Checks an API key with one request and stores it unless the provider rejects it; returns whether it was
        stored."""
        title = provider_title(provider)
        if is_api_key_too_short(key) and not await confirm(
            self.ask,
            f"Use a key of {count_with_noun(len(key), 'character')}?",
            "Keys are usually longer. Is it complete?",
        ):
            return False
        self.show_message(f"Checking the key with {title} …")
        checked = await self.check(provider, await self.credentials.credential_of_key(provider, key))
        if checked.state == "refused":
            self.show_message(
                f"{title} rejected this key, so it was not stored. {checked.text}", AppNoteKind.ERROR
            )
            return False
        await self.credentials.store_key(provider, key)
        if checked.state == "unknown":
            self.show_message(
                f"The key for {title} is stored, but it could not be checked: {checked.text}",
                AppNoteKind.WARNING,
            )
            return False
        if checked.text:
            self.show_message(f"{title} accepts the key, but reports: {checked.text}", AppNoteKind.WARNING)
        return True

    async def remove_credential(self, provider: str = "") -> None:
        stored = tuple(self.credentials.stored_credential_kinds())
        if not provider and not stored:
            self.show_message(
                "No key or account is stored. To remove a key from the environment, unset its variable."
            )
            return
        if not provider:
            rows = [ListRow(id=name, title=provider_title(name), search_words=name) for name in stored]
            picked = await pick_list_row(self.ask, "Remove which credential?", rows, choose="remove")
            if picked is None:
                return
            provider = picked.row.id
        found = await self.credentials.remove_stored_credential(provider)
        self.show_message(f"{provider_title(provider)}: {'removed' if found else 'nothing was stored'}.")


def provider_title(provider: str) -> str:
    known = KNOWN_PROVIDERS.get(provider)
    return known.name if known is not None else provider


def _provider_row(credentials: Credentials, name: str) -> ListRow:
    """Returns a provider's row in the list: how it is connected, or how it can be."""
    known, title = KNOWN_PROVIDERS.get(name), provider_title(name)
    source, account = credentials.credential_source_of(name), credentials.sign_ins.get(name)
    words = f"{name} account sign-in" if account is not None else name
    if source is not None:
        return ListRow(
            id=name,
            title=title,
            search_words=words,
            badges=(RowBadge(text=_CREDENTIAL_SOURCE_TEXTS[source], tone="success"),),
        )
    keys = (known.key_variables or known.token_variables)[:1] if known else ()
    ways = list(keys)
    if account is not None and not account.missing:
        ways.append("an account")
    elif not ways and account is not None:
        ways.append("an account, not set up")
    return ListRow(id=name, title=title, search_words=words, detail=" or ".join(ways))
