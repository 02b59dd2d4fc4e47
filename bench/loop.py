"""Measures the loop and the session without model and tools: a text delta, a tool call, and how
both grow with the conversation.

CPU time of this process; the session writes its file, and the model follows a script."""

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox
from app.engine.dependencies import SessionDependencies
from app.engine.session import Session
from app.engine.session_parts import SessionParts
from app.engine.tree.session_paths import SessionPaths
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import Credentials
from app.providers.failure_kinds import AnswerFailure
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.models.catalogue import ModelCatalogue
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.session_log import SessionLog
from app.values.content import Text, ToolCall
from app.values.entries import MessageEntry
from app.values.events import Event, MessageUpdate
from app.values.messages import AssistantMessage, user_message
from app.values.models import Model
from app.values.stream import TextDelta, TextEnd, TextStart
from bench.table import Row
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool
from tools.tool_result_values import ToolResult, text_result

DELTAS = 4_000
CALLS = 200
MANY_CALLS = 10_000
SHORT, LONG = 10, 5_000
REPEAT = 7
MODEL = Model(id="script", name="ScriptedModel", api="scripted", provider="scripted", context_window=10**9)
NOOP_TOOL = Tool(
    name="nothing", description="Does nothing.", schema={"type": "object"}, run=lambda *_: _noop()
)


async def _noop() -> ToolResult:
    return text_result("done")


class ScriptedModel:
    """A model whose answers cost almost nothing: `calls` turns with one call each, then a text in
    deltas."""

    def __init__(self) -> None:
        self.calls = 0
        self.deltas = 0

    async def answer(
        self, model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        if self.calls:
            self.calls -= 1
            stream.draft.content.append(ToolCall(id=f"call{self.calls}", name="nothing", arguments={}))
            return
        stream.draft.content.append(Text(text=""))
        stream.emit(TextStart(content_index=0))
        for _ in range(self.deltas):
            stream.emit(TextDelta(content_index=0, delta="four "))
            await asyncio.sleep(0)
        text = "four " * self.deltas
        stream.draft.content[0] = Text(text=text)
        stream.emit(TextEnd(content_index=0, content=text))


class BenchSession:
    """A session in a folder, with a conversation of `messages` messages."""

    def __init__(self, folder: Path, messages: int, *, path: Path | None = None) -> None:
        places = SessionPaths(default_root=folder, cwd=folder)
        self.script = ScriptedModel()
        registry = AdapterRegistry()
        self.effective_settings = EffectiveSettings()
        self.choice = ModelChoice(
            ModelCatalogue.load_catalogue(folder / "agent", env={}), Credentials(folder / "agent", {})
        )
        self.choice.set_model(MODEL)
        registry.register_adapter("scripted", self.script.answer, owner="bench")
        log = SessionLog.open(path) if path else places.create_session()
        for number in range(messages // 2):
            log.append(MessageEntry(parent_id=None, message=user_message(f"question {number}")))
            answer = AssistantMessage(content=(Text(text="answer"),), stop_reason="stop", **_MESSAGE_ORIGIN)
            log.append(MessageEntry(parent_id=None, message=answer))
        self.session = Session(
            SessionDependencies(
                session_log=log,
                session_paths=places,
                registry=registry,
                model_choice=self.choice,
                toolbox=Toolbox(lambda toolbox: [NOOP_TOOL], SessionWorkspace(folder)),
                build_sections=lambda tools: {"preamble": "A benchmark."},
                classify_failure=lambda message, model: AnswerFailure(is_retryable=False),
                options=SessionOptions(self.effective_settings, merges_deltas=False),
            )
        )
        self.heard = 0
        self.session.subscribe(self._hear)

    @property
    def parts(self) -> SessionParts:
        """The session's parts, for measuring one of them."""
        return self.session._parts

    def _hear(self, event: Event) -> None:
        self.heard += isinstance(event, MessageUpdate)

    async def run(self, *, calls: int = 0, deltas: int = 0) -> float:
        """Runs a prompt; returns the CPU seconds until the session is idle."""
        self.script.calls, self.script.deltas = calls, deltas
        gc.collect()
        began = time.process_time()
        await self.session.prompt("go")
        await self.session.wait_until_idle()
        return time.process_time() - began


_MESSAGE_ORIGIN: dict[str, Any] = {"api": "scripted", "provider": "scripted", "model": "script"}


def rows() -> Iterator[Row]:
    figures = {messages: asyncio.run(_figures(messages)) for messages in (SHORT, LONG)}
    short, long = figures[SHORT], figures[LONG]
    limits = {"delta": "< 150 µs", "call": "< 1,500 µs"}
    names = {
        "delta": "a text delta to a subscriber, unmerged",
        "call": "a tool call that does nothing, with its turn",
    }
    for what, limit in limits.items():
        yield Row(name=f"{names[what]}, {SHORT} messages", figure=short[what], unit="µs CPU", limit=limit)
        yield Row(
            name=f"{names[what]}, {LONG:,} messages",
            figure=long[what],
            unit="µs CPU",
            ratio=long[what] / short[what],
            reference=f"{SHORT} messages",
            limit=f"{limit}, <= 1.2x",
        )
    yield from _memory()


async def _figures(messages: int) -> dict[str, float]:
    """Returns the microseconds per delta and per call: the fastest of several sessions, less an empty
    run."""
    found: dict[str, list[float]] = {"delta": [], "call": []}
    for _ in range(REPEAT):
        with tempfile.TemporaryDirectory() as name:
            stage = BenchSession(Path(name), messages)
            await stage.run(deltas=100, calls=3)
            bare = min([await stage.run() for _ in range(3)])
            stage.heard = 0
            found["delta"].append((await stage.run(deltas=DELTAS) - bare) / DELTAS)
            assert stage.heard >= DELTAS, "no delta was merged"
            found["call"].append((await stage.run(calls=CALLS) - bare) / CALLS)
            await stage.session.close()
    return {what: min(seconds) * 1e6 for what, seconds in found.items()}


def _memory() -> Iterator[Row]:
    """Measures in a separate process the memory that a long run leaves, against its messages when
    read again."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import bench.loop; bench.loop.measure_memory()"],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={"PYTHONPATH": str(root)},
    )
    grown, weight = json.loads(done.stdout)
    yield Row(
        name=f"memory left by {MANY_CALLS:,} calls in one run",
        figure=grown / 1e6,
        unit="MB",
        ratio=grown / weight,
        reference="the same session, opened",
        limit="what the messages weigh",
    )


def measure_memory() -> None:
    """Prints the bytes that a run of many calls adds, and those that its session takes when opened."""
    import tracemalloc

    def weighed(work: Callable[[], Any]) -> tuple[int, Any]:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        made = work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before, made

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with asyncio.Runner() as runner:

            async def begun() -> BenchSession:
                stage = BenchSession(folder, 0)
                await stage.run(calls=3)
                return stage

            stage: Any = runner.run(begun())
            tracemalloc.start()
            grown, _ = weighed(lambda: runner.run(stage.run(calls=MANY_CALLS)))
            path = stage.session.log.path
            runner.run(stage.session.close())
            stage = None

            async def opened() -> BenchSession:
                return BenchSession(folder, 0, path=path)

            weight, again = weighed(lambda: runner.run(opened()))
            assert len(again.session.messages) > 2 * MANY_CALLS
            runner.run(again.session.close())
    print(json.dumps([grown, weight]))
