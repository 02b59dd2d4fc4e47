"""`models.json`: the user's providers and models, and changes to the bundled ones. The file may have
comments; each fault is reported with line and column, while the rest stays in use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.providers.json_files import line_and_column_of_json_path, read_json_object
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.values.user_errors import FileError
from tools.files.watched_files import ReloadedFile

_MODELS_FILE_TEXT_KEYS = ("name", "baseUrl", "apiKey", "api", "oauth", "transport")
_MODELS_FILE_OBJECT_KEYS = ("headers", "compat", "modelOverrides")
_MODELS_FILE_BOOLEAN_KEYS = ("authHeader",)

_TYPES_BY_MODEL_KEY: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "name", "api", "baseUrl", "transport"), (str,)),
    **dict.fromkeys(("contextWindow", "maxTokens"), (int,)),
    **dict.fromkeys(("cost", "compat", "thinkingLevelMap", "headers", "inputLimits", "promptCache"), (dict,)),
    **dict.fromkeys(("samplingParams", "samplingParamsByThinkingLevel"), (dict,)),
    "reasoning": (bool,),
    "input": (list,),
}
_MODEL_TRANSPORTS = ("http", "sdk")
_TYPE_NAMES_IN_ERRORS = {
    str: "a text",
    int: "a whole number",
    dict: "an object",
    bool: "true or false",
    list: "a list",
}


class ModelsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The valid entries of `models.json` and the faults of the others."""

    path: Path
    providers: Mapping[str, dict[str, Any]] = {}
    problems: tuple[str, ...] = ()

    def key_settings_of_provider(self, provider: str) -> "ProviderKeySettings":
        said = self.providers.get(provider, {})
        return ProviderKeySettings(
            key=said.get("apiKey") or None,
            headers=said.get("headers") or {},
            is_bearer=bool(said.get("authHeader")),
            has_entry=provider in self.providers,
            is_for_own_address=bool(said.get("baseUrl")),
        )


class ProviderKeySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The key settings of one provider in the file."""

    key: str | None
    headers: Mapping[str, str]
    is_bearer: bool
    has_entry: bool
    """Whether the file has an entry for the provider, even one without a key."""
    is_for_own_address: bool
    """Whether the key is given together with a server address, so that it must go only there."""


class WatchedModelsFile:
    """`models.json`, read again when it changes. While it cannot be parsed, its last valid content stays in use."""

    def __init__(self, agent_dir: Path) -> None:
        self.path = agent_dir / "models.json"
        self._last_valid = ModelsFile(path=self.path)
        self._file = ReloadedFile(self.path, self._read)

    def current_file(self) -> ModelsFile:
        return self._file.current()

    def _read(self) -> ModelsFile:
        try:
            data, text = read_json_object(self.path)
        except FileError as fault:
            return msgspec.structs.replace(self._last_valid, problems=(str(fault),))
        self._last_valid = _ModelsFileValidator(self.path, text).validate(data)
        return self._last_valid


class _ModelsFileValidator:
    """Validates the file: keeps valid entries and collects the faults of the others."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._problems: list[str] = []

    def validate(self, data: dict[str, Any]) -> ModelsFile:
        given = data.get("providers", {})
        providers: dict[str, dict[str, Any]] = {}
        if not isinstance(given, dict):
            self._report_problem("an object is needed here", "providers")
            given = {}
        for provider, entry in given.items():
            checked = self._valid_provider(provider, entry)
            if checked is not None:
                providers[provider] = checked
        return ModelsFile(path=self._path, providers=providers, problems=tuple(self._problems))

    def _valid_provider(self, provider: str, entry: Any) -> dict[str, Any] | None:
        at = ("providers", provider)
        if not isinstance(entry, dict):
            self._report_problem("an object is needed here", *at)
            return None
        before = len(self._problems)
        out = self._valid_fields(
            entry,
            at,
            {
                **dict.fromkeys(_MODELS_FILE_TEXT_KEYS, (str,)),
                **dict.fromkeys(_MODELS_FILE_OBJECT_KEYS, (dict,)),
            },
        )
        for flag in _MODELS_FILE_BOOLEAN_KEYS:
            if isinstance(entry.get(flag), bool):
                out[flag] = entry[flag]
        models = entry.get("models")
        if models is not None and not isinstance(models, list):
            self._report_problem("`models` must be a list", *at, "models")
            models = None
        out["models"] = [
            model
            for index, item in enumerate(models or ())
            if (model := self._valid_model(item, (*at, "models", index), out)) is not None
        ]
        overrides = out.get("modelOverrides") or {}
        out["modelOverrides"] = {
            model_id: self._valid_fields(item, (*at, "modelOverrides", model_id), _TYPES_BY_MODEL_KEY)
            for model_id, item in overrides.items()
            if isinstance(item, dict)
        }
        if (
            provider not in KNOWN_PROVIDERS
            and not out["models"]
            and not (out.get("baseUrl") and out.get("api"))
        ):
            if len(self._problems) == before:
                self._report_problem("a provider of your own needs `baseUrl` and `api`", *at)
            return None
        return out

    def _valid_model(
        self, item: Any, at: tuple[str | int, ...], provider: dict[str, Any]
    ) -> dict[str, Any] | None:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"]:
            self._report_problem("a model needs a text `id`", *at)
            return None
        is_new = at[1] not in KNOWN_PROVIDERS
        if is_new and not (
            (item.get("api") or provider.get("api")) and (item.get("baseUrl") or provider.get("baseUrl"))
        ):
            self._report_problem("a provider of your own needs `baseUrl` and `api`", *at)
            return None
        return self._valid_fields(item, at, _TYPES_BY_MODEL_KEY)

    def _valid_fields(
        self, entry: dict[str, Any], at: tuple[str | int, ...], kinds: Mapping[str, tuple[type, ...]]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in entry.items():
            wanted = kinds.get(name)
            if wanted is None or value is None:
                continue
            if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
                self._report_problem(f"`{name}` must be {_TYPE_NAMES_IN_ERRORS[wanted[0]]}", *at, name)
            elif name == "headers" and not _maps_texts_to_texts(value):
                self._report_problem("headers must be texts", *at, name)
            elif name == "transport" and value not in _MODEL_TRANSPORTS:
                self._report_problem('`transport` must be "http" or "sdk"', *at, name)
            else:
                out[name] = value
        return out

    def _report_problem(self, message: str, *at: str | int) -> None:
        self._problems.append(
            str(FileError(self._path, message, *line_and_column_of_json_path(self._text, at)))
        )


def _maps_texts_to_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
