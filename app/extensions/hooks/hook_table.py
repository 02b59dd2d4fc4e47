"""Defines the hooks by name: payload, possible answer, how several answers are combined, and the effect of a
failure.

`notify` hooks cannot answer. `gate` hooks decide whether something happens; a handler that fails closes the
gate. `change` hooks may change something, each seeing the results of those before it; a handler that fails
changes nothing. Besides these, every event of a session (`app.values.events`) can be listened to by its
`type`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from app.engine.core.prompt_intake import SessionRequestRefused
from app.extensions.hooks import answer_merging as fold
from app.extensions.hooks import payloads as p
from app.values.events import Event

ExtensionHookKind = Literal["notify", "gate", "change"]
MergeHookAnswers = Callable[[Any, Any, Any], Any]
"""(payload, combined answer so far or None, this answer) → combined answer. It may change the payload for
later handlers."""


class HookDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """One hook: its kind, its payload and answer types, and how answers are combined."""

    name: str
    kind: ExtensionHookKind
    payload: Any
    help: str
    answer: Any = None
    merge: MergeHookAnswers | None = None
    is_final_answer: Callable[[Any], bool] | None = None
    """Whether this answer ends the hook, so that later handlers are not called."""
    is_slow: bool = False
    """The hook may ask a model, so its time limit is many times longer."""
    answer_on_failure: Callable[[str], Any] | None = None
    """Makes a gate's answer when a handler failed."""
    answer_if_undecodable: Callable[[str], Any] | None = None
    """Makes the answer that replaces one that cannot be decoded, or raises `UserError`. Without it, such an
    answer changes nothing."""


class InvalidHookAnswer(TypeError):
    """A handler returned a value that is not a valid answer to its hook."""


def _refuse_to_send(reason: str) -> Any:
    raise SessionRequestRefused(f"{reason} Nothing was sent.")


def _notification_hook(name: str, payload: Any, help: str) -> HookDefinition:
    return HookDefinition(name=name, kind="notify", payload=payload, help=help)


def _change_hook(
    name: str, payload: Any, answer: Any, fold: MergeHookAnswers, help: str, **more: Any
) -> HookDefinition:
    return HookDefinition(
        name=name, kind="change", payload=payload, answer=answer, merge=fold, help=help, **more
    )


def _is_cancelled(answer: Any) -> bool:
    return answer is not None and answer.cancel


