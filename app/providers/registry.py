"""Which adapter serves which `api`. Adapters are imported at their first use; the last registration wins."""

from collections.abc import Callable
from importlib import import_module

import msgspec

from app.providers.contract import Adapter, AssistantStream, Context, StreamOptions
from app.values.messages import now_ms
from app.values.models import Model
from app.values.wire import new_id

BUILT_IN = {
    "offline": "app.providers.offline.guide",
    "anthropic-messages": "app.providers.adapters.anthropic_messages",
    "openai-responses": "app.providers.adapters.openai_responses",
    "openai-completions": "app.providers.adapters.openai_completions",
    "azure-openai-responses": "app.providers.adapters.azure_openai_responses",
    "openai-codex-responses": "app.providers.adapters.openai_codex_responses",
    "google-generative-ai": "app.providers.adapters.google",
    "google-vertex": "app.providers.adapters.google",
    "mistral-conversations": "app.providers.adapters.mistral_conversations",
    "bedrock-converse-stream": "app.providers.adapters.bedrock_converse_stream",
}
"""Each module offers `adapter`."""


class _Registration(msgspec.Struct, frozen=True, kw_only=True):
    owner: str
    load: Callable[[], Adapter]


class Registry:
    """The adapters that one session may use."""

    def __init__(self) -> None:
        self._by_api: dict[str, list[_Registration]] = {}
        for api, module in BUILT_IN.items():
            self._add(api, "built-in", _loader(module))

    def register(self, api: str, adapter: Adapter, *, owner: str) -> None:
        self._add(api, owner, lambda: adapter)

    def remove_owner(self, owner: str) -> None:
        """Takes back everything that `owner` registered; what it covered shows again."""
        for api, registrations in list(self._by_api.items()):
            kept = [entry for entry in registrations if entry.owner != owner]
            if kept:
                self._by_api[api] = kept
            else:
                del self._by_api[api]

    def apis(self) -> tuple[str, ...]:
        return tuple(sorted(self._by_api))

    def stream(
        self, model: Model, context: Context, options: StreamOptions, *, message_id: str | None = None
    ) -> AssistantStream:
        """Asks `model`. Returns at once; whatever goes wrong is the stream's terminal event."""
        stream = AssistantStream(
            model, message_id=message_id or new_id(), timestamp=now_ms(), thinking=options.thinking
        )

        async def produce(stream: AssistantStream) -> None:
            await self._adapter(model.api)(model, context, options, stream)

        return stream.run(produce)

    def _adapter(self, api: str) -> Adapter:
        registrations = self._by_api.get(api)
        if not registrations:
            raise LookupError(f"No adapter speaks '{api}'. Known: {', '.join(self.apis())}.")
        return registrations[-1].load()

    def _add(self, api: str, owner: str, load: Callable[[], Adapter]) -> None:
        self._by_api.setdefault(api, []).append(_Registration(owner=owner, load=load))


def _loader(module: str) -> Callable[[], Adapter]:
    def load() -> Adapter:
        return import_module(module).adapter

    return load
