"""The capabilities of servers of the chat-completions format: detected from provider and address, then
overridden by the model's `compat` switches. docs/models.md describes their names and defaults."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.providers.adapters.wire_helpers import compat_switches_of_model
from app.values.models import Model


class CompletionsServerQuirks(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The features and quirks of one chat-completions server."""

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    max_tokens_field: str = "max_completion_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_non_null_assistant_content: bool = False
    requires_tools_with_tool_history: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    thinking_format: str = "openai"
    chat_template_kwargs: dict[str, Any] = {}
    chat_template_args: dict[str, Any] = {}
    open_router_routing: dict[str, Any] = {}
    vercel_gateway_routing: dict[str, Any] = {}
    zai_tool_stream: bool = False
    supports_thinking_token_budget: bool = False
    supports_strict_mode: bool = False
    thinking_token_budget_field: str | None = None
    cache_control_format: str | None = None
    send_session_affinity_headers: bool = False
    prompt_cache_key_mode: str = "auto"
    supports_long_cache_retention: bool | None = None
    vllm_priority: int | None = None


_HOSTS_OF_COMPLETIONS_SERVERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nvidia", ("integrate.api.nvidia.com",)),
    ("cerebras", ("cerebras.ai",)),
    ("xai", ("api.x.ai",)),
    ("together", ("api.together.ai", "api.together.xyz")),
    ("chutes", ("chutes.ai",)),
    ("deepseek", ("deepseek.com",)),
    ("zai", ("api.z.ai", "bigmodel.cn")),
    ("moonshot", ("moonshot.ai", "moonshot.cn")),
    ("opencode", ("opencode.ai",)),
    ("cloudflare-workers-ai", ("api.cloudflare.com",)),
    ("cloudflare-ai-gateway", ("gateway.ai.cloudflare.com",)),
    ("ant-ling", ("ant-ling.com",)),
    ("openrouter", ("openrouter.ai",)),
    ("openai", ("api.openai.com",)),
    ("baseten", ("baseten.co",)),
)
_COMPLETIONS_SERVER_BY_PROVIDER = {
    "moonshotai": "moonshot",
    "moonshotai-cn": "moonshot",
    "zai-coding-cn": "zai",
    "opencode-go": "opencode",
}

_SERVERS_WITH_MAX_TOKENS_FIELD = frozenset(
    ("chutes", "deepseek", "moonshot", "cloudflare-ai-gateway", "together", "nvidia", "ant-ling", "zai")
)
_SERVERS_WITHOUT_REASONING_EFFORT = frozenset(
    ("xai", "zai", "moonshot", "together", "cloudflare-ai-gateway", "nvidia", "ant-ling")
)
_THINKING_FORMAT_BY_SERVER = {
    name: name for name in ("deepseek", "zai", "together", "ant-ling", "openrouter")
}


def completions_server_of_model(model: Model) -> str:
    """Returns the name of the known server behind a model, or the provider's id if the server is not known."""
    for name, hosts in _HOSTS_OF_COMPLETIONS_SERVERS:
        if any(host in model.base_url for host in hosts):
            return name
    return _COMPLETIONS_SERVER_BY_PROVIDER.get(model.provider, model.provider)


def completions_quirks_of_model(model: Model) -> CompletionsServerQuirks:
    """Detects a model's switches, then applies its overrides one by one. An override of a wrong type is
    ignored."""
    detected = _detect_quirks(model)
    own = compat_switches_of_model(model)
    if not own:
        return detected
    known = {name: own[name] for name in _COMPAT_SWITCH_NAMES if name in own}
    return _override_quirks(detected, known)


_COMPAT_SWITCH_NAMES = tuple(field.encode_name for field in msgspec.structs.fields(CompletionsServerQuirks))


def _override_quirks(base: CompletionsServerQuirks, changes: Mapping[str, Any]) -> CompletionsServerQuirks:
    data = msgspec.to_builtins(base)
    for name, value in changes.items():
        try:
            msgspec.convert({**data, name: value}, CompletionsServerQuirks)
        except msgspec.ValidationError:
            continue
        data[name] = value
    return msgspec.convert(data, CompletionsServerQuirks)


def _detect_quirks(model: Model) -> CompletionsServerQuirks:
    server = completions_server_of_model(model)
    vendor = model.id.split("/", 1)[0]
    is_openai = "api.openai.com" in model.base_url  # other servers may not know what only OpenAI documents
    return CompletionsServerQuirks(
        supports_store=is_openai,
        supports_developer_role=is_openai,
        supports_reasoning_effort=server not in _SERVERS_WITHOUT_REASONING_EFFORT,
        max_tokens_field="max_tokens"
        if server in _SERVERS_WITH_MAX_TOKENS_FIELD
        else "max_completion_tokens",
        requires_reasoning_content_on_assistant_messages=server == "deepseek",
        thinking_format=_THINKING_FORMAT_BY_SERVER.get(server, "openai"),
        cache_control_format="anthropic" if server == "openrouter" and vendor == "anthropic" else None,
        send_session_affinity_headers=server == "openrouter",
    )
