"""The catalogue of models: bundled ones, those of models.json and of extensions, and those that servers
listed.

Bundled data is one JSON file per provider in `data/`, read when the provider is first used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.providers.models.discovery_store import DiscoveredModels, load_discovered_models
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.models_file import WatchedModelsFile
from app.values.models import Model
from app.values.wire import from_wire

_BUNDLED_MODELS_FOLDER = Path(__file__).parents[1] / "data"
_MODEL_KEYS_INHERITED_FROM_PROVIDER = ("api", "baseUrl", "compat", "headers", "transport")


class ModelCatalogue:
    """The models of one program run. Reading never fails: unusable entries are reported in `problems`."""

    def __init__(
        self, file: WatchedModelsFile, discovered: Mapping[str, DiscoveredModels], env: Mapping[str, str]
    ) -> None:
        self.file = file
        self.user_entries = file.current_file()
        """The entries of models.json from which the present models were made."""
        self._discovered_by_provider = dict(discovered)
        self._env = env
        self._extension_entries: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._models_by_provider: dict[str, dict[str, Model]] = {}
        self._problems: list[str] = list(self.user_entries.problems)

    @classmethod
    def load_catalogue(cls, agent_dir: Path, *, env: Mapping[str, str]) -> "ModelCatalogue":
        return cls(WatchedModelsFile(agent_dir), load_discovered_models(agent_dir), env)

    @property
    def models_file_path(self) -> Path:
        """Returns the path of models.json."""
        return self.file.path

    def reread_models_file(self) -> None:
        """Reads models.json again and updates the models."""
        self.user_entries = self.file.current_file()
        self._models_by_provider.clear()
        self._problems = list(self.user_entries.problems)

    @property
    def models_file_problems(self) -> tuple[str, ...]:
        """Returns the faults of models.json with line and column."""
        return tuple(self._problems)

    @property
    def provider_ids(self) -> tuple[str, ...]:
        """Returns the provider ids in the order of the search for a default model: the user's providers come
        first."""
        own = [*self.user_entries.providers, *self._extension_entries, *self._discovered_by_provider]
        return tuple(
            dict.fromkeys(
                [*(name for name in own if name not in KNOWN_PROVIDERS), *KNOWN_PROVIDERS, "offline"]
            )
        )

    def all_models(self) -> tuple[Model, ...]:
        return tuple(
            model for provider in self.provider_ids for model in self._models_by_id(provider).values()
        )

    def models_of_provider(self, provider: str) -> tuple[Model, ...]:
        return tuple(self._models_by_id(provider).values())

    def find_model(self, provider: str, model_id: str) -> Model | None:
        return self._models_by_id(provider).get(model_id)

    def default_model(self, provider: str) -> Model | None:
        """Returns the provider's default model."""
        models = self._models_by_id(provider)
        known = KNOWN_PROVIDERS.get(provider)
        chosen = models.get(known.default_model) if known else None
        return chosen or next(iter(models.values()), None)

    @property
    def providers_without_listed_models(self) -> tuple[str, ...]:
        """Returns the user's providers without listed models; their servers can be asked for a list."""
        return tuple(
            provider
            for provider, entry in self.user_entries.providers.items()
            if provider not in KNOWN_PROVIDERS and not entry.get("models")
        )

    def model_with_default_limits(self, provider: str, model_id: str) -> Model | None:
        """Returns a model that no list has, of a provider with a known address, with default limits and no
        prices."""
        template = self._listed_model_template(provider)
        return (
            self._make_models(provider, {model_id: template}).get(model_id) if template.get("api") else None
        )

    def api_and_address_of(self, provider: str) -> tuple[str, str]:
        """Returns the API and the address for models of a provider that have no settings of their own."""
        base = self._listed_model_template(provider)
        first = next(iter(self._models_by_id(provider).values()), None)
        api = base.get("api") or (first.api if first else "openai-completions")
        return api, base.get("baseUrl") or (first.base_url if first else "")

    def provider_display_name(self, provider: str) -> str:
        own = self.user_entries.providers.get(provider, {}).get("name")
        known = KNOWN_PROVIDERS.get(provider)
        return own or (known.name if known else provider)

    def add_provider(self, provider: str, entry: Mapping[str, Any], *, owner: str) -> None:
        """Adds an extension's provider, or its changes to one, in the form of models.json."""
        self._extension_entries.setdefault(provider, []).append((owner, dict(entry)))
        self._models_by_provider.pop(provider, None)

    def remove_extension_entries(self, owner: str) -> None:
        for provider, entries in list(self._extension_entries.items()):
            kept = [item for item in entries if item[0] != owner]
            if kept:
                self._extension_entries[provider] = kept
            else:
                del self._extension_entries[provider]
            self._models_by_provider.pop(provider, None)

    def add_discovered_models(self, provider: str, found: DiscoveredModels) -> None:
        """Adds the models that a provider's server listed."""
        self._discovered_by_provider[provider] = found
        self._models_by_provider.pop(provider, None)

    def discovered_models(self, provider: str) -> DiscoveredModels | None:
        return self._discovered_by_provider.get(provider)

    def _models_by_id(self, provider: str) -> dict[str, Model]:
        models = self._models_by_provider.get(provider)
        if models is None:
            models = self._models_by_provider[provider] = self._read_models(provider)
        return models

    def _read_models(self, provider: str) -> dict[str, Model]:
        if provider == "offline":
            from app.providers.offline.model import offline_model  # noqa: PLC0415  (only when it is looked at)

            guide = offline_model()
            return {guide.id: guide}
        shared, bundled = _read_bundled_models(provider)
        entries = {model["id"]: model for model in bundled}
        found = self._discovered_by_provider.get(provider)
        template = self._listed_model_template(provider)
        for item in found.models if found else ():
            if item["id"] not in entries:
                entries[item["id"]] = {**template, **item}
        for layer in self._provider_layers(provider):
            entries = _apply_model_layer(entries, layer, shared)
        return self._make_models(provider, entries)

    def _provider_layers(self, provider: str) -> list[Mapping[str, Any]]:
        """Returns the entries that extend a provider's bundled data: first those of models.json, then those of
        extensions."""
        own = self.user_entries.providers.get(provider)
        return [
            layer
            for layer in (own, *(entry for _, entry in self._extension_entries.get(provider, ())))
            if layer
        ]

    def _listed_model_template(self, provider: str) -> dict[str, Any]:
        """Returns the settings of a model that only its server lists: what the provider's models share."""
        base = dict(_read_bundled_models(provider)[0])
        for layer in self._provider_layers(provider):
            base.update(
                {name: layer[name] for name in _MODEL_KEYS_INHERITED_FROM_PROVIDER if layer.get(name)}
            )
        return base

    def _make_models(self, provider: str, entries: Mapping[str, dict[str, Any]]) -> dict[str, Model]:
        out: dict[str, Model] = {}
        for model_id, entry in entries.items():
            try:
                model = from_wire({"id": model_id, "name": model_id, **entry, "provider": provider}, Model)
            except msgspec.ValidationError as problem:
                self._problems.append(f"The model {provider}/{model_id} is left out: {problem}")
                continue
            if model.max_tokens > model.context_window > 0:
                # The server reported its window but not its answer limit.
                model = msgspec.structs.replace(model, max_tokens=model.context_window)
            out[model_id] = self._resolve_header_variables(model)
        return out

    def _resolve_header_variables(self, model: Model) -> Model:
        """Replaces `$NAME` in a model's headers by the variable's value. A provider's headers are resolved
        with its key."""
        if not model.headers or not any("$" in value for value in model.headers.values()):
            return model
        headers = {
            name: self._env.get(value[1:].strip("{}"), "") if value.startswith("$") else value
            for name, value in model.headers.items()
        }
        return msgspec.structs.replace(model, headers=headers)


