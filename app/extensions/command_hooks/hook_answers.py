"""Reads the answer of a hook's program: its exit code, or JSON in Claude Code's form."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from app.extensions.extension_programs import ExecResult
from app.resources.hook_files import ConfiguredHook
from tools.text_sanitizing import render_plain_output

MAX_HOOK_OUTPUT_BYTES = 1_000_000
MAX_HOOK_REASON_CHARS = 4_000
BLOCKING_EXIT_CODE = 2
EVENTS_WITH_OUTPUT_AS_CONTEXT = ("UserPromptSubmit", "SessionStart")
"""Events for which plain text on standard output is context for the model."""


class CommandHookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one hook. The default lets everything pass."""

    decision: Literal["pass", "ask", "block"] = "pass"
    reason: str = ""
    context: str = ""
    """Text for the model."""
    changed_input: dict[str, Any] | None = None
    message: str = ""
    """Text for the user."""
    ends_run: bool = False
    """Whether the run ends."""
    failure: str = ""
    """Why the hook has no answer."""


class _HookSpecificOutput(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    hook_event_name: str = ""
    permission_decision: Literal["allow", "deny", "ask", "defer"] | None = None
    """`defer` leaves the decision to a later question; here it asks the user."""
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None


class _HookJsonOutput(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    continue_: bool = msgspec.field(name="continue", default=True)
    stop_reason: str | None = None
    decision: Literal["approve", "block", "allow", "deny", "ask"] | None = None
    reason: str | None = None
    system_message: str | None = None
    hook_specific_output: _HookSpecificOutput | None = None


def read_command_hook_answer(hook: ConfiguredHook, result: ExecResult) -> CommandHookAnswer:
    """Returns the answer of a program that has ended. An answer in an unknown form is a failure."""
    errors = _clean_text(result.stderr)
    if result.is_truncated:
        return failed_command_hook_answer(
            hook, f"it wrote more than {MAX_HOOK_OUTPUT_BYTES // 1_000_000} MB and was ended"
        )
    if result.was_killed:
        why = f"it took longer than {hook.timeout_seconds:g} seconds and was ended"
        return failed_command_hook_answer(hook, f"{why}: {errors}" if errors else why)
    if result.code == BLOCKING_EXIT_CODE:
        return CommandHookAnswer(decision="block", reason=errors or f"blocked by the hook `{hook.name}`")
    if result.code != 0:
        how = f"exit code {result.code}" if result.code > 0 else f"signal {-result.code}"
        return failed_command_hook_answer(hook, f"{how}: {errors}" if errors else how)
    text = result.stdout.strip()
    if not text.startswith("{"):
        return CommandHookAnswer(
            context=_clean_text(text) if hook.event in EVENTS_WITH_OUTPUT_AS_CONTEXT else ""
        )
    try:
        return _answer_from_output(msgspec.json.decode(text, type=_HookJsonOutput))
    except (msgspec.ValidationError, msgspec.DecodeError) as problem:
        return failed_command_hook_answer(hook, f"its output cannot be read: {problem}")


def strictest_answer(answers: Sequence[CommandHookAnswer]) -> CommandHookAnswer:
    """Combines answers about one event: what blocks goes before what asks, changes of the input are applied in their
    order, texts are joined."""
    blocked = [one for one in answers if one.decision == "block"]
    asked = [one for one in answers if one.decision == "ask"]
    changed: dict[str, Any] | None = None
    for one in answers:
        if one.changed_input is not None:
            changed = {**(changed or {}), **one.changed_input}
    return CommandHookAnswer(
        decision="block" if blocked else "ask" if asked else "pass",
        reason=_joined_texts(one.reason for one in blocked or asked),
        context=_joined_texts(one.context for one in answers),
        changed_input=changed,
        message=_joined_texts(one.message for one in answers),
        ends_run=any(one.ends_run for one in answers),
    )


def _joined_texts(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts))


def failed_command_hook_answer(hook: ConfiguredHook, why: str) -> CommandHookAnswer:
    return CommandHookAnswer(failure=f"The {hook.event} hook `{hook.name}` failed ({why}).")


def _answer_from_output(output: _HookJsonOutput) -> CommandHookAnswer:
    more = output.hook_specific_output or _HookSpecificOutput()
    said = more.permission_decision or output.decision
    decision: Literal["pass", "ask", "block"] = (
        "block" if said in ("deny", "block") else "ask" if said in ("ask", "defer") else "pass"
    )
    reason = more.permission_decision_reason or output.reason or ""
    if not output.continue_:
        return CommandHookAnswer(
            decision="block",
            reason=_clean_text(output.stop_reason or reason or "stopped by a hook"),
            message=_clean_text(output.system_message or ""),
            ends_run=True,
        )
    return CommandHookAnswer(
        decision=decision,
        reason=_clean_text(reason),
        context=_clean_text(more.additional_context or ""),
        changed_input=more.updated_input,
        message=_clean_text(output.system_message or ""),
    )


def _clean_text(text: str) -> str:
    """Removes control characters from a text of a hook, and shortens it."""
    clean = render_plain_output(text.strip())
    return clean if len(clean) <= MAX_HOOK_REASON_CHARS else f"{clean[:MAX_HOOK_REASON_CHARS]} …"
