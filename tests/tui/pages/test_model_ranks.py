"""Searching all known models ranks the vendor's offering before resellers."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS, RESELLER_PROVIDER_IDS
from app.providers.models.model_names import select_model
from app.providers.models.model_vendors import is_reseller_offer
from app.tui.features.models.page import model_picker_rows
from app.values.models import Model
from widgets.lists.row_filter import ListRowFilter

MAKERS = {
    "claude": ("anthropic",),
    "opus": ("anthropic",),
    "sonnet": ("anthropic",),
    "haiku": ("anthropic",),
    "gpt": ("openai", "openai-codex"),
    "gpt-5": ("openai", "openai-codex"),
    "gpt-6": ("openai", "openai-codex"),
    "codex": ("openai", "openai-codex"),
    "gemini": ("google",),
    "grok": ("xai",),
    "deepseek": ("deepseek",),
    "mistral": ("mistral",),
    "devstral": ("mistral",),
    "kimi": ("moonshotai", "moonshotai-cn", "kimi-coding"),
    "glm": ("zai", "zai-coding-cn"),
    "minimax": ("minimax", "minimax-cn"),
    "muse": ("meta",),
    "mimo": tuple(name for name in KNOWN_PROVIDERS if name.startswith("xiaomi")),
}


def known(provider: str, model_id: str) -> Model:
    model = catalogue().find_model(provider, model_id)
    assert model is not None
    return model


@cache
def catalogue() -> ModelCatalogue:
    return ModelCatalogue.load_catalogue(Path("/nonexistent"), env={})


def found(query: str, keys: Mapping[str, str]) -> list[str]:
    """What the list of models shows for a query, from the top."""
    choice = SimpleNamespace(
        catalogue=catalogue(), credentials=Credentials(Path("/nonexistent"), keys), model=None
    )
    rows = model_picker_rows(cast(ModelChoice, choice))
    return [shown.row.id for shown in ListRowFilter(rows).apply_query(query)]


@pytest.mark.parametrize("query", MAKERS)
@pytest.mark.parametrize("has_keys", [False, True], ids=["without a key", "with keys for all"])
def test_the_first_that_is_found_is_its_makers(query: str, *, has_keys: bool) -> None:
    keys = (
        {name: "k" for provider in KNOWN_PROVIDERS.values() for name in provider.key_variables}
        if has_keys
        else {}
    )
    first = found(query, keys)[0]
    assert first.partition("/")[0] in MAKERS[query], first


def test_a_models_vendor_is_listed_before_resellers() -> None:
    offered: dict[str, list[bool]] = {}
    for model in catalogue().all_models():
        offered.setdefault(model.id.lower(), []).append(is_reseller_offer(model))
    both = [name for name, resold in offered.items() if True in resold and False in resold]
    assert len(both) > 80
    for name in both:
        for query in (name, name[: len(name) * 2 // 3], name.rpartition("-")[0] or name):
            places = [key.partition("/") for key in found(query, {})]
            order = [(provider, model) for provider, _, model in places if model.lower() == name]
            resold = [is_reseller_offer(known(*one)) for one in order]
            assert resold == sorted(resold), f"{query}: {order}"


@pytest.mark.parametrize("query", MAKERS)
def test_a_name_on_the_command_line_means_its_makers(query: str) -> None:
    keys: dict[str, Any] = {
        name: "k" for provider in KNOWN_PROVIDERS.values() for name in provider.key_variables
    }
    chosen = select_model(query, catalogue(), Credentials(Path("/nonexistent"), keys)).model
    assert chosen.provider in MAKERS[query], chosen.key


def test_the_makers_come_before_the_resellers_where_nothing_is_typed() -> None:
    rows = found("", {})
    resold = [
        key.partition("/")[0] in RESELLER_PROVIDER_IDS
        for key in rows
        if not key.startswith(("#", "offline/"))
    ]
    assert resold == sorted(resold)
