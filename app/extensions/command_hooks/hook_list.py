"""The list of hooks that `/hooks` shows, and the inputs of hooks: real ones, and samples for trying one."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from app.extensions.command_hooks.hook_runs import LastHookRun
from app.extensions.handler_contexts import Context
from app.resources.hook_files import ConfiguredHook, HookEvent
from app.resources.paths import BayouPaths
from tools.text_sanitizing import reveal_hidden_characters
from tools.text_tables import align_columns

NO_HOOKS_TEXT = (
    "No hooks. A hook runs a command of yours before or after a tool call, a prompt, or a session: put it into "
    "~/.claude/settings.json, .claude/settings.json or .bayou/settings.json (docs/hooks.md)."
)
_SAMPLE_HOOK_INPUTS: Mapping[HookEvent, Mapping[str, Any]] = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "try"},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_response": {"content": "README.md", "isError": False},
        "tool_use_id": "try",
    },
    "UserPromptSubmit": {"prompt": "A prompt to try a hook with."},
    "Stop": {"stop_hook_active": False, "last_assistant_message": ""},
    "SubagentStop": {
        "stop_hook_active": False,
        "agent_id": "try",
        "agent_type": "general",
        "agent_transcript_path": "",
        "last_assistant_message": "",
    },
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "Notification": {
        "message": "A notification to try a hook with.",
        "notification_type": "permission_prompt",
    },
}


def make_hook_input(event: HookEvent, context: Context, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON input of a hook's program: the fields that all events have, and those of this event."""
    record = context.session
    return {
        "session_id": record.id,
        "transcript_path": str(record.file or ""),
        "cwd": str(context.cwd),
        "hook_event_name": event,
        **fields,
    }


def make_sample_hook_input(hook: ConfiguredHook, context: Context) -> dict[str, Any]:
    """Returns an input for trying a hook."""
    return make_hook_input(hook.event, context, _SAMPLE_HOOK_INPUTS[hook.event])


def format_hook_table_lines(
    hooks: Sequence[ConfiguredHook], runs: Mapping[ConfiguredHook, LastHookRun], paths: BayouPaths
) -> list[str]:
    """Returns the heads of a table of the hooks, and a line for each."""
    rows = [
        (
            reveal_hidden_characters(hook.purpose),
            _last_run(runs.get(hook)),
            f"plugin {hook.plugin.name}" if hook.plugin is not None else paths.shown(hook.file),
            reveal_hidden_characters(hook.command_line),
        )
        for hook in hooks
    ]
    return align_columns((("hook", "last run", "from", "command"), *rows)) if rows else []


def hook_trial_result_text(hook: ConfiguredHook, run: LastHookRun) -> str:
    """Describes the result of trying a hook."""
    answer = run.answer
    parts = [f"{hook.event} hook `{hook.name}`: {_run_outcome(run)} after {run.seconds:.2f} s."]
    parts += [text for text in (answer.failure, answer.reason, answer.context, answer.message) if text]
    if answer.changed_input is not None:
        parts.append(f"Changed input: {answer.changed_input}")
    return "\n".join(parts)


def _last_run(run: LastHookRun | None) -> str:
    if run is None:
        return "not run yet"
    at = time.strftime("%H:%M:%S", time.localtime(run.started_at))
    return f"{_run_outcome(run)} at {at}, {run.seconds:.2f} s"


def _run_outcome(run: LastHookRun) -> str:
    if run.answer.failure:
        return "failed"
    return {"pass": "passed", "ask": "asked", "block": "blocked"}[run.answer.decision]
