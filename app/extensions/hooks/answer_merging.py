"""Combines the answers of several handlers. Each function gets the payload (which it may change for later
handlers), the combined answer so far or None, and the new answer; it returns the combined answer."""

from typing import Any

import msgspec

from app.extensions.hooks import payloads as p


def merge_answers_later_wins(payload: Any, so_far: Any, answer: Any) -> Any:
    """Lets fields that the later answer sets override earlier ones."""
    if so_far is None:
        return answer
    fields = {
        field.name: value
        for field in msgspec.structs.fields(type(answer))
        if (value := getattr(answer, field.name)) != field.default
    }
    return msgspec.structs.replace(so_far, **fields)


def merge_trust_answers(
    payload: p.ProjectTrust, so_far: p.TrustAnswer | None, answer: p.TrustAnswer
) -> p.TrustAnswer:
    """Combines the answers about a project's trust: the first yes or no counts."""
    return so_far if so_far is not None and so_far.trusted != "undecided" else answer


def merge_resource_answers(
    payload: p.ResourcesDiscover, so_far: p.ResourcePaths | None, answer: p.ResourcePaths
) -> p.ResourcePaths:
    if so_far is None:
        return answer
    return p.ResourcePaths(
        skill_paths=(*so_far.skill_paths, *answer.skill_paths),
        prompt_paths=(*so_far.prompt_paths, *answer.prompt_paths),
        theme_paths=(*so_far.theme_paths, *answer.theme_paths),
    )


def merge_input_answers(
    payload: p.Input, so_far: p.InputAnswer | None, answer: p.InputAnswer
) -> p.InputAnswer | None:
    if answer.action == "transform":
        payload.text = payload.text if answer.text is None else answer.text
        payload.images = payload.images if answer.images is None else answer.images
        return p.InputAnswer(action="transform", text=payload.text, images=payload.images)
    return answer if answer.action in ("handled", "refuse") else so_far


class AgentStartAnswers(p.Answer, frozen=True, kw_only=True):
    """All answers to `before_agent_start` together."""

    messages: tuple[Any, ...] = ()
    system_prompt: str | None = None


def merge_agent_start_answers(
    payload: p.BeforeAgentStart, so_far: AgentStartAnswers | None, answer: p.BeforeAgentStartAnswer
) -> AgentStartAnswers:
    so_far = so_far or AgentStartAnswers()
    if answer.system_prompt is not None:
        payload.system_prompt = answer.system_prompt
        so_far = msgspec.structs.replace(so_far, system_prompt=answer.system_prompt)
    if answer.message is not None:
        so_far = msgspec.structs.replace(so_far, messages=(*so_far.messages, answer.message))
    return so_far


def merge_context_answers(payload: p.ContextPayload, so_far: Any, answer: p.ContextAnswer) -> p.ContextAnswer:
    if answer.messages is not None:
        payload.messages = answer.messages
    return p.ContextAnswer(messages=payload.messages)


def merge_payload_answers(
    payload: p.BeforeProviderRequest, so_far: Any, answer: p.PayloadAnswer
) -> p.PayloadAnswer:
    if answer.payload is not None:
        payload.payload = answer.payload
    return p.PayloadAnswer(payload=payload.payload)


def merge_boundary_answers(
    payload: Any, so_far: p.BoundaryAnswer | None, answer: p.BoundaryAnswer
) -> p.BoundaryAnswer:
    if so_far is None:
        return answer
    return p.BoundaryAnswer(
        entries=(*so_far.entries, *answer.entries),
        continue_=so_far.continue_ if answer.continue_ is None else answer.continue_,
    )


def merge_helper_boundary_answers(
    payload: Any, so_far: p.HelperBoundaryAnswer | None, answer: p.HelperBoundaryAnswer
) -> p.HelperBoundaryAnswer:
    """Sends the helper on with all texts together."""
    texts = [one.prompt for one in (so_far, answer) if one is not None and one.prompt]
    return p.HelperBoundaryAnswer(prompt="\n\n".join(texts) or None)


def merge_diagnose_answers(
    payload: p.Diagnose, so_far: p.DiagnoseAnswer | None, answer: p.DiagnoseAnswer
) -> p.DiagnoseAnswer:
    """Concatenates the problems of all answers."""
    if so_far is None:
        return answer
    return p.DiagnoseAnswer(problems=(*so_far.problems, *answer.problems))


def merge_message_answers(
    payload: p.MessageEnded, so_far: Any, answer: p.MessageAnswer
) -> p.MessageAnswer | None:
    if answer.message is None:
        return so_far
    if type(answer.message) is not type(payload.message):
        raise TypeError("message_end must return a message of the same role")
    payload.message = msgspec.structs.replace(answer.message, id=payload.message.id)
    return p.MessageAnswer(message=payload.message)


def merge_tool_call_answers(
    payload: p.ToolCallPayload, so_far: p.ToolCallAnswer | None, answer: p.ToolCallAnswer
) -> p.ToolCallAnswer:
    """Keeps the first answer that blocks."""
    return so_far if so_far is not None and so_far.block else answer


def merge_tool_result_answers(
    payload: p.ToolResultPayload, so_far: Any, answer: p.ToolResultAnswer
) -> p.ToolResultAnswer:
    for name in ("content", "details", "structured_content", "is_error"):
        value = getattr(answer, name)
        if value is not None:
            setattr(payload, name, value)
    return p.ToolResultAnswer(
        content=payload.content,
        details=payload.details,
        structured_content=payload.structured_content,
        is_error=payload.is_error,
    )


def merge_spawn_answers(
    payload: p.Spawn, so_far: p.SpawnAnswer | None, answer: p.SpawnAnswer
) -> p.SpawnAnswer:
    if answer.command is not None:
        payload.command = answer.command
    if answer.cwd is not None:
        payload.cwd = answer.cwd
    payload.environment |= answer.environment or {}
    return answer if so_far is None or not so_far.block else so_far


def merge_user_bash_answers(
    payload: p.UserBash, so_far: p.UserBashAnswer | None, answer: p.UserBashAnswer
) -> p.UserBashAnswer:
    if so_far is not None and (so_far.block or so_far.result is not None):
        return so_far
    if answer.command is not None:
        payload.command = answer.command
    return answer
