"""Determines the model with which a session begins: the one that command line or settings name, as soon as it
is known.

Extensions add models, and are loaded after the first paint. A model that is not found before that is looked
up again then; until it is found no model answers, and no other takes its place.
"""

from collections.abc import Mapping

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.engine.context.summariser import find_summary_model
from app.engine.core.model_choice import ModelChoice
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.model_names import ModelNotFound, SelectedModel, select_model, select_models
from app.providers.offline.model import offline_model
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.models import Model, thinking_level


class InitialModel:
    """Determines the model with which a program run begins."""

    def __init__(
        self,
        options: CommandLineOptions,
        effective_settings: EffectiveSettings,
        paths: BayouPaths,
        env: Mapping[str, str],
    ) -> None:
        self.catalogue = catalogue = ModelCatalogue.load_catalogue(paths.agent_dir, env=env)
        self.credentials = credentials = Credentials(paths.agent_dir, env)
        self._options = options
        self._in_force = effective_settings
        self._providers: tuple[str, ...] = ()
        self._initial_model: Model | None = None
        """The model that was chosen at the start, when nothing else had chosen one."""
        self._is_waiting = False
        """Whether a model that the command line or settings name was not found yet."""
        self.is_restored = False
        """Whether the resumed session names its model, which takes precedence over the settings."""
        asked = thinking_level(options.thinking)
        self.choice = ModelChoice(
            catalogue,
            credentials,
            thinking=asked or effective_settings.settings.model.default_thinking_level,
            levels_of=lambda: effective_settings.settings.model.model_thinking_levels,
            is_thinking_asked=asked is not None,
        )

    def find_models(self) -> tuple[str, ...]:
        """Looks for the models that the command line or settings name, before extensions are loaded. Returns the
        problems to show."""
        return self._find_models(is_last=not self._loads_extensions)

    def summary_model_problem(self) -> str | None:
        """Returns why the model that the settings name for summaries cannot be used; None if it can, or if none is
        named."""
        return find_summary_model(self._in_force.settings.compaction.model, self.choice)[1]

    @property
    def _loads_extensions(self) -> bool:
        return not self._options.safe

    def choose_model(self) -> tuple[str, ...]:
        """Looks for the named models again, after extensions are loaded. Raises `UsageError` when the command
        line names an unknown model."""
        if not self._is_waiting and self.catalogue.provider_ids == self._providers:
            return ()
        return self._find_models(is_last=True)

    def _find_models(self, *, is_last: bool) -> tuple[str, ...]:
        self._is_waiting = False
        self._providers = self.catalogue.provider_ids
        told: list[str] = []
        scope = self._model_scope(told, is_last=is_last)
        selection = self._selected_model(told, is_last=is_last)
        choice = self.choice
        choice.scope = scope
        if selection is not None:
            told += [selection.warning] if selection.warning else []
            self._apply_selection(selection)
        elif self._is_waiting and self._options.model is not None:
            choice.clear_model()
        elif self._may_choose and (self._initial_model is None or self._initial_model.provider == "offline"):
            self._set_initial_model(
                None if self._is_waiting else scope[0] if scope else self._default_model()
            )
        return tuple(told)

    @property
    def _may_choose(self) -> bool:
        """Whether the initial model may still be set: no resumed session and no user choice has set one."""
        return not self.is_restored and self.choice.model == self._initial_model

    def _apply_selection(self, selection: SelectedModel) -> None:
        """Sets the model that the command line names, or the one from settings unless another was chosen
        meanwhile."""
        choice, model, is_given = self.choice, selection.model, self._options.model is not None
        if self._options.api_key is not None and is_given:
            self.credentials.set_command_line_key(model.provider, self._options.api_key)
        if not is_given and not self._may_choose:
            return
        self._set_initial_model(model)
        asked = thinking_level(self._options.thinking) or selection.thinking
        if asked is not None:
            choice.set_thinking_level(asked)

    def _set_initial_model(self, model: Model | None) -> None:
        self._initial_model = model
        if model is None:
            self.choice.clear_model()
            return
        self.choice.set_model(model)
        if (asked := thinking_level(self._options.thinking)) is not None:
            self.choice.set_thinking_level(asked)

    def _model_scope(self, told: list[str], *, is_last: bool) -> tuple[Model, ...]:
        names = self._options.models
        patterns = names.split(",") if names else self._in_force.settings.model.enabled_models or ()
        try:
            return select_models(patterns, self.catalogue, self.credentials)
        except ModelNotFound as problem:
            if not is_last:
                self._is_waiting = True
            elif names:
                raise self._model_usage_error(problem) from None
            else:
                told.append(f"Setting enabledModels: {problem} All models are offered instead.")
        return ()

    def _selected_model(self, told: list[str], *, is_last: bool) -> SelectedModel | None:
        options, settings = self._options, self._in_force.settings.model
        name, provider = options.model, options.provider
        if name is None and not options.models:
            name, provider = settings.default_model, settings.default_provider
        if name is None:
            return None
        try:
            return select_model(name, self.catalogue, self.credentials, provider)
        except ModelNotFound as problem:
            if not is_last:
                self._is_waiting = True
            elif options.model is not None:
                raise self._model_usage_error(problem) from None
            else:
                told.append(f"Setting defaultModel: {problem}")
        return None

    def _model_usage_error(self, problem: ModelNotFound) -> UsageError:
        return UsageError(" ".join([str(problem), *map(str, self.catalogue.models_file_problems)]))

    def _default_model(self) -> Model:
        """Returns the default model of the first provider that has credentials; without any, the offline guide."""
        for provider in self.catalogue.provider_ids:
            if self.credentials.has_credential(provider) and (
                model := self.catalogue.default_model(provider)
            ):
                return model
        return offline_model()
