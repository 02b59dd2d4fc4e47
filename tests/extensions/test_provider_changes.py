"""What an extension's file changes of a provider that bayou knows: its address, and how a person signs in to it."""

import json
from pathlib import Path
from typing import Any

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.extensions.headless_ui import HeadlessUi
from app.resources.paths import BayouPaths
from tests.providers.loopback import Reply, loopback, sse

SAYS = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
GATEWAY = """
from bayou import ProviderSpec

def extension(api):
    api.register_provider(ProviderSpec(name="groq", base_url={url!r}, api_key="literal"))
"""
ACCOUNT = """
import msgspec
from bayou import Credential, CredentialError, ProviderSpec

class Guild(msgspec.Struct, frozen=True, kw_only=True):
    id: str = "groq"
    name: str = "the guild"
    missing: str = ""

    async def login(self, ui):
        word = await ui.prompt("The word?")
        if word != "sesame":
            raise CredentialError("The guild does not know you.")
        return {{"type": "oauth", "access": "of-" + word, "refresh": "r", "expires": 0}}

    def refresh(self, entry):
        return {{**entry, "access": entry["access"] + "-fresh", "expires": 9999999999999}}

    def credential(self, entry):
        return Credential(key=entry["access"], is_bearer=True)

def extension(api):
    api.register_provider(ProviderSpec(name="groq", base_url={url!r}, sign_in=Guild()))
"""


async def opened(home: Path, code: str, **options: Any) -> AssembledSession:
    paths = BayouPaths.from_env({"HOME": str(home)}, home)
    file = paths.agent_dir / "extensions" / "mine.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    given = CommandLineOptions(no_session=True, **options)
    assembled = assemble_session(given, paths, {})
    extended = await connect_extensions(
        assembled,
        given,
        paths,
        mode="print",
        ui=HeadlessUi(assembled.session.events.publish_now),
        shutdown=lambda: None,
    )
    assert extended.extensions.hooks.problems == []
    return assembled


async def test_a_bundled_provider_can_have_another_address(tmp_path: Path) -> None:
    async with loopback() as server:
        server.reply(Reply(body=sse(SAYS, done=True)))
        assembled = await opened(tmp_path, GATEWAY.format(url=server.url))
        session = assembled.session
        model = next(
            model for model in session.models.model_choice.available_models() if model.provider == "groq"
        )
        await session.models.use_model(model)
        await session.prompt("Hello")
        await session.wait_until_idle()
        assert session.last_answer is not None
        assert session.last_answer.text == "Hi"
        assert server.requests[0].headers["authorization"] == "Bearer literal"
        assert server.requests[0].json["model"] == model.id
        await close_session(session)


class Words:
    """A person who knows the word."""

    async def prompt(self, question: str) -> str:
        assert question == "The word?"
        return "sesame"


async def test_a_person_signs_in_the_way_an_extension_brings(tmp_path: Path) -> None:
    async with loopback() as server:
        server.reply(Reply(body=sse(SAYS, done=True)))
        assembled = await opened(tmp_path, ACCOUNT.format(url=server.url))
        credentials = assembled.model_choice.credentials
        account = credentials.sign_ins["groq"]
        assert account.name == "the guild"
        assert not credentials.has_credential("groq")
        await credentials.store_auth_entry("groq", await account.login(Words()))  # type: ignore[arg-type]
        session = assembled.session
        model = next(
            model for model in session.models.model_choice.available_models() if model.provider == "groq"
        )
        await session.models.use_model(model)
        await session.prompt("Hello")
        await session.wait_until_idle()
        assert server.requests[0].headers["authorization"] == "Bearer of-sesame-fresh"
        await close_session(session)
    kept = json.loads((assembled.prompt.paths.agent_dir / "auth.json").read_text())
    assert kept["groq"]["access"] == "of-sesame-fresh", "refreshed once, and kept"


async def test_what_an_extension_brought_goes_with_it(tmp_path: Path) -> None:
    assembled = await opened(tmp_path, ACCOUNT.format(url="http://127.0.0.1:9"))
    usual = assembled.model_choice.catalogue.models_of_provider("groq")[0].base_url
    assert usual == "http://127.0.0.1:9"
    await assembled.extensions.close()
    assert "groq" not in assembled.model_choice.credentials.sign_ins
    assert assembled.model_choice.catalogue.models_of_provider("groq")[0].base_url.startswith("https://")
    await close_session(assembled.session)
