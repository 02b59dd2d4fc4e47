"""Builds a session's parts for its model."""

from app.engine.core.session_core import SessionCore
from app.engine.models.model_requests import BuildPromptSections, ModelRequests
from app.engine.models.model_selection import SessionModelSwitcher
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.engine.models.provider_search import ProviderWebSearch
from app.engine.models.side_question import SideQuestions
from app.engine.secrets.session_mask import SessionSecretMask
from app.providers.adapter_registry import AdapterRegistry


class SessionModelParts:
    """The session's parts for its model: the choice of the model, its requests, side questions, and searches by its
    provider."""

    def __init__(
        self,
        core: SessionCore,
        registry: AdapterRegistry,
        sections: BuildPromptSections,
        masking: SessionSecretMask,
    ) -> None:
        self.cache = PromptCacheLossWarner(core.usage_totals, core.choice, core.event_bus.publish_now)
        self.selection = SessionModelSwitcher(core.choice, core.conversation, core.event_bus, self.cache)
        self.requests = ModelRequests(
            registry,
            conversation=core.conversation,
            choice=core.choice,
            toolbox=core.toolbox,
            sections=sections,
            options=core.options,
            hooks=core.hooks,
            masking=masking,
            deliveries=core.deliveries,
            event_bus=core.event_bus,
            cache=self.cache,
            budget=core.budget,
        )
        self.side_questions = SideQuestions(self.requests, core.conversation, masking, core.event_bus)
        self.search = ProviderWebSearch(self.requests, core.choice, core.conversation, core.event_bus)
