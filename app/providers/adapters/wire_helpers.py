"""Helpers that several wire formats share: user content, answer limits, headers for authorization, caching
and GitHub Copilot."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from app.providers.errors import ProviderError
from app.providers.model_stream import StreamOptions
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.request_preparation import PreparedRequest
from app.values.codec import encode_json
from app.values.content import Image, Text, UnknownContent, UserContent
from app.values.models import Model
from app.version import VERSION
from tools.lazy_patterns import lazy_regex

_URL_VARIABLE_PATTERN = lazy_regex(r"\{([A-Z_]+)\}")
_CHARS_PER_TOKEN = 4
_CONTEXT_MARGIN_TOKENS = 1_024
_MIN_ANSWER_TOKENS = 1_024
INCOMPLETE_ANSWER_TEXT = "The connection closed before the answer was complete"


def compat_switches_of_model(model: Model) -> Mapping[str, Any]:
    return model.compat or {}


def max_answer_tokens(model: Model, options: StreamOptions, prepared: PreparedRequest) -> int:
    """Returns the `max_tokens` of a request: the smallest of the requested limit, the model's limit and the
    room that is left in the context window."""
    wanted = min(options.max_tokens or model.max_tokens, model.max_tokens)
    room = model.context_window - _estimated_tokens(prepared) - _CONTEXT_MARGIN_TOKENS
    return max(min(wanted, room), min(wanted, _MIN_ANSWER_TOKENS))


def _estimated_tokens(prepared: PreparedRequest) -> int:
    characters = len(prepared.system_prompt) + prepared.stats.characters
    for tool in prepared.tools:
        characters += len(tool.description) + len(encode_json(tool.parameters))
    return characters // _CHARS_PER_TOKEN


def session_affinity_headers(
    model: Model, options: StreamOptions, *, is_default: bool = False
) -> dict[str, str]:
    """Returns the headers with which a router sends a session's requests to the server that has its cache."""
    if not options.session_id or not options.use_cache:
        return {}
    switches = compat_switches_of_model(model)
    if not switches.get("sendSessionAffinityHeaders", is_default):
        return {}
    match switches.get("sessionAffinityFormat") or (
        "openrouter" if "openrouter.ai" in model.base_url else "openai"
    ):
        case "openrouter":
            return {"X-Session-Id": options.session_id}
        case "openai-nosession":
            return {"X-Session-Affinity": options.session_id}
        case _:
            return {"Session_id": options.session_id, "X-Session-Affinity": options.session_id}


def copilot_headers(model: Model, prepared: PreparedRequest) -> dict[str, str]:
    """Returns GitHub Copilot's headers, which every request repeats: who began the turn (for billing) and
    whether it has images."""
    if model.provider != "github-copilot":
        return {}
    headers = {
        "X-Initiator": "user" if prepared.ends_with_user_message else "agent",
        "Openai-Intent": "conversation-edits",
        "Editor-Version": f"bayou/{VERSION}",
    }
    if prepared.has_images:
        headers["Copilot-Vision-Request"] = "true"
    return headers


def authorization_header(model: Model, options: StreamOptions) -> dict[str, str]:
    """Returns the header with the key as a bearer token, or no header for servers that need none.
    Cloudflare's gateway has a separate header, because it passes `Authorization` on to the provider behind
    it."""
    key = options.credential.key
    if not key:
        return {}
    return {_API_KEY_HEADER_BY_PROVIDER.get(model.provider, "Authorization"): f"Bearer {key}"}


_API_KEY_HEADER_BY_PROVIDER = {"cloudflare-ai-gateway": "Cf-Aig-Authorization"}


def uses_bearer_token(model: Model, options: StreamOptions) -> bool:
    """Says whether the key is sent as a bearer token even where the format has a header for keys."""
    return options.credential.is_bearer or model.provider in ("github-copilot", *_API_KEY_HEADER_BY_PROVIDER)


def base_url_of_model(model: Model, options: StreamOptions, default: str) -> str:
    """Returns the model's base URL, with each `{NAME}` filled in from the credential's settings.

    `default` is the vendor's URL. It serves only the providers that bayou knows: another provider's key
    must not go there."""
    if not model.base_url and model.provider not in KNOWN_PROVIDERS:
        raise ProviderError(
            f"The address of {model.key} is unknown: set `baseUrl` of its provider in models.json."
        )
    base = model.base_url or default
    for name in _URL_VARIABLE_PATTERN.findall(base):
        value = options.credential.env.get(name)
        if not value:
            raise ProviderError(f"{model.provider} needs the setting {name}: set it in the environment.")
        base = base.replace(f"{{{name}}}", value)
    return base


def encode_user_content_parts(
    content: str | tuple[UserContent, ...],
    text: Callable[[str], dict[str, Any]],
    image: Callable[[Image], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Encodes the texts and images of a user message or a tool result with the format's own `text` and
    `image` encoders."""
    parts: list[dict[str, Any]] = []
    for block in (Text(text=content),) if isinstance(content, str) else content:
        match block:
            case Text():
                parts.append(text(block.text))
            case Image():
                parts.append(image(block))
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return parts


def join_messages_of_same_role(
    sides: Iterable[tuple[str, list[dict[str, Any]]]], field: str
) -> list[dict[str, Any]]:
    """Joins neighbouring messages of the same side, for formats in which the sides must alternate."""
    out: list[dict[str, Any]] = []
    for role, parts in sides:
        if not parts:
            continue
        if out and out[-1]["role"] == role:
            out[-1][field].extend(parts)
        else:
            out.append({"role": role, field: parts})
    return out


def incomplete_answer_error(detail: str) -> ProviderError:
    return ProviderError(f"{INCOMPLETE_ANSWER_TEXT} ({detail}).", kind="connection")


def read_token_count(data: Mapping[str, Any] | None, *path: str) -> int:
    """Reads a token count from nested usage data; 0 if it is missing or not a number."""
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def prompt_cache_key(session_id: str | None) -> str | None:
    """Cuts a session id to the 64 code points that OpenAI accepts as a cache key."""
    return session_id[:64] if session_id else None
