"""Reads sessions of codex: files of JSON lines below `~/.codex/sessions`, also in the form from before 2025-09."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.imports.json_lines_files import read_json_lines
from app.imports.session_builder import (
    ImportedAnswerDraft,
    ImportedSession,
    ImportedSessionBuilder,
    SessionNotImportable,
    dict_or_empty,
    image_from_data_url,
    list_or_empty,
    make_imported_thinking,
    make_imported_usage,
    text_or_empty,
    token_count,
)
from app.values.codec import decode_json
from app.values.content import Text, UserContent
from tools.lazy_patterns import lazy_regex

CODEX_PROGRAM_NAME = "codex"
_SESSION_ID_IN_FILE_NAME_PATTERN = lazy_regex(
    r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl\Z"
)
_CWD_TAG_PATTERN = lazy_regex(r"<cwd>([^<]*)</cwd>", re.DOTALL)
_CODEX_CONTEXT_TAGS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
)
"""How texts begin that the program itself adds for the model."""
_TOOL_CALL_ITEM_TYPES = ("function_call", "custom_tool_call", "local_shell_call")
_TOOL_OUTPUT_ITEM_TYPES = ("function_call_output", "custom_tool_call_output")


def session_files(folder: Path) -> Iterator[Path]:
    for name in ("sessions", "archived_sessions"):
        yield from (file for file in sorted(folder.glob(f"{name}/**/*.jsonl")) if file.is_file())


def session_id_in_file_name(file: Path) -> str:
    """Returns the id in a file's name; empty if there is none."""
    named = _SESSION_ID_IN_FILE_NAME_PATTERN.search(file.name)
    return named[1] if named else ""


def codex_thread_names(folder: Path) -> Mapping[str, str]:
    """Returns the names that people gave to sessions, by the session's id."""
    try:
        lines = list(read_json_lines(folder / "session_index.jsonl", Counter()))
    except OSError:
        return {}
    return {text_or_empty(line.get("id")): text_or_empty(line.get("thread_name")) for line in lines}


def read_session(file: Path, home: Path, names: Mapping[str, str]) -> ImportedSession:
    """Reads a session file of codex. Raises `OSError`, and `SessionNotImportable` if the file has no conversation of
    the person."""
    reading = _SessionReader()
    for line in read_json_lines(file, reading.builder.left_out):
        reading.read_line(line)
    if reading.is_helper:
        raise SessionNotImportable("is the session of a helper agent")
    session_id = reading.id or session_id_in_file_name(file) or file.stem
    reading.builder.title = names.get(session_id) or reading.title
    return reading.builder.build_session(
        session_id, reading.cwd, default_cwd=home, file_time=file.stat().st_mtime
    )


