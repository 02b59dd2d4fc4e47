"""`/login` and `/logout`: keys that are stored, accounts that are signed in to, and what is given up."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import Credentials
from app.providers.model_stream import Credential
from app.providers.models.catalogue import ModelCatalogue
from app.providers.signin.interface import SignInEntry, SignInUi
from app.providers.signin.key_check import ApiKeyCheckResult
from app.tui.features.models.login import LoginPage
from app.tui.features.models.own_model_server import OwnModelServerSetup
from app.values.models import Model
from app.values.user_errors import UserError
from tests.tui.pages.person import Person, at_the_keyboard

TAKEN = ApiKeyCheckResult(state="accepted")


class Account:
    """Signs in by a code; the test says when it was entered."""

    id, name, missing = "harbour", "Harbour", ""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def login(self, ui: SignInUi) -> SignInEntry:
        await ui.show_code("WDJB-MJHT", "https://harbour.example/device", 900)
        await self.entered.wait()
        return {"type": "oauth", "access": "token", "refresh": "again", "expires": 4_000_000_000_000}

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        return entry

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential()


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return Credentials(tmp_path, {})


def page_of(
    credentials: Credentials,
    person: Person,
    answer: ApiKeyCheckResult = TAKEN,
    providers: Sequence[str] = ("deepseek", "harbour"),
) -> LoginPage:
    async def check(provider: str, credential: Credential) -> ApiKeyCheckResult:
        assert credential.key == "sk-secret"
        return answer

    async def use(model: Model) -> None:
        raise AssertionError("no server was connected")

    choice = ModelChoice(ModelCatalogue.load_catalogue(Path("/nowhere"), env={}), credentials)
    other = OwnModelServerSetup(choice, use, Path("/nowhere"), lambda: None, person.ask, person.say)
    return LoginPage(credentials, lambda: providers, person.ask, person.say, check, other)


async def given_key(credentials: Credentials, answer: ApiKeyCheckResult) -> list[str]:
    """What a person hears who gives a key of which the provider says this."""
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person, answer).connect("deepseek")):
            await person.sees_soon("API key for DeepSeek")
            await person.press(*"sk-secret", "enter")
        return list(person.heard)


async def test_a_key_that_is_refused_is_not_stored(credentials: Credentials) -> None:
    heard = await given_key(credentials, ApiKeyCheckResult(state="refused", text="401 Incorrect API key."))
    assert heard[-1] == "DeepSeek rejected this key, so it was not stored. 401 Incorrect API key."
    assert not credentials.stored_credential_kinds()


async def test_an_unchecked_key_is_stored_and_not_called_connected(
    credentials: Credentials,
) -> None:
    heard = await given_key(credentials, ApiKeyCheckResult(state="unknown", text="bayou is offline."))
    assert heard[-1].endswith("could not be checked: bayou is offline.")
    assert not any("is connected" in text for text in heard)
    assert tuple(credentials.stored_credential_kinds()) == ("deepseek",)


async def test_a_problem_of_an_accepted_key_is_shown(credentials: Credentials) -> None:
    heard = await given_key(credentials, ApiKeyCheckResult(state="accepted", text="Insufficient balance."))
    assert heard[-2:] == [
        "DeepSeek accepts the key, but reports: Insufficient balance.",
        "DeepSeek is connected. /model selects one of its models.",
    ]


async def test_a_key_is_asked_for_at_once_where_an_account_needs_an_application(
    credentials: Credentials,
) -> None:
    async with at_the_keyboard() as person:
        page = page_of(credentials, person, providers=("anthropic",))
        async with person.asked(page.connect()):
            await person.sees_soon("ANTHROPIC_API_KEY")
            assert "an account" not in person.sees
            await person.press("enter")
            await person.sees_soon("API key for Anthropic", "needs", "BAYOU_ANTHROPIC_CLIENT_ID")
            await person.press("enter")
        assert person.heard == [] and not credentials.stored_credential_kinds()


async def test_a_key_that_is_cut_is_questioned(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect("deepseek")):
            await person.press(*"sk-1", "enter")
            await person.sees_soon("Use a key of 4 characters?")
            await person.press("enter")
        assert person.heard == [] and not credentials.stored_credential_kinds()


async def test_an_unknown_provider_is_refused_with_the_name_that_was_meant(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        with pytest.raises(UserError, match=r"no provider 'deepsek'. Did you mean deepseek\?"):
            await page_of(credentials, person).connect("deepsek")


@pytest.mark.parametrize("word", ["ollama", "local", "custom", "studio", "compatible", "vllm"])
async def test_a_server_of_ones_own_is_found_by_any_word_for_it(credentials: Credentials, word: str) -> None:
    async with at_the_keyboard() as person, person.asked(page_of(credentials, person).connect()):
        await person.press(*word)
        await person.sees_soon("Another server…")
        await person.press("escape")


async def test_a_key_is_stored_and_never_shown(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect()):
            await person.press("enter")
            await person.sees_soon("API key for DeepSeek", "which only you can read")
            await person.press(*"sk-secret")
            assert "sk-secret" not in person.sees
            await person.press("enter")
        assert tuple(credentials.stored_credential_kinds()) == ("deepseek",)
        assert person.heard[-1] == "DeepSeek is connected. /model selects one of its models."
        assert "sk-secret" not in "".join(person.heard)


async def test_accounts_are_found_by_that_word(credentials: Credentials) -> None:
    credentials.add_sign_in("deepseek", Account(), owner="test")
    async with at_the_keyboard() as person, person.asked(page_of(credentials, person).connect()):
        await person.press(*"account")
        await person.sees_soon("DeepSeek")
        await person.press("escape")


async def test_escape_stores_nothing(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect("deepseek")):
            await person.press("escape")
        assert not tuple(credentials.stored_credential_kinds()) and person.heard == []


@pytest.mark.parametrize("is_entered", [True, False])
async def test_an_account_is_signed_in_to_by_a_code(credentials: Credentials, is_entered: bool) -> None:
    account = Account()
    credentials.add_sign_in("harbour", account, owner="test")
    async with at_the_keyboard() as person:
        async with person.asked(page_of(credentials, person).connect("harbour")):
            await person.sees_soon("API key for harbour", "To sign in with a")
            await person.press("enter")
            await person.sees_soon("WDJB-MJHT", "within 15 minutes")
            if is_entered:
                account.entered.set()
            else:
                await person.press("escape")
        assert ("harbour" in credentials.stored_credential_kinds()) is is_entered
        assert bool(person.heard) is is_entered


async def test_what_is_stored_is_forgotten(credentials: Credentials) -> None:
    async with at_the_keyboard() as person:
        page = page_of(credentials, person)
        await page.remove_credential()
        assert "No key or account is stored" in person.heard[0]
        await credentials.store_key("deepseek", "sk-1")
        async with person.asked(page.remove_credential()):
            await person.press("enter")
        assert not tuple(credentials.stored_credential_kinds())
        await page.remove_credential("deepseek")
        assert person.heard[1:] == ["DeepSeek: removed.", "DeepSeek: nothing was stored."]
