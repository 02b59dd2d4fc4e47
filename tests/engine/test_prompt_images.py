"""Images of prompts are checked where a prompt is accepted, those of files and tools where a request is made, because
providers refuse every later request of a session that has a wrong one."""

import asyncio
import base64
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from app.engine.core.prompt_intake import SessionRequestRefused
from app.providers.model_stream import RequestContext
from app.providers.scripted import QueuedResponse, call, say
from app.values.content import Image, Text
from app.values.entries import MessageEntry
from app.values.messages import ToolResultMessage, UserMessage
from tests.acp.peers import AcpError, bayou
from tests.agent.scripted_loop import tool
from tests.engine.scripted_session import ScriptedSession
from tests.modes.processes import STAGE
from tests.modes.test_rpc_fuzz import Dialogue
from tools.tool_definition import ToolContext
from tools.tool_result_values import ImagePart, ToolResult


def drawn(kind: str, width: int = 3, height: int = 2) -> bytes:
    out = io.BytesIO()
    Picture.effect_noise((width, height), 90).save(out, kind)
    return out.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


GOOD = drawn("PNG")
BROKEN_PIXELS = GOOD.replace(b"IDAT", b"IDAX")
WRONG = {
    "no Base64": "no base64!",
    "nothing": "",
    "a text": encoded(b"hello"),
    "a page": encoded(b"<!doctype html><title>404</title>"),
    "SVG": encoded(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "PDF": encoded(b"%PDF-1.7\n"),
    "the beginning of a PNG": encoded(GOOD[:30]),
    "half a PNG": encoded(drawn("PNG", 90, 90)[:-400]),
    "half a JPEG": encoded(drawn("JPEG", 90, 90)[:-400]),
    "half a WebP": encoded(drawn("WEBP", 90, 90)[:-400]),
    "the beginning of a GIF": encoded(b"GIF89a"),
    "Base64 with spaces": encoded(GOOD)[:8] + " " + encoded(GOOD)[8:],
}


class Asked:
    """Answers of a model that keep what was asked."""

    def __init__(self) -> None:
        self.contexts: list[RequestContext] = []

    def noting(self, answer: Any) -> QueuedResponse:
        def made(context: RequestContext, count: int) -> Any:
            self.contexts.append(context)
            return answer

        return made

    def images(self) -> list[Image]:
        return [
            block
            for message in self.contexts[-1].messages
            if isinstance(message, UserMessage | ToolResultMessage) and not isinstance(message.content, str)
            for block in message.content
            if isinstance(block, Image)
        ]


@pytest.mark.parametrize("what", [*WRONG, "broken pixels"])
async def test_a_prompt_with_a_wrong_image_is_refused_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    asked = Asked()
    session = ScriptedSession(tmp_path, asked.noting(say("well")))
    data = WRONG.get(what, encoded(BROKEN_PIXELS))
    images = (Image(data=encoded(GOOD), mime_type="image/png"), Image(data=data, mime_type="image/png"))
    with pytest.raises(SessionRequestRefused, match=r"Image 2 of 2 .*: it is .*\. Replace or remove it"):
        await session.session.prompt("look", images)
    with pytest.raises(SessionRequestRefused, match="Image 2 of 2"):
        await session.session.queue("follow_up", "look", images)
    assert not session.events and not session.session.state.is_running
    await session.prompt("and without")
    assert "look" not in str(asked.contexts[-1].messages) and not asked.images()


async def test_an_image_of_a_prompt_is_sent_as_what_it_is_and_scaled_if_it_is_large(tmp_path: Path) -> None:
    asked = Asked()
    session = ScriptedSession(tmp_path, asked.noting(say("well")))
    large = drawn("PNG", 3000, 20)
    images = [Image(data=encoded(one), mime_type="image/webp") for one in (GOOD, large, drawn("BMP"))]
    await session.session.prompt("look", images)
    await session.session.wait_until_idle()
    first, second, third = asked.images()
    assert (first.data, first.mime_type) == (encoded(GOOD), "image/png")
    assert second.mime_type == third.mime_type == "image/png"
    assert Picture.open(io.BytesIO(base64.b64decode(second.data))).size == (2000, 13)


async def test_a_large_image_is_refused_where_images_are_not_scaled(tmp_path: Path) -> None:
    session = ScriptedSession(tmp_path, say("well"))
    session.effective_settings.set("images.autoResize", False)
    image = Image(data=encoded(drawn("PNG", 9000, 2)), mime_type="image/png")
    with pytest.raises(SessionRequestRefused, match="too large for a model"):
        await session.session.prompt("look", (image,))


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_image_of_a_tool_is_left_out_of_requests(tmp_path: Path, what: str) -> None:
    async def shown(arguments: Any, context: ToolContext) -> ToolResult:
        wrong = ImagePart(data=WRONG[what], mime_type="image/png")
        return ToolResult(content=(wrong, ImagePart(data=encoded(GOOD), mime_type="image/jpeg")))

    asked = Asked()
    session = ScriptedSession(
        tmp_path, asked.noting(call("draw")), asked.noting(say("seen")), tools=[tool("draw", shown)]
    )
    await session.prompt("draw")
    (image,) = asked.images()
    assert (image.data, image.mime_type) == (encoded(GOOD), "image/png")
    assert "An image stood here" in str(asked.contexts[-1].messages)


async def test_a_wrong_image_of_a_session_file_is_left_out_and_requests_begin_alike(tmp_path: Path) -> None:
    asked = Asked()
    session = ScriptedSession(tmp_path, *map(asked.noting, (say("one"), say("two"), say("three"))))
    wrong = UserMessage(content=(Text(text="look"), Image(data=WRONG["a page"], mime_type="image/png")))
    session.session.log.append(MessageEntry(parent_id=None, message=wrong))
    again = ScriptedSession(tmp_path, *map(asked.noting, (say("two"), say("three"))), log=session.session.log)
    await again.prompt("go on")
    first = tuple(asked.contexts[-1].messages)
    assert "look" in str(first) and "An image stood here" in str(first) and not asked.images()
    await again.prompt("and on")
    assert all(one is other for one, other in zip(first, asked.contexts[-1].messages, strict=False))


@pytest.fixture
async def editor() -> AsyncIterator[Any]:
    async with bayou("-e", STAGE) as client:
        await client.initialize()
        yield client


async def test_an_editor_is_told_what_is_wrong_with_an_image(editor: Any, tmp_path: Path) -> None:
    session = await editor.new(tmp_path)
    block = {"type": "image", "data": WRONG["SVG"], "mimeType": "image/svg+xml"}
    with pytest.raises(AcpError, match=r"no PNG, JPEG, GIF, WebP or BMP .*Replace or remove it"):
        await editor.prompt(session, "look", block)
    assert await editor.prompt(session, "say well") == "end_turn"


async def test_a_client_is_told_what_is_wrong_with_an_image(tmp_path: Path) -> None:
    def dialogue() -> None:
        rpc = Dialogue(tmp_path, "-e", STAGE)
        try:
            wrong = {"type": "image", "data": WRONG["a page"], "mimeType": "image/png"}
            answer = rpc.answer_to(type="prompt", id="1", message="look", images=[wrong])
            assert answer["success"] is False and "The image in the prompt cannot be sent" in answer["error"]
            assert rpc.answer_to(type="prompt", id="2", message="say well")["success"] is True
        finally:
            rpc.close()

    await asyncio.to_thread(dialogue)
