"""Builds a session's parts that write summaries."""

from collections.abc import Callable

from app.engine.context.brancher import Brancher
from app.engine.context.compactor import Compactor
from app.engine.context.summariser import Summariser
from app.engine.core.session_core import SessionCore
from app.engine.models.prompt_cache import PromptCache
from app.engine.secrets.session_mask import SessionMask
from app.providers.registry import Registry


class ContextParts:
    """Compaction of the context, and summaries of branches that are left or merged."""

    def __init__(
        self,
        core: SessionCore,
        registry: Registry,
        masking: SessionMask,
        cache: PromptCache,
        *,
        behind: Callable[[str], str],
    ) -> None:
        """`behind` returns the text that is appended to the summary of a compaction."""
        summariser = Summariser(
            core.choice,
            registry,
            masking=masking,
            classify=core.failure_of,
            publish=core.telling.publish,
            options=core.options,
            budget=core.budget,
        )
        self.compactor = Compactor(
            conversation=core.conversation,
            account=core.account,
            choice=core.choice,
            options=core.options,
            summariser=summariser,
            hooks=core.hooks,
            telling=core.telling,
            cache=cache,
            classify=core.failure_of,
            files_of_call=core.toolbox.files_of,
            behind=behind,
        )
        self.brancher = Brancher(
            conversation=core.conversation,
            choice=core.choice,
            options=core.options,
            hooks=core.hooks,
            summariser=summariser,
            files_of_call=core.toolbox.files_of,
        )

    @property
    def is_summarising(self) -> bool:
        """Whether a summary of any kind is being written."""
        return self.compactor.underway.is_running or self.brancher.underway.is_running

    async def wait_for_summary(self) -> None:
        """Waits until no summary is being written."""
        await self.compactor.underway.wait()
        await self.brancher.underway.wait()

    def stop(self) -> None:
        self.compactor.underway.stop()
        self.brancher.underway.stop()
