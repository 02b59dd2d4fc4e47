"""A model that writes a file, or fails where the prompt says so."""

from app.providers.scripted import RequestContext, ScriptedModel, ScriptedResponse, call, fail, say
from bayou import ExtensionApi, ProviderSpec


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([_first, say("It is written.")])
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)


def _first(context: RequestContext, count: int) -> ScriptedResponse:
    if "fail" in str(context.messages):
        return fail("The key was refused.", status=401)
    return call("write", path="new.txt", content="hi\n")
