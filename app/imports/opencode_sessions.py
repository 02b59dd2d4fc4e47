"""Reads sessions of opencode: a file for each session, message and part below `storage`, or the database
`opencode.db` of newer releases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

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
    milliseconds,
    text_or_empty,
    token_count,
)
from app.values.codec import decode_json
from app.values.content import Text, UserContent

OPENCODE_PROGRAM_NAME = "opencode"
_OPENCODE_STATE_PART_TYPES = frozenset(("step-start", "step-finish", "agent"))
_LABEL_BY_LEFT_OUT_PART_TYPE = {
    "snapshot": "copies of files for its undo",
    "patch": "copies of files for its undo",
    "subtask": "tasks of helpers",
    "retry": "repeated requests",
}


class StoredOpencodeSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as opencode stores it. The messages are read when they are needed."""

    id: str
    source: Path
    """The session's file, or the database."""
    info: dict[str, Any]

    @property
    def is_in_database(self) -> bool:
        return self.source.suffix == ".db"


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of a session, each with its parts."""

    messages: list[tuple[dict[str, Any], list[dict[str, Any]]]]
    broken_count: int = 0


def stored_opencode_sessions(folder: Path, problems: list[str]) -> Iterator[StoredOpencodeSession]:
    """Yields the sessions below the program's folder, each once; the database goes before files."""
    seen: set[str] = set()
    database = folder / "opencode.db"
    if database.is_file():
        for row in _query_rows(
            database, "select id, directory, title, parent_id, time_created from session", problems
        ):
            session_id, directory, title, parent, created = row
            if isinstance(session_id, str):
                info = {
                    "directory": directory,
                    "title": title,
                    "parentID": parent,
                    "time": {"created": created},
                }
                seen.add(session_id)
                yield StoredOpencodeSession(id=session_id, source=database, info=info)
    for file in sorted(folder.glob("storage/session/*/*.json")):
        info = _read_json_file(file)
        if info is None:
            problems.append(f"{file} cannot be read")
        elif (found := text_or_empty(info.get("id")) or file.stem) not in seen:
            seen.add(found)
            yield StoredOpencodeSession(id=found, source=file, info=info)


def read_session(stored: StoredOpencodeSession, home: Path) -> ImportedSession:
    """Reads a session of opencode. Raises `OSError`, and `SessionNotImportable` if it has no conversation of the
    person."""
    if stored.info.get("parentID"):
        raise SessionNotImportable("is the session of a helper agent")
    found = _read_from_database(stored) if stored.is_in_database else _read_from_files(stored)
    reading = _SessionReader(found.broken_count)
    undone = text_or_empty(dict_or_empty(stored.info.get("revert")).get("messageID"))
    for message, parts in found.messages:
        if undone and text_or_empty(message.get("id")) >= undone:
            reading.builder.left_out["messages that were undone"] += 1
            continue
        reading.read_message(message, parts)
    builder = reading.builder
    builder.title = text_or_empty(stored.info.get("title"))
    created = milliseconds(dict_or_empty(stored.info.get("time")).get("created")) or 0
    return builder.build_session(
        stored.id,
        stored.info.get("directory"),
        default_cwd=home,
        file_time=created / 1000 or _modified_time(stored),
    )


def _modified_time(stored: StoredOpencodeSession) -> float:
    return stored.source.stat().st_mtime


def _read_from_files(stored: StoredOpencodeSession) -> Conversation:
    storage = stored.source.parents[2]
    broken = 0
    messages: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for file in sorted((storage / "message" / stored.source.stem).glob("*.json")):
        message = _read_json_file(file)
        if message is None:
            broken += 1
            continue
        parts = [_read_json_file(part) for part in sorted((storage / "part" / file.stem).glob("*.json"))]
        broken += parts.count(None)
        messages.append(({"id": file.stem, **message}, [part for part in parts if part is not None]))
    return Conversation(messages=messages, broken_count=broken)


def _read_from_database(stored: StoredOpencodeSession) -> Conversation:
    problems: list[str] = []
    broken = 0
    parts: dict[str, list[dict[str, Any]]] = {}
    wanted = (stored.id,)
    listed = "select message_id, data from part where session_id = ? order by id"
    for message_id, data in _query_rows(stored.source, listed, problems, wanted):
        part = _decode_object(data)
        if part is None:
            broken += 1
        else:
            parts.setdefault(message_id, []).append(part)
    messages: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    listed = "select id, data from message where session_id = ? order by time_created, id"
    for message_id, data in _query_rows(stored.source, listed, problems, wanted):
        message = _decode_object(data)
        if message is None:
            broken += 1
        else:
            messages.append(({"id": message_id, **message}, parts.get(message_id, [])))
    if problems:
        raise SessionNotImportable(problems[0])
    return Conversation(messages=messages, broken_count=broken)


def _query_rows(
    database: Path, statement: str, problems: list[str], values: tuple[str, ...] = ()
) -> list[tuple[Any, ...]]:
    import sqlite3  # noqa: PLC0415  (newer releases only)

    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(statement, values).fetchall()
    except sqlite3.Error as problem:
        problems.append(f"{database} cannot be read: {problem}")
        return []


