"""Lists a server's models on request, stores the list with its age, and explains why a list could not be
read."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.providers.credentials import CredentialError, Credentials
from app.providers.errors import ProviderError
from app.providers.model_stream import Credential, StreamOptions
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.discovery_store import DiscoveredModels, save_discovered_models

DiscoveryState = Literal["idle", "cached", "ok", "empty", "unavailable", "unauthenticated"]
MODEL_LIST_TIMEOUT_SECONDS = 15.0


class ModelDiscoveryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a provider's own model list."""

    state: DiscoveryState
    url: str = ""
    status: int | None = None
    error: str = ""
    age_seconds: float | None = None
    """The age of the stored list in seconds; None if no list is stored."""
    count: int = 0


def stored_model_list_state(
    provider: str, catalogue: ModelCatalogue, credentials: Credentials
) -> ModelDiscoveryResult:
    """Returns the state of the stored list, without a request."""
    if not credentials.has_credential(provider):
        return ModelDiscoveryResult(state="unauthenticated")
    kept = catalogue.discovered_models(provider)
    if kept is None:
        return ModelDiscoveryResult(state="idle")
    return ModelDiscoveryResult(state="cached", age_seconds=kept.age_seconds(), count=len(kept.models))


async def discover_models(
    provider: str,
    catalogue: ModelCatalogue,
    credentials: Credentials,
    agent_dir: Path,
    *,
    proxy: str | None = None,
) -> ModelDiscoveryResult:
    """Asks the provider's server for its models and stores the answer in the catalogue and on disk."""
    api, base_url = catalogue.api_and_address_of(provider)
    if not base_url:
        return ModelDiscoveryResult(state="unavailable", error="no base URL is known")
    try:
        credential = await credentials.resolve_credential(provider)
    except CredentialError as problem:
        return ModelDiscoveryResult(state="unavailable", error=str(problem))
    if credential is None:
        return ModelDiscoveryResult(state="unauthenticated")
    kept = catalogue.discovered_models(provider)
    age = kept.age_seconds() if kept else None
    url = model_list_url(api, base_url)
    try:
        found = await request_model_list(api, base_url, credential, proxy=proxy)
    except ProviderError as problem:
        return ModelDiscoveryResult(
            state="unavailable", url=url, status=problem.status, error=str(problem), age_seconds=age
        )
    models = found.models
    catalogue.add_discovered_models(provider, found)
    await asyncio.to_thread(save_discovered_models, agent_dir, provider, found)
    return ModelDiscoveryResult(
        state="ok" if models else "empty", url=url, age_seconds=0.0, count=len(models)
    )


async def request_model_list(
    api: str, base_url: str, credential: Credential, *, proxy: str | None = None
) -> DiscoveredModels:
    """Requests the list of models from a provider's server and returns it. Raises `ProviderError`."""
    try:
        async with asyncio.timeout(MODEL_LIST_TIMEOUT_SECONDS):
            data = await _fetch_json(
                model_list_url(api, base_url), api, credential, StreamOptions(proxy=proxy)
            )
    except TimeoutError:
        raise ProviderError(f"no answer within {MODEL_LIST_TIMEOUT_SECONDS:g} s", kind="timeout") from None
    return DiscoveredModels(models=tuple(parse_model_list(data)), fetched_at=time.time(), base_url=base_url)


def model_list_problem_hint(discovery: ModelDiscoveryResult) -> str | None:
    """Returns a line for the model picker on why a server's list of models could not be read; None if there is no
    problem."""
    kept = (
        ""
        if discovery.age_seconds is None
        else f" Using the list of models from {model_list_age_text(discovery.age_seconds)}."
    )
    match discovery.state:
        case "unavailable" if discovery.status == 404:
            return (
                f"The discovery address {discovery.url} answered 404. "
                "Point baseUrl at the host that serves /models (usually …/v1)."
            )
        case "unavailable" if discovery.status is not None:
            return f"The models cannot be listed: HTTP {discovery.status} from {discovery.url}"
        case "unavailable":
            return f"The provider is not available ({discovery.error}).{kept}"
        case "empty":
            return "The server lists no models. Check that /models answers with { data: [{ id }] }."
        case "cached":
            return f"{kept.strip()} It can be refreshed." if kept else "The list of models is from the cache."
        case "unauthenticated":
            return "The provider needs a key before its models can be listed."
        case "idle":
            return "The provider has not been asked for its models yet."
        case "ok":
            return None


