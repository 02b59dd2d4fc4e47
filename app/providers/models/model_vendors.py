"""Maps a model name to its vendor, so that the vendor's own offering wins over resellers."""

from functools import lru_cache
from typing import Final

from app.providers.models.known_providers import KNOWN_PROVIDERS, RESELLER_PROVIDER_IDS
from app.values.models import Model
from tools.lazy_patterns import lazy_regex

_VENDOR_PROVIDERS_BY_MODEL_PREFIX: Final = (
    (lazy_regex(r"claude"), ("anthropic",)),
    (lazy_regex(r"(gpt|codex|chatgpt|o\d)(?![a-z])"), ("openai", "openai-codex")),
    (lazy_regex(r"gem(ini|ma)"), ("google",)),
    (lazy_regex(r"grok"), ("xai",)),
    (lazy_regex(r"deepseek"), ("deepseek",)),
    (lazy_regex(r"(mi|mini|dev|code|magi|pix)stral|mixtral"), ("mistral",)),
    (lazy_regex(r"kimi|moonshot"), ("moonshotai", "moonshotai-cn", "kimi-coding")),
    (lazy_regex(r"glm"), ("zai", "zai-coding-cn")),
    (lazy_regex(r"minimax"), ("minimax", "minimax-cn")),
    (lazy_regex(r"llama|muse"), ("meta",)),
    (lazy_regex(r"mimo"), tuple(name for name in KNOWN_PROVIDERS if name.startswith("xiaomi"))),
    (lazy_regex(r"qw(en|q)"), tuple(name for name in KNOWN_PROVIDERS if name.startswith("qwen"))),
    (lazy_regex(r"r?ling|ring"), ("ant-ling",)),
    (lazy_regex(r"nemotron"), ("nvidia",)),
)
"""Beginnings of model names with the vendor of each; resellers' folders before the name are removed first."""


def is_reseller_offer(model: Model) -> bool:
    """Says whether a provider resells another vendor's model. Providers that the user configured never count
    as resellers."""
    return model.provider in KNOWN_PROVIDERS and _is_reseller_offer(model.provider, model.id)


@lru_cache(4096)
def _is_reseller_offer(provider: str, model_id: str) -> bool:
    name = model_id.rpartition("/")[2].lower()
    made_by = next((makers for names, makers in _VENDOR_PROVIDERS_BY_MODEL_PREFIX if names.match(name)), None)
    return provider in RESELLER_PROVIDER_IDS if made_by is None else provider not in made_by
