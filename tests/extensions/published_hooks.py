"""The shape of hook payloads as Claude Code publishes it, in the types of `@anthropic-ai/claude-agent-sdk` 0.3.332:
for each event the fields, with their type or their values."""

from typing import Any

OPTIONAL = "?"
"""Ends the name of a field that may be absent."""
BASE: dict[str, Any] = {"session_id": str, "transcript_path": str, "cwd": str, "hook_event_name": str}
BASE |= {"prompt_id?": str, "permission_mode?": str, "agent_id?": str, "agent_type?": str, "effort?": dict}
_STOP = {
    "stop_hook_active": bool,
    "last_assistant_message?": str,
    "background_tasks?": list,
    "session_crons?": list,
}
_CALL = {"tool_name": str, "tool_input": object, "tool_use_id": str, "mcp_server?": dict}
EVENTS: dict[str, dict[str, Any]] = {
    "PreToolUse": _CALL,
    "PostToolUse": {**_CALL, "tool_response": object, "duration_ms?": (int, float)},
    "UserPromptSubmit": {
        "prompt": str,
        "source?": ("user", "sdk", "system", "loop_wakeup", "schedule_wakeup", "poll_event"),
        "session_title?": str,
    },
    "Stop": _STOP,
    "SubagentStop": {**_STOP, "agent_id": str, "agent_transcript_path": str, "agent_type": str},
    "SessionStart": {
        "source": ("startup", "resume", "clear", "compact", "fork"),
        "model?": str,
        "session_title?": str,
        "seconds_since_last_response?": (int, float),
        "context_tokens?": (int, float),
        "prompt_cache_likely_expired?": bool,
        "estimated_cache_write_usd?": (int, float),
    },
    "SessionEnd": {"reason": ("clear", "resume", "logout", "prompt_input_exit", "other")},
    "PreCompact": {"trigger": ("manual", "auto"), "custom_instructions": (str, type(None))},
    "Notification": {"message": str, "title?": str, "notification_type": str},
}


def faults(payload: dict[str, Any]) -> list[str]:
    """Returns how a payload differs from the published type."""
    shape = {**BASE, **EVENTS[payload["hook_event_name"]]}
    fields = {name.removesuffix(OPTIONAL): kind for name, kind in shape.items()}
    found = [f"{name} is unknown" for name in payload if name not in fields]
    found += [f"{name} is missing" for name in shape if not name.endswith(OPTIONAL) and name not in payload]
    found += [
        f"{name} is {payload[name]!r}"
        for name, kind in fields.items()
        if name in payload and not _fits(payload[name], kind)
    ]
    return found


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, tuple) and all(isinstance(one, str) for one in kind):
        return value in kind
    return isinstance(value, kind) and not (isinstance(value, bool) and kind not in (bool, object))
