"""Switches model and thinking level, records the choice, publishes it, and warns about a lost prompt cache."""

from typing import Literal

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.model_choice import ModelChoice
from app.engine.models.prompt_cache import PromptCache
from app.values.entries import ThinkingLevelChangeEntry
from app.values.events import ModelChanged, Notice, ThinkingLevelChanged
from app.values.models import Model, ThinkingLevel

ModelSource = Literal["set", "cycle", "restore"]


class ModelSelection(msgspec.Struct, eq=False):
    """The model selection of one session."""

    choice: ModelChoice
    conversation: Conversation
    event_bus: EventBus
    cache: PromptCache
    _last_stated: tuple[str | None, str | None] = (None, None)
    """The leaf at the last check, and the thinking level named on its path."""

    async def use(self, model: Model, source: ModelSource = "set") -> None:
        self.conversation.change_model(model.provider, model.id)
        level_changed = self.choice.set(model)
        await self.event_bus.publish(ModelChanged(model=model, source=source))
        self.cache.warn_if_dropped("model")
        if level_changed:
            await self._record_thinking()

    def reread(self) -> None:
        """Reads models.json again if it has changed, and warns of its faults."""
        for problem in self.choice.reread():
            self.event_bus.publish_now(Notice(level="warning", text=problem))

    def record_choice(self) -> None:
        """Records the thinking level before a run, so that a resumed session restores it."""
        level = self.choice.thinking
        stated = self._stated_level()
        if stated != level and (stated is not None or self.choice.is_thinking_asked):
            self.conversation.change_thinking(level)

    def _stated_level(self) -> str | None:
        """Returns the thinking level named on the path, reading only new entries."""
        log = self.conversation.log
        leaf, known = self._last_stated
        level = None
        for entry in log.upwards():
            if isinstance(entry, ThinkingLevelChangeEntry):
                level = entry.thinking_level
                break
            if entry.id == leaf:
                level = known
                break
        self._last_stated = log.leaf_id, level
        return level

    async def cycle(self, step: int = 1) -> Model | None:
        model = self.choice.next_model(step)
        if model is not None:
            await self.use(model, "cycle")
        return model

    async def use_thinking(self, level: ThinkingLevel) -> None:
        """Sets the thinking level, limited to those of the model."""
        if self.choice.set_thinking(level):
            await self._record_thinking()

    async def cycle_thinking(self) -> ThinkingLevel | None:
        level = self.choice.next_level()
        if level is not None:
            await self.use_thinking(level)
        return level

    async def _record_thinking(self) -> None:
        self.conversation.change_thinking(self.choice.thinking)
        await self.event_bus.publish(ThinkingLevelChanged(level=self.choice.thinking))
        self.cache.warn_if_dropped("thinking")
