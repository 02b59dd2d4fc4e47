"""A model that works for a second, and notes in a file which task it has ended."""

import asyncio
import os
from pathlib import Path

from app.providers.scripted import RequestContext, ScriptedModel, ScriptedResponse, say
from bayou import ExtensionApi, ProviderSpec


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([_answer])
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)


async def _answer(context: RequestContext, count: int) -> ScriptedResponse:
    await asyncio.sleep(float(os.environ.get("NAPS_SECONDS", "1")))
    _note(str(context.messages))
    return say("Rested.")


def _note(messages: str) -> None:
    task = messages.rpartition("nap ")[2].split("'", 1)[0].split('"', 1)[0]
    with Path(os.environ["NAPS_END"]).open("a") as ends:
        ends.write(f"{task}\n")
