"""A conversation with the offline guide in a real folder, with the real loop and the real tools."""

from collections.abc import Callable
from pathlib import Path

from app.agent.abort import Abort
from app.agent.loop import run_loop
from app.agent.loop_ports import LoopPorts
from app.agent.queues import Queues
from app.engine.core.toolbox import Toolbox, ToolChoice, tool_declarations
from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.offline.model import offline_model
from app.values.content import ToolCall
from app.values.events import MessageEnd
from app.values.messages import AssistantMessage, Message, ToolResultMessage, user_message
from tools.base import ToolContext
from tools.registry import builtin_tools
from tools.results import ToolResult
from tools.workspace import Workspace


class Chat:
    """Say something; see what the guide answered and did."""

    def __init__(self, folder: Path, *, tools: str | None = None) -> None:
        self.folder = folder
        self.messages: list[Message] = []
        self._registry = AdapterRegistry()
        own = tuple(builtin_tools())
        self._toolbox = Toolbox(lambda toolbox: own, Workspace(folder))
        if tools is not None:
            self._toolbox.choose_tools(ToolChoice(allowed_patterns=tuple(tools.split())))
        self._ports = LoopPorts(
            request_answer=self._ask,
            tools=self._toolbox.active_tools,
            tool_context=self._tool_context,
            queues=Queues(),
            abort=Abort(),
        )

    def _tool_context(self, call: ToolCall, progress: Callable[[ToolResult], None]) -> ToolContext:
        workspace = self._toolbox.workspace
        return ToolContext(call_id=call.id, cwd=workspace.cwd, progress=progress, workspace=workspace)

    async def say(self, *texts: str) -> str:
        """Returns everything that the guide wrote until it stopped."""
        before = len(self.messages)
        async for event in run_loop([user_message(text) for text in texts], self._ports):
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

    async def _ask(self, abort: Abort) -> AssistantStream:
        context = RequestContext(
            messages=tuple(self.messages), tools=tool_declarations(self._toolbox.active_tools())
        )
        return self._registry.stream_answer(offline_model(), context, StreamOptions())
