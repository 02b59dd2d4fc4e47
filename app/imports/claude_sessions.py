"""Reads sessions of Claude Code: files of JSON lines below `~/.claude/projects`, whose messages form a tree.

One answer has a line for each of its parts, with the same message id."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.imports.json_lines_files import read_json_lines
from app.imports.session_builder import (
    ImportedAnswerDraft,
    ImportedSession,
    ImportedSessionBuilder,
    dict_or_empty,
    list_or_empty,
    make_imported_image,
    make_imported_thinking,
    make_imported_usage,
    text_or_empty,
    token_count,
)
from app.values.content import Text, UserContent
from app.values.messages import StopReason
from tools.lazy_patterns import lazy_regex

CLAUDE_PROGRAM_NAME = "claude"
_CLAUDE_STATE_LINE_TYPES = (
    *("agent-color", "agent-name", "agent-setting", "ai-title", "custom-title", "last-prompt", "mode"),
    *("permission-mode", "pr-link", "progress", "queue-operation", "summary", "tag"),
)
"""Lines that are no part of the conversation."""
_LABEL_BY_LEFT_OUT_LINE_TYPE = {
    "file-history-snapshot": "copies of files for its undo",
    "attachment": "attachments for the model",
}
_STOP_REASONS: dict[str, StopReason] = {"max_tokens": "length", "tool_use": "toolUse", "end_turn": "stop"}
_COMMAND_NAME_PATTERN = lazy_regex(r"<command-name>\s*(/?[^<]*?)\s*</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS_PATTERN = lazy_regex(r"<command-args>(.*?)</command-args>", re.DOTALL)
_LOCAL_COMMAND_OUTPUT_TAGS = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-std",
)


def session_files(folder: Path) -> Iterator[Path]:
    """Yields the sessions in the program's folder; those of helpers are no sessions."""
    for file in sorted(folder.glob("projects/*/*.jsonl")):
        if not file.name.startswith("agent-") and file.is_file():
            yield file


def read_session(file: Path, home: Path) -> ImportedSession:
    """Reads a session file of Claude Code. Raises `OSError`, and `SessionNotImportable` if the file has no
    conversation."""
    reading = _SessionReader()
    for line in read_json_lines(file, reading.builder.left_out):
        reading.read_line(line)
    reading.builder.title = reading.own_title or reading.title
    return reading.builder.build_session(
        file.stem, reading.cwd, default_cwd=home, file_time=file.stat().st_mtime
    )


