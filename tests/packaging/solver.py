"""A model that solves tasks: it runs the command that the instruction ends with, and says so."""

from app.providers.scripted import ScriptedModel, call, say
from bayou import ExtensionApi, ProviderSpec, ToolResultMessage, UserMessage, text_of


def answer(context, count):
    if any(isinstance(one, ToolResultMessage) for one in context.messages):
        return say("The task is done.")
    asked = next(text_of(one.content) for one in context.messages if isinstance(one, UserMessage))
    return call("bash", command=asked.rpartition("Run: ")[2].strip())


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 4)
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)