def _apply_model_layer(
    entries: Mapping[str, dict[str, Any]], layer: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Applies a layer of settings to the bundled models: first its changes to all, then its own models, then its
    overrides."""
    changes = {name: layer[name] for name in ("api", "baseUrl", "transport") if layer.get(name)}
    out = {
        model_id: _merge_objects({**entry, **changes}, _compat_switches_field(layer))
        for model_id, entry in entries.items()
    }
    base = {name: shared[name] for name in ("api", "baseUrl", "compat") if name in shared}
    for model in layer.get("models") or ():
        own = {name: value for name, value in model.items() if value or name != "baseUrl"}
        out[model["id"]] = {**_merge_objects({**base, **changes}, _compat_switches_field(layer)), **own}
    for model_id, override in (layer.get("modelOverrides") or {}).items():
        if model_id in out:
            out[model_id] = _merge_objects(out[model_id], override)
    return out


def _compat_switches_field(layer: Mapping[str, Any]) -> dict[str, Any]:
    return {"compat": layer["compat"]} if layer.get("compat") else {}


def _merge_objects(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merges two objects recursively; values that are not objects are replaced."""
    out = dict(base)
    for name, value in changes.items():
        old = out.get(name)
        out[name] = _merge_objects(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out


class _BundledModelsFile(msgspec.Struct, kw_only=True, rename="camel"):
    """The content of a bundled data file. Its fields apply to all models of the provider that have no value of
    their own."""

    models: list[dict[str, Any]]
    api: str
    base_url: str = ""
    compat: dict[str, Any] | None = None
    headers: dict[str, str] | None = None


_bundled_models_decoder = msgspec.json.Decoder(_BundledModelsFile)


def _read_bundled_models(provider: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the fields that the models of a data file share, and the models with these fields filled in."""
    if provider not in KNOWN_PROVIDERS:
        return {}, []
    try:
        raw = (_BUNDLED_MODELS_FOLDER / f"{provider}.json").read_bytes()
    except FileNotFoundError:
        return {}, []
    file = _bundled_models_decoder.decode(raw)
    shared: dict[str, Any] = {"api": file.api, "baseUrl": file.base_url}
    if file.compat:
        shared["compat"] = file.compat
    if file.headers:
        shared["headers"] = file.headers
    return shared, [_merge_objects(shared, model) for model in file.models]