def model_list_age_text(seconds: float) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {word}{'' if number == 1 else 's'} ago"
    return "a moment ago"


def model_list_url(api: str, base_url: str) -> str:
    base = base_url.rstrip("/")
    if api == "anthropic-messages" and not base.endswith("/v1"):
        return f"{base}/v1/models"
    if api == "mistral-conversations":
        return f"{base}/v1/models"
    return f"{base}/models"


def parse_model_list(data: Any) -> list[dict[str, Any]]:
    """Converts a server's answer to models in the form of models.json; the list formats of several servers
    are supported."""
    items: Any = data
    if isinstance(data, dict):
        items = data.get("data") if isinstance(data.get("data"), list) else data.get("models")
    out: list[dict[str, Any]] = []
    for item in items if isinstance(items, list) else ():
        entry = {"id": item} if isinstance(item, str) else item
        model = _parse_listed_model(entry) if isinstance(entry, dict) else None
        if model is not None:
            out.append(model)
    return out


def _parse_listed_model(item: Mapping[str, Any]) -> dict[str, Any] | None:
    name = item.get("id") or item.get("model") or item.get("name")
    if not isinstance(name, str) or not name:
        return None
    model_id = name.removeprefix("models/")
    out: dict[str, Any] = {"id": model_id}
    label = item.get("display_name") or item.get("displayName")
    if isinstance(label, str):
        out["name"] = label
    window = _first_number(
        item,
        ("context_length",),
        ("max_model_len",),
        ("loaded_context_length",),
        ("max_context_length",),
        ("inputTokenLimit",),
        ("max_input_tokens",),
        ("meta", "n_ctx"),
        ("meta", "n_ctx_train"),
    )
    if window:
        out["contextWindow"] = window
    limit = _first_number(
        item,
        ("top_provider", "max_completion_tokens"),
        ("outputTokenLimit",),
        ("max_tokens",),
        ("max_output_tokens",),
    )
    if limit:
        out["maxTokens"] = min(limit, window or limit)
    modalities = (
        (item.get("architecture") or {}).get("input_modalities") or item.get("input_modalities") or ()
    )
    if "image" in modalities or item.get("type") == "vlm":
        out["input"] = ["text", "image"]
    parameters = item.get("supported_parameters")
    if isinstance(parameters, Sequence) and "reasoning" in parameters:
        out["reasoning"] = True
    cost = _parse_token_prices(item.get("pricing"))
    if cost:
        out["cost"] = cost
    return out


def _first_number(item: Mapping[str, Any], *paths: tuple[str, ...]) -> int | None:
    for path in paths:
        value: Any = item
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, int) and value > 0:
            return value
    return None


def _parse_token_prices(pricing: Any) -> dict[str, float]:
    """Converts the prices of routers, which are in dollars per token."""
    if not isinstance(pricing, Mapping):
        return {}
    names = {
        "prompt": "input",
        "completion": "output",
        "input_cache_read": "cacheRead",
        "input_cache_write": "cacheWrite",
    }
    out: dict[str, float] = {}
    for theirs, ours in names.items():
        try:
            price = round(float(pricing.get(theirs) or 0) * 1e6, 6)
        except (TypeError, ValueError):
            continue
        if price > 0:
            out[ours] = price
    return out


async def _fetch_json(url: str, api: str, credential: Credential, options: StreamOptions) -> Any:
    from app.providers.senders.http_exchange import send_http_request  # noqa: PLC0415  (only asking needs it)
    from app.providers.transport import USER_AGENT, HttpRequest, decode_event_json  # noqa: PLC0415

    headers = {"User-Agent": USER_AGENT, "Accept": "application/json", **credential.headers}
    if api == "anthropic-messages":
        headers["Anthropic-Version"] = "2023-06-01"
    if credential.key and api == "anthropic-messages" and not credential.is_bearer:
        headers["X-Api-Key"] = credential.key
    elif credential.key and api == "google-generative-ai":
        headers["X-Goog-Api-Key"] = credential.key
    elif credential.key:
        headers["Authorization"] = f"Bearer {credential.key}"
    request = HttpRequest(base_url=url, path="", body=b"", headers=headers, method="GET")
    async with send_http_request(request, options) as answer:
        body = b"".join([chunk async for chunk in answer.body_chunks()])
    return decode_event_json(body)
