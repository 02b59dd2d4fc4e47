"""A provider of its own: a model named `echo/parrot` that repeats what it is told, over an adapter written here.

For a server that speaks a known format, an adapter is not needed: name one of bayou's in the model's `api`
(`openai-completions`, `anthropic-messages`, …) and its address in `base_url`.
"""

from bayou import (
    ExtensionApi,
    Model,
    ProviderSpec,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    UserMessage,
    text_of,
)

PARROT = Model(id="parrot", name="Parrot", api="echo", provider="echo", context_window=8_000)


def extension(api: ExtensionApi) -> None:
    api.register_provider(ProviderSpec(name="echo", models=(PARROT,), adapter=speak, api_key="none-needed"))


async def speak(model, context, options, stream) -> None:
    """An adapter: reads the conversation, fills the stream's draft, tells each step. It may simply raise."""
    said = next(
        (
            text_of(message.content)
            for message in reversed(context.messages)
            if isinstance(message, UserMessage)
        ),
        "",
    )
    stream.draft.content.append(Text(text=""))
    stream.emit(TextStart(content_index=0))
    for word in said.split():
        text = stream.draft.content[0].text
        stream.draft.content[0] = Text(text=f"{text} {word}".strip())
        stream.emit(TextDelta(content_index=0, delta=f"{' ' if text else ''}{word}"))
    stream.emit(TextEnd(content_index=0, content=stream.draft.content[0].text))
