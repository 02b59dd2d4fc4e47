"""Checks a key with one small request to its provider before the connection is reported as working."""

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from app.providers.adapter_registry import AdapterRegistry
from app.providers.failure_kinds import AUTH_ERROR_PATTERNS, classify_failure, compile_failure_pattern
from app.providers.model_stream import Credential, RequestContext, StreamOptions
from app.providers.models.catalogue import ModelCatalogue
from app.values.messages import user_message

API_KEY_CHECK_TIMEOUT_SECONDS = 20.0
"""The time limit of a key check in seconds."""
_MAX_KEY_CHECK_ANSWER_TOKENS = 16


class ApiKeyCheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a key check. `text` gives details, if there are any."""

    state: Literal["accepted", "refused", "unknown"]
    text: str = ""


CheckKey = Callable[[str, Credential], Awaitable[ApiKeyCheckResult]]
"""A function that checks whether a provider, given by its id, accepts a credential."""


class ApiKeyChecker:
    """Checks keys with a minimal request that every server understands: a few words to the provider's default
    model."""

    def __init__(
        self,
        catalogue: ModelCatalogue,
        registry: AdapterRegistry,
        options: Callable[[], StreamOptions | None],
    ) -> None:
        """Creates the checker. `options` returns the current request options, or None while requests are not
        allowed."""
        self._catalogue = catalogue
        self._registry = registry
        self._options = options

    async def __call__(self, provider: str, credential: Credential) -> ApiKeyCheckResult:
        options, model = self._options(), self._catalogue.default_model(provider)
        if options is None:
            return ApiKeyCheckResult(state="unknown", text="bayou is offline.")
        if model is None:
            return ApiKeyCheckResult(
                state="unknown", text="No model of this provider is known, so the key was not tested."
            )
        asked = msgspec.structs.replace(
            options,
            credential=credential,
            thinking="off",
            max_tokens=_MAX_KEY_CHECK_ANSWER_TOKENS,
            use_cache=False,
            first_event_seconds=API_KEY_CHECK_TIMEOUT_SECONDS,
            idle_seconds=API_KEY_CHECK_TIMEOUT_SECONDS,
        )
        context = RequestContext(messages=(user_message("Answer with the word ready."),))
        message = await self._registry.stream_answer(model, context, asked).final_message()
        if message.stop_reason != "error":
            return ApiKeyCheckResult(state="accepted")
        text = message.error_message or "The request failed."
        kind = classify_failure(message, model).kind
        if kind == "auth" or (
            kind == "other"
            and any(compile_failure_pattern(row).search(text) for _, row in AUTH_ERROR_PATTERNS)
        ):
            return ApiKeyCheckResult(state="refused", text=text)
        if kind in ("rate_limit", "quota"):  # a server that limits or bills requests has accepted the key
            return ApiKeyCheckResult(state="accepted", text=text)
        return ApiKeyCheckResult(state="unknown", text=text)
