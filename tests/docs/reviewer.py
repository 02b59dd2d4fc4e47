"""A model that reviews: its first answer does not fit the schema, its second one does; and one that only echoes."""

import json

from app.providers.scripted import ScriptedModel, say
from bayou import ExtensionApi, ProviderSpec, UserMessage, text_of

FAULT = {"file": "boat.py", "line": 1, "severity": "serious", "text": "It divides by zero."}


def answer(context, count):
    prompts = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
    if "Review this change" not in prompts[0]:
        return say(f"I heard {len(prompts)}: {prompts[-1]}")
    assert "+1 / 0" in prompts[0], "the change stands before the prompt"
    return say("Looks bad." if count == 1 else json.dumps({"faults": [FAULT]}))


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 9)
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)
