"""Breaks down the context window: prompt, context files, skills, tools, messages by kind, and large results.

Sizes are estimates, scaled to the provider's count where it has counted the whole context."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, assert_never

import msgspec

from app.compaction.context_meter import estimate_message_tokens
from app.compaction.conversation_text import conversation_text
from app.engine.core.toolbox import sorted_tool_declarations
from app.engine.repository.repository_maps import FOLDER_MAP_MESSAGE_TYPE
from app.engine.session import Session
from app.sessions.context_projection import merge_system_messages
from app.values.codec import encode_json
from app.values.content import Text, Thinking, ToolCall, UnknownContent, text_of
from app.values.entries import ContextEditEntry, CustomMessageEntry, Entry, MessageEntry
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from app.values.wire import to_wire

BreakdownGroup = Literal["prompt", "files", "skills", "tools", "messages", "results"]
CONTEXT_BREAKDOWN_GROUPS: tuple[BreakdownGroup, ...] = (
    "prompt",
    "files",
    "skills",
    "tools",
    "messages",
    "results",
)
_BREAKDOWN_GROUP_BY_PROMPT_SECTION: Mapping[str, BreakdownGroup] = {
    "project_context": "files",
    "skills": "skills",
    "active_skills": "skills",
    "tools": "tools",
    "mcp_servers": "tools",
}
_BREAKDOWN_TEXT_SEPARATOR = "\n\n" + "─" * 40 + "\n\n"
LARGE_TOOL_RESULT_MIN_TOKENS = 500
"""The number of tokens from which a tool result is listed separately."""


class ContextBreakdownLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the context breakdown: a group of content with its tokens."""

    group: BreakdownGroup
    title: str
    tokens: int
    count_items: int = 1


class LargeToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A large tool result, which the user can drop from the context and restore."""

    entry_id: str
    title: str
    tokens: int
    """The number of tokens of the whole result, also while it is dropped from the context."""
    is_dropped: bool = False


class ContextBreakdown(msgspec.Struct, frozen=True, kw_only=True):
    parts: tuple[ContextBreakdownLine, ...]
    large_results: tuple[LargeToolResult, ...]
    tokens: int
    window_tokens: int
    reserved_tokens: int
    tokens_freed: int
    """The estimated number of tokens that a compaction would free; 0: there is nothing to compact."""
    is_exact: bool
    """Whether the provider has counted the whole context."""

    def count_items(self, group: BreakdownGroup) -> int:
        return sum(part.tokens for part in self.parts if part.group == group)


def break_down_context(session: Session) -> ContextBreakdown:
    messages, room = session.messages, session.context_room()
    sizes = _message_sizes(messages)
    for group, title, text in _prompt_parts(session):
        _add_size(sizes, group, title, len(text) // 4)
    estimated = sum(tokens for tokens, _ in sizes.values())
    scale = room.tokens / estimated if estimated and room.is_exact else 1.0
    log = session.log
    return ContextBreakdown(
        parts=tuple(
            ContextBreakdownLine(group=group, title=title, tokens=round(tokens * scale), count_items=count)
            for (group, title), (tokens, count) in sorted(
                sizes.items(), key=lambda item: (CONTEXT_BREAKDOWN_GROUPS.index(item[0][0]), -item[1][0])
            )
        ),
        large_results=tuple(_large_results(log.path_to(), {message.id for message in messages})),
        tokens=room.tokens or estimated,
        window_tokens=room.window,
        reserved_tokens=room.reserved_tokens,
        tokens_freed=room.tokens_freed,
        is_exact=room.is_exact,
    )


SizeByGroup = dict[tuple[BreakdownGroup, str], tuple[int, int]]


def _add_size(sizes: SizeByGroup, group: BreakdownGroup, title: str, tokens: int) -> None:
    if tokens:
        before, count = sizes.get((group, title), (0, 0))
        sizes[group, title] = before + tokens, count + 1


def _prompt_parts(session: Session) -> Iterator[tuple[BreakdownGroup, str, str]]:
    """Yields the parts of the system prompt and the tools as the next request has them."""
    system = merge_system_messages(session.messages)
    sections = system.sections or dict(session.requests.prompt_sections())
    for name, text in sections.items():
        yield (
            _BREAKDOWN_GROUP_BY_PROMPT_SECTION.get(name, "prompt"),
            _PROMPT_SECTION_TITLES.get(name, name),
            text,
        )
    for tool in system.tools or sorted_tool_declarations(session.tools.active_tools()):
        yield "tools", _tool_group_title(tool.name), encode_json(to_wire(tool)).decode()


def _tool_group_title(name: str) -> str:
    """Returns the title under which the breakdown lists a tool; the tools of an MCP server share one line."""
    server = name.removeprefix("mcp__").partition("__")[0] if name.startswith("mcp__") else ""
    return f"tools of MCP server {server}" if server else "tool descriptions"


_PROMPT_SECTION_TITLES = {
    "preamble": "agent role",
    "tools": "tool list",
    "rules": "rules",
    "docs": "location of bayou's documentation",
    "addendum": "appended prompt",
    "project_context": "context files",
    "skills": "skill list",
    "active_skills": "active skills",
    "mcp_servers": "MCP server list",
    "cwd": "folder",
}


def _message_sizes(messages: Iterable[Message]) -> SizeByGroup:
    sizes: SizeByGroup = {}
    for message in messages:
        if not isinstance(message, AssistantMessage | SystemMessage):
            _add_size(sizes, *_group_and_title_of_message(message), estimate_message_tokens(message))
        for title, text in _answer_texts_by_kind(message).items():
            _add_size(sizes, "messages", title, -(-len(text) // 4))
    return sizes


def _group_and_title_of_message(message: Message) -> tuple[BreakdownGroup, str]:
    if isinstance(message, ToolResultMessage):
        return "results", "maps" if _is_map_result(message) else f"{message.tool_name} results"
    return "messages", _message_kind(message)


def _is_map_result(message: ToolResultMessage) -> bool:
    """Whether a tool result is a map, which says where something is in a file, a folder or the repository."""
    match message.details:
        case {"outline": True}:
            return True
        case _:
            return False


def _answer_texts_by_kind(message: Message) -> dict[str, str]:
    """Splits an answer of the model into one text for each kind of content."""
    found: dict[str, str] = {}
    for block in message.content if isinstance(message, AssistantMessage) else ():
        match block:
            case Text():
                title, text = "answers", block.text
            case Thinking():
                title, text = "thinking", block.thinking
            case ToolCall():
                title, text = "tool calls", f"{block.name}{encode_json(block.arguments).decode()}"
            case UnknownContent():
                continue
            case _:
                assert_never(block)
        found[title] = found.get(title, "") + text
    return found


def text_of_breakdown_line(session: Session, part: ContextBreakdownLine) -> str:
    """Returns the text behind one line of the context breakdown, the latest messages first."""
    texts = [
        text for group, title, text in _prompt_parts(session) if (group, title) == (part.group, part.title)
    ]
    for message in reversed(session.messages):
        if part.title in (said := _answer_texts_by_kind(message)):
            texts.append(said[part.title])
        elif not isinstance(message, AssistantMessage | SystemMessage) and _group_and_title_of_message(
            message
        ) == (
            part.group,
            part.title,
        ):
            texts.append(conversation_text([message]))
    return _BREAKDOWN_TEXT_SEPARATOR.join(text.strip() for text in texts)


_TITLE_BY_CUSTOM_MESSAGE_TYPE = {
    "file-map": "file maps",
    FOLDER_MAP_MESSAGE_TYPE: "repository maps",
    "background-result": "job results",
}


def _message_kind(message: Message) -> str:
    match message:
        case UserMessage():
            return "prompts"
        case BashExecutionMessage():
            return "your commands"
        case CompactionSummaryMessage():
            return "compaction summary"
        case BranchSummaryMessage():
            return "branch summaries"
        case CustomMessage():
            return _TITLE_BY_CUSTOM_MESSAGE_TYPE.get(message.custom_type, message.custom_type)
        case SystemMessage() | AssistantMessage() | ToolResultMessage() | UnknownMessage():
            return "other"
        case _:
            assert_never(message)


# Large results


def _large_results(path: Iterable[Entry], in_context: set[str]) -> Iterable[LargeToolResult]:
    entries = list(path)
    dropped = _dropped_entry_ids(entries)
    titles = _call_titles(entries)
    found: list[LargeToolResult] = []
    for entry in entries:
        message = droppable_result_of_entry(entry)
        if message is None or (entry.id not in in_context and entry.id not in dropped):
            continue
        tokens = estimate_message_tokens(message)
        if tokens >= LARGE_TOOL_RESULT_MIN_TOKENS:
            title = (
                titles.get(message.tool_call_id, message.tool_name)
                if isinstance(message, ToolResultMessage)
                else _message_kind(message)
            )
            found.append(
                LargeToolResult(entry_id=entry.id, title=title, tokens=tokens, is_dropped=entry.id in dropped)
            )
    return sorted(found, key=lambda large: -large.tokens)


def droppable_result_of_entry(entry: Entry) -> ToolResultMessage | CustomMessage | None:
    if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
        return entry.message
    if isinstance(entry, CustomMessageEntry):
        return CustomMessage(custom_type=entry.custom_type, content=entry.content)
    return None


def _call_titles(entries: Iterable[Entry]) -> dict[str, str]:
    titles: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            for call in entry.message.tool_calls:
                subject = next((value for value in call.arguments.values() if isinstance(value, str)), "")
                titles[call.id] = f"{call.name} {' '.join(subject.split())}".strip()
    return titles


def _dropped_entry_ids(entries: Iterable[Entry]) -> frozenset[str]:
    last = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEditEntry)}
    return frozenset(target for target, edit in last.items() if _is_dropped_result(edit))


def _is_dropped_result(edit: ContextEditEntry) -> bool:
    return edit.replacement is None or str(edit.replacement.get("content", "")).startswith(
        _DROPPED_RESULT_TEXT
    )


_DROPPED_RESULT_TEXT = "[Taken out of the context by the user"


async def drop_or_restore_large_result(session: Session, entry_id: str) -> bool:
    """Drops a large tool result from the context, or restores it; returns True if it is dropped now. A short
    text stays in its place, so that the model knows of the result and can call the tool again."""
    log = session.log
    message = droppable_result_of_entry(log.entry(entry_id))
    assert message is not None, "only large results in the list can be dropped"
    is_out = entry_id in _dropped_entry_ids(log.path_to())
    tokens = estimate_message_tokens(message)
    word = f"{_DROPPED_RESULT_TEXT}: about {tokens:,} tokens. Run the tool again if it is needed.]"
    content = to_wire(message.content) if is_out else word
    await session.notes.edit_context_for_user(entry_id, {"content": content})
    return not is_out


def text_of_large_result(session: Session, entry_id: str) -> str:
    message = droppable_result_of_entry(session.log.entry(entry_id))
    return text_of(message.content) if message is not None else ""