HOOK_DEFINITIONS: dict[str, HookDefinition] = {
    hook.name: hook
    for hook in (
        _change_hook(
            "project_trust",
            p.ProjectTrust,
            p.TrustAnswer,
            fold.merge_trust_answers,
            "May decide whether a folder is trusted; the first decision is used.",
            is_final_answer=lambda answer: answer is not None and answer.trusted != "undecided",
        ),
        _change_hook(
            "resources_discover",
            p.ResourcesDiscover,
            p.ResourcePaths,
            fold.merge_resource_answers,
            "May add folders with skills, prompts and themes.",
        ),
        _notification_hook(
            "session_start", p.SessionStart, "A session was opened and extensions are loaded."
        ),
        _notification_hook(
            "session_shutdown",
            p.SessionShutdown,
            "The session is about to close, or extensions are about to reload.",
        ),
        _change_hook(
            "session_before_switch",
            p.SessionBeforeSwitch,
            p.CancelAnswer,
            fold.merge_answers_later_wins,
            "May cancel /new and /resume.",
            is_final_answer=_is_cancelled,
            answer_if_undecodable=lambda reason: p.CancelAnswer(cancel=True),
        ),
        _change_hook(
            "session_before_fork",
            p.SessionBeforeFork,
            p.CancelAnswer,
            fold.merge_answers_later_wins,
            "May cancel a fork.",
            is_final_answer=_is_cancelled,
            answer_if_undecodable=lambda reason: p.CancelAnswer(cancel=True),
        ),
        _change_hook(
            "session_before_compact",
            p.SessionBeforeCompact,
            p.CompactAnswer,
            fold.merge_answers_later_wins,
            "May cancel a compaction, write its summary, or change its instructions.",
            is_final_answer=_is_cancelled,
            is_slow=True,
            answer_if_undecodable=lambda reason: p.CompactAnswer(cancel=True),
        ),
        _notification_hook("session_compact", p.SessionCompact, "A compaction is in force."),
        _notification_hook(
            "session_compact_failed", p.SessionCompactFailed, "A compaction failed or was aborted."
        ),
        _notification_hook("session_compact", p.SessionCompact, "A compaction was made."),
        _notification_hook(
            "session_compact_failed", p.SessionCompactFailed, "A compaction failed or was aborted."
        ),
        _change_hook(
            "session_before_tree",
            p.SessionBeforeTree,
            p.TreeAnswer,
            fold.merge_answers_later_wins,
            "May cancel going to another point, or summarise the branch that is left.",
            is_final_answer=_is_cancelled,
            is_slow=True,
            answer_if_undecodable=lambda reason: p.TreeAnswer(cancel=True),
        ),
        _notification_hook(
            "session_tree", p.SessionTree, "The conversation continues at another point of the tree."
        ),
        _change_hook(
            "input",
            p.Input,
            p.InputAnswer,
            fold.merge_input_answers,
            "May change a prompt, handle it instead of the agent, or refuse it.",
            is_final_answer=lambda answer: answer is not None and answer.action in ("handled", "refuse"),
            answer_if_undecodable=_refuse_to_send,
        ),
        _change_hook(
            "before_agent_start",
            p.BeforeAgentStart,
            p.BeforeAgentStartAnswer,
            fold.merge_agent_start_answers,
            "May add a message or change the system prompt of a run.",
        ),
        _change_hook(
            "context",
            p.ContextPayload,
            p.ContextAnswer,
            fold.merge_context_answers,
            "May change the messages that the model reads, without system messages.",
            answer_if_undecodable=_refuse_to_send,
        ),
        _change_hook(
            "context_with_system",
            p.ContextPayload,
            p.ContextAnswer,
            fold.merge_context_answers,
            "Like `context`, with a system message at the beginning: the prompt (`content`) and the tools "
            "(`tools_added`).",
            answer_if_undecodable=_refuse_to_send,
        ),
        _change_hook(
            "before_provider_request",
            p.BeforeProviderRequest,
            p.PayloadAnswer,
            fold.merge_payload_answers,
            "May replace the request's payload.",
            answer_if_undecodable=_refuse_to_send,
        ),
        _notification_hook(
            "before_provider_headers", p.BeforeProviderHeaders, "May change the request's headers in place."
        ),
        _notification_hook("after_provider_response", p.AfterProviderResponse, "Response headers arrived."),
        _notification_hook(
            "provider_stream_event", p.ProviderStreamEvent, "One event of the provider's stream, unchanged."
        ),
        _change_hook(
            "turn_end",
            p.TurnEnded,
            p.BoundaryAnswer,
            fold.merge_boundary_answers,
            "A turn and its results are recorded; may add entries, end the run, or continue it.",
        ),
        _change_hook(
            "agent_before_settle",
            p.BeforeSettle,
            p.BoundaryAnswer,
            fold.merge_boundary_answers,
            "The agent is about to stop; may add entries or continue the run.",
        ),
        _change_hook(
            "helper_before_settle",
            p.HelperBeforeSettle,
            p.HelperBoundaryAnswer,
            fold.merge_helper_boundary_answers,
            "A helper has answered; may make it continue, within its limits.",
        ),
        _change_hook(
            "diagnose",
            p.Diagnose,
            p.DiagnoseAnswer,
            fold.merge_diagnose_answers,
            "The agent changed files and is about to stop (`diagnostics.when`); may report problems in them.",
            is_slow=True,
        ),
        _change_hook(
            "message_end",
            p.MessageEnded,
            p.MessageAnswer,
            fold.merge_message_answers,
            "May change a complete message before it is recorded.",
        ),
        HookDefinition(
            name="tool_call",
            kind="gate",
            payload=p.ToolCallPayload,
            answer=p.ToolCallAnswer,
            merge=fold.merge_tool_call_answers,
            is_final_answer=lambda answer: answer is not None and answer.block,
            answer_on_failure=lambda reason: p.ToolCallAnswer(block=True, reason=reason),
            help="May block a tool call or change its arguments in place.",
        ),
        _change_hook(
            "tool_result",
            p.ToolResultPayload,
            p.ToolResultAnswer,
            fold.merge_tool_result_answers,
            "May change a result before the model reads it.",
        ),
        HookDefinition(
            name="user_bash",
            kind="gate",
            payload=p.UserBash,
            answer=p.UserBashAnswer,
            merge=fold.merge_user_bash_answers,
            is_final_answer=lambda answer: answer is not None and (answer.block or answer.result is not None),
            answer_on_failure=lambda reason: p.UserBashAnswer(block=True, reason=reason),
            help="May change, answer or block a command that the user runs with `!`.",
        ),
        _change_hook(
            "spawn",
            p.Spawn,
            p.SpawnAnswer,
            fold.merge_spawn_answers,
            "May change what the shell is about to run, for the model or with `!` (command, folder, "
            "environment), "
            "or block it. If an extension fails or its answer is not valid, nothing runs.",
            answer_on_failure=lambda reason: p.SpawnAnswer(block=True, reason=reason),
        ),
        _notification_hook("model_select", p.ModelSelect, "Another model was chosen."),
        _notification_hook(
            "thinking_level_select", p.ThinkingLevelSelect, "Another thinking level was chosen."
        ),
        _notification_hook(
            "question_asked", p.QuestionWaits, "bayou waits for an answer: about a call, a plan, a form."
        ),
        _notification_hook("ui_prompt_start", p.UiPromptStart, "A question is shown."),
        _notification_hook("ui_prompt_end", p.UiPromptEnd, "A question was answered or closed."),
    )
}

