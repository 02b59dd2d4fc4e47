"""Chooses the sender of a model's requests: bayou's own, or the vendor's SDK if the model's settings ask for
it."""

import asyncio
import sys

from app.providers.errors import ProviderError
from app.providers.transport import Send
from app.values.models import Model

_SDKS = {
    "anthropic-messages": "anthropic",
    **dict.fromkeys(
        ("openai-completions", "openai-responses", "openai-codex-responses", "azure-openai-responses"),
        "openai",
    ),
}


async def sender_for(model: Model) -> Send:
    """Returns the model's sender, importing it on a thread if needed. Raises `ProviderError` if its SDK is
    not available."""
    if "app.providers.senders.http_exchange" in sys.modules and model.transport != "sdk":
        return _load(model)
    return await asyncio.to_thread(_load, model)


def _load(model: Model) -> Send:
    if model.transport != "sdk":
        from app.providers.senders.http_exchange import send  # noqa: PLC0415  (httpx2 is not needed before)

        return send
    library = _SDKS.get(model.api)
    if library is None:
        raise ProviderError(
            f'{model.key} has "transport": "sdk", but there is no SDK for {model.api}. Remove the '
            "field in models.json."
        )
    # Importing an SDK takes as long as a whole start, so only models that ask for it pay.
    from app.providers.senders.sdk import sender_of  # noqa: PLC0415

    try:
        return sender_of(library)
    except ImportError as problem:
        raise ProviderError(
            f'{model.key} has "transport": "sdk", but the SDK cannot be loaded ({problem}). '
            "Install bayou again."
        ) from None


def warm(model: Model) -> None:
    """Imports the modules that the first request needs. Slow: call it on a thread."""
    try:
        _load(model)
        import anyio  # noqa: PLC0415  (what httpx2 stands on; it loads its event loop's part at the first use)

        anyio.run(anyio.sleep, 0)
        if not model.base_url.startswith("http:"):
            from app.providers.senders.certificates import bundle_of, trusted_context  # noqa: PLC0415  (beside it)

            trusted_context(bundle_of(None))
    except ProviderError:
        pass  # the request that runs into the problem reports it
