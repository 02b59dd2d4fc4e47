"""Whom a session asks on its way, and whom it tells: one method for each question, with its default answer.

`Hooks` has no opinion; what extensions say to the same questions stands in `app.extensions.hooks.session_hooks`. Who is
asked in which order is written down in `ORDER`, and a test keeps it so.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.hooks import LoopHooks
from app.compaction.cut import Preparation
from app.engine.core.hook_results import (
    CompactionOverride,
    CompactionReason,
    NavigationOverride,
    NavigationRequest,
    RequestIds,
    ShellOverride,
)
from app.engine.core.prompt_intake import PromptInput
from app.providers.contract import Context, OnEvent, OnPayload
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.diagnostics.problems import ChangedText, CodeProblem
from tools.running.shell import SpawnPlan

SessionSwitchReason = Literal["new", "resume", "fork"]
"""Why the session goes on with another file."""

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
    "the end of a run": ("before_settle", "diagnose"),
    "another session": ("may_fork", "may_leave"),
}
"""Questions in the order in which they are asked. `compaction: check` is no question but the compactor's own look:
it comes before extensions see the request, so that they see what is left."""


class Hooks(LoopHooks):
    """One session's. More than 25 methods, for each is one question that is asked in one place."""

    def changes_calls(self) -> bool:
        """Whether `before_tool` may answer anything."""
        return False

    # A prompt

    def is_command(self, text: str) -> bool:
        """Whether `run_command` would take it."""
        return False

    async def run_command(self, text: str) -> bool:
        """Carries out an extension's `/command`; False: there is none of that name."""
        return False

    async def change_words(self, words: PromptInput) -> PromptInput | None:
        """None: somebody has dealt with them."""
        return words

    def expand(self, text: str) -> str:
        """What `/skill:name` or `/template` stands for; other text as it is."""
        return text

    async def companions(self, words: PromptInput) -> Sequence[CustomMessage]:
        """Messages that go before the prompt that begins a run."""
        return ()

    def commands(self) -> Sequence[Any]:
        """What `/name` can stand for, for programs: dictionaries as `get_commands` answers them."""
        return ()

    def shown_text(self, message: CustomMessage) -> str:
        """What a person reads of an extension's message where there is only text."""
        return text_of(message.content)

    # A request

    def sections(self, usual: Mapping[str, str]) -> Mapping[str, str]:
        """Those of the system prompt, as this run has them."""
        return usual

    async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Returns what it was given if it changes nothing."""
        return messages

    async def change_request(self, context: Context) -> Context:
        """The same with prompt and tools."""
        return context

    def listener_of_payload(self, model: Model, ids: RequestIds) -> OnPayload | None:
        """Asked before each request; None, and the payload is sent as it is."""
        return None

    async def on_headers(self, headers: dict[str, str | None]) -> None:
        """May change them in place."""

    async def on_response(self, status: int, headers: Mapping[str, str], ids: RequestIds) -> None:
        """The response's headers have come."""

    def listener_of_stream(self, model: Model) -> OnEvent | None:
        """Asked before each request; None, and the response is read without telling anybody."""
        return None

    async def before_settle(self, last: AssistantMessage | None) -> bool:
        """Asked when nothing is left to do and nothing was aborted; True: one more turn."""
        return False

    async def diagnose(self, changed: Sequence[ChangedText]) -> Sequence[CodeProblem]:
        """What else is newly wrong with files that the agent changed, beside what programs say."""
        return ()

    # Commands of the shell

    async def before_shell(self, command: str, exclude: bool) -> ShellOverride:
        """A command of the person's."""
        return ShellOverride()

    async def before_spawn(self, plan: SpawnPlan) -> SpawnPlan:
        """Any command, the model's or the person's, right before it runs."""
        return plan

    # Compaction, the tree, other sessions

    async def before_compaction(
        self, preparation: Preparation, reason: CompactionReason, instructions: str | None, will_retry: bool
    ) -> CompactionOverride:
        return CompactionOverride()

    async def before_move(self, move: NavigationRequest) -> NavigationOverride:
        """To another point of the tree, or of another branch into this one."""
        return NavigationOverride()

    async def after_move(self, move: NavigationRequest, summary: BranchSummaryEntry | None) -> None:
        """It has happened."""

    async def may_leave(self, reason: SessionSwitchReason, target: Path | None) -> bool:
        """False: it stays. A fork is asked about with `may_fork`."""
        return True

    async def may_fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        """Asked before an entry's path is copied into a new session."""
        return True

    async def ended(self) -> None:
        """The program is about to end."""