class _SessionReader:
    """Reads the lines of one session of Claude Code into entries."""

    def __init__(self) -> None:
        self.builder = ImportedSessionBuilder(CLAUDE_PROGRAM_NAME)
        self.cwd = ""
        self.title = ""
        self.own_title = ""
        self._places: dict[str, str | None] = {}
        """The entry that stands for a line, by the line's uuid; for a line without one that of its parent."""
        self._turns: dict[str, str] = {}
        """The answer to which a result belongs, by the result's entry."""
        self._last_results: dict[str, str] = {}
        """The last result of an answer's calls: what follows the answer stands below it."""
        self._answers: dict[str, ImportedAnswerDraft] = {}
        self._owners: dict[str, str] = {}
        """The answer of each tool call, by the id of the call."""
        self._tokens_before = 0

    def read_line(self, line: dict[str, Any]) -> None:
        kind = line.get("type")
        if kind == "custom-title":
            self.own_title = text_or_empty(line.get("customTitle")) or self.own_title
        elif kind in ("summary", "ai-title"):
            self.title = text_or_empty(line.get("summary") or line.get("aiTitle")) or self.title
        elif line.get("isSidechain") is True:
            self.builder.left_out["messages of helpers"] += 1
        elif kind in ("user", "assistant", "system"):
            self._read_message(kind, line)
        elif kind not in _CLAUDE_STATE_LINE_TYPES:
            name = _LABEL_BY_LEFT_OUT_LINE_TYPE.get(text_or_empty(kind), "lines of unknown types")
            self.builder.left_out[name] += 1
            self._skip_line(line)

    def _read_message(self, kind: str, line: dict[str, Any]) -> None:
        builder, uuid = self.builder, line.get("uuid")
        if isinstance(uuid, str) and uuid in self._places:
            return  # a second copy of the line
        self.cwd = self.cwd or text_or_empty(line.get("cwd"))
        builder.leaf = self._parent_entry(line)
        time = builder.parse_time(line.get("timestamp"))
        message = dict_or_empty(line.get("message"))
        if kind == "assistant":
            self._read_answer(line, message, time)
        elif kind == "user":
            self._read_user_message(line, message, time)
        elif line.get("subtype") == "compact_boundary":
            self._tokens_before = token_count(dict_or_empty(line.get("compactMetadata")).get("preTokens"))
        if isinstance(uuid, str):
            self._places[uuid] = builder.leaf

    def _skip_line(self, line: dict[str, Any]) -> None:
        uuid = line.get("uuid")
        if isinstance(uuid, str):
            self._places[uuid] = self._parent_entry(line)

    def _parent_entry(self, line: dict[str, Any]) -> str | None:
        """Returns the entry below which a line stands: that of its parent, else the last one. A prompt that names
        no parent begins the conversation again."""
        for key in ("parentUuid", "logicalParentUuid"):
            uuid = line.get(key)
            if isinstance(uuid, str) and uuid in self._places:
                return self._after_results(self._places[uuid])
        begins_again = line.get("type") == "user" and "parentUuid" in line and line["parentUuid"] is None
        return None if begins_again else self.builder.leaf

    def _after_results(self, place: str | None) -> str | None:
        if place is None:
            return None
        answer = self._turns.get(place, place)
        return self._last_results.get(answer, place)

    def _read_answer(self, line: dict[str, Any], message: dict[str, Any], time: int) -> None:
        builder = self.builder
        key = text_or_empty(message.get("id")) or text_or_empty(line.get("requestId"))
        draft = self._answers.get(key) if key else None
        if draft is None:
            draft = builder.add_answer(
                time, "anthropic", "anthropic-messages", text_or_empty(message.get("model"))
            )
            self._answers[key or draft.id] = draft
        else:
            builder.leaf = self._after_results(draft.id)
        for block in list_or_empty(message.get("content")):
            self._read_part(draft, dict_or_empty(block))
        told = dict_or_empty(message.get("usage"))
        if told:
            draft.usage = make_imported_usage(
                total=token_count(told.get("input_tokens")),
                output=token_count(told.get("output_tokens")),
                read=token_count(told.get("cache_read_input_tokens")),
                write=token_count(told.get("cache_creation_input_tokens")),
                cost=line.get("costUSD", 0),
            )
        draft.stop_reason = _STOP_REASONS.get(text_or_empty(message.get("stop_reason"))) or draft.stop_reason
        if line.get("isApiErrorMessage") is True:
            draft.stop_reason = "error"
            draft.error = (
                "\n".join(block.text for block in draft.content if isinstance(block, Text)) or "failed"
            )

    def _read_part(self, draft: ImportedAnswerDraft, block: dict[str, Any]) -> None:
        match block.get("type"):
            case "text" if text_or_empty(block.get("text")):
                draft.content.append(Text(text=block["text"]))
            case "thinking" if text_or_empty(block.get("thinking")) or text_or_empty(block.get("signature")):
                draft.content.append(
                    make_imported_thinking(text_or_empty(block.get("thinking")), block.get("signature"))
                )
            case "redacted_thinking":
                draft.content.append(make_imported_thinking("", block.get("data"), is_redacted=True))
            case "tool_use":
                self.builder.add_call(draft, block.get("id"), block.get("name"), block.get("input"))
                self._owners.setdefault(text_or_empty(block.get("id")), draft.id)
            case "text" | "thinking":
                pass
            case _:
                self.builder.left_out["parts of answers of unknown types"] += 1

    def _read_user_message(self, line: dict[str, Any], message: dict[str, Any], time: int) -> None:
        builder = self.builder
        content = message.get("content")
        if line.get("isCompactSummary") is True:
            builder.add_compaction(_joined_text(content), time, self._tokens_before)
            return
        blocks = (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else map(dict_or_empty, list_or_empty(content))
        )
        own: list[UserContent] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._read_result(block, time)
            else:
                own += self._user_content(block)
        if not own:
            return
        told = "\n".join(block.text for block in own if isinstance(block, Text))
        if line.get("isMeta") is True:
            builder.add_context(told, time)
        elif told.lstrip().startswith(_LOCAL_COMMAND_OUTPUT_TAGS):
            builder.left_out["output of its own commands"] += 1
        elif (command := _COMMAND_NAME_PATTERN.search(told)) is not None:
            arguments = _COMMAND_ARGUMENTS_PATTERN.search(told)
            words = f"/{command[1].lstrip('/')} {arguments[1].strip() if arguments else ''}".strip()
            builder.add_prompt([Text(text=words)], time)
        else:
            builder.add_prompt(own, time)

    def _read_result(self, block: dict[str, Any], time: int) -> None:
        builder = self.builder
        told = block.get("content")
        parts = (
            [{"type": "text", "text": told}]
            if isinstance(told, str)
            else map(dict_or_empty, list_or_empty(told))
        )
        content = [part for one in parts for part in self._user_content(one)]
        owner = self._owners.get(text_or_empty(block.get("tool_use_id")))
        if owner is not None:
            builder.leaf = self._last_results.get(owner, owner)
        entry = builder.add_result(
            block.get("tool_use_id"), content, time, is_error=block.get("is_error") is True
        )
        if entry is not None and owner is not None:
            self._turns[entry] = owner
            self._last_results[owner] = entry

    def _user_content(self, block: dict[str, Any]) -> list[UserContent]:
        if block.get("type") == "text":
            return [Text(text=block["text"])] if text_or_empty(block.get("text")) else []
        source = dict_or_empty(block.get("source"))
        if block.get("type") == "image":
            found = make_imported_image(source.get("data"), source.get("media_type"))
            if found is not None:
                return [found]
            self.builder.left_out["images that cannot be read"] += 1
        else:
            self.builder.left_out["documents and other attachments"] += 1
        return []


def _joined_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_or_empty(dict_or_empty(block).get("text")) for block in list_or_empty(content))
