"""A provider with two models, each of which says who answered what; and a flag with a value."""

from app.providers.scripted import ScriptedModel, say
from app.values.messages import UserMessage
from app.values.models import Model
from bayou import ExtensionApi, ProviderSpec, text_of


def extension(api: ExtensionApi) -> None:
    api.register_flag("house", type="string", description="Whose work it is.")
    api.register_flag("loud")
    house = api.flag("house")

    async def speak(model, context, options, stream) -> None:
        words = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
        told = f"{model.id} of {house}: {words[-1]}"
        await ScriptedModel([say(told.upper() if api.flag("loud") else told)]).adapter(
            model, context, options, stream
        )

    models = tuple(
        Model(id=name, name=name, api="guild", provider="guild", reasoning=True, context_window=100_000)
        for name in ("smith", "mason")
    )
    api.register_provider(ProviderSpec(name="guild", models=models, adapter=speak, api_key="none"))
