"""A model that adds a line to a.txt and writes a new file."""

from app.providers.scripted import ScriptedModel, call, say
from bayou import ExtensionApi, ProviderSpec


def extension(api: ExtensionApi) -> None:
    edits = call("bash", command="echo more >> a.txt; echo hi > new.txt")
    script = ScriptedModel([edits, say("It is edited.\n\nAnd a file is new.")])
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)