def _read_json_file(file: Path) -> dict[str, Any] | None:
    try:
        return _decode_object(file.read_bytes()) if file.is_file() else None
    except OSError:
        return None


def _decode_object(data: Any) -> dict[str, Any] | None:
    try:
        found = decode_json(data) if isinstance(data, str | bytes) else None
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


class _SessionReader:
    """Reads the messages of one session of opencode into entries."""

    def __init__(self, broken: int) -> None:
        self.builder = ImportedSessionBuilder(OPENCODE_PROGRAM_NAME)
        if broken:
            self.builder.left_out["messages and parts that cannot be read"] = broken

    def read_message(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        time = self.builder.parse_time(dict_or_empty(message.get("time")).get("created"))
        if message.get("role") == "user":
            self._read_prompt(parts, time)
        elif message.get("role") == "assistant":
            self._read_answer(message, parts, time)
        else:
            self.builder.left_out["messages of unknown roles"] += 1

    def _read_prompt(self, parts: list[dict[str, Any]], time: int) -> None:
        own: list[UserContent] = []
        added: list[str] = []
        for part in parts:
            told = text_or_empty(part.get("text"))
            if part.get("type") == "text" and told and part.get("ignored") is not True:
                if part.get("synthetic") is True:
                    added.append(told)
                else:
                    own.append(Text(text=told))
            elif part.get("type") == "file":
                own += self._file_content(part)
            else:
                self._count_left_out(part)
        self.builder.add_prompt(own, time)
        self.builder.add_context("\n\n".join(added), time)

    def _file_content(self, part: dict[str, Any]) -> list[UserContent]:
        found = image_from_data_url(part.get("url"))
        if found is not None:
            return [found]
        name = text_or_empty(part.get("filename"))
        if not name:
            self.builder.left_out["attached files"] += 1
        return [Text(text=f"@{name}")] if name else []

    def _read_answer(self, message: dict[str, Any], parts: list[dict[str, Any]], time: int) -> None:
        if message.get("summary") is True:
            told = "\n".join(text_or_empty(part.get("text")) for part in parts if part.get("type") == "text")
            self.builder.add_compaction(told, time)
            return
        model = text_or_empty(message.get("modelID"))
        draft = self.builder.add_answer(time, text_or_empty(message.get("providerID")), "", model)
        results: list[tuple[Any, dict[str, Any]]] = []
        for part in parts:
            self._read_part(draft, part, results)
        tokens = dict_or_empty(message.get("tokens"))
        cache = dict_or_empty(tokens.get("cache"))
        reasoning = token_count(tokens.get("reasoning"))
        draft.usage = make_imported_usage(
            total=token_count(tokens.get("input")),
            output=token_count(tokens.get("output")) + reasoning,
            read=token_count(cache.get("read")),
            write=token_count(cache.get("write")),
            reasoning=reasoning,
            cost=message.get("cost"),
        )
        error = dict_or_empty(message.get("error"))
        if error:
            is_abort = error.get("name") == "MessageAbortedError"
            draft.stop_reason = "aborted" if is_abort else "error"
            draft.error = (
                text_or_empty(dict_or_empty(error.get("data")).get("message"))
                or text_or_empty(error.get("name"))
                or "failed"
            )
        for call_id, state in results:
            self._read_result(call_id, state, time)

    def _read_part(
        self, draft: ImportedAnswerDraft, part: dict[str, Any], results: list[tuple[Any, dict[str, Any]]]
    ) -> None:
        told = text_or_empty(part.get("text"))
        match part.get("type"):
            case "text" if told:
                draft.content.append(Text(text=told))
            case "reasoning" if told:
                draft.content.append(make_imported_thinking(told))
            case "tool":
                state = dict_or_empty(part.get("state"))
                self.builder.add_call(draft, part.get("callID"), part.get("tool"), state.get("input"))
                results.append((part.get("callID"), state))
            case "text" | "reasoning":
                pass
            case _:
                self._count_left_out(part)

    def _read_result(self, call_id: Any, state: dict[str, Any], time: int) -> None:
        status = state.get("status")
        if status not in ("completed", "error"):
            return
        ended = milliseconds(dict_or_empty(state.get("time")).get("end")) or time
        told = text_or_empty(state.get("error") if status == "error" else state.get("output"))
        images = [
            image_from_data_url(dict_or_empty(one).get("url"))
            for one in list_or_empty(state.get("attachments"))
        ]
        content: list[UserContent] = [Text(text=told)] if told else []
        content += [one for one in images if one is not None]
        self.builder.add_result(call_id, content, ended, is_error=status == "error")

    def _count_left_out(self, part: dict[str, Any]) -> None:
        kind = text_or_empty(part.get("type"))
        if kind not in _OPENCODE_STATE_PART_TYPES and not (
            kind == "text" and (part.get("ignored") or not part.get("text"))
        ):
            self.builder.left_out[_LABEL_BY_LEFT_OUT_PART_TYPE.get(kind, "parts of unknown types")] += 1
