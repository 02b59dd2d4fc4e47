"""The names that Claude Code has for bayou's tools: in hooks, `allowed-tools` and permissions."""

from collections.abc import Mapping

CLAUDE_CODE_TOOL_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": ("Bash",),
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit", "MultiEdit", "NotebookEdit"),
    "apply_patch": ("Edit", "MultiEdit", "NotebookEdit", "Write"),
    "grep": ("Grep",),
    "find": ("Glob",),
    "ls": ("LS", "Glob"),
    "ask": ("AskUserQuestion",),
    "jobs": ("BashOutput", "KillShell"),
    "task": ("Task", "Agent"),
    "todo": ("TodoWrite", "TodoRead"),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
}
"""Claude Code's names for each of bayou's tools; scripts of hooks get the first one."""


def bayou_tools_for_claude_tool(claude_name: str) -> tuple[str, ...]:
    """Returns the tools of bayou that do what a tool of Claude Code does."""
    return tuple(ours for ours, theirs in CLAUDE_CODE_TOOL_NAMES.items() if claude_name in theirs)
