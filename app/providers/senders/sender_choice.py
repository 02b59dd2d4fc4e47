"""Chooses the sender of a model's requests: bayou's own, or the vendor's SDK if the model's settings ask for
it."""

import asyncio
import sys

from app.providers.errors import ProviderError
from app.providers.transport import Sender
from app.values.models import Model

_SDK_BY_API = {
    "anthropic-messages": "anthropic",
    **dict.fromkeys(
        ("openai-completions", "openai-responses", "openai-codex-responses", "azure-openai-responses"),
        "openai",
    ),
}


async def http_sender_for_model(model: Model) -> Sender:
    """Returns the model's sender, importing it on a thread if needed. Raises `ProviderError` if its SDK is
    not available."""
    if "app.providers.senders.http_exchange" in sys.modules and model.transport != "sdk":
        return _load_sender(model)
    return await asyncio.to_thread(_load_sender, model)


def _load_sender(model: Model) -> Sender:
    if model.transport != "sdk":
        from app.providers.senders.http_exchange import send_http_request  # noqa: PLC0415  (httpx2 is not needed before)

        return send_http_request
    library = _SDK_BY_API.get(model.api)
    if library is None:
        raise ProviderError(
            f'{model.key} has "transport": "sdk", but there is no SDK for {model.api}. Remove the '
            "field in models.json."
        )
    # Importing an SDK takes as long as a whole start, so only models that ask for it pay.
    from app.providers.senders.sdk import make_sdk_sender  # noqa: PLC0415

    try:
        return make_sdk_sender(library)
    except ImportError as problem:
        raise ProviderError(
            f'{model.key} has "transport": "sdk", but the SDK cannot be loaded ({problem}). '
            "Install bayou again."
        ) from None


def preload_sender_modules(model: Model) -> None:
    """Imports the modules that the first request needs. Slow: call it on a thread."""
    try:
        _load_sender(model)
        import anyio  # noqa: PLC0415  (what httpx2 stands on; it loads its event loop's part at the first use)

        anyio.run(anyio.sleep, 0)
        if not model.base_url.startswith("http:"):
            from app.providers.senders.certificates import find_certificate_bundle, tls_context  # noqa: PLC0415  (beside it)

            tls_context(find_certificate_bundle(None))
    except ProviderError:
        pass  # the request that runs into the problem reports it
