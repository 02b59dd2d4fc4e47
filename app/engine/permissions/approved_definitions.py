"""Stores the definitions of MCP tools that were allowed. An allow rule stops counting when a server changes
the description or the arguments of a tool."""

import hashlib
import threading
from pathlib import Path

import msgspec

from app.agent.tool_pipeline import ParsedToolCall
from app.permits.permission_decisions import CallPartDecision, ToolCallDecision, is_decided_by_mode
from tools.tool_definition import Tool

_MAX_APPROVED_DEFINITIONS = 5_000


class ApprovedMcpToolDefinitions:
    """The approved definitions of MCP tools on disk, for all sessions of the user. An unreadable file counts as
    empty, and rules apply."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._digests: dict[str, str] | None = None
        self._lock = threading.Lock()

    def check_definition(self, reading: ParsedToolCall, decision: ToolCallDecision) -> ToolCallDecision:
        """Returns the decision on a call without its allow rule if the MCP tool's definition has changed; modes
        allow any definition."""
        if (
            not _is_decided_by_rule(reading, decision)
            or decision.outcome != "run"
            or not self._has_changed(reading.tool)
        ):
            return decision
        return _remove_allow_rule(decision)

    def store_definition(self, reading: ParsedToolCall, decision: ToolCallDecision | None = None) -> None:
        """Stores the definition of an MCP tool that the user or a rule allowed."""
        if reading.effects.server and (decision is None or _is_decided_by_rule(reading, decision)):
            self._store_definition(reading.tool)

    def _has_changed(self, tool: Tool) -> bool:
        """Whether the MCP tool was allowed before with another definition."""
        known = self._load_digests().get(tool.name)
        return known is not None and known != _definition_digest(tool)

    def _store_definition(self, tool: Tool) -> None:
        """Writes the definition of an MCP tool to the file of approved definitions."""
        known = self._load_digests()
        with self._lock:
            if known.get(tool.name) == _definition_digest(tool):
                return
            known.pop(tool.name, None)
            known[tool.name] = _definition_digest(tool)
            while len(known) > _MAX_APPROVED_DEFINITIONS:
                known.pop(next(iter(known)))
            text = msgspec.json.encode(known)
        if self._path is not None:
            # The file writer imports threads, which a start without servers does not need.
            from tools.files.atomic_replacement import replace_file_atomically  # noqa: PLC0415

            try:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                replace_file_atomically(self._path, text, durable=False)
            except OSError:
                pass  # It is asked about once more in the next session.

    def _load_digests(self) -> dict[str, str]:
        with self._lock:
            if self._digests is None:
                try:
                    data = self._path.read_bytes() if self._path is not None else b"{}"
                    self._digests = msgspec.json.decode(data, type=dict[str, str])
                except (OSError, msgspec.MsgspecError):
                    self._digests = {}
            return self._digests


def _remove_allow_rule(decision: ToolCallDecision) -> ToolCallDecision:
    """Returns the decision on a call without the rule that allowed it; the question to the user says why."""
    why = "its server changed this tool's description since it was allowed"
    return msgspec.structs.replace(
        decision,
        outcome="ask",
        part_decisions=tuple(
            CallPartDecision(
                part=msgspec.structs.replace(answer.part, why=f"{answer.part.why}; {why}"),
                outcome="ask",
                decided_by=f"{answer.decided_by}, which is inactive",
            )
            for answer in decision.part_decisions
        ),
        verdict=msgspec.structs.replace(
            decision.verdict,
            parts=tuple(
                msgspec.structs.replace(part, why=f"{part.why}; {why}") for part in decision.verdict.parts
            ),
        ),
    )


def _is_decided_by_rule(reading: ParsedToolCall, decision: ToolCallDecision) -> bool:
    return bool(reading.effects.server) and not is_decided_by_mode(decision.decided_by)


def _definition_digest(tool: Tool) -> str:
    said = msgspec.json.encode((tool.description, tool.schema), order="sorted")
    return hashlib.sha256(said).hexdigest()[:32]
