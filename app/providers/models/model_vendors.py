"""Maps a model name to its vendor, so that the vendor's own offering wins over resellers."""

from functools import lru_cache
from typing import Final

from app.providers.models.known_providers import KNOWN_PROVIDERS, RESELLER_IDS
from app.values.models import Model
from tools.patterns import late

_VENDOR_PREFIXES: Final = (
    (late(r"claude"), ("anthropic",)),
    (late(r"(gpt|codex|chatgpt|o\d)(?![a-z])"), ("openai", "openai-codex")),
    (late(r"gem(ini|ma)"), ("google",)),
    (late(r"grok"), ("xai",)),
    (late(r"deepseek"), ("deepseek",)),
    (late(r"(mi|mini|dev|code|magi|pix)stral|mixtral"), ("mistral",)),
    (late(r"kimi|moonshot"), ("moonshotai", "moonshotai-cn", "kimi-coding")),
    (late(r"glm"), ("zai", "zai-coding-cn")),
    (late(r"minimax"), ("minimax", "minimax-cn")),
    (late(r"llama|muse"), ("meta",)),
    (late(r"mimo"), tuple(name for name in KNOWN_PROVIDERS if name.startswith("xiaomi"))),
    (late(r"qw(en|q)"), tuple(name for name in KNOWN_PROVIDERS if name.startswith("qwen"))),
    (late(r"r?ling|ring"), ("ant-ling",)),
    (late(r"nemotron"), ("nvidia",)),
)
"""Beginnings of model names with the vendor of each; resellers' folders before the name are removed first."""


def is_reseller_offer(model: Model) -> bool:
    """Says whether a provider resells another vendor's model. Providers that the user configured never count
    as resellers."""
    return model.provider in KNOWN_PROVIDERS and _is_reseller_offer(model.provider, model.id)


@lru_cache(4096)
def _is_reseller_offer(provider: str, model_id: str) -> bool:
    name = model_id.rpartition("/")[2].lower()
    made_by = next((makers for names, makers in _VENDOR_PREFIXES if names.match(name)), None)
    return provider in RESELLER_IDS if made_by is None else provider not in made_by
