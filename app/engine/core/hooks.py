"""The hooks of a session: one method for each question or notification, with its default answer.

`Hooks` changes nothing; `app.extensions.hooks.session_hooks` answers for extensions. `ORDER` lists the calling
order, which a test checks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.hooks import LoopHooks
from app.compaction.compaction_plan import CompactionPlan
from app.engine.core.hook_results import (
    CompactionOverride,
    CompactionReason,
    HelperAnswer,
    NavigationOverride,
    NavigationRequest,
    RequestIds,
    ShellOverride,
)
from app.engine.core.prompt_intake import PromptInput
from app.providers.model_stream import Context, OnEvent, OnPayload
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.diagnostics.problems import CodeProblem, FileChangeTexts
from tools.running.shell import SpawnPlan

SessionSwitchReason = Literal["new", "resume", "fork"]
"""Why the session continues with another file."""

ORDER: Mapping[str, tuple[str, ...]] = {
    "a prompt": ("is_command", "run_command", "change_words", "expand", "companions"),
    "a turn": (
        "sections",
        "compaction: check",
        "change_messages",
        "change_request",
        "listener_of_payload",
        "listener_of_stream",
        "on_headers",
        "on_response",
        "seal",
        "before_tool",
        "after_tool",
        "after_turn",
    ),
    "the end of a run": ("before_settle", "before_helper_settles", "diagnose"),
    "another session": ("may_fork", "may_leave"),
}
"""The hooks in calling order. `compaction: check` is the compactor's own check, not a hook: it runs before
extensions see the request, so that they see the compacted context."""


class Hooks(LoopHooks):
    """The hooks of one session. The class has more than 25 methods, since each is called in one place."""

    def changes_calls(self) -> bool:
        """Whether `before_tool` may change or block calls."""
        return False

    # A prompt

    def is_command(self, text: str) -> bool:
        """Whether `run_command` would take it."""
        return False

    async def run_command(self, text: str) -> bool:
        """Runs an extension's `/command`; returns False if there is none of that name."""
        return False

    async def change_words(self, words: PromptInput) -> PromptInput | None:
        """Returns the changed prompt; None: an extension has handled it."""
        return words

    async def expand(self, text: str) -> str:
        """Expands `/skill:name` or `/template`, and adds the skills that `$name` names."""
        return text

    async def companions(self, words: PromptInput) -> Sequence[CustomMessage]:
        """Returns messages to insert before the prompt that begins a run."""
        return ()

    def commands(self) -> Sequence[Any]:
        """Returns the commands of extensions, as dictionaries of `get_commands`."""
        return ()

    def shown_text(self, message: CustomMessage) -> str:
        """Returns the text of an extension's message for a text-only interface."""
        return text_of(message.content)

    # A request

    def sections(self, usual: Mapping[str, str]) -> Mapping[str, str]:
        """Returns the sections of the system prompt for this run."""
        return usual

    async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Returns the messages to send; the given ones if nothing changes."""
        return messages

    async def change_request(self, context: Context) -> Context:
        """Returns the messages, prompt and tools to send."""
        return context

    def listener_of_payload(self, model: Model, ids: RequestIds) -> OnPayload | None:
        """Returns a function that may change the request's payload; None: the payload is sent unchanged."""
        return None

    async def on_headers(self, headers: dict[str, str | None]) -> None:
        """May change the request headers in place."""

    async def on_response(self, status: int, headers: Mapping[str, str], ids: RequestIds) -> None:
        """Is called when the response headers have arrived."""

    def listener_of_stream(self, model: Model) -> OnEvent | None:
        """Returns a listener for the response's events; None: there is none."""
        return None

    async def before_settle(self, last: AssistantMessage | None) -> bool:
        """Is called when a run has nothing left to do and was not aborted; True asks for one more turn."""
        return False

    async def before_helper_settles(self, helper: HelperAnswer) -> str | None:
        """Is called when a helper has answered; a text sends it on with that as its prompt."""
        return None

    async def diagnose(self, changed: Sequence[FileChangeTexts]) -> Sequence[CodeProblem]:
        """Returns new problems in files that the agent changed, in addition to those of linters."""
        return ()

    # Commands of the shell

    async def before_shell(self, command: str, exclude: bool) -> ShellOverride:
        """Is called before a command of the user."""
        return ShellOverride()

    async def before_spawn(self, plan: SpawnPlan) -> SpawnPlan:
        """May change any command, the model's or the user's, right before it runs."""
        return plan

    # Compaction, the tree, other sessions

    async def before_compaction(
        self,
        preparation: CompactionPlan,
        reason: CompactionReason,
        instructions: str | None,
        will_retry: bool,
    ) -> CompactionOverride:
        return CompactionOverride()

    async def before_move(self, move: NavigationRequest) -> NavigationOverride:
        """Is called before going to another point of the tree, or merging another branch."""
        return NavigationOverride()

    async def after_move(self, move: NavigationRequest, summary: BranchSummaryEntry | None) -> None:
        """Is called after going to another point of the tree, or merging another branch."""

    async def may_leave(self, reason: SessionSwitchReason, target: Path | None) -> bool:
        """Returns False to stay in this session. `may_fork` is called for forks."""
        return True

    async def may_fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        """Asked before an entry's path is copied into a new session."""
        return True

    async def ended(self) -> None:
        """Is called when the program is about to end."""
