"""What several wire formats share: the spelling of a person's parts, answer limits, cache and session headers, GitHub
Copilot's request headers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from app.providers.contract import StreamOptions
from app.providers.errors import ProviderError
from app.providers.models.known_providers import PROVIDERS
from app.providers.transform import PreparedRequest
from app.values.codec import encode_json
from app.values.content import Image, Text, UnknownContent, UserContent
from app.values.models import Model
from app.version import VERSION
from tools.patterns import late

_SETTING = late(r"\{([A-Z_]+)\}")
_CHARS_PER_TOKEN = 4
_SAFETY_MARGIN_TOKENS = 1_024
_MIN_ANSWER_TOKENS = 1_024
INCOMPLETE_ANSWER = "The connection closed before the answer was complete"


def compat(model: Model) -> Mapping[str, Any]:
    return model.compat or {}


def answer_limit(model: Model, options: StreamOptions, prepared: PreparedRequest) -> int:
    """The most tokens to ask for: what is wanted, what the model can, and what the context window leaves."""
    wanted = min(options.max_tokens or model.max_tokens, model.max_tokens)
    room = model.context_window - _estimated_tokens(prepared) - _SAFETY_MARGIN_TOKENS
    return max(min(wanted, room), min(wanted, _MIN_ANSWER_TOKENS))


def _estimated_tokens(prepared: PreparedRequest) -> int:
    characters = len(prepared.system) + prepared.measure.characters
    for tool in prepared.tools:
        characters += len(tool.description) + len(encode_json(tool.parameters))
    return characters // _CHARS_PER_TOKEN


def affinity_headers(model: Model, options: StreamOptions, *, is_default: bool = False) -> dict[str, str]:
    """Headers by which a router keeps a session on the server that has its cache."""
    if not options.session_id or not options.use_cache:
        return {}
    switches = compat(model)
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
    """GitHub Copilot bills by who began the turn and wants to be told of images; each request says it anew."""
    if model.provider != "github-copilot":
        return {}
    headers = {
        "X-Initiator": "user" if prepared.ends_with_user else "agent",
        "Openai-Intent": "conversation-edits",
        "Editor-Version": f"bayou/{VERSION}",
    }
    if prepared.has_images:
        headers["Copilot-Vision-Request"] = "true"
    return headers


def authorization(model: Model, options: StreamOptions) -> dict[str, str]:
    """The key as a bearer token; nothing for servers that need none. Cloudflare's gateway has a header of its own,
    because it would pass the usual one on to the provider behind it.
    """
    key = options.credential.key
    if not key:
        return {}
    return {_KEY_HEADERS.get(model.provider, "Authorization"): f"Bearer {key}"}


_KEY_HEADERS = {"cloudflare-ai-gateway": "Cf-Aig-Authorization"}


def wants_bearer(model: Model, options: StreamOptions) -> bool:
    """Whether the key goes as a bearer token even where the format has a header for keys."""
    return options.credential.is_bearer or model.provider in ("github-copilot", *_KEY_HEADERS)


def address(model: Model, options: StreamOptions, default: str) -> str:
    """The model's base URL; `{NAME}` in it is a setting that came with the credential.

    `default`: the vendor's, for the providers that bayou knows. The key of another one was not given for it.
    """
    if not model.base_url and model.provider not in PROVIDERS:
        raise ProviderError(f"No address is known for {model.key}: its provider needs a base URL.")
    base = model.base_url or default
    for name in _SETTING.findall(base):
        value = options.credential.env.get(name)
        if not value:
            raise ProviderError(f"{model.provider} needs the setting {name}: set it in the environment.")
        base = base.replace(f"{{{name}}}", value)
    return base


def user_parts(
    content: str | tuple[UserContent, ...],
    text: Callable[[str], dict[str, Any]],
    image: Callable[[Image], dict[str, Any]],
) -> list[dict[str, Any]]:
    """What a person said, or a tool brought, in the words that a format has for texts and images."""
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


def alternating(sides: Iterable[tuple[str, list[dict[str, Any]]]], field: str) -> list[dict[str, Any]]:
    """Messages whose sides alternate, as some formats want it: neighbours of one side become one message."""
    out: list[dict[str, Any]] = []
    for role, parts in sides:
        if not parts:
            continue
        if out and out[-1]["role"] == role:
            out[-1][field].extend(parts)
        else:
            out.append({"role": role, field: parts})
    return out


def incomplete_error(detail: str) -> ProviderError:
    return ProviderError(f"{INCOMPLETE_ANSWER} ({detail}).", kind="connection")


def count(data: Mapping[str, Any] | None, *path: str) -> int:
    """A token count out of nested usage data; 0 where it is missing or not a number."""
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def clamped_cache_key(session_id: str | None) -> str | None:
    """OpenAI takes at most 64 code points."""
    return session_id[:64] if session_id else None
