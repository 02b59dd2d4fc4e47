"""An extension for tests of whole processes: a model that makes the calls that the prompt names, all in one answer.

The prompt is JSON: a list of `[tool, arguments]`. Behind their results the model says "Done.".
"""

import json

from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, say
from app.values.content import text_of
from app.values.messages import UserMessage
from bayou import ExtensionApi, ProviderSpec


def answer(context, count):
    last = context.messages[-1]
    if not isinstance(last, UserMessage):
        return say("Done.")
    made = ScriptedAnswer()
    for name, arguments in json.loads(text_of(last.content)):
        made += call(name, **arguments)
    return made


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 1000)
    api.register_provider(
        ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    )

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
