"""Characters of a server's answer that a person does not see as they are: shown by number."""

import base64
import struct

import pytest

from app.mcp.result_conversion import AnswerConverter
from tests.acp.test_capabilities import PIXEL
from tools.files.artifacts import Artifacts
from tools.results import ImagePart, TextPart


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\U000e0041"])
def test_an_answer_turns_no_direction_and_hides_no_letters(character: str) -> None:
    answers = AnswerConverter("notes", Artifacts(), reads_images=True)
    shown = f"<U+{ord(character):04X}>"
    text = answers.tool_result({"content": [{"type": "text", "text": f"a{character}b"}]}).text
    assert text == f"a{shown}b"
    text = answers.tool_result({"content": [], "structuredContent": {"a": f"x{character}"}}).text
    assert shown in text and character not in text
    data = {f"n{character}": ["a", {"b": f"x{character}y"}], "count": 3}
    taken = answers.tool_result({"content": [{"type": "text", "text": "see"}], "structuredContent": data})
    assert taken.structured_content == {f"n{shown}": ["a", {"b": f"x{shown}y"}], "count": 3}


def test_joined_emoji_and_other_scripts_stay() -> None:
    answers = AnswerConverter("notes", Artifacts(), reads_images=True)
    text = "\U0001f469\u200d\U0001f4bb \u05e9\u05dc\u05d5\u05dd"
    assert answers.tool_result({"content": [{"type": "text", "text": text}]}).text == text


def png_header(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


@pytest.mark.parametrize("data", [b"hello", b"BM" + bytes(40), png_header(20_000, 10), png_header(3, 4)])
def test_an_image_that_providers_refuse_is_a_file_and_not_sent(data: bytes) -> None:
    answers = AnswerConverter("notes", Artifacts(), reads_images=True)
    block = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
    (part,) = answers.tool_result({"content": [block]}).content
    assert isinstance(part, TextPart) and "an image, image/png" in part.text


def test_an_image_is_sent_as_what_it_is() -> None:
    answers = AnswerConverter("notes", Artifacts(), reads_images=True)
    block = {"type": "image", "data": PIXEL, "mimeType": "image/jpeg"}
    (part,) = answers.tool_result({"content": [block]}).content
    assert isinstance(part, ImagePart) and part.mime_type == "image/png"
