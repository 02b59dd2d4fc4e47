"""Keeps skills active after a compaction has removed their texts from the context.

Their texts are then put into a section of the system prompt, so that no summary has to repeat them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

import msgspec

from app.compaction.compaction_plan import apply_context_edits
from app.resources.skills import parse_sent_skills, skill_block
from app.sessions.context_projection import context_entries
from app.values.content import Text, ToolCall, text_of
from app.values.entries import ContextEditEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from tools.call_effects import FilesOfRecordedCall

ACTIVE_SKILLS_SECTION = "active_skills"
_MAX_SKILL_CHARS = 40_000
"""The maximum number of characters of all active skills together, about 10,000 tokens; older skills are only named."""
_SKILLS_SECTION_INTRODUCTION = "These skills were called for earlier in this conversation. They still apply:"


class _LoadedSkill(msgspec.Struct, frozen=True, kw_only=True):
    entry_id: str
    name: str
    file_path: str
    join_prompt_sections: str


class ActiveSkills:
    """The skills that are active in one conversation. Each entry is read once, however often the conversation is
    compacted."""

    def __init__(self, files_of: Callable[[ToolCall], FilesOfRecordedCall]) -> None:
        self._files_of = files_of
        self._active_by_name: dict[str, _LoadedSkill] = {}
        """The active skills by name, in the order in which they were last loaded."""
        self._skill_by_call: dict[str, str] = {}
        self._last_seen_id = ""

    def sections_after_compaction(
        self,
        recent: Sequence[Entry],
        path: Callable[[], Sequence[Entry]],
        above: Callable[[str], Entry | None],
    ) -> dict[str, str]:
        """Returns the skills that a compaction took out of the context, for the system prompt; empty without a
        compaction. `recent` is the part of the branch that the context is made of, `path` returns the whole
        branch, `above` an entry's parent."""
        in_context = context_entries(recent)
        if in_context is recent:
            return {}
        self._read_new_entries([*self._unread_entries_before(recent, above), *recent], path)
        seen = {entry.id for entry in in_context}
        gone = [given for given in reversed(self._active_by_name.values()) if given.entry_id not in seen]
        return {ACTIVE_SKILLS_SECTION: _skills_section_text(gone)} if gone else {}

    def _unread_entries_before(
        self, recent: Sequence[Entry], above: Callable[[str], Entry | None]
    ) -> list[Entry]:
        """Returns the entries between the last one read and the start of `recent`; empty when no entry was read
        or the gap is unknown."""
        if not (recent and self._last_seen_id) or any(entry.id == self._last_seen_id for entry in recent):
            return []
        missed: list[Entry] = []
        entry = above(recent[0].id)
        while entry is not None:
            missed.append(entry)
            if entry.id == self._last_seen_id:
                return missed[::-1]
            entry = above(entry.id)
        return []

    def _read_new_entries(self, recent: Sequence[Entry], path: Callable[[], Sequence[Entry]]) -> None:
        at = next((index for index, entry in enumerate(recent) if entry.id == self._last_seen_id), None)
        news = recent[at + 1 :] if at is not None and self._last_seen_id else recent
        if news is recent or _has_edit_of_earlier_entry(news):
            self._active_by_name, self._skill_by_call = {}, {}
            news = path()
        for given in _loaded_skills(apply_context_edits(news), self._skill_by_call, self._files_of):
            self._active_by_name.pop(given.name, None)
            self._active_by_name[given.name] = given
        self._last_seen_id = next((entry.id for entry in reversed(recent) if entry.id), "")


def _has_edit_of_earlier_entry(news: Sequence[Entry]) -> bool:
    own = {entry.id for entry in news}
    return any(isinstance(entry, ContextEditEntry) and entry.target_id not in own for entry in news)


def _skills_section_text(newest_first: Sequence[_LoadedSkill]) -> str:
    parts, named, size = [_SKILLS_SECTION_INTRODUCTION], list[str](), 0
    for given in newest_first:
        size += len(given.join_prompt_sections)
        if size <= _MAX_SKILL_CHARS:
            parts.append(given.join_prompt_sections)
        else:
            named.append(f"- {given.name}: {given.file_path}")
    if named:
        parts.append("Read these again before you go on with what they are for:\n" + "\n".join(named))
    return "\n\n".join(parts)


def _loaded_skills(
    path: Sequence[Entry], reads: dict[str, str], files_of: Callable[[ToolCall], FilesOfRecordedCall]
) -> Iterator[_LoadedSkill]:
    """Yields the skills that the user loaded with `/skill:name` or `$name`, or that the model read. `reads` maps
    calls that wait for their result."""
    for entry in path:  # a path may have very many entries
        if type(entry) is not MessageEntry:
            continue
        message = entry.message
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if type(block) is ToolCall and _is_read_of_skill_file(block) and files_of(block).reads:
                    reads[block.id] = block.arguments["path"]
        elif isinstance(message, UserMessage):
            for skill in (
                parse_sent_skills(text_of(message.content)) if _may_prompt_load_skill(message) else ()
            ):
                yield _LoadedSkill(
                    entry_id=entry.id,
                    name=skill.name,
                    file_path=skill.location,
                    join_prompt_sections=skill.block,
                )
        elif reads and isinstance(message, ToolResultMessage) and not message.is_error:
            location = reads.pop(message.tool_call_id, None)
            if location is not None:
                name = PurePath(location).parent.name
                block = skill_block(name, location, text_of(message.content))
                yield _LoadedSkill(
                    entry_id=entry.id, name=name, file_path=location, join_prompt_sections=block
                )


def _may_prompt_load_skill(message: UserMessage) -> bool:
    """Whether a prompt may begin with a skill; the prompt's first letter decides for most prompts."""
    first = message.content
    if not isinstance(first, str):
        first = next((block.text for block in first if type(block) is Text), "")
    return first.startswith("<")


def _is_read_of_skill_file(call: ToolCall) -> bool:
    """Whether the path of a `read` call is a complete skill file."""
    if set(call.arguments) != {"path"}:
        return False
    path = call.arguments["path"]
    return isinstance(path, str) and PurePath(path).name == "SKILL.md"
