"""Decides the guide's answer to a context. A pure function, so that the same question always has the same
answer."""

import re
from collections.abc import Sequence

from app.providers.model_stream import RequestContext
from app.providers.offline.guide_requests import (
    OFFLINE_GUIDE_HELP_ROWS,
    TOUR_PAGE_TITLES,
    PlannedToolCall,
    parse_offline_guide_requests,
)
from app.providers.offline.result_descriptions import (
    ToolCallWithResult,
    describe_tool_results,
    shortened_first_line,
)
from app.providers.offline.tour import OFFLINE_TOUR_ANSWERS, TOUR_CONTINUE_HINT, TOUR_CONTINUE_KEY
from app.providers.scripted import ScriptedAnswer, say
from app.values.content import Image, Text, ToolCall, text_of
from app.values.messages import AssistantMessage, CustomMessage, Message, ToolResultMessage, UserMessage

_OFFLINE_GUIDE_HELP_TABLE = "\n".join(
    f"| `{form.syntax}` | {form.effect} |" for form in OFFLINE_GUIDE_HELP_ROWS
)
OFFLINE_GUIDE_HELP = f"""I am bayou's offline guide: a small program, **not a language model**. I understand these \
requests, one a line:

| Say | and I |
|---|---|
{_OFFLINE_GUIDE_HELP_TABLE}

To say what you want in your own words, connect a language model: `/login`, or a key such as `ANTHROPIC_API_KEY` in \
the environment; then choose one with `/model`."""


def offline_guide_answer(context: RequestContext) -> ScriptedAnswer:
    if is_summary_request(context):
        return say(summarize_conversation(context))
    begin = _index_after_last_answer(context.messages)
    new = context.messages[begin:]
    asked = [message for message in new if isinstance(message, UserMessage)]
    told = _describe_last_results(context.messages, begin)
    if asked:
        return _answer_new_request(context, asked, told)
    notes = [
        shortened_first_line(text_of(message.content))
        for message in new
        if isinstance(message, CustomMessage)
    ]
    if told:
        step = _tour_step(context.messages)
        goes_on = TOUR_CONTINUE_HINT if step and step < len(OFFLINE_TOUR_ANSWERS) else ""
        return say(_join_paragraphs(told, *notes, goes_on))
    if notes:
        return say(
            _join_paragraphs(*notes, "I am no language model and do nothing by myself. What shall I do?")
        )
    return say(OFFLINE_GUIDE_HELP)


def _answer_new_request(context: RequestContext, asked: list[UserMessage], told: str) -> ScriptedAnswer:
    """Returns the guide's first answer to a request, which may contain tool calls."""
    wanted = parse_offline_guide_requests("\n".join(text_of(message.content) for message in asked))
    if not wanted and _tour_step(context.messages):
        wanted = ("tour",)
    is_active = {tool.name for tool in context.tools}
    texts = [told]
    if any(isinstance(part, Image) for message in asked for part in message.content):
        texts.append("I cannot see images.")
    calls: list[ToolCall] = []
    purposes: list[str] = []
    for one in wanted:
        if one == "help":
            texts.append(OFFLINE_GUIDE_HELP)
        elif one == "tour":
            step = _tour_step(context.messages)
            shown = OFFLINE_TOUR_ANSWERS[step - 1]
            texts += [block.text for block in shown.blocks if isinstance(block, Text)]
            wishes = [b for b in shown.blocks if isinstance(b, ToolCall) and b.name in is_active]
            calls += wishes
            texts.append(TOUR_CONTINUE_HINT if step < len(OFFLINE_TOUR_ANSWERS) and not wishes else "")
        elif one.tool in is_active:
            purposes.append(one.purpose)
            calls.append(one.to_tool_call)
        else:
            texts.append(_inactive_tool_text(one, is_active))
    if not wanted:
        texts.append(OFFLINE_GUIDE_HELP)
    if purposes:
        texts.append(f"I will {', '.join(purposes)}.")
    return say(_join_paragraphs(*texts)) + ScriptedAnswer(blocks=tuple(calls))


