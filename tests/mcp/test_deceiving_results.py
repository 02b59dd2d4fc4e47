"""Characters of a server's answer that a person does not see as they are: shown by number."""

import pytest

from app.mcp.result_conversion import AnswerConverter
from tools.files.artifacts import Artifacts


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
