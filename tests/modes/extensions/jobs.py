"""A model that runs the prompt's command in the background, continues, and repeats the report of its end."""

import re

from app.providers.scripted import ScriptedModel, call, say
from app.values.messages import UserMessage
from bayou import CustomMessage, ExtensionApi, ProviderSpec, ToolResultMessage, text_of


def answer(context, count):
    last = context.messages[-1]
    match last:
        case UserMessage():
            words = text_of(last.content)
            if words.startswith("then "):
                return say(words)
            return call("bash", command=words.removesuffix(" and end it"), background=True)
        case ToolResultMessage() if (
            text_of(context.messages[0].content).endswith(" and end it") and count == 2
        ):
            return call("bash", command=re.findall("kill -- -[0-9]+", text_of(last.content))[0])
        case CustomMessage():
            return say(f"Heard: {text_of(last.content)}")
    return say(f"I go on. {text_of(last.content)}")


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 20)
    api.register_provider(
        ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    )

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
