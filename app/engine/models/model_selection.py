"""Switches model and thinking level, records the choice, publishes it, and warns about a lost prompt cache."""

from typing import Literal

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.model_choice import ModelChoice
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.values.entries import ThinkingLevelChangeEntry
from app.values.events import ModelChanged, Notice, ThinkingLevelChanged
from app.values.models import Model, ThinkingLevel

ModelChangeSource = Literal["set", "cycle", "restore"]


class SessionModelSwitcher(msgspec.Struct, eq=False):
    """Switches the model and thinking level of one session."""

    model_choice: ModelChoice
    conversation: Conversation
    event_bus: EventBus
    prompt_cache: PromptCacheLossWarner
    _cached_level: tuple[str | None, str | None] = (None, None)
    """The leaf at the last check, and the thinking level that the path to it names."""

    async def use_model(self, model: Model, source: ModelChangeSource = "set") -> None:
        self.conversation.record_model_change(model.provider, model.id)
        level_changed = self.model_choice.set_model(model)
        await self.event_bus.publish(ModelChanged(model=model, source=source))
        self.prompt_cache.warn_if_cache_lost("model")
        if level_changed:
            await self._record_thinking()

    def reread_models_file(self) -> None:
        """Reads models.json again if it has changed, and warns about its problems."""
        for problem in self.model_choice.reread_models_file():
            self.event_bus.publish_now(Notice(level="warning", text=problem))

    def record_thinking_level(self) -> None:
        """Records the thinking level before a run, so that a resumed session restores it."""
        level = self.model_choice.thinking
        stated = self._level_on_path()
        if stated != level and (stated is not None or self.model_choice.is_thinking_asked):
            self.conversation.record_thinking_level(level)

    def _level_on_path(self) -> str | None:
        """Returns the thinking level that the session's current path names, reading only new entries."""
        log = self.conversation.log
        leaf, known = self._cached_level
        level = None
        for entry in log.entries_to_root():
            if isinstance(entry, ThinkingLevelChangeEntry):
                level = entry.thinking_level
                break
            if entry.id == leaf:
                level = known
                break
        self._cached_level = log.leaf_id, level
        return level

    async def cycle_model(self, step: int = 1) -> Model | None:
        model = self.model_choice.next_model(step)
        if model is not None:
            await self.use_model(model, "cycle")
        return model

    async def use_thinking_level(self, level: ThinkingLevel) -> None:
        """Sets the thinking level, limited to those that the model supports."""
        if self.model_choice.set_thinking_level(level):
            await self._record_thinking()

    async def cycle_thinking_level(self) -> ThinkingLevel | None:
        level = self.model_choice.next_thinking_level()
        if level is not None:
            await self.use_thinking_level(level)
        return level

    async def _record_thinking(self) -> None:
        self.conversation.record_thinking_level(self.model_choice.thinking)
        await self.event_bus.publish(ThinkingLevelChanged(level=self.model_choice.thinking))
        self.prompt_cache.warn_if_cache_lost("thinking")
