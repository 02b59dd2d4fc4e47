"""An extension for the harness: a model that runs the command of the prompt, which comes in base64."""

import base64

from app.providers.scripted import ScriptedModel, call, say
from app.values.content import text_of
from app.values.messages import UserMessage
from bayou import ExtensionApi, ProviderSpec

ROWS = 5_000
SECONDS = 60


def answer(context, count):
    last = context.messages[-1]
    if not isinstance(last, UserMessage):
        return say("Done.")
    command = base64.b64decode(text_of(last.content)).decode()
    return call("bash", command=command, timeout=SECONDS)


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 2 * ROWS)
    api.register_provider(
        ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    )

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
