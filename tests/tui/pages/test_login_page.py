"""`/login` and `/logout`: keys that are stored, accounts that are signed in to, and what is given up."""

import asyncio
from pathlib import Path

import pytest

from app.providers.credentials import Credentials
from app.providers.model_stream import Credential
from app.providers.signin.interface import Entry, SignInUi
from app.providers.signin.key_check import KeyCheck
from app.tui.features.models.login import LoginPage
from tests.tui.pages.person import Person, at_the_keyboard

TAKEN = KeyCheck(state="accepted")


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


def page_of(credentials: Credentials, person: Person, answer: KeyCheck = TAKEN) -> LoginPage:
    async def check(provider: str, credential: Credential) -> KeyCheck:
        assert credential.key == "sk-secret"
        return answer

    return LoginPage(credentials, lambda: ("deepseek", "harbour"), person.ask, person.say, check)


async def given_key(credentials: Credentials, answer: KeyCheck) -> list[str]:
    """What a person hears who gives a key of which the provider says this."""
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person, answer).connect("deepseek")):
            await person.sees_soon("API key for DeepSeek")
            await person.press(*"sk-secret", "enter")
        return list(person.heard)


async def test_a_key_that_is_refused_is_not_stored(credentials: Credentials) -> None:
    heard = await given_key(credentials, KeyCheck(state="refused", text="401 Incorrect API key."))
    assert heard[-1] == "DeepSeek rejected this key, so it was not stored. 401 Incorrect API key."
    assert not credentials.stored()


async def test_a_key_that_nobody_could_ask_about_is_stored_and_not_called_connected(
    credentials: Credentials,
) -> None:
    heard = await given_key(credentials, KeyCheck(state="unknown", text="bayou is offline."))
    assert heard[-1].endswith("could not be checked: bayou is offline.")
    assert not any("is connected" in text for text in heard)
    assert tuple(credentials.stored()) == ("deepseek",)


async def test_what_a_taken_key_lacks_is_said(credentials: Credentials) -> None:
    heard = await given_key(credentials, KeyCheck(state="accepted", text="Insufficient balance."))
    assert heard[-2:] == [
        "DeepSeek accepts the key, but reports: Insufficient balance.",
        "DeepSeek is connected. /model chooses one of its models.",
    ]


async def test_where_an_application_is_needed_it_is_said_before_one_chooses(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        page = LoginPage(credentials, lambda: ("anthropic",), person.ask, person.say, _never)
        async with person.asked(page.connect()):
            await person.sees_soon("an account, with your own BAYOU_ANTHROPIC_CLIENT_ID")
            await person.press("enter")
            await person.sees_soon("Sign in to an account, with your own BAYOU_ANTHROPIC_CLIENT_ID")
            [told] = person.heard
            assert "BAYOU_ANTHROPIC_CLIENT_ID" in told and "providers.md" in told
            await person.press("down", "enter")
        assert person.heard == [told]


async def _never(provider: str, credential: Credential) -> KeyCheck:
    raise AssertionError("nobody gave a key")


async def test_a_key_is_stored_and_never_shown(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect()):
            await person.press("enter")
            await person.sees_soon("API key for DeepSeek", "for you alone")
            await person.press(*"sk-secret")
            assert "sk-secret" not in person.sees
            await person.press("enter")
        assert tuple(credentials.stored()) == ("deepseek",)
        assert person.heard[-1] == "DeepSeek is connected. /model chooses one of its models."
        assert "sk-secret" not in "".join(person.heard)


async def test_accounts_are_found_by_that_word(credentials: Credentials) -> None:
    credentials.offer("deepseek", Account(), owner="test")
    async with at_the_keyboard() as person, person.asked(page_of(credentials, person).connect()):
        await person.press(*"account")
        await person.sees_soon("DeepSeek")
        await person.press("escape")


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
