"""The providers that bayou knows: their names, the variables of their keys and their default models. Their
models are in `data/`; keys belong to the provider, not to the API."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec

import msgspec


class KnownProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that bayou knows: where its credential comes from and which model is its default."""

    id: str
    name: str
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold a key, in order of precedence."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold a bearer token; they take precedence over `key_variables`."""
    setting_variables: tuple[str, ...] = ()
    """Environment variables with settings that are not secret (region, resource, account)."""
    required_variables: tuple[str, ...] = ()
    """The settings without which a key cannot be used."""
    default_model: str = ""
    required_package: str = ""
    """The Python package that requests to the provider need, which an extra of bayou installs; empty if none is
    needed."""

    @property
    def missing_package_hint(self) -> str:
        """Says how to install the package that requests need; empty if it is installed or not needed."""
        if not self.required_package or find_spec(self.required_package) is not None:
            return ""
        return (
            f"{self.name} needs {self.required_package}, which is not installed. Install bayou with its extra: "
            "`uv tool install 'bayou[bedrock]'` or `pip install 'bayou[bedrock]'`."
        )


def _provider_with_one_key(id: str, name: str, variable: str, default_model: str) -> KnownProvider:
    """Describes a provider that needs only a key in one variable."""
    return KnownProvider(id=id, name=name, key_variables=(variable,), default_model=default_model)


_KNOWN_PROVIDERS = (
    KnownProvider(
        id="anthropic",
        name="Anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        token_variables=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"),
        default_model="claude-opus-5-5",
    ),
    _provider_with_one_key("openai", "OpenAI", "OPENAI_API_KEY", "gpt-6.1-sol"),
    _provider_with_one_key("google", "Google Gemini", "GEMINI_API_KEY", "gemini-4-argon"),
    KnownProvider(id="openai-codex", name="OpenAI Codex (ChatGPT)", default_model="gpt-6.1-sol"),
    _provider_with_one_key("github-copilot", "GitHub Copilot", "COPILOT_GITHUB_TOKEN", "gpt-6.1-sol"),
    _provider_with_one_key("xai", "xAI", "XAI_API_KEY", "grok-4.7"),
    _provider_with_one_key("deepseek", "DeepSeek", "DEEPSEEK_API_KEY", "deepseek-v4-pro"),
    _provider_with_one_key("mistral", "Mistral", "MISTRAL_API_KEY", "devstral-medium-latest"),
    _provider_with_one_key("moonshotai", "Moonshot AI", "MOONSHOT_API_KEY", "kimi-k2.7-code"),
    _provider_with_one_key("moonshotai-cn", "Moonshot AI (China)", "MOONSHOT_API_KEY", "kimi-k2.7-code"),
    _provider_with_one_key("kimi-coding", "Kimi For Coding", "KIMI_API_KEY", "kimi-for-coding"),
    _provider_with_one_key("zai", "Z.ai", "ZAI_API_KEY", "glm-5.3"),
    _provider_with_one_key("zai-coding-cn", "Z.ai Coding (China)", "ZAI_CODING_CN_API_KEY", "glm-5.3"),
    _provider_with_one_key("minimax", "MiniMax", "MINIMAX_API_KEY", "MiniMax-M3"),
    _provider_with_one_key("minimax-cn", "MiniMax (China)", "MINIMAX_CN_API_KEY", "MiniMax-M3"),
    _provider_with_one_key("meta", "Meta", "META_API_KEY", "muse-spark-1.3"),
    _provider_with_one_key("xiaomi", "Xiaomi", "XIAOMI_API_KEY", "mimo-v2.6-pro"),
    *(
        _provider_with_one_key(
            f"xiaomi-token-plan-{place}",
            f"Xiaomi Token Plan ({place.upper()})",
            f"XIAOMI_TOKEN_PLAN_{place.upper()}_API_KEY",
            "mimo-v2.6-pro",
        )
        for place in ("cn", "ams", "sgp")
    ),
    *(
        KnownProvider(
            id=f"qwen-token-plan{suffix}",
            name=f"Qwen Token Plan{words}",
            key_variables=(
                f"QWEN_TOKEN_PLAN_{plan}_API_KEY",
                "QWEN_TOKEN_PLAN_CN_API_KEY" if "-cn" in suffix else "QWEN_TOKEN_PLAN_API_KEY",
            ),
            default_model="qwen3.8-max",
        )
        for suffix, words, plan in (
            ("", "", "TEAM"),
            ("-individual", " (individual)", "INDIVIDUAL"),
            ("-cn", " (China)", "TEAM_CN"),
            ("-individual-cn", " (individual, China)", "INDIVIDUAL_CN"),
        )
    ),
    _provider_with_one_key("ant-ling", "Ant Ling", "ANT_LING_API_KEY", "Ring-2.6-1T"),
    _provider_with_one_key("groq", "Groq", "GROQ_API_KEY", "openai/gpt-oss-120b"),
    _provider_with_one_key("cerebras", "Cerebras", "CEREBRAS_API_KEY", "gpt-oss-120b"),
    _provider_with_one_key("together", "Together AI", "TOGETHER_API_KEY", "moonshotai/Kimi-K3"),
    _provider_with_one_key(
        "fireworks", "Fireworks AI", "FIREWORKS_API_KEY", "accounts/fireworks/models/kimi-k3"
    ),
    _provider_with_one_key("baseten", "Baseten", "BASETEN_API_KEY", "zai-org/GLM-5.3"),
    _provider_with_one_key(
        "nvidia", "NVIDIA NIM", "NVIDIA_API_KEY", "nvidia/nemotron-3.5-super-vl-120b-a12b"
    ),
    _provider_with_one_key("huggingface", "Hugging Face", "HF_TOKEN", "moonshotai/Kimi-K2.7-Code"),
    KnownProvider(
        id="amazon-bedrock",
        name="Amazon Bedrock",
        token_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        setting_variables=("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEDROCK_ENDPOINT"),
        default_model="us.anthropic.claude-opus-5-5",
        required_package="botocore",
    ),
    KnownProvider(
        id="google-vertex",
        name="Google Vertex AI",
        key_variables=("GOOGLE_CLOUD_API_KEY",),
        setting_variables=(
            "GOOGLE_CLOUD_PROJECT",
            "GCLOUD_PROJECT",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        default_model="gemini-4-argon",
    ),
    KnownProvider(
        id="azure",
        name="Azure OpenAI",
        key_variables=("AZURE_OPENAI_API_KEY",),
        setting_variables=(
            "AZURE_OPENAI_BASE_URL",
            "AZURE_OPENAI_RESOURCE_NAME",
            "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
            "AZURE_OPENAI_API_VERSION",
        ),
        default_model="gpt-6.1-sol",
    ),
    _provider_with_one_key("openrouter", "OpenRouter", "OPENROUTER_API_KEY", "moonshotai/kimi-k2.7-code"),
    _provider_with_one_key("vercel-ai-gateway", "Vercel AI Gateway", "AI_GATEWAY_API_KEY", "zai/glm-5.3"),
    KnownProvider(
        id="cloudflare-workers-ai",
        name="Cloudflare Workers AI",
        key_variables=("CLOUDFLARE_API_KEY",),
        setting_variables=("CLOUDFLARE_ACCOUNT_ID",),
        required_variables=("CLOUDFLARE_ACCOUNT_ID",),
        default_model="@cf/moonshotai/kimi-k2.7-code",
    ),
    KnownProvider(
        id="cloudflare-ai-gateway",
        name="Cloudflare AI Gateway",
        key_variables=("CLOUDFLARE_API_KEY",),
        setting_variables=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        required_variables=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        default_model="workers-ai/@cf/moonshotai/kimi-k2.7-code",
    ),
    _provider_with_one_key("opencode", "OpenCode Zen", "OPENCODE_API_KEY", "kimi-k2.7-code"),
    _provider_with_one_key("opencode-go", "OpenCode Go", "OPENCODE_API_KEY", "kimi-k3.1-pro"),
    _provider_with_one_key("radius", "Radius", "RADIUS_API_KEY", "balanced"),
)