SESSION_EVENTS: dict[str, Any] = {
    event.__struct_config__.tag: event
    for event in get_args(Event)
    if event.__struct_config__.tag not in HOOK_DEFINITIONS
    and event.__struct_config__.tag != "extension_ui_request"
}
"""Events of a session that are passed on as they are published, by their `type`."""


def hook_definition_named(name: str) -> HookDefinition | None:
    """Returns the hook, or a plain `notify` hook for an event of the session."""
    hook = HOOK_DEFINITIONS.get(name)
    if hook is None and name in SESSION_EVENTS:
        event = SESSION_EVENTS[name]
        return _notification_hook(name, event, (event.__doc__ or "").strip().split("\n")[0])
    return hook


def decode_hook_answer(hook: HookDefinition, value: Any) -> Any:
    """Converts a handler's return value to the hook's answer. The keys of a dict may be spelled as in Python
    or in JSON, and a path may be a text. Raises `InvalidHookAnswer` with the reason when the value is invalid."""
    if value is None or hook.answer is None:
        return None
    if isinstance(value, hook.answer):
        return value
    if isinstance(value, dict):
        return _answer_from_dict(hook, value)
    raise InvalidHookAnswer(
        f"{hook.name} must return {hook.answer.__name__}, a dict or None, not {type(value).__name__}"
    )


def _answer_from_dict(hook: HookDefinition, value: dict[str, Any]) -> Any:
    kind = hook.answer
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    names = {_normalized_name(name): name for name in fields}
    given: dict[str, Any] = {}
    for key, item in value.items():
        name = names.get(_normalized_name(str(key)))
        if name is None:
            known = ", ".join(kind.__struct_encode_fields__)
            raise InvalidHookAnswer(f"{hook.name} was answered with the unknown key {key!r}. Known: {known}")
        try:
            given[name] = _decode_value(fields[name].type, item)
        except (msgspec.ValidationError, TypeError) as problem:
            raise InvalidHookAnswer(f"{kind.__name__} does not fit: {problem}") from None
    return kind(**given)


def _normalized_name(name: str) -> str:
    """Gives `system_prompt`, `systemPrompt` and `continue_` the same normal spelling as their field."""
    return name.replace("_", "").casefold()


def _decode_value(type: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, type, from_attributes=True, dec_hook=_decode_path)
    except msgspec.ValidationError:
        spelled = _with_json_keys(value)
        if spelled == value:
            raise
        return msgspec.convert(spelled, type, from_attributes=True, dec_hook=_decode_path)


def _decode_path(type: Any, value: Any) -> Any:
    if type is Path and isinstance(value, str | Path):
        return Path(value)
    raise TypeError(f"expected {type.__name__}, got {value.__class__.__name__}")


def _with_json_keys(value: Any) -> Any:
    """Converts the keys of a message, or of each of several, to JSON spelling; the values stay unchanged."""
    if isinstance(value, list | tuple):
        return [_with_json_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_camel_case(str(key)): item for key, item in value.items()}


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
