"""The hooks of a session: one method for each question or notification, with its default answer.

`Hooks` changes nothing; `app.extensions.hooks.session_hooks` answers for extensions. `HOOK_ORDER` lists the calling
order, which a test checks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.agent.hooks import AgentLoopHooks
from app.compaction.compaction_plan import CompactionPlan
from app.engine.core.hook_results import (
    CompactionOverride,
    CompactionReason,
    HelperAnswer,
    NavigationOverride,
    NavigationRequest,
    RequestIds,
    UserCommandOverride,
)
from app.engine.core.prompt_intake import PromptInput
from app.providers.model_stream import EventCallback, PayloadCallback, RequestContext
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.diagnostics.code_problems import CodeProblem, FileChangeTexts
from tools.running.shell_settings import CommandToSpawn

SessionSwitchReason = Literal["new", "resume", "fork"]
"""The reason why the session continues with another file."""

HOOK_ORDER: Mapping[str, tuple[str, ...]] = {
    "a prompt": (
        "is_extension_command",
        "run_extension_command",
        "change_prompt",
        "expand_prompt",
        "messages_before_prompt",
    ),
    "a turn": (
        "prompt_sections",
        "compaction: check",
        "change_messages",
        "change_request",
        "payload_editor",
        "stream_listener",
        "change_request_headers",
        "on_response_headers",
        "change_finished_answer",
        "before_tool",
        "after_tool",
        "after_turn",
    ),
    "the end of a run": ("before_settle", "before_helper_settles", "find_code_problems"),
    "another session": ("may_fork_session", "may_leave_session"),
}
"""The hooks in calling order. `compaction: check` is the compactor's own check, not a hook: it runs before
extensions see the request, so that they see the compacted context."""


class Hooks(AgentLoopHooks):
    """The hooks of one session, with default answers. The class has more than 25 methods, because each hook is one
    method."""

    def may_change_tool_calls(self) -> bool:
        """Whether the `before_tool` hook may change or block tool calls."""
        return False

    # A prompt

    def is_extension_command(self, text: str) -> bool:
        """Whether a prompt is an extension's `/command`, which `run_extension_command` would run."""
        return False

    async def run_extension_command(self, text: str) -> bool:
        """Runs an extension's `/command`; returns False if there is none of that name."""
        return False

    async def change_prompt(self, words: PromptInput) -> PromptInput | None:
        """A hook that returns the user's prompt as changed by extensions; None: an extension has handled it."""
        return words

    async def expand_prompt(self, text: str) -> str:
        """Expands `/skill:name` or `/template` in a prompt, and adds the skills that `$name` names."""
        return text

    async def messages_before_prompt(self, words: PromptInput) -> Sequence[CustomMessage]:
        """Returns messages to insert before the prompt that begins a run."""
        return ()

    def extension_commands(self) -> Sequence[Any]:
        """Returns the `/commands` of extensions, in the form of `get_commands`."""
        return ()

    def text_of_custom_message(self, message: CustomMessage) -> str:
        """Returns the text of an extension's message for a text-only interface."""
        return text_of(message.content)

    # A request

    def prompt_sections(self, usual: Mapping[str, str]) -> Mapping[str, str]:
        """Returns the sections of the system prompt for this run."""
        return usual

    async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """A hook that returns the messages to send in a request; the given ones if nothing changes."""
        return messages

    async def change_request(self, context: RequestContext) -> RequestContext:
        """A hook that returns the messages, prompt and tools to send in a request."""
        return context

    def payload_editor(self, model: Model, ids: RequestIds) -> PayloadCallback | None:
        """Returns a function that may change the request's payload; None: the payload is sent unchanged."""
        return None

    async def change_request_headers(self, headers: dict[str, str | None]) -> None:
        """A hook that may change the request headers in place."""

    async def on_response_headers(self, status: int, headers: Mapping[str, str], ids: RequestIds) -> None:
        """A hook that is called when the response headers of a request have arrived."""

    def stream_listener(self, model: Model) -> EventCallback | None:
        """Returns a listener for the stream events of a response; None: there is none."""
        return None

    async def before_settle(self, last: AssistantMessage | None) -> bool:
        """A hook that is called when a run has nothing left to do and was not aborted; True asks for one more
        turn."""
        return False

    async def before_helper_settles(self, helper: HelperAnswer) -> str | None:
        """A hook that is called when a helper agent has answered; a returned text continues the helper with that
        text as its prompt."""
        return None

    async def find_code_problems(self, changed: Sequence[FileChangeTexts]) -> Sequence[CodeProblem]:
        """A hook that returns new problems in files that the agent changed, in addition to those of linters."""
        return ()

    # Commands of the shell

    async def before_user_command(self, command: str, exclude: bool) -> UserCommandOverride:
        """A hook that is called before a shell command of the user."""
        return UserCommandOverride()

    async def before_process_spawn(self, plan: CommandToSpawn) -> CommandToSpawn:
        """A hook that may change any shell command, the model's or the user's, right before it runs."""
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

    async def before_navigation(self, move: NavigationRequest) -> NavigationOverride:
        """A hook that is called before going to another point of the session tree, or merging another branch."""
        return NavigationOverride()

    async def after_navigation(self, move: NavigationRequest, summary: BranchSummaryEntry | None) -> None:
        """A hook that is called after going to another point of the session tree, or merging another branch."""

    async def may_leave_session(self, reason: SessionSwitchReason, target: Path | None) -> bool:
        """A hook that may return False to keep the user in this session. For forks, `may_fork_session` is called
        instead."""
        return True

    async def may_fork_session(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        """A hook that is asked before the path to an entry is copied into a new session; False prevents the fork."""
        return True

    async def on_program_end(self) -> None:
        """A hook that is called when the program is about to end."""
