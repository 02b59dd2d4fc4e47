"""The context at a leaf, against a slow reference that follows the rules one after the other."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.sessions.context_projection import merge_system_messages, project_context, unix_milliseconds
from app.sessions.entry_tree import POSITION_ABOVE_ROOTS, SessionTree
from app.values.content import Text, ToolCall
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolName,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    user_message,
)
from app.values.wire import to_wire
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry

texts = st.text(max_size=5)
names = st.sampled_from(["a", "b", "c"])
replacements = st.one_of(
    st.none(),
    st.builds(lambda text: {"content": text}, texts),
    st.builds(lambda text: {"content": [{"type": "text", "text": text}]}, texts),
    st.just({}),
    st.just({"content": 5}),
)
messages = st.one_of(
    st.builds(user_message, texts),
    st.builds(lambda text: UserMessage(content=text), texts),
    st.builds(
        lambda text, calls, model: AssistantMessage(
            content=(Text(text=text), *(ToolCall(id=call, name="t", arguments={}) for call in calls)),
            provider=model and "p",
            model=model,
        ),
        texts,
        st.lists(names, max_size=3),
        st.sampled_from(["", "m1", "m2"]),
    ),
    st.builds(
        lambda call, text: ToolResultMessage(tool_call_id=call, tool_name="t", content=(Text(text=text),)),
        names,
        texts,
    ),
    st.builds(
        lambda name, text, tool, gone: SystemMessage(
            sections={name: text},
            tools_added=(ToolDeclaration(name=tool),),
            tools_removed=(ToolName(name=gone),),
        ),
        names,
        st.one_of(st.none(), texts),
        names,
        names,
    ),
    st.just(BashExecutionMessage(command="ls", output="")),
    st.builds(lambda: UnknownMessage(raw={"role": "seer"})),
)


@st.composite
def trees(draw: st.DrawFn) -> list[Entry]:
    """Entries `e0`, `e1`, …: each hangs below some earlier one, or at the root."""
    entries: list[Entry] = []
    for number in range(draw(st.integers(1, 25))):
        at = {
            "id": f"e{number}",
            "parent_id": f"e{draw(st.integers(max(0, number - 3), number - 1))}" if number else None,
        }
        target = f"e{draw(st.integers(0, number + 1))}"
        kind = draw(st.integers(0, 16))
        message = draw(messages)
        options: list[Entry] = [
            CompactionEntry(summary="s", first_kept_entry_id=target, **at),
            CompactionEntry(
                summary="s",
                first_kept_entry_id=target,
                system_message=SystemMessage(sections={"a": "A"}),
                **at,
            ),
            ContextEditEntry(target_id=target, replacement=draw(replacements), **at),
            ContextEditEntry(target_id=target, replacement=draw(replacements), **at),
            BranchSummaryEntry(from_id="root", summary="b", **at),
            CustomMessageEntry(custom_type="t", content="c", **at),
            CustomEntry(custom_type="t", **at),
            LabelEntry(target_id=target, label="l", **at),
            ModelChangeEntry(provider="p", model_id="m3", **at),
            ThinkingLevelChangeEntry(thinking_level="high", **at),
        ]
        entries.append(options[kind] if kind < len(options) else MessageEntry(message=message, **at))
    return entries


# The slow reference: plain data, one rule after the other.


def slow_path(entries: list[Entry], leaf: str) -> list[Entry]:
    by_id = {entry.id: entry for entry in entries}
    path = [by_id[leaf]]
    while path[0].parent_id is not None:
        path.insert(0, by_id[path[0].parent_id])
    return path


def slow_context(along: Sequence[Entry]) -> list[tuple[str, dict[str, Any]]]:
    path = list(along)
    places = [place for place, entry in enumerate(path) if isinstance(entry, CompactionEntry)]
    if places:
        boundary = path[places[-1]]
        assert isinstance(boundary, CompactionEntry)
        before = path[: places[-1]]
        while before and before[0].id != boundary.first_kept_entry_id:
            before.pop(0)
        before = [
            entry
            for entry in before
            if not (isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage))
        ]
        path = [boundary, *before, *path[places[-1] + 1 :]]
    else:
        boundary = None
    found: list[tuple[str, dict[str, Any]]] = []
    for entry in path:
        found += slow_messages(entry, boundary)
    for entry in path:
        if isinstance(entry, ContextEditEntry):
            later = [e for e in path[path.index(entry) + 1 :] if isinstance(e, ContextEditEntry)]
            if entry.target_id not in [other.target_id for other in later]:
                found = slow_edit(found, entry)
    return slow_order([(place, message) for place, message in found if message["role"] != "seer"])


def slow_messages(entry: Entry, boundary: Entry | None) -> list[tuple[str, dict[str, Any]]]:
    wire = to_wire(entry)
    time = unix_milliseconds(entry.timestamp)
    if isinstance(entry, MessageEntry):
        return [(entry.id, wire["message"])]
    if entry is boundary:
        system = [(f"{entry.id}:system", wire["systemMessage"])] if "systemMessage" in wire else []
        summary = {"role": "compactionSummary", "summary": "s", "tokensBefore": 0, "timestamp": time}
        return [*system, (entry.id, summary)]
    if isinstance(entry, BranchSummaryEntry):
        return [(entry.id, {"role": "branchSummary", "summary": "b", "fromId": "root", "timestamp": time})]
    if isinstance(entry, CustomMessageEntry):
        fields = {"role": "custom", "customType": "t", "content": "c", "display": True, "timestamp": time}
        return [(entry.id, fields)]
    return []


def slow_edit(
    found: list[tuple[str, dict[str, Any]]], edit: ContextEditEntry
) -> list[tuple[str, dict[str, Any]]]:
    out: list[tuple[str, dict[str, Any]]] = []
    for place, message in found:
        if place.partition(":")[0] != edit.target_id:
            out.append((place, message))
        elif edit.replacement is not None:
            content = edit.replacement.get("content")
            if isinstance(content, str | list) and "content" in message and ":" not in place:
                if isinstance(content, str) and message["role"] in ("assistant", "toolResult"):
                    content = [{"type": "text", "text": content}]
                message = {**message, "content": content}
            out.append((place, message))
    return out


def slow_order(found: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Swaps neighbouring results until they are in call order."""
    found = list(found)
    for _ in found:
        for index in range(1, len(found)):
            before, after = found[index - 1][1], found[index][1]
            if before["role"] == after["role"] == "toolResult":
                start = index - 1
                while start >= 0 and found[start][1]["role"] == "toolResult":
                    start -= 1
                if start >= 0 and found[start][1]["role"] == "assistant":
                    calls = [b["id"] for b in found[start][1]["content"] if b["type"] == "toolCall"] + ["*"]
                    rank = {call: calls.index(call) for call in calls}
                    if rank.get(before["toolCallId"], len(calls)) > rank.get(after["toolCallId"], len(calls)):
                        found[index - 1], found[index] = found[index], found[index - 1]
    return found


