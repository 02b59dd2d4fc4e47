"""Skills that the conversation was given in full, and that a compaction took out of it: they stay in force.

Their texts then stand in a section of the system prompt, as they were given; no summary has to carry them on.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

import msgspec

from app.compaction.cut import as_edited
from app.resources.skills import given_skill, skill_block
from app.sessions.projection import context_entries
from app.values.content import ToolCall, text_of
from app.values.entries import Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage

SECTION = "active_skills"
_LIMIT = 40_000
"""Characters of all of them together, about 10,000 tokens; older ones are only named."""
_INTRODUCTION = "These skills were called for earlier in this conversation. They still apply:"


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    entry_id: str
    name: str
    location: str
    block: str


def standing_sections(path: Sequence[Entry]) -> dict[str, str]:
    """What a compaction on the branch `path` (root first) leaves to the system prompt; nothing without one."""
    in_context = context_entries(path)
    if in_context is path:
        return {}
    seen = {entry.id for entry in in_context}
    last = {given.name: given for given in _given(as_edited(path))}
    gone = [given for given in last.values() if given.entry_id not in seen]
    order = {entry.id: place for place, entry in enumerate(path)}
    gone.sort(key=lambda given: -order[given.entry_id])
    return {SECTION: _text(gone)} if gone else {}


def _text(newest_first: Sequence[_Given]) -> str:
    parts, named, size = [_INTRODUCTION], list[str](), 0
    for given in newest_first:
        size += len(given.block)
        if size <= _LIMIT:
            parts.append(given.block)
        else:
            named.append(f"- {given.name}: {given.location}")
    if named:
        parts.append("Read these again before you go on with what they are for:\n" + "\n".join(named))
    return "\n\n".join(parts)


def _given(path: Sequence[Entry]) -> Iterator[_Given]:
    """By a person with `/skill:name`, or read by the model."""
    reads: dict[str, str] = {}
    for entry in path:
        match entry:
            case MessageEntry(message=UserMessage() as message):
                skill = given_skill(text_of(message.content))
                if skill is not None:
                    yield _Given(
                        entry_id=entry.id, name=skill.name, location=skill.location, block=skill.block
                    )
            case MessageEntry(message=AssistantMessage() as message):
                reads.update(
                    (call.id, call.arguments["path"]) for call in message.tool_calls if _is_skill(call)
                )
            case MessageEntry(message=ToolResultMessage(is_error=False) as message):
                location = reads.pop(message.tool_call_id, None)
                if location is not None:
                    name = PurePath(location).parent.name
                    block = skill_block(name, location, text_of(message.content))
                    yield _Given(entry_id=entry.id, name=name, location=location, block=block)
            case _:
                pass


def _is_skill(call: ToolCall) -> bool:
    """Whether the whole of a skill is read."""
    if call.name != "read" or set(call.arguments) != {"path"}:
        return False
    path = call.arguments["path"]
    return isinstance(path, str) and PurePath(path).name == "SKILL.md"