def _inactive_tool_text(planned: PlannedToolCall, active: set[str]) -> str:
    there_are = ", ".join(f"`{name}`" for name in sorted(active)) or "none"
    return f"I cannot {planned.purpose}: the tool `{planned.tool}` is not active here. Active: {there_are}."


def _tour_step(messages: Sequence[Message]) -> int:
    """Returns which step of the tour the last request asks for, counted from 1; 0 if it does not ask for the tour."""
    steps = _tour_steps(messages)
    return steps[-1] if steps else 0


def _tour_steps(messages: Sequence[Message]) -> list[int]:
    """Returns for each request which step of the tour it asks for, counted from 1; 0 for other requests."""
    steps: list[int] = []
    step = 0
    for text in (
        text_of(message.content).strip() for message in messages if isinstance(message, UserMessage)
    ):
        is_asked_for = "tour" in parse_offline_guide_requests(text) or (
            step > 0 and text == TOUR_CONTINUE_KEY
        )
        page = text.rpartition(" ")[2]
        if page in TOUR_PAGE_TITLES:
            step = TOUR_PAGE_TITLES.index(page) + 1 if is_asked_for else step
        elif is_asked_for:
            step = step % len(OFFLINE_TOUR_ANSWERS) + 1
        steps.append(step if is_asked_for else 0)
    return steps


def next_tour_request(messages: Sequence[Message], *, first: str = "tour") -> str:
    """Returns the request for the page of the tour that follows the last one shown, by its title; `first` if none was
    shown yet, or all."""
    shown = next((step for step in reversed(_tour_steps(messages)) if step), 0)
    return f"tour {TOUR_PAGE_TITLES[shown]}" if 0 < shown < len(OFFLINE_TOUR_ANSWERS) else first


def _index_after_last_answer(messages: Sequence[Message]) -> int:
    answers = [number for number, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return answers[-1] + 1 if answers else 0


def _describe_last_results(messages: Sequence[Message], begin: int) -> str:
    """Returns a text that describes the results of the last answer's tool calls."""
    answer = messages[begin - 1] if begin else None
    if not isinstance(answer, AssistantMessage):
        return ""
    results = {m.tool_call_id: m for m in messages[begin:] if isinstance(m, ToolResultMessage)}
    found = tuple(
        ToolCallWithResult(call=one, result=results[one.id]) for one in answer.tool_calls if one.id in results
    )
    return describe_tool_results(found) if found else ""


def _join_paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


_SUMMARIZED_USER_MESSAGE_PATTERN = re.compile(r"^\[User\]:\s*(.+)$", re.MULTILINE)
_MENTIONED_PATH_PATTERN = re.compile(
    r"[\w~.-]*(?:/[\w.-]+)+|\b[\w-]+\.(?:py|md|toml|json|js|ts|rs|go|c|h|txt|yaml|yml|sh|css|html)\b"
)
_MAX_OFFLINE_SUMMARY_LINES = 30


def is_summary_request(context: RequestContext) -> bool:
    """Recognises a compaction request: no tools, and a conversation to summarise."""
    if context.tools:
        return False
    return "<conversation>" in _last_request_text(context) or "summar" in context.system_prompt.lower()


def summarize_conversation(context: RequestContext) -> str:
    text = _last_request_text(context)
    asked = list(dict.fromkeys(line.strip()[:200] for line in _SUMMARIZED_USER_MESSAGE_PATTERN.findall(text)))
    files = list(dict.fromkeys(_MENTIONED_PATH_PATTERN.findall(text)))
    return "\n".join(
        [
            "## Goal",
            asked[0] if asked else "(nothing was asked)",
            "",
            "## Requests so far",
            *(f"- {line}" for line in asked[-_MAX_OFFLINE_SUMMARY_LINES:]),
            "",
            "## Files named",
            *(f"- {path}" for path in files[:_MAX_OFFLINE_SUMMARY_LINES]),
            "",
            "## Note",
            "Put together by the offline guide from the words of the conversation; it understands nothing of them.",
        ]
    )


def _last_request_text(context: RequestContext) -> str:
    users = [message for message in context.messages if isinstance(message, UserMessage)]
    return text_of(users[-1].content) if users else ""
