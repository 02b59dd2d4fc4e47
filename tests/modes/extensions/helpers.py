"""An extension for tests of whole processes: a model that starts two helpers, which list the folder and never end."""

import asyncio

from app.providers.scripted import ScriptedModel, call, say
from app.values.messages import ToolResultMessage
from bayou import ExtensionApi, ProviderSpec


def extension(api: ExtensionApi) -> None:
    never = asyncio.Event()

    def answer(context, count):
        has_results = any(isinstance(message, ToolResultMessage) for message in context.messages)
        if "You are the helper" in context.system_prompt:
            return say("…", gate=never) if has_results else call("ls")
        if has_results:
            return say("Nothing runs.")
        left = call("task", agent="scout", title="look left", prompt="Look left.")
        return left + call("task", agent="scout", title="look right", prompt="Look right.")

    script = ScriptedModel([answer] * 1000)
    api.register_provider(
        ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    )

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)
