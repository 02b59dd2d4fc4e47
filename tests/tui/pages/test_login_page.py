"""`/login` and `/logout`: keys that are stored, accounts that are signed in to, and what is given up."""

import asyncio
from pathlib import Path

import pytest

from app.providers.contract import Credential
from app.providers.credentials import Credentials
from app.providers.signin.interface import Entry, SignInUi
from app.tui.pages.login_page import LoginPage
from tests.tui.pages.person import Person, at_the_keyboard


class Account:
    """Signs in by a code; the test says when it was entered."""

    id, name, missing = "harbour", "Harbour", ""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def login(self, ui: SignInUi) -> Entry:
        await ui.show_code("WDJB-MJHT", "https://harbour.example/device", 900)
        await self.entered.wait()
        return {"type": "oauth", "access": "token", "refresh": "again", "expires": 4_000_000_000_000}

    def refresh(self, entry: Entry) -> Entry:
        return entry

    def credential(self, entry: Entry) -> Credential:
        return Credential()


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return Credentials(tmp_path, {})


def page_of(credentials: Credentials, person: Person) -> LoginPage:
    return LoginPage(credentials, lambda: ("deepseek", "harbour"), person.ask, person.say)


async def test_a_key_is_stored_and_never_shown(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect()):
            await person.press("enter")
            await person.sees_soon("API key for DeepSeek", "for you alone")
            await person.press(*"sk-secret")
            assert "sk-secret" not in person.sees
            await person.press("enter")
        assert tuple(credentials.stored()) == ("deepseek",)
        assert person.heard == ["DeepSeek is connected. /model chooses one of its models."]
        assert "sk-secret" not in "".join(person.heard)


async def test_escape_stores_nothing(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect("deepseek")):
            await person.press("escape")
        assert not tuple(credentials.stored()) and person.heard == []


@pytest.mark.parametrize("is_entered", [True, False])
async def test_an_account_is_signed_in_to_by_a_code(credentials: Credentials, is_entered: bool) -> None:
    account = Account()
    credentials.offer("harbour", account, owner="test")
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect("harbour")):
            await person.sees_soon("Sign in to an account of Harbour", "Use an API key")
            await person.press("enter")
            await person.sees_soon("WDJB-MJHT", "within 15 minutes")
            if is_entered:
                account.entered.set()
            else:
                await person.press("escape")
        assert ("harbour" in credentials.stored()) is is_entered
        assert bool(person.heard) is is_entered


async def test_what_is_stored_is_forgotten(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        page = page_of(credentials, person)
        await page.forget()
        assert "No key or account is stored here" in person.heard[0]
        await credentials.store_key("deepseek", "sk-1")
        async with person.asked(page.forget()):
            await person.press("enter")
        assert not tuple(credentials.stored())
        await page.forget("deepseek")
        assert person.heard[1:] == ["DeepSeek: forgotten.", "DeepSeek: nothing was stored."]