KNOWN_PROVIDERS: Mapping[str, KnownProvider] = {provider.id: provider for provider in _KNOWN_PROVIDERS}
"""The providers in the order of the search for a default model: vendors before resellers."""

WEB_SEARCH_SERVICES: Mapping[str, KnownProvider] = {
    "brave": _provider_with_one_key("brave", "Brave Search", "BRAVE_API_KEY", ""),
    "tavily": _provider_with_one_key("tavily", "Tavily", "TAVILY_API_KEY", ""),
}
"""Search services for which a key can be stored and which offer no models."""
PROVIDERS_AND_WEB_SEARCH_SERVICES = {**KNOWN_PROVIDERS, **WEB_SEARCH_SERVICES}


def unknown_provider_text(name: str, providers: Iterable[str]) -> str:
    """Says that there is no such provider, with similar ids and where others are added."""
    from difflib import get_close_matches  # noqa: PLC0415  (only when a name was wrong)

    close = get_close_matches(name.casefold(), list(providers), n=3)
    near = f"Did you mean {' or '.join(close)}? " if close else ""
    return (
        f"There is no provider '{name}'. {near}Servers of your own: /login, Another server, or models.json."
    )


def find_api_key_variable(provider: str, env: Mapping[str, str]) -> str:
    """Returns the environment variable that holds the provider's key or token; empty if none does."""
    known = PROVIDERS_AND_WEB_SEARCH_SERVICES.get(provider)
    named = (*known.token_variables, *known.key_variables) if known is not None else ()
    return next((name for name in named if env.get(name)), "")


RESELLER_PROVIDER_IDS = frozenset(
    (
        *("github-copilot", "groq", "cerebras", "together", "fireworks", "baseten", "nvidia", "huggingface"),
        *("amazon-bedrock", "google-vertex", "azure", "openrouter", "vercel-ai-gateway", "radius"),
        *("cloudflare-workers-ai", "cloudflare-ai-gateway", "opencode", "opencode-go"),
    )
)
"""Providers that offer models of other vendors. A model name means the vendor's own offering, unless only
the reseller has a key."""
