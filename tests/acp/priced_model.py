"""A model with prices. It makes the calls that a prompt names as JSON, and says what else it was sent.

A call's result is said as it came; `wait` is answered with a call that ends when the file `go` appears.
"""

import json

import msgspec

from app.providers.models.pricing import add_cost_to_usage
from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, say
from app.values.content import Image
from app.values.models import Prices
from bayou import ExtensionApi, ProviderSpec, UserMessage, text_of

WAIT = "echo begun; until [ -e go ]; do sleep 0.05; done; echo over"


class Priced(ScriptedModel):
    def __init__(self, responses) -> None:
        super().__init__(responses)
        self.model = msgspec.structs.replace(self.model, cost=Prices(input=3.0, output=15.0, cache_read=0.3))

    def usage(self, context):
        return add_cost_to_usage(super().usage(context), self.model)


def answer(context, count):
    last = context.messages[-1]
    text = text_of(last.content)
    if not isinstance(last, UserMessage):
        return say(f"It says: {text}")
    if text == "wait":
        return call("bash", command=WAIT)
    if text.startswith("[["):
        made = ScriptedAnswer()
        for name, arguments in json.loads(text):
            made += call(name, **arguments)
        return made
    images = [part for part in last.content if isinstance(part, Image)] if last.content is not text else []
    return say(f"{len(images)} images and: {text}")


def extension(api: ExtensionApi) -> None:
    script = Priced([answer] * 200)
    second = msgspec.structs.replace(script.model, id="second", name="A second model")
    spec = ProviderSpec(
        name="scripted", models=(script.model, second), adapter=script.adapter, api_key="none"
    )
    api.register_provider(spec)

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
