"""A session over a scripted model, with extensions in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.extensions.extension_runner import Extensions
from app.extensions.extension_session_binding import ExtensionRegistrationTables, SessionBinding
from app.extensions.headless_ui import HeadlessUi
from app.extensions.hooks.event_forwarder import EventForwarder
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.extensions.time_limits import HookLimits
from app.extensions.ui_protocol import Ui
from app.providers.model_stream import RequestContext
from app.values.content import text_of
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage
from tests.engine.scripted_session import ScriptedSession
from tests.extensions.conftest import source
from tools.tool_registry import builtin_tools


class ExtensionSession:
    """A session with extensions, and the requests to its model."""

    def __init__(self, folder: Path, *responses: Any) -> None:
        self.asked: list[RequestContext] = []
        self.sections: dict[str, str] = {}
        self.extensions = Extensions(
            limits=lambda: HookLimits(answer_seconds=20, slow_answer_seconds=20, block_seconds=0.5)
        )
        self.hooks = ExtensionHooks(self.extensions)
        self.harness = ScriptedSession(
            folder,
            *(self._noting(response) for response in responses),
            tools=builtin_tools(),
            sections=lambda: {"preamble": "You are a test.", **self.sections},
            hooks=self.hooks,
        )

    def _noting(self, response: Any) -> Any:
        def made(context: RequestContext, count: int) -> Any:
            self.asked.append(context)
            return response(context, count) if callable(response) else response

        return made

    async def load(self, *functions: Callable[..., Any], mode: Any = "print", ui: Ui | None = None) -> None:
        await self.extensions.load([source(function, function.__name__) for function in functions])
        harness, session = self.harness, self.harness.session
        self.extensions.bind(
            SessionBinding(
                session=session,
                mode=mode,
                ui=ui or HeadlessUi(session.events.publish_now),
                session_paths=harness.places,
                registrations=ExtensionRegistrationTables(session, harness.choice, harness.registry),
                prompt_sections=self.sections,
                is_trusted=True,
            )
        )
        EventForwarder(self.extensions, self.hooks.catalogue).subscribe_to_session(session)

    async def prompt(self, text: str) -> None:
        await self.harness.prompt(text)
        await self.harness.session.events.wait_until_delivered()

    def read(self, number: int = -1) -> list[str]:
        """What the model read with a request, shortly: role or type, and the beginning of the text."""
        return [described(message) for message in self.asked[number].messages]


def described(message: Any) -> str:
    match message:
        case CustomMessage():
            return f"{message.custom_type}: {text_of(message.content)[:40]}"
        case ToolResultMessage():
            return f"result {message.tool_call_id}: {text_of(message.content)[:40]}"
        case UserMessage():
            return f"user: {text_of(message.content)}"
        case AssistantMessage():
            return "assistant"
        case _:
            return type(message).__name__
