"""A server asks in the middle of a call: through the model's call, the server's process, and back."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.assembly.session_builder import assemble_session
from app.providers.scripted import say
from app.resources.paths import BayouPaths
from app.values.content import text_of
from app.values.events import Notice, QuestionAsked
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from tests.mcp.guarded_server import GuardedServer
from tests.mcp.test_in_session import Desk
from tests.mcp.test_sign_in import Browser


class Asked(Desk):
    """A session with a user who answers."""

    def open(self, asks: str = "program", *answers: Any) -> Any:
        can_ask = {"person": {"can_ask": True}, "program": {}}[asks]
        self.assembled = assemble_session(self.options, self.paths, {}, **can_ask)
        self.assembled.model_choice.set_model(self.script.register(self.assembled.registry))
        left = list(answers)

        def answer(event: Any) -> None:
            if isinstance(event, QuestionAsked) and event.answer is not None:
                event.answer.set_result(left.pop(0))

        self.assembled.session.subscribe(answer)
        return self.assembled.session


@pytest.fixture
async def desk(paths: BayouPaths) -> AsyncIterator[Asked]:
    made = Asked(paths)
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("asks", "answer", "told"),
    [
        ("program", "Ada", '{"action": "accept", "content": {"name": "Ada"}}'),
        ("program", None, '{"action": "cancel"}'),
        ("person", {"name": "Ada"}, '{"action": "accept", "content": {"name": "Ada"}}'),
        ("person", "decline", '{"action": "decline"}'),
        ("person", None, '{"action": "cancel"}'),
    ],
)
async def test_a_question_comes_back_to_the_server_that_asked_it(
    desk: Asked, asks: str, answer: Any, told: str
):
    desk.configure(docs={"exposure": "direct"})
    desk.open(asks, answer)
    assert told in await desk.result("mcp__docs__ask")


async def test_what_a_prompt_needs_is_asked_for(desk: Asked):
    desk.configure(docs={})
    session = desk.open("program", "Ada")
    await session.mcp.test_server("docs")
    desk.script.responses.append(say("done"))
    await session.prompt("/docs:greet")
    await session.wait_until_idle()
    (said,) = [one for one in session.messages if isinstance(one, UserMessage)]
    assert text_of(said.content) == "Greet Ada"


async def test_a_server_on_the_network_is_called_like_any_other(desk: Asked):
    server = GuardedServer()
    server.needs_sign_in = False
    try:
        desk.paths.agent_dir.mkdir(parents=True)
        entry = {"url": server.url, "exposure": "direct"}
        (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"far": entry}}))
        desk.open()
        assert await desk.result("mcp__far__echo") == "heard"
    finally:
        await desk.close()
        server.close()


async def test_a_sign_in_that_ends_in_the_middle_is_reported_and_a_new_one_counts_at_once(desk: Asked):
    server = GuardedServer()
    try:
        desk.paths.agent_dir.mkdir(parents=True)
        entry = {"url": server.url, "exposure": "direct"}
        (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"far": entry}}))
        session = desk.open()
        await session.mcp.server_configuration_changes.sign_in_to_mcp_server("far", Browser())
        assert await desk.result("mcp__far__echo") == "heard"
        server.valid.clear()
        server.refresh.clear()
        assert "the sign-in expired: /mcp login far" in await desk.result("mcp__far__echo")
        assert session.mcp.server_view("far").state == "sign-in"
        await session.mcp.server_configuration_changes.sign_in_to_mcp_server("far", Browser())
        assert await desk.result("mcp__far__echo") == "heard"
    finally:
        await desk.close()
        server.close()


async def test_values_of_a_configuration_are_secrets_of_the_session(desk: Asked):
    """A secret from any source appears as its mark for the model, in the file and in exports; other text stays."""
    desk.configure(
        docs={"exposure": "direct", "env": {"API_TOKEN": "hunter2-hunter2-x", "LEVEL": "information"}}
    )
    (desk.paths.cwd / ".mcp.json").write_text(
        '{"mcpServers": {"x": {"url": "https://x.example", "headers": {"Authorization": "Bearer sesame-open-77"}}}}'
    )
    desk.open()
    assert desk.assembled is not None
    desk.assembled.effective_settings.set("secrets.mask", True)
    told = await desk.result("mcp__docs__echo", text="hunter2-hunter2-x sesame-open-77 information")
    assert "hunter2" not in told
    assert "sesame" not in told
    assert "information" in told


async def test_the_command_is_the_same_in_every_face(desk: Asked):
    desk.configure(docs={})
    session = desk.open()
    for words in ("/mcp list", "/mcp test docs", "/mcp disable docs"):
        told = asyncio.ensure_future(desk.until(lambda event: isinstance(event, Notice)))
        await asyncio.sleep(0)
        await session.prompt(words)
        assert "docs" in (await told).text
    with pytest.raises(UserError, match="Server name required"):
        await session.prompt("/mcp test")
    with pytest.raises(UserError, match="Run: bayou mcp login docs"):
        await session.prompt("/mcp login docs")
    assert not [one for one in session.messages if isinstance(one, UserMessage)]
