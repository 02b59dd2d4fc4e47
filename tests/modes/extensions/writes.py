"""A model that writes a file, runs a command that takes its time, and is done."""

from app.providers.scripted import ScriptedModel, call, say
from bayou import ExtensionApi, ProviderSpec


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel(
        [
            call("write", path="new.txt", content="hi\n"),
            call("bash", command='if [ -e slow ]; then sleep 600; fi; echo "it ran"'),
            say("It is written."),
        ]
    )
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)
