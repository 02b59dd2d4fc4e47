"""A model that makes the call which the prompt names, as JSON, and tells its result."""

import json

from app.providers.scripted import ScriptedModel, call, say
from app.values.messages import UserMessage
from bayou import ExtensionApi, ProviderSpec, text_of


def answer(context, count):
    last = context.messages[-1]
    if isinstance(last, UserMessage):
        name, arguments = json.loads(text_of(last.content))
        return call(name, **arguments)
    return say(text_of(last.content))


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 50)
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
