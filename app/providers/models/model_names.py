"""Resolves the model names that people type: exact or partial, with an optional provider before and a level
after."""

import fnmatch
from collections.abc import Iterable, Sequence

import msgspec

from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.model_vendors import is_reseller_offer
from app.values.models import Model, Prices, ThinkingLevel, thinking_level
from app.values.user_errors import UserError

_MAX_MODEL_CANDIDATES_IN_ERROR = 12
_KEYLESS_APIS = ("offline", "scripted")


class SelectedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A selected model, its thinking level and a warning about the name."""

    model: Model
    thinking: ThinkingLevel | None = None
    """The thinking level that the typed name contains; None if it contains none."""
    warning: str | None = None


class ModelNotFound(UserError):
    """No model, or more than one, matches the name. `candidates` are similar or matching models."""

    def __init__(self, message: str, candidates: Sequence[Model] = ()) -> None:
        lines = [message, *(f"  {model.key}" for model in candidates[:_MAX_MODEL_CANDIDATES_IN_ERROR])]
        if len(candidates) > _MAX_MODEL_CANDIDATES_IN_ERROR:
            lines.append(f"  … and {len(candidates) - _MAX_MODEL_CANDIDATES_IN_ERROR} more")
        super().__init__("\n".join(lines))
        self.candidates = tuple(candidates)


def select_model(
    pattern: str, catalogue: ModelCatalogue, credentials: Credentials, provider: str | None = None
) -> SelectedModel:
    """Returns the model that `pattern` names. Raises `ModelNotFound`."""
    readings = _split_name_and_level(pattern)
    for name, level in readings if provider is None else ():
        # This comes first, because reading the lists of all providers takes time and memory.
        model = _find_by_provider_prefix(name, catalogue)
        if model is not None:
            return SelectedModel(model=model, thinking=level)
    for name, level in readings:
        model = _pick_model(name, catalogue, credentials, provider)
        if model is not None:
            return SelectedModel(model=model, thinking=level)
    custom = _select_unlisted_model(pattern, catalogue, provider)
    if custom is not None:
        return custom
    pool = catalogue.models_of_provider(provider) if provider else catalogue.all_models()
    where = f" of {provider}" if provider else ""
    near = _similar_models(pattern, pool)
    hint = f"`bayou --list-models` lists all; your own are in {catalogue.models_file_path}."
    raise ModelNotFound(f"No model{where} is called '{pattern}'. {hint}{' Near it:' if near else ''}", near)


def select_models(
    patterns: Iterable[str], catalogue: ModelCatalogue, credentials: Credentials
) -> tuple[Model, ...]:
    """Returns the models that match any of the patterns, which may contain `*` and `?`. Patterns without a
    match are ignored, but if none matches, `ModelNotFound` is raised."""
    wanted = [pattern.strip() for pattern in patterns if pattern.strip()]
    chosen: dict[str, Model] = {}
    for pattern in wanted:
        for model in _matching_models(pattern, catalogue, credentials):
            chosen.setdefault(model.key, model)
    if wanted and not chosen:
        raise ModelNotFound(f"No model is called {', '.join(repr(pattern) for pattern in wanted)}.")
    return tuple(chosen.values())


def _matching_models(pattern: str, catalogue: ModelCatalogue, credentials: Credentials) -> list[Model]:
    if not set(pattern) & set("*?["):
        try:
            return [select_model(pattern, catalogue, credentials).model]
        except ModelNotFound:
            return []
    for name, _ in _split_name_and_level(pattern):
        wanted = name.lower()
        found = [
            model
            for model in catalogue.all_models()
            if fnmatch.fnmatchcase(model.key.lower(), wanted) or fnmatch.fnmatchcase(model.id.lower(), wanted)
        ]
        if found:
            return [model for model in found if _has_key(model, credentials)]
    return []


def _split_name_and_level(pattern: str) -> list[tuple[str, ThinkingLevel | None]]:
    """Returns the possible readings of a typed name: the whole as a name, and the text after the last colon as a
    thinking level, because model ids may contain colons."""
    pattern = pattern.strip()
    readings: list[tuple[str, ThinkingLevel | None]] = [(pattern, None)]
    name, colon, word = pattern.rpartition(":")
    level = thinking_level(word.lower())
    if colon and name and level is not None:
        readings.append((name, level))
    return readings


def _find_by_provider_prefix(name: str, catalogue: ModelCatalogue) -> Model | None:
    """Returns the model if the name has the form `provider/model`."""
    prefix, slash, rest = name.partition("/")
    own = (
        catalogue.models_of_provider(prefix) or catalogue.models_of_provider(prefix.lower()) if slash else ()
    )
    best = _best_matches(rest, own)
    return best[0] if best else None


def _pick_model(
    name: str, catalogue: ModelCatalogue, credentials: Credentials, provider: str | None
) -> Model | None:
    """Returns the best match for a name, preferring providers with a key; None if nothing matches. Raises
    `ModelNotFound` if several providers have such a model and none of them has a key."""
    if not name:
        return None
    best = _best_matches(name, catalogue.models_of_provider(provider) if provider else catalogue.all_models())
    if not best:
        return None
    makers = list(dict.fromkeys(model.provider for model in best))
    if len(makers) == 1:
        return best[0]
    paid = [model for model in best if _has_key(model, credentials)]
    if paid:
        return min(paid, key=is_reseller_offer)  # the first of several equally good matches
    raise ModelNotFound(
        f"Several providers have a model called '{name}', and none of them has a key. Name one as "
        "provider/model:",
        best,
    )


def _has_key(model: Model, credentials: Credentials) -> bool:
    return model.api in _KEYLESS_APIS or credentials.has_credential(model.provider)


def _best_matches(name: str, pool: Sequence[Model]) -> list[Model]:
    """Returns the models with the best kind of match. Names with a date rank after names without."""
    wanted = name.lower()
    words = [word for word in wanted.replace("-", " ").replace("_", " ").split() if word]
    tiers: dict[int, list[Model]] = {}
    for model in pool:
        tier = _match_rank(wanted, words, model)
        if tier is not None:
            tiers.setdefault(tier, []).append(model)
    if not tiers:
        return []
    found = tiers[min(tiers)]
    return sorted(found, key=_has_date_in_id) if min(tiers) > 1 else found


def _match_rank(wanted: str, words: Sequence[str], model: Model) -> int | None:
    model_id, name = model.id.lower(), model.name.lower()
    if wanted in (model_id, model.key.lower()):
        return 0
    if wanted == name or wanted == model_id.rpartition("/")[2]:
        return 1
    if model_id.startswith(wanted):
        return 2
    if wanted in model_id or wanted in name:
        return 3
    if words and all(word in model_id or word in name for word in words):
        return 4
    return None


def _has_date_in_id(model: Model) -> bool:
    tail = model.id.replace("-", "")[-8:]
    return tail.isdigit() and tail.startswith("20")


def _select_unlisted_model(
    pattern: str, catalogue: ModelCatalogue, provider: str | None
) -> SelectedModel | None:
    """Selects a model id that this version does not know, given with its provider, and uses it as typed."""
    name, level = _split_name_and_level(pattern)[-1]
    if any(mark.isspace() for mark in name):  # words of a prompt behind the name
        return None
    if provider is None:
        provider, slash, name = name.partition("/")
        if not slash:
            return None
    elif name.lower().startswith(f"{provider.lower()}/"):
        name = name[len(provider) + 1 :]
    like = catalogue.default_model(provider) if provider in KNOWN_PROVIDERS else None
    if like is not None:
        model = msgspec.structs.replace(like, id=name, name=name, cost=Prices())
    else:
        model = catalogue.model_with_default_limits(provider, name)
    if not name or model is None:
        return None
    warning = f"'{provider}/{name}' is not in the list of models; it is asked for as it is, without prices."
    return SelectedModel(model=model, thinking=level, warning=warning)


def _similar_models(pattern: str, pool: Sequence[Model]) -> list[Model]:
    import difflib  # noqa: PLC0415  (only when a name was wrong)

    name = _split_name_and_level(pattern)[-1][0].lower()
    by_id = {model.id.lower(): model for model in reversed(pool)}
    keys = difflib.get_close_matches(name.rpartition("/")[2], by_id, n=5, cutoff=0.5)
    return [by_id[key] for key in keys]
