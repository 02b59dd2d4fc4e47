"""The providers that bayou knows by name: what they are called, where their keys are looked for, which of their
models is the default. Their models are in `data/`; whose key it is depends on the provider, never on the API.
"""

from collections.abc import Mapping

import msgspec


class KnownProvider(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    env: tuple[str, ...] = ()
    """Variables that may hold a key, first one first."""
    bearer_env: tuple[str, ...] = ()
    """Variables that hold a token, sent as a bearer; they come before `env`."""
    settings: tuple[str, ...] = ()
    """Variables that are no secret and say where or how (region, resource, account)."""
    required: tuple[str, ...] = ()
    """Settings without which a key is of no use."""
    default_model: str = ""


_LIST = (
    KnownProvider(
        id="anthropic",
        name="Anthropic",
        env=("ANTHROPIC_API_KEY",),
        bearer_env=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"),
        default_model="claude-opus-5-5",
    ),
    KnownProvider(id="openai", name="OpenAI", env=("OPENAI_API_KEY",), default_model="gpt-6.1-sol"),
    KnownProvider(id="google", name="Google Gemini", env=("GEMINI_API_KEY",), default_model="gemini-4-argon"),
    KnownProvider(id="openai-codex", name="OpenAI Codex (ChatGPT)", default_model="gpt-6.1-sol"),
    KnownProvider(
        id="github-copilot",
        name="GitHub Copilot",
        env=("COPILOT_GITHUB_TOKEN",),
        default_model="gpt-6.1-sol",
    ),
    KnownProvider(id="xai", name="xAI", env=("XAI_API_KEY",), default_model="grok-4.7"),
    KnownProvider(id="deepseek", name="DeepSeek", env=("DEEPSEEK_API_KEY",), default_model="deepseek-v4-pro"),
    KnownProvider(
        id="mistral", name="Mistral", env=("MISTRAL_API_KEY",), default_model="devstral-medium-latest"
    ),
    KnownProvider(
        id="moonshotai", name="Moonshot AI", env=("MOONSHOT_API_KEY",), default_model="kimi-k2.7-code"
    ),
    KnownProvider(
        id="moonshotai-cn",
        name="Moonshot AI (China)",
        env=("MOONSHOT_API_KEY",),
        default_model="kimi-k2.7-code",
    ),
    KnownProvider(
        id="kimi-coding",
        name="Kimi For Coding",
        env=("KIMI_API_KEY",),
        default_model="kimi-for-coding",
    ),
    KnownProvider(id="zai", name="Z.ai", env=("ZAI_API_KEY",), default_model="glm-5.3"),
    KnownProvider(
        id="zai-coding-cn",
        name="Z.ai Coding (China)",
        env=("ZAI_CODING_CN_API_KEY",),
        default_model="glm-5.3",
    ),
    KnownProvider(id="minimax", name="MiniMax", env=("MINIMAX_API_KEY",), default_model="MiniMax-M3"),
    KnownProvider(
        id="minimax-cn", name="MiniMax (China)", env=("MINIMAX_CN_API_KEY",), default_model="MiniMax-M3"
    ),
    KnownProvider(id="meta", name="Meta", env=("META_API_KEY",), default_model="muse-spark-1.3"),
    KnownProvider(id="xiaomi", name="Xiaomi", env=("XIAOMI_API_KEY",), default_model="mimo-v2.6-pro"),
    *(
        KnownProvider(
            id=f"xiaomi-token-plan-{place}",
            name=f"Xiaomi Token Plan ({place.upper()})",
            env=(f"XIAOMI_TOKEN_PLAN_{place.upper()}_API_KEY",),
            default_model="mimo-v2.6-pro",
        )
        for place in ("cn", "ams", "sgp")
    ),
    *(
        KnownProvider(
            id=f"qwen-token-plan{suffix}",
            name=f"Qwen Token Plan{words}",
            env=("QWEN_TOKEN_PLAN_CN_API_KEY" if "-cn" in suffix else "QWEN_TOKEN_PLAN_API_KEY",),
            default_model="qwen3.8-max",
        )
        for suffix, words in (
            ("", ""),
            ("-individual", " (individual)"),
            ("-cn", " (China)"),
            ("-individual-cn", " (individual, China)"),
        )
    ),
    KnownProvider(id="ant-ling", name="Ant Ling", env=("ANT_LING_API_KEY",), default_model="Ring-2.6-1T"),
    KnownProvider(id="groq", name="Groq", env=("GROQ_API_KEY",), default_model="openai/gpt-oss-120b"),
    KnownProvider(id="cerebras", name="Cerebras", env=("CEREBRAS_API_KEY",), default_model="gpt-oss-120b"),
    KnownProvider(
        id="together", name="Together AI", env=("TOGETHER_API_KEY",), default_model="moonshotai/Kimi-K3"
    ),
    KnownProvider(
        id="fireworks",
        name="Fireworks AI",
        env=("FIREWORKS_API_KEY",),
        default_model="accounts/fireworks/models/kimi-k3",
    ),
    KnownProvider(id="baseten", name="Baseten", env=("BASETEN_API_KEY",), default_model="zai-org/GLM-5.3"),
    KnownProvider(
        id="nvidia",
        name="NVIDIA NIM",
        env=("NVIDIA_API_KEY",),
        default_model="nvidia/nemotron-3.5-super-vl-120b-a12b",
    ),
    KnownProvider(
        id="huggingface", name="Hugging Face", env=("HF_TOKEN",), default_model="moonshotai/Kimi-K2.7-Code"
    ),
    KnownProvider(
        id="amazon-bedrock",
        name="Amazon Bedrock",
        bearer_env=("AWS_BEARER_TOKEN_BEDROCK",),
        settings=("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEDROCK_ENDPOINT"),
        default_model="us.anthropic.claude-opus-5-5",
    ),
    KnownProvider(
        id="google-vertex",
        name="Google Vertex AI",
        env=("GOOGLE_CLOUD_API_KEY",),
        settings=(
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
        env=("AZURE_OPENAI_API_KEY",),
        settings=(
            "AZURE_OPENAI_BASE_URL",
            "AZURE_OPENAI_RESOURCE_NAME",
            "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
            "AZURE_OPENAI_API_VERSION",
        ),
        default_model="gpt-6.1-sol",
    ),
    KnownProvider(
        id="openrouter",
        name="OpenRouter",
        env=("OPENROUTER_API_KEY",),
        default_model="moonshotai/kimi-k2.7-code",
    ),
    KnownProvider(
        id="vercel-ai-gateway",
        name="Vercel AI Gateway",
        env=("AI_GATEWAY_API_KEY",),
        default_model="zai/glm-5.3",
    ),
    KnownProvider(
        id="cloudflare-workers-ai",
        name="Cloudflare Workers AI",
        env=("CLOUDFLARE_API_KEY",),
        settings=("CLOUDFLARE_ACCOUNT_ID",),
        required=("CLOUDFLARE_ACCOUNT_ID",),
        default_model="@cf/moonshotai/kimi-k2.7-code",
    ),
    KnownProvider(
        id="cloudflare-ai-gateway",
        name="Cloudflare AI Gateway",
        env=("CLOUDFLARE_API_KEY",),
        settings=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        required=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        default_model="workers-ai/@cf/moonshotai/kimi-k2.7-code",
    ),
    KnownProvider(
        id="opencode", name="OpenCode Zen", env=("OPENCODE_API_KEY",), default_model="kimi-k2.7-code"
    ),
    KnownProvider(
        id="opencode-go", name="OpenCode Go", env=("OPENCODE_API_KEY",), default_model="kimi-k3.1-pro"
    ),
    KnownProvider(id="radius", name="Radius", env=("RADIUS_API_KEY",), default_model="balanced"),
)

PROVIDERS: Mapping[str, KnownProvider] = {provider.id: provider for provider in _LIST}
"""In the order in which a default is looked for: those who make models before those who pass them on."""


def key_variable(provider: str, env: Mapping[str, str]) -> str:
    """The variable of the environment that holds its key or token; nothing when none does."""
    known = PROVIDERS.get(provider)
    named = (*known.bearer_env, *known.env) if known is not None else ()
    return next((name for name in named if env.get(name)), "")


RESELLERS = frozenset(
    (
        *("github-copilot", "groq", "cerebras", "together", "fireworks", "baseten", "nvidia", "huggingface"),
        *("amazon-bedrock", "google-vertex", "azure", "openrouter", "vercel-ai-gateway", "radius"),
        *("cloudflare-workers-ai", "cloudflare-ai-gateway", "opencode", "opencode-go"),
    )
)
"""They pass on what others make: of the same model the maker's own is meant, unless there is a key for theirs alone."""
