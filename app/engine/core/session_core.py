"""The core on which the parts of a session are built."""

from collections.abc import Callable
from typing import Any

from app.agent.message_queues import MessageQueues, QueuedMessage
from app.engine.core.conversation import Conversation
from app.engine.core.delivery import MessageDeliveries
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.prompt_outcomes import PromptOutcomes
from app.engine.core.request_budget import SessionUsageBudget
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.core.usage_totals import UsageTotals
from app.providers.failure_kinds import AnswerFailure
from app.sessions.entry_signatures import EntrySignatures
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry, Entry
from app.values.events import QueueUpdate
from app.values.messages import AssistantMessage
from app.values.models import Model
from tools.text_sanitizing import escape_controls

_MAX_SHOWN_CHARS = 600
ClassifyFailure = Callable[[AssistantMessage, Model | None], AnswerFailure]


def shown_foreign_text(text: str) -> str:
    """Returns a text of an unsigned entry for a notice: cut, and without control characters."""
    return escape_controls(text[:_MAX_SHOWN_CHARS]) + ("…" if len(text) > _MAX_SHOWN_CHARS else "")


class SignedState:
    """State of one session that gives rights or makes something run, as signed entries: it counts only where a person
    of this machine gave it to this session, regardless of what the session file says."""

    def __init__(self, conversation: Conversation, signatures: EntrySignatures) -> None:
        self._signatures = signatures
        self._conversation = conversation
        self._reported = set[tuple[str, str]]()

    def record_entry(self, custom_type: str, data: dict[str, Any]) -> Entry:
        header = self._conversation.log.header
        return self._conversation.record_custom_entry(
            custom_type, self._signatures.sign(header, custom_type, data)
        )

    def newest_entry(self, custom_type: str) -> CustomEntry | None:
        """Returns the newest entry of this type on the branch, signed or not."""
        for entry in self._conversation.log.entries_to_root(without_messages=True):
            if isinstance(entry, CustomEntry) and entry.custom_type == custom_type:
                return entry
        return None

    def is_signed(self, entry: CustomEntry) -> bool:
        return self._signatures.is_signed(self._conversation.log.header, entry)

    def report_unsigned(self, entry: CustomEntry, text: str) -> None:
        """Informs the user that an entry does not count; once, however often the user moves in the tree."""
        found = self._conversation.log.session_id, entry.id
        if found not in self._reported:
            self._reported.add(found)
            self._conversation.log.problems.append(text)


class SessionCore:
    """A session's record, event bus and queues, and the model, tools, hooks and options chosen for it. The other parts
    of the session are built on it."""

    def __init__(
        self,
        log: SessionLog,
        *,
        choice: ModelChoice,
        toolbox: Toolbox,
        options: SessionOptions,
        hooks: Hooks,
        classify: ClassifyFailure,
        budget: SessionUsageBudget,
        signatures: EntrySignatures,
    ) -> None:
        self.choice = choice
        self.toolbox = toolbox
        self.workspace = toolbox.workspace
        self.options = options
        self.hooks = hooks
        self.budget = budget
        self._classify = classify
        self.conversation = Conversation(log, toolbox.files_of_call)
        self.usage_totals = UsageTotals(self.conversation)
        self.deliveries = MessageDeliveries()
        self.event_bus = EventBus(self.conversation, self.usage_totals, self.deliveries)
        self.signed_state = SignedState(self.conversation, signatures)
        self.queues = MessageQueues(
            mode=options.queue_mode,
            on_change=self._on_queues_changed,
            on_removed=self._on_queued_removed,
        )
        self.outcomes = PromptOutcomes(self.event_bus, self.queues, self.classify_failure)
        self.run_start = RunStartCallbacks()
        options.effective_settings.subscribe(lambda before: toolbox.recompute_active_tools())
        choice.on_model_change(toolbox.recompute_active_tools)

    def classify_failure(self, message: AssistantMessage) -> AnswerFailure:
        """Classifies why an answer failed, by the rules of the model's provider."""
        return self._classify(message, self.choice.model)

    def _on_queued_removed(self, message: QueuedMessage) -> None:
        self.deliveries.note_message_dropped(message.id)
        self.outcomes.publish_removed_prompt(message.id)

    def _on_queues_changed(self) -> None:
        texts = self.queues.queued_texts
        self.event_bus.publish_now(QueueUpdate(steering=texts("steering"), follow_up=texts("follow_up")))
