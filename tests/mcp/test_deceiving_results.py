"""Characters of a server's answer that a person does not see as they are: shown by number."""

import base64
import struct

import pytest

from app.mcp.mcp_result_conversion import McpAnswerConverter
from app.providers.scripted import say
from app.values.content import text_of
from app.values.events import ToolExecutionUpdate
from app.values.messages import UserMessage
from tests.acp.test_capabilities import PIXEL
from tests.mcp.test_in_session import Desk, desk
from tools.files.output_artifacts import OutputArtifacts
from tools.tool_result_values import ImagePart, TextPart

__all__ = ["desk"]


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\U000e0041"])
def test_an_answer_turns_no_direction_and_hides_no_letters(character: str) -> None:
    answers = McpAnswerConverter("notes", OutputArtifacts(), reads_images=True)
    shown = f"<U+{ord(character):04X}>"
    text = answers.convert_tool_answer({"content": [{"type": "text", "text": f"a{character}b"}]}).text
    assert text == f"a{shown}b"
    text = answers.convert_tool_answer({"content": [], "structuredContent": {"a": f"x{character}"}}).text
    assert shown in text and character not in text
    data = {f"n{character}": ["a", {"b": f"x{character}y"}], "count": 3}
    taken = answers.convert_tool_answer(
        {"content": [{"type": "text", "text": "see"}], "structuredContent": data}
    )
    assert taken.structured_content == {f"n{shown}": ["a", {"b": f"x{shown}y"}], "count": 3}


HIDDEN = [
    *(
        "\u202e",
        "\U000e0041",
        "\U000e0000",
        "\u180e",
        "\u206a",
        "\u206f",
        "\u2028",
        "\u2029",
        "\ufe01",
        "\ufe0f",
    ),
    *("\U000e0100", "\u200b", "\u200d", "\u3164", "\u17b4", "\U0001d173", "\u2065", "\ufff0", "\ufff8"),
]
JOINED = [
    *(
        "\u26a0\ufe0f",
        "\U0001f469\U0001f3fd\u200d\U0001f4bb",
        "\u2764\ufe0f\u200d\U0001f525",
        "1\ufe0f\u20e3",
    ),
    *("\u0645\u06cc\u200c\u062e", "\u06dd"),
]


@pytest.mark.parametrize("signs", HIDDEN)
async def test_a_server_hides_nothing_in_its_texts(desk: Desk, signs: str) -> None:
    texts = await texts_of_server(desk, signs)
    assert texts == [
        "1",
        "Signs",
        "Shows",
        "1 at it",
        f"done<U+{ord(signs):04X}>",
        f"Greet Ada<U+{ord(signs):04X}>",
    ]


@pytest.mark.parametrize("signs", JOINED)
async def test_emoji_and_joined_letters_of_a_server_stay(desk: Desk, signs: str) -> None:
    ends = ["1", "Signs", "Shows", "1 at it", "done", "Greet Ada"]
    assert await texts_of_server(desk, signs) == [f"{end}{signs}" for end in ends]


async def texts_of_server(desk: Desk, signs: str) -> list[str]:
    """The version of a server that puts these signs everywhere, title and description of its tool, what the tool says
    meanwhile and at its end, and its prompt."""
    desk.configure(docs={"exposure": "search", "env": {"SIGNS": signs}})
    session = desk.open()
    view = await session.mcp.test_server("docs")
    tool = view.tools[0]
    result = await desk.result("mcp_call", server="docs", tool=tool.name, arguments={})
    progress = await desk.until(lambda event: isinstance(event, ToolExecutionUpdate))
    desk.script.responses.append(say("hello"))
    await session.prompt("/docs:greet Ada")
    await session.wait_until_idle()
    prompt = [text_of(one.content) for one in session.messages if isinstance(one, UserMessage)][-1]
    return [
        view.version,
        tool.title,
        tool.description,
        text_of(progress.partial_result.content),
        result,
        prompt,
    ]


def test_joined_emoji_and_other_scripts_stay() -> None:
    answers = McpAnswerConverter("notes", OutputArtifacts(), reads_images=True)
    text = "\U0001f469\u200d\U0001f4bb \u05e9\u05dc\u05d5\u05dd"
    assert answers.convert_tool_answer({"content": [{"type": "text", "text": text}]}).text == text


def png_header(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


@pytest.mark.parametrize("data", [b"hello", b"BM" + bytes(40), png_header(20_000, 10), png_header(3, 4)])
def test_an_image_that_providers_refuse_is_a_file_and_not_sent(data: bytes) -> None:
    answers = McpAnswerConverter("notes", OutputArtifacts(), reads_images=True)
    block = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
    (part,) = answers.convert_tool_answer({"content": [block]}).content
    assert isinstance(part, TextPart) and "an image, image/png" in part.text


def test_an_image_is_sent_as_what_it_is() -> None:
    answers = McpAnswerConverter("notes", OutputArtifacts(), reads_images=True)
    block = {"type": "image", "data": PIXEL, "mimeType": "image/jpeg"}
    (part,) = answers.convert_tool_answer({"content": [block]}).content
    assert isinstance(part, ImagePart) and part.mime_type == "image/png"