class _SessionReader:
    """Reads the lines of one session of codex into entries."""

    def __init__(self) -> None:
        self.builder = ImportedSessionBuilder(CODEX_PROGRAM_NAME)
        self.id = ""
        self.cwd = ""
        self.title = ""
        self.is_helper = False
        self._provider = "openai"
        self._model = ""
        self._answer: ImportedAnswerDraft | None = None
        """The answer that further parts belong to."""
        self._last_answer: ImportedAnswerDraft | None = None
        self._total: Any = None
        """The last total of tokens: the same one again reports nothing new."""
        self._window = 0
        """The tokens of the last request."""
        self._prompts: list[str | None] = []
        """The entry above each prompt on the present path, to which a rollback returns."""

    def read_line(self, line: dict[str, Any]) -> None:
        kind, payload = line.get("type"), dict_or_empty(line.get("payload"))
        time = self.builder.parse_time(line.get("timestamp"))
        match kind:
            case "session_meta":
                self._read_header(payload)
            case None if "id" in line and "record_type" not in line:  # the form from before 2025-09
                self._read_header(line)
            case "turn_context":
                self._model = text_or_empty(payload.get("model")) or self._model
                self.cwd = self.cwd or text_or_empty(payload.get("cwd"))
            case "response_item":
                self._read_item(payload, time)
            case "event_msg":
                self._read_event(payload)
            case "compacted":
                self._answer = None
                self.builder.add_compaction(text_or_empty(payload.get("message")), time, self._window)
            case _ if "payload" not in line and isinstance(kind, str):
                self._read_item(line, time)
            case _:
                pass

    def _read_header(self, header: dict[str, Any]) -> None:
        if self.id:
            return  # a fork repeats the header of its origin behind its own
        self.id = text_or_empty(header.get("id"))
        self.cwd = text_or_empty(header.get("cwd"))
        self._provider = text_or_empty(header.get("model_provider")) or "openai"
        self.is_helper = "subagent" in dict_or_empty(header.get("source"))
        self.builder.parse_time(header.get("timestamp"))

    def _read_event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "token_count":
                self._read_usage(dict_or_empty(event.get("info")))
            case "thread_name_updated":
                self.title = text_or_empty(event.get("thread_name"))
            case "turn_aborted" if self._last_answer is not None and not self._last_answer.content:
                self._last_answer.stop_reason = "aborted"
            case "thread_rolled_back":
                turns = token_count(event.get("num_turns"))
                if 0 < turns <= len(self._prompts):
                    self.builder.leaf = self._prompts[-turns]
                    del self._prompts[-turns:]
                self._answer = None
            case _:
                pass

    def _read_usage(self, info: dict[str, Any]) -> None:
        told, total = dict_or_empty(info.get("last_token_usage")), info.get("total_token_usage")
        if not told or total == self._total or self._last_answer is None:
            return
        self._total, self._window = total, token_count(told.get("total_tokens"))
        cached = token_count(told.get("cached_input_tokens"))
        before, self._last_answer.usage = (
            self._last_answer.usage,
            make_imported_usage(
                total=max(token_count(told.get("input_tokens")) - cached, 0),
                output=token_count(told.get("output_tokens")),
                read=cached,
                reasoning=token_count(told.get("reasoning_output_tokens")),
            ),
        )
        if before.total_tokens:
            self._last_answer.usage = before + self._last_answer.usage

    def _read_item(self, item: dict[str, Any], time: int) -> None:
        kind = item.get("type")
        if kind == "message":
            self._read_message(item, time)
        elif kind == "reasoning":
            parts = [*list_or_empty(item.get("summary")), *list_or_empty(item.get("content"))]
            told = "\n\n".join(
                filter(None, (text_or_empty(dict_or_empty(part).get("text")) for part in parts))
            )
            if told:
                self._open_answer(time).content.append(make_imported_thinking(told))
            elif item.get("encrypted_content"):
                self.builder.left_out["encrypted thinking"] += 1
        elif kind in _TOOL_CALL_ITEM_TYPES:
            self._read_call(item, time)
        elif kind in _TOOL_OUTPUT_ITEM_TYPES:
            self._answer = None
            content, is_error = self._output_content(item.get("output"))
            self.builder.add_result(item.get("call_id"), content, time, is_error=is_error)
        elif kind == "compaction":
            self.builder.left_out["encrypted summaries"] += 1
        elif kind != "ghost_snapshot":
            name = {"web_search_call": "searches of the provider"}.get(
                text_or_empty(kind), "items of unknown types"
            )
            self.builder.left_out[name] += 1

    def _read_message(self, item: dict[str, Any], time: int) -> None:
        content = self._message_content(item.get("content"))
        told = "\n".join(block.text for block in content if isinstance(block, Text))
        if item.get("role") == "assistant":
            if told:
                self._open_answer(time).content.append(Text(text=told))
            return
        if item.get("role") != "user" or told.lstrip().startswith(_CODEX_CONTEXT_TAGS):
            named = _CWD_TAG_PATTERN.search(told)
            self.cwd = self.cwd or (named[1].strip() if named else "")
            self.builder.left_out["messages of the program to the model"] += 1
            return
        above = self.builder.leaf
        if self.builder.add_prompt(content, time) is not None:
            self._answer = None
            self._prompts.append(above)

    def _open_answer(self, time: int) -> ImportedAnswerDraft:
        if self._answer is None:
            api = "openai-responses" if self._provider == "openai" else ""
            self._answer = self.builder.add_answer(time, self._provider, api, self._model)
            self._last_answer = self._answer
        return self._answer

    def _read_call(self, item: dict[str, Any], time: int) -> None:
        name, arguments = item.get("name"), item.get("arguments")
        if item.get("type") == "custom_tool_call":
            arguments = {"input": item.get("input")}
        elif item.get("type") == "local_shell_call":
            name, arguments = "local_shell", dict_or_empty(item.get("action"))
        self.builder.add_call(self._open_answer(time), item.get("call_id") or item.get("id"), name, arguments)

    def _output_content(self, output: Any) -> tuple[list[UserContent], bool]:
        """Returns the content of a result, and whether the call failed. A text may be JSON of text and exit code."""
        if isinstance(output, str):
            try:
                data = dict_or_empty(decode_json(output)) if output.startswith("{") else {}
            except msgspec.DecodeError:
                data = {}
            if not isinstance(data.get("output"), str):
                return [Text(text=output)], False
            code = dict_or_empty(data.get("metadata")).get("exit_code", 0)
            return [Text(text=data["output"])], code != 0
        if isinstance(output, dict):
            content = output.get("content")
            inside = [Text(text=content)] if isinstance(content, str) else self._message_content(content)
            return [*inside], output.get("success") is False
        return self._message_content(output), False

    def _message_content(self, items: Any) -> list[UserContent]:
        found: list[UserContent] = []
        for item in map(dict_or_empty, list_or_empty(items)):
            if text_or_empty(item.get("text")):
                found.append(Text(text=item["text"]))
            elif item.get("type") == "input_image":
                image = image_from_data_url(item.get("image_url"))
                if image is not None:
                    found.append(image)
                else:
                    self.builder.left_out["images that cannot be read"] += 1
        return found
