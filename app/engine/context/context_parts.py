"""Builds a session's parts that write summaries."""

from collections.abc import Callable

from app.engine.context.branch_summary import BranchSummariser
from app.engine.context.compactor import Compactor
from app.engine.context.summariser import Summariser
from app.engine.core.session_core import SessionCore
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.engine.secrets.session_mask import SessionSecretMask
from app.providers.adapter_registry import AdapterRegistry


class CompactionAndSummaryParts:
    """Compaction of the context, and summaries of branches that are left or merged."""

    def __init__(
        self,
        core: SessionCore,
        registry: AdapterRegistry,
        masking: SessionSecretMask,
        cache: PromptCacheLossWarner,
        *,
        behind: Callable[[str], str],
    ) -> None:
        """Builds the parts. `behind` returns the text that is appended to the summary of a compaction."""
        summariser = Summariser(
            core.choice,
            registry,
            masking=masking,
            classify_failure=core.classify_failure,
            publish_event=core.event_bus.publish,
            options=core.options,
            request_budget=core.budget,
        )
        self.compactor = Compactor(
            conversation=core.conversation,
            usage_totals=core.usage_totals,
            model_choice=core.choice,
            options=core.options,
            summariser=summariser,
            hooks=core.hooks,
            event_bus=core.event_bus,
            prompt_cache=cache,
            classify_failure=core.classify_failure,
            files_of_call=core.toolbox.files_of_call,
            append_after_summary=behind,
        )
        self.branch_summariser = BranchSummariser(
            conversation=core.conversation,
            model_choice=core.choice,
            options=core.options,
            hooks=core.hooks,
            summariser=summariser,
            files_of_call=core.toolbox.files_of_call,
        )

    @property
    def is_summarising(self) -> bool:
        """Whether a summary of any kind is being written."""
        return self.compactor.running_task.is_running or self.branch_summariser.running_task.is_running

    async def wait_for_summary(self) -> None:
        """Waits until no summary is being written."""
        await self.compactor.running_task.wait_until_ended()
        await self.branch_summariser.running_task.wait_until_ended()

    def stop_summaries(self) -> None:
        self.compactor.running_task.stop()
        self.branch_summariser.running_task.stop()
