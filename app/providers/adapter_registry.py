"""Maps each `api` to the adapter that speaks it. Adapters are imported at their first use; of several registrations
for one API, the last applies."""

import asyncio
import sys
import weakref
from collections.abc import Iterator
from importlib import import_module

import msgspec

from app.providers.errors import ProviderError
from app.providers.model_stream import Adapter, AssistantStream, Credential, RequestContext, StreamOptions
from app.values.models import Model
from app.values.wire import new_id, now_ms
from tools.running.withheld_environment_variables import is_secret_variable

ADAPTER_MODULE_BY_API = {
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
"""The modules of the built-in adapters. Each has `stream_response`, and `preload_modules(model)` if its first request
needs more than the senders."""


class _AdapterRegistration(msgspec.Struct, frozen=True, kw_only=True):
    owner: str
    adapter: Adapter | None = None
    module: str | None = None

    @property
    def is_loaded(self) -> bool:
        return self.module is None or self.module in sys.modules

    def load_adapter(self) -> Adapter:
        return self.adapter or import_module(self.module or "").stream_response


# Sessions of one event loop share its connections; the last of them closes them.
_connection_users_by_loop: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, weakref.WeakSet["AdapterRegistry"]
] = weakref.WeakKeyDictionary()


class AdapterRegistry:
    """The adapters that a session can use."""

    def __init__(self) -> None:
        self._registrations_by_api: dict[str, list[_AdapterRegistration]] = {}
        for api, module in ADAPTER_MODULE_BY_API.items():
            self._add_registration(api, _AdapterRegistration(owner="built-in", module=module))

    def register_adapter(self, api: str, adapter: Adapter, *, owner: str) -> None:
        self._add_registration(api, _AdapterRegistration(owner=owner, adapter=adapter))

    def remove_adapters_of(self, owner: str) -> None:
        """Removes the adapters that `owner` registered; adapters registered earlier for the same APIs apply again."""
        for api, registrations in list(self._registrations_by_api.items()):
            kept = [entry for entry in registrations if entry.owner != owner]
            if kept:
                self._registrations_by_api[api] = kept
            else:
                del self._registrations_by_api[api]

    def supported_apis(self) -> tuple[str, ...]:
        return tuple(sorted(self._registrations_by_api))

    def stream_answer(
        self, model: Model, context: RequestContext, options: StreamOptions, *, message_id: str | None = None
    ) -> AssistantStream:
        """Sends a request to `model` and returns its stream at once; each failure becomes the stream's terminal
        event."""
        _connection_users_by_loop.setdefault(asyncio.get_running_loop(), weakref.WeakSet()).add(self)
        stream = AssistantStream(
            model,
            message_id=message_id or new_id(),
            timestamp=now_ms(),
            thinking=options.thinking,
            merge_seconds=options.delta_interval_seconds,
            first_event_seconds=options.first_event_seconds,
            idle_seconds=options.idle_seconds,
            on_state=options.hooks.on_flow_state_changed,
        )

        async def produce(stream: AssistantStream) -> None:
            adapter = await self._load_adapter(model.api)
            told = context
            if (
                self._registrations_by_api[model.api][-1].module is None
            ):  # a registered adapter may rely on a tuple
                told = msgspec.structs.replace(context, messages=tuple(context.messages))
            try:
                await adapter(model, told, options, stream)
            except MemoryError:
                raise
            except Exception as problem:
                error = (
                    problem
                    if isinstance(problem, ProviderError)
                    else ProviderError(str(problem) or type(problem).__name__)
                )
                raise error.without_secrets(_secrets_in_request(model, options.credential)) from problem

        return stream.start_producer(produce)

    def load_modules_for_model(self, model: Model) -> None:
        """Loads the modules that the first request to `model` needs. Slow: call it on a thread."""
        registrations = self._registrations_by_api.get(model.api)
        if not registrations or registrations[-1].module is None:
            return
        module = import_module(registrations[-1].module)
        if hasattr(module, "preload_modules"):
            module.preload_modules(model)
        elif model.base_url:
            from app.providers.senders.sender_choice import preload_sender_modules  # noqa: PLC0415  (what is asked here needs no network)

            preload_sender_modules(model)

    def with_same_adapters(self) -> "AdapterRegistry":
        """Returns a registry with the same adapters, for the session of a helper agent."""
        registry = AdapterRegistry()
        registry._registrations_by_api = self._registrations_by_api
        return registry

    async def close_connections(self) -> None:
        """Closes the event loop's connections to the providers, unless another session still uses them."""
        users = _connection_users_by_loop.get(asyncio.get_running_loop(), weakref.WeakSet())
        users.discard(self)
        if not users and "app.providers.senders.client" in sys.modules:  # else there was no request
            from app.providers.senders.client import close_connections  # noqa: PLC0415  (loaded by now)

            await close_connections()

    async def _load_adapter(self, api: str) -> Adapter:
        registrations = self._registrations_by_api.get(api)
        if not registrations:
            raise ProviderError(
                f"No adapter supports the API '{api}'. Known: {', '.join(self.supported_apis())}."
            )
        registration = registrations[-1]
        try:
            if registration.is_loaded:
                return registration.load_adapter()
            return await asyncio.to_thread(registration.load_adapter)
        except ImportError as problem:
            raise ProviderError(f"The adapter for '{api}' cannot be loaded: {problem}") from problem

    def _add_registration(self, api: str, registration: _AdapterRegistration) -> None:
        self._registrations_by_api.setdefault(api, []).append(registration)


def _secrets_in_request(model: Model, credential: Credential) -> Iterator[str]:
    """Yields the secrets in a request that a server could repeat in an error."""
    yield credential.key
    for name, value in ({**(model.headers or {}), **credential.headers}).items():
        if name.lower() == "authorization" or is_secret_variable(name.replace("-", "_"), value):
            yield from (value, value.rpartition(" ")[2])
    for name, value in credential.env.items():
        if is_secret_variable(name, value):
            yield value