def slow_model(path: Sequence[Entry]) -> tuple[str, str] | None:
    model = None
    for entry in path:
        if isinstance(entry, ModelChangeEntry):
            model = (entry.provider, entry.model_id)
        if (
            isinstance(entry, MessageEntry)
            and isinstance(entry.message, AssistantMessage)
            and entry.message.model
        ):
            model = (entry.message.provider, entry.message.model)
    return model


@given(trees(), st.data())
def test_it_is_what_the_rules_say(entries: list[Entry], data: st.DataObject) -> None:
    leaf = data.draw(st.sampled_from([entry.id for entry in entries]))
    tree = SessionTree(entries)
    path = tree.path_entries(tree.position_of_id(leaf) or 0)
    assert path == slow_path(entries, leaf)
    projection = project_context(path)
    assert [(message.id, to_wire(message)) for message in projection.messages] == slow_context(path)
    assert projection.model == slow_model(path)
    levels = [entry.thinking_level for entry in path if isinstance(entry, ThinkingLevelChangeEntry)]
    assert (projection.thinking_level, projection.has_thinking_level) == (
        (levels or ["off"])[-1],
        bool(levels),
    )


@given(trees())
def test_entries_that_say_nothing_to_the_model_change_nothing(entries: list[Entry]) -> None:
    path = slow_path(entries, entries[-1].id)
    padded: list[Entry] = []
    for number, entry in enumerate(path):
        padded += [entry, SessionInfoEntry(id=f"x{number}", parent_id=entry.id, name="n")]
        padded.append(UnknownEntry(raw={"type": "hologram", "id": f"y{number}"}))
    assert project_context(padded) == project_context(path)


@given(trees(), st.data())
def test_the_tree_knows_the_lowest_common_ancestor(entries: list[Entry], data: st.DataObject) -> None:
    tree = SessionTree(entries)
    one, other = (data.draw(st.integers(0, len(entries) - 1)) for _ in range(2))
    shared = [e for e in slow_path(entries, f"e{one}") if e in slow_path(entries, f"e{other}")]
    found = tree.common_ancestor(one, other)
    assert (tree.entries[found] if found != POSITION_ABOVE_ROOTS else None) == (
        shared[-1] if shared else None
    )


def placed(*entries: Entry) -> list[Entry]:
    """A chain with the ids `0`, `1`, …"""
    import msgspec

    return [
        msgspec.structs.replace(entry, id=str(number), parent_id=str(number - 1) if number else None)
        for number, entry in enumerate(entries)
    ]


def roles(messages: tuple[Message, ...]) -> list[str]:
    return [to_wire(message)["role"] for message in messages]


def test_results_are_read_in_call_order_whenever_they_were_recorded() -> None:
    path = placed(
        user_entry("go"),
        assistant_entry("", "first", "second"),
        tool_result_entry("second"),
        tool_result_entry("first"),
        user_entry("on"),
    )
    found = [m.tool_call_id for m in project_context(path).messages if isinstance(m, ToolResultMessage)]
    assert found == ["first", "second"]


def test_only_the_last_compaction_counts() -> None:
    path = placed(
        user_entry("a"),
        CompactionEntry(parent_id=None, summary="old", first_kept_entry_id="0"),
        user_entry("b"),
        CompactionEntry(parent_id=None, summary="new", first_kept_entry_id="1"),
        user_entry("c"),
    )
    assert roles(project_context(path).messages) == ["compactionSummary", "user", "user"]


def test_a_compaction_that_keeps_nothing_names_itself() -> None:
    path = placed(
        user_entry("a"),
        CompactionEntry(parent_id=None, summary="s", first_kept_entry_id="1"),
        user_entry("b"),
    )
    assert [message.id for message in project_context(path).messages] == ["1", "2"]


def test_system_messages_add_up() -> None:
    state = merge_system_messages(
        [
            SystemMessage(
                sections={"a": "1", "b": "2"},
                tools_added=(ToolDeclaration(name="x"), ToolDeclaration(name="y")),
            ),
            SystemMessage(sections={"a": None, "c": "3"}, tools_removed=(ToolName(name="x"),)),
        ]
    )
    assert state.sections == {"b": "2", "c": "3"}
    assert [tool.name for tool in state.tools] == ["y"]
