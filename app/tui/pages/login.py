"""`/login` and `/logout`: choosing a provider, storing a key, signing in to an account."""

import asyncio
import webbrowser
from collections.abc import Sequence

from app.engine.commands.base import CommandError
from app.providers.credentials import CredentialError, Credentials, Source
from app.providers.known import PROVIDERS
from app.providers.signin.interface import Entry, SignIn
from app.tui.pages.asking import ask, ask_text, pick, select
from app.tui.stage import Stage
from widgets.lists.rows import Badge, ListRow
from widgets.screens.dialogs import WaitScreen

_SOURCES: dict[Source, str] = {
    "run": "connected for this run",
    "stored": "connected by a stored key",
    "sign-in": "connected by an account",
    "extension": "connected by an extension",
    "models.json": "connected by models.json",
    "environment": "connected by the environment",
    "surroundings": "connected by what this machine is",
}


class LoginUi:
    """What a sign-in asks and shows, in the transcript and in small screens."""

    def __init__(self, app: Stage) -> None:
        self._app = app
        self._waiting: asyncio.Future[None] | None = None

    async def sign_in(self, account: SignIn) -> Entry | None:
        """None: it was given up. Raises `CredentialError`."""
        self._signing_in = asyncio.ensure_future(account.login(self))
        try:
            await asyncio.wait((self._signing_in,))
            return None if self._signing_in.cancelled() else self._signing_in.result()
        finally:
            self._signing_in.cancel()
            if self._waiting is not None:
                self._waiting.cancel()

    async def open_url(self, url: str, instructions: str) -> None:
        self._app.presenter.note(f"{instructions}\n{url}")
        await asyncio.to_thread(webbrowser.open, url)  # some browsers are waited for

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        """The code stays in sight while the provider is asked again and again."""
        text = f"Go to {url} and enter {code} (within {seconds / 60:.0f} minutes)."
        self._waiting = asyncio.ensure_future(ask(self._app, WaitScreen("Sign in with a code", text)))
        self._waiting.add_done_callback(lambda _: self._signing_in.cancel())

    async def prompt(self, question: str) -> str:
        return await ask_text(self._app, question) or ""

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        rows = [ListRow(id=name, title=text) for name, text in options]
        picked = await pick(self._app, question, rows)
        return picked.row.id if picked is not None else ""

    def progress(self, text: str) -> None:
        self._app.presenter.note(text)


async def login(app: Stage, provider: str) -> None:
    """Stores a key or an account's tokens; bayou never shows them."""
    choice = app.session.choice
    if not provider:
        rows = [_provider_row(choice.credentials, name) for name in choice.catalogue.providers]
        picked = await pick(app, "Connect a provider", rows)
        if picked is None:
            return
        provider = picked.row.id
    account = choice.credentials.sign_ins.get(provider)
    try:
        by_account = account is not None and await _wants_account(app, account)
        if by_account is None:
            return
        if account is not None and by_account:
            entry = await LoginUi(app).sign_in(account)
            if entry is None:
                return
            await choice.credentials.store(provider, entry)
        else:
            key = await ask_text(
                app,
                f"API key for {title_of(provider)}",
                "It is kept in auth.json, for you alone.",
                is_secret=True,
            )
            if not key:
                return
            await choice.credentials.store_key(provider, key.strip())
    except CredentialError as problem:
        raise CommandError(str(problem)) from None
    app.presenter.note(f"{title_of(provider)} is connected. /model chooses one of its models.")


def title_of(provider: str) -> str:
    known = PROVIDERS.get(provider)
    return known.name if known is not None else provider


def _provider_row(credentials: Credentials, name: str) -> ListRow:
    """How it is connected; else how it can be."""
    known, title = PROVIDERS.get(name), title_of(name)
    source = credentials.source(name)
    if source is not None:
        return ListRow(
            id=name, title=title, words=name, badges=(Badge(text=_SOURCES[source], tone="success"),)
        )
    keys = (known.env or known.bearer_env)[:1] if known else ()
    ways = [*keys, *(("an account",) if name in credentials.sign_ins else ())]
    return ListRow(id=name, title=title, words=name, detail=" or ".join(ways))


async def _wants_account(app: Stage, account: SignIn) -> bool | None:
    """None: neither."""
    needs = f" (set {account.missing} first)" if account.missing else ""
    by_account, by_key = f"Sign in to an account of {account.name}{needs}", "Use an API key"
    ways = (by_key, by_account) if needs else (by_account, by_key)
    how = await select(app, f"Connect {account.name}", ways)
    return how == by_account if how is not None else None


async def logout(app: Stage, provider: str) -> None:
    credentials = app.session.choice.credentials
    stored = tuple(credentials.stored())
    if not provider and not stored:
        app.presenter.note(
            "No key or account is stored here; what the environment holds is not bayou's to forget."
        )
        return
    if not provider:
        rows = [ListRow(id=name, title=title_of(name), words=name) for name in stored]
        picked = await pick(app, "Forget which?", rows, choose="forget it")
        if picked is None:
            return
        provider = picked.row.id
    found = await credentials.forget(provider)
    app.presenter.note(f"{title_of(provider)}: {'forgotten' if found else 'nothing was stored'}.")
