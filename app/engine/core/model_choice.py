"""The current model and thinking level: choosing, cycling through, and listing what is available."""

from collections.abc import Callable, Mapping

from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.thinking import clamp_thinking_level, supported_thinking_levels
from app.values.models import Model, ThinkingLevel
from app.values.user_errors import UserError


class NoModelChosen(UserError):
    """Raised if no model is chosen, or if the named model does not exist."""


class ModelChoice:
    """The model and thinking level that the next request uses."""

    def __init__(
        self,
        catalogue: ModelCatalogue,
        credentials: Credentials,
        *,
        thinking: ThinkingLevel = "medium",
        levels_of: Callable[[], Mapping[str, ThinkingLevel]] = dict,
        is_thinking_asked: bool = False,
    ) -> None:
        self.catalogue = catalogue
        self.credentials = credentials
        self.scope: tuple[Model, ...] = ()
        """The models that cycling goes through; empty: all that have credentials."""
        self._preferred_levels = levels_of
        """A function that returns the preferred thinking levels of models by `provider/model`; they apply when the
        user switches to such a model."""
        self.model: Model | None = None
        """The chosen model; only the methods of this class change it."""
        self._listeners: list[Callable[[], None]] = []
        self.missing_model: str | None = None
        """The session's model (`provider/model`) if it is not available; no other model replaces it until the user
        chooses one. None otherwise."""
        self._requested_level: ThinkingLevel = thinking
        """The requested thinking level; a model without that level gets the nearest one."""
        self.thinking: ThinkingLevel = thinking
        """The thinking level in force."""
        self.is_thinking_asked = is_thinking_asked
        """Whether the user asked for the thinking level; a default may change later."""

    def on_model_change(self, follower: Callable[[], None]) -> None:
        """Calls `follower` whenever another model is chosen."""
        self._listeners.append(follower)

    def _set_model(self, model: Model | None) -> None:
        self.model = model
        self._clamp_thinking_level()
        for follower in self._listeners:
            follower()

    def _clamp_thinking_level(self) -> None:
        self.thinking = (
            clamp_thinking_level(self.model, self._requested_level) if self.model else self._requested_level
        )

    @property
    def thinking_levels(self) -> tuple[ThinkingLevel, ...]:
        return supported_thinking_levels(self.model) if self.model else ("off",)

    def require_model(self) -> Model:
        if self.model is None:
            raise NoModelChosen(self.missing_model_text)
        return self.model

    @property
    def missing_model_text(self) -> str:
        if self.missing_model is None:
            return "No model is selected. Choose one with /model, or start with --model."
        return (
            f"This session used {self.missing_model}, which is not available now. Choose a model with "
            "/model, or start with --model."
        )

    def note_missing_model(self, name: str) -> None:
        """Notes that the session's model (`provider/model`) is not available."""
        self._set_model(None)
        self.missing_model = name

    def clear_model(self) -> None:
        """Leaves the session without a model."""
        self._set_model(None)

    def retry_missing_model(self) -> None:
        """Looks for the session's missing model again, and updates the definition of the chosen one."""
        provider, _, model_id = (self.missing_model or (self.model.key if self.model else "")).partition("/")
        found = self.catalogue.find_model(provider, model_id)
        if found is not None and self.missing_model is None:
            self._set_model(found)
        elif found is not None and self.is_model_available(found):
            self.set_model(found)

    def reread_models_file(self) -> tuple[str, ...]:
        """Reads models.json again if it has changed; returns the file's problems then."""
        if self.catalogue.file.current_file() is self.catalogue.user_entries:
            return ()
        self.catalogue.reread_models_file()
        if self.model is None:
            self.retry_missing_model()
        elif (now := self._current_model_definition(self.model)) is not None:
            self._set_model(now)
        return self.catalogue.models_file_problems

    def _current_model_definition(self, model: Model) -> Model | None:
        found = self.catalogue.find_model(model.provider, model.id)
        if found is not None or model.provider in KNOWN_PROVIDERS:
            return found
        return self.catalogue.model_with_default_limits(model.provider, model.id)

    def available_models(self) -> tuple[Model, ...]:
        """Returns the models whose provider has credentials, or needs none."""
        return tuple(
            model
            for provider in self.catalogue.provider_ids
            # For other providers the list need not be read.
            if provider not in KNOWN_PROVIDERS or self.credentials.has_credential(provider)
            for model in self.catalogue.models_of_provider(provider)
            if self.is_model_available(model)
        )

    def is_model_available(self, model: Model) -> bool:
        return model.api in ("offline", "scripted") or self.credentials.has_credential(model.provider)

    def find_model(self, provider: str, model_id: str) -> Model:
        """Returns the available model of this provider and id; raises `NoModelChosen`."""
        model = self.catalogue.find_model(provider, model_id)
        if model is None or not self.is_model_available(model):
            raise NoModelChosen(f"Model not found: {provider}/{model_id}")
        return model

    def set_model(self, model: Model) -> bool:
        """Switches to a model; returns True if the effective thinking level changed."""
        before = self.thinking
        self._requested_level = self._preferred_levels().get(model.key, self._requested_level)
        self._set_model(model)
        self.missing_model = None
        return self.thinking != before

    def set_thinking_level(self, level: ThinkingLevel) -> bool:
        before = self.thinking
        self._requested_level = level
        self._clamp_thinking_level()
        self.is_thinking_asked = True
        return self.thinking != before

    def next_model(self, step: int = 1) -> Model | None:
        """Returns the model that follows the current one in the cycle, or None when there is no other."""
        candidates = self.scope or self.available_models()
        if len(candidates) < 2:
            return None
        keys = [model.key for model in candidates]
        current = self.model.key if self.model else ""
        index = keys.index(current) if current in keys else -1
        return candidates[(index + step) % len(candidates)]

    def next_thinking_level(self) -> ThinkingLevel | None:
        """Returns the thinking level above the current one, or the lowest after the highest; None when the model
        does not think."""
        levels = self.thinking_levels
        if len(levels) < 2:
            return None
        index = levels.index(self.thinking) if self.thinking in levels else -1
        return levels[(index + 1) % len(levels)]
