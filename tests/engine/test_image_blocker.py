"""`images.blockImages`: no image is sent, from the user, a tool, an extension or an older session."""

from pathlib import Path
from typing import Any

from app.providers.model_stream import RequestContext
from app.providers.scripted import call, say
from app.values.content import Image
from app.values.messages import ToolResultMessage, UserMessage
from tests.agent.scripted_loop import tool
from tests.engine.scripted_session import ScriptedSession
from tools.tool_definition import ToolContext
from tools.tool_result_values import ImagePart, TextPart, ToolResult

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


async def _drawn(arguments: Any, context: ToolContext) -> ToolResult:
    return ToolResult(content=(TextPart(text="a drawing"), ImagePart(data=PIXEL, mime_type="image/png")))


def images_in(context: RequestContext) -> int:
    return sum(
        isinstance(block, Image)
        for message in context.messages
        if isinstance(message, UserMessage | ToolResultMessage) and not isinstance(message.content, str)
        for block in message.content
    )


async def test_images_of_tools_and_prompts_stay_here_as_long_as_the_setting_says(tmp_path: Path):
    asked: list[RequestContext] = []

    def noting(answer: Any) -> Any:
        def made(context: RequestContext, count: int) -> Any:
            asked.append(context)
            return answer

        return made

    answers = [call("draw"), say("seen"), say("again"), say("and now")]
    harness = ScriptedSession(tmp_path, *map(noting, answers), tools=[tool("draw", _drawn)])
    harness.effective_settings.set("images.blockImages", True)
    await harness.session.prompt("look", (Image(data=PIXEL, mime_type="image/png"),))
    await harness.session.wait_until_idle()
    await harness.prompt("once more")
    assert [images_in(context) for context in asked] == [0, 0, 0]
    assert "a drawing" in str(asked[-1].messages) and "images.blockImages" in str(asked[-1].messages)
    before = asked[1].messages
    assert all(one is other for one, other in zip(before, asked[2].messages, strict=False))
    harness.effective_settings.set("images.blockImages", False)
    await harness.prompt("and now?")
    assert images_in(asked[-1]) == 2
