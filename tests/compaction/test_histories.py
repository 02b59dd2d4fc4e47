"""After any history of a session, a compaction changes only the part that it summarises.

The histories are real session logs with branches, labels, edits of the context, changes of model, failed attempts,
other people's commands and earlier compactions, and the compactions are those of a real session.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from app.compaction.compaction_plan import NothingToCompact, conversation_message_of_entry
from app.compaction.context_meter import estimate_message_tokens
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, say
from app.sessions.context_projection import project_context
from app.sessions.session_log import SessionLog
from app.values.content import Text, ToolCall
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of
from tools.tool_registry import builtin_tools

texts = st.integers(0, 200).map(lambda size: "x" * size)


class History(msgspec.Struct, kw_only=True):
    """A log that is being written, and the files that were changed on the present branch."""

    log: SessionLog
    draw: st.DrawFn
    calls: int = 0

    def add(self, entry: Entry) -> str:
        return self.log.append(entry).id

    def say(self, message: Message) -> str:
        return self.add(MessageEntry(parent_id=None, id=message.id, message=message))

    def turn(self) -> None:
        draw = self.draw
        self.say(UserMessage(content=draw(texts)))
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.integers(0, 5)) == 0:
                self.failed_attempt()
            calls = [self.call() for _ in range(draw(st.integers(0, 3)))]
            self.say(AssistantMessage(content=(Text(text=draw(texts)), *calls)))
            for call in draw(st.permutations(calls)):
                if draw(st.integers(0, 5)) == 0:  # a user message arrives while the tools run
                    self.note()
                content = (Text(text="r" * draw(st.integers(0, 600))),)
                self.say(ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=content))
        if draw(st.integers(0, 3)):  # else it was stopped there, or is compacted in the middle of its run
            self.say(AssistantMessage(content=(Text(text=draw(texts)),)))

    def call(self) -> ToolCall:
        self.calls += 1
        name = self.draw(st.sampled_from(["read", "edit", "write", "bash"]))
        path = f"f{self.draw(st.integers(0, 9))}.py"
        arguments: dict[str, Any] = {"path": path}
        match name:
            case "edit":
                arguments["edits"] = [{"oldText": "a", "newText": "b"}]
            case "write":
                arguments["content"] = ""
            case "bash":
                arguments["command"] = "ls"
            case _:
                pass
        # Some providers count calls anew in every answer.
        return ToolCall(id=f"c{self.calls % 3}", name=name, arguments=arguments)

    def failed_attempt(self) -> None:
        calls = (ToolCall(id="never", name="write", arguments={"path": "never-written.py"}),)
        failed = self.say(AssistantMessage(content=calls, stop_reason="error", error_message="overloaded"))
        self.add(ContextEditEntry(parent_id=None, target_id=failed, replacement=None))

    def note(self) -> None:
        self.add(CustomMessageEntry(parent_id=None, custom_type="note", content=self.draw(texts)))

    def command(self) -> None:
        self.say(BashExecutionMessage(command="ls", output=self.draw(texts)))

    def state(self) -> None:
        self.add(ModelChangeEntry(parent_id=None, provider="p", model_id="m"))

    def label(self) -> None:
        if self.log.entries:
            target = self.draw(st.sampled_from(self.log.entries)).id
            self.add(LabelEntry(parent_id=None, target_id=target, label="here"))

    def prompt_change(self) -> None:
        tool = ToolDeclaration(name=f"tool{self.draw(st.integers(0, 2))}")
        self.say(SystemMessage(sections={"preamble": self.draw(texts)}, tools_added=(tool,)))

    def edit(self) -> None:
        """A result is shortened, as `/context` does, or anything is left out that no call hangs on."""
        path = [entry for entry in self.log.path_to() if isinstance(entry, MessageEntry | CompactionEntry)]
        entry = self.draw(st.sampled_from(path))
        match entry:
            case MessageEntry(message=ToolResultMessage()):
                replacement = {"content": "[taken out]"}
            case MessageEntry(message=AssistantMessage() as message) if message.tool_calls:
                return
            case MessageEntry(message=SystemMessage()):
                return
            case _:
                replacement = self.draw(st.sampled_from([None, {"content": "shorter"}]))
        self.add(ContextEditEntry(parent_id=None, target_id=entry.id, replacement=replacement))

    def branch(self) -> None:
        """Elsewhere in the tree, sometimes with a summary of what was left. Never into the middle of a turn."""
        left = self.log.leaf_id
        ends = [
            entry.id
            for entry in self.log.entries
            if isinstance(entry, MessageEntry)
            and isinstance(entry.message, AssistantMessage)
            and not entry.message.tool_calls
        ]
        if not ends or left is None:
            return
        self.log.move_leaf(self.draw(st.sampled_from(ends)))
        if self.draw(st.booleans()):
            details = {"readFiles": [], "modifiedFiles": [f"branch{self.draw(st.integers(0, 3))}.py"]}
            self.add(BranchSummaryEntry(parent_id=None, from_id=left, summary="elsewhere", details=details))


@st.composite
def histories(draw: st.DrawFn) -> History:
    history = History(log=SessionLog.in_memory(Path(tempfile.gettempdir())), draw=draw)
    more = [
        history.note,
        history.command,
        history.state,
        history.label,
        history.prompt_change,
        history.edit,
        history.branch,
    ]
    history.prompt_change()
    for _ in range(draw(st.integers(1, 7))):
        history.turn()
        for step in draw(st.lists(st.sampled_from(more), max_size=3)):
            step()
    return history


@given(histories(), st.lists(st.integers(1, 400), min_size=1, max_size=4))
def test_a_compaction_changes_what_it_summarises_and_nothing_else(history: History, keeps: list[int]) -> None:
    asyncio.run(_compacted_again_and_again(history, keeps))


async def _compacted_again_and_again(history: History, keeps: Sequence[int]) -> None:
    def answer(context: RequestContext, count: int) -> ScriptedAnswer:
        return say("## Goal\nto go on")

    with tempfile.TemporaryDirectory() as folder:
        harness = ScriptedSession(Path(folder), *([answer] * 20), log=history.log, tools=builtin_tools())
        session, parts = harness.session, parts_of(harness.session)
        draw, changed = history.draw, files_changed(history.log.path_to())
        for keep in keeps:
            harness.effective_settings.set("compaction.reserveTokens", 1_000)
            harness.effective_settings.set("compaction.keepRecentTokens", keep)
            before, declared = session.messages, parts.core.conversation.declared_prompt
            path = session.log.path_to()
            try:
                prepared = parts.context.compactor.plan_compaction()
            except NothingToCompact:
                _require_no_more_to_do(path, before, keep)
                continue
            await session.compaction.compact()
            after = session.messages

            # Prompt and tools stay, then comes the summary, then what was kept, word for word and in its order.
            assert isinstance(after[0], SystemMessage) and isinstance(after[1], CompactionSummaryMessage)
            assert parts.core.conversation.declared_prompt == declared
            kept = after[2:]
            said = [message for message in before if not isinstance(message, SystemMessage)]
            assert list(kept) == (said[-len(kept) :] if kept else [])
            gone = said[: len(said) - len(kept)]
            summarised = [message.id for message in prepared.discarded_messages]
            assert [m.id for m in gone if not isinstance(m, CompactionSummaryMessage)] == summarised
            assert [message.id for message in prepared.kept_messages] == [message.id for message in kept]
            # It is the same from the log as it is in the running session, and what was before is all still there.
            assert project_context(session.log.path_to()).messages == after
            assert session.log.path_to()[: len(path)] == path

            _require_whole_calls(before, kept)
            _require_budget(kept, keep)
            # No changed file is forgotten, and none is made up.
            entry = session.log.path_to()[-1]
            assert isinstance(entry, CompactionEntry)
            still_kept = files_changed(path[_index(path, entry.first_kept_entry_id) :])
            told = set(entry.details["modifiedFiles"])
            assert told <= changed and told | still_kept == changed
            assert not told & set(entry.details["readFiles"])
            assert all(name in entry.summary for name in told)

            if draw(st.booleans()):
                history.edit()
            history.turn()
            parts.core.conversation.reload_context()
            changed |= files_changed(session.log.path_to())
        await session.close()


def _require_no_more_to_do(path: Sequence[Entry], context: Sequence[Message], keep: int) -> None:
    """Nothing was said since the last compaction, or it fits the budget, or it cannot be cut."""
    said = [m for m in context if not isinstance(m, SystemMessage | CompactionSummaryMessage)]
    places = [place for place in range(len(said)) if _opens_unit(said, place)]
    fits = sum(estimate_message_tokens(message) for message in said[1:]) < keep
    assert isinstance(path[-1], CompactionEntry) or fits or len(places) <= 1


def _index(path: Sequence[Entry], entry_id: str) -> int:
    return next(index for index, entry in enumerate(path) if entry.id == entry_id)


def _require_whole_calls(before: Sequence[Message], kept: Sequence[Message]) -> None:
    """Every kept result has its call, unless it had none before either."""
    kept_ids = {message.id for message in kept}
    caller: dict[str, str] = {}
    for message in before:
        if isinstance(message, AssistantMessage):
            caller.update((call.id, message.id) for call in message.tool_calls)
        elif isinstance(message, ToolResultMessage) and message.tool_call_id in caller:
            assert (message.id in kept_ids) == (caller[message.tool_call_id] in kept_ids)


def _require_budget(kept: Sequence[Message], keep: int) -> None:
    """Less than the budget but for the first message; or one message with the results of its calls, which is whole."""
    units = [place for place, message in enumerate(kept) if _opens_unit(kept, place)]
    if len(units) > 1:
        assert sum(estimate_message_tokens(message) for message in kept[1:]) < keep


def _opens_unit(kept: Sequence[Message], place: int) -> bool:
    """Whether one could cut here: no call before is answered from here on."""
    message = kept[place]
    if isinstance(message, ToolResultMessage):
        return False
    waiting = {
        call.id for one in kept[:place] if isinstance(one, AssistantMessage) for call in one.tool_calls
    }
    for one in kept[:place]:
        if isinstance(one, ToolResultMessage):
            waiting.discard(one.tool_call_id)
    later = _results_before_their_call(kept[place:])
    return not waiting & later


def _results_before_their_call(messages: Sequence[Message]) -> set[str]:
    called, found = set[str](), set[str]()
    for message in messages:
        if isinstance(message, AssistantMessage):
            called |= {call.id for call in message.tool_calls}
        elif isinstance(message, ToolResultMessage) and message.tool_call_id not in called:
            found.add(message.tool_call_id)
    return found


def files_changed(path: Sequence[Entry]) -> set[str]:
    found: set[str] = set()
    for entry in path:
        message = conversation_message_of_entry(entry)
        if isinstance(message, AssistantMessage) and message.stop_reason != "error":
            found |= {call.arguments["path"] for call in message.tool_calls if call.name in ("edit", "write")}
        elif isinstance(entry, BranchSummaryEntry):
            found |= set(entry.details["modifiedFiles"])
    return found
