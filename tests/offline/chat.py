"""A conversation with the offline guide in a real folder, with the real loop and the real tools."""

from collections.abc import Callable
from pathlib import Path

from app.agent.abort_signal import AbortSignal
from app.agent.agent_loop import run_agent_loop
from app.agent.loop_ports import AgentLoopDependencies
from app.agent.message_queues import MessageQueues
from app.engine.core.toolbox import EnabledToolPatterns, Toolbox, sorted_tool_declarations
from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.offline.model import offline_model
from app.values.content import ToolCall
from app.values.events import MessageEnd
from app.values.messages import AssistantMessage, Message, ToolResultMessage, user_message
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult


class Chat:
    """Say something; see what the guide answered and did."""

    def __init__(self, folder: Path, *, tools: str | None = None) -> None:
        self.folder = folder
        self.messages: list[Message] = []
        self._registry = AdapterRegistry()
        own = tuple(builtin_tools())
        self._toolbox = Toolbox(lambda toolbox: own, SessionWorkspace(folder))
        if tools is not None:
            self._toolbox.choose_tools(EnabledToolPatterns(allowed_patterns=tuple(tools.split())))
        self._ports = AgentLoopDependencies(
            request_answer=self._ask,
            tools=self._toolbox.active_tools,
            tool_context=self._tool_context,
            queues=MessageQueues(),
            abort=AbortSignal(),
        )

    def _tool_context(self, call: ToolCall, progress: Callable[[ToolResult], None]) -> ToolContext:
        workspace = self._toolbox.workspace
        return ToolContext(call_id=call.id, cwd=workspace.cwd, progress=progress, workspace=workspace)

    async def say(self, *texts: str) -> str:
        """Returns everything that the guide wrote until it stopped."""
        before = len(self.messages)
        async for event in run_agent_loop([user_message(text) for text in texts], self._ports):
            if isinstance(event, MessageEnd):
                self.messages.append(event.message)
        return "\n\n".join(
            message.text for message in self.messages[before:] if isinstance(message, AssistantMessage)
        )

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    @property
    def answers(self) -> list[AssistantMessage]:
        return [message for message in self.messages if isinstance(message, AssistantMessage)]

    @property
    def calls(self) -> list[list[str]]:
        """The tools called, answer by answer."""
        return [[call.name for call in answer.tool_calls] for answer in self.answers]

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.messages if isinstance(message, ToolResultMessage)]

    async def _ask(self, abort: AbortSignal) -> AssistantStream:
        context = RequestContext(
            messages=tuple(self.messages), tools=sorted_tool_declarations(self._toolbox.active_tools())
        )
        return self._registry.stream_answer(offline_model(), context, StreamOptions())
