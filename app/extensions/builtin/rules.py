"""bayou's own extension `builtin:rules`: the project's rules in the prompt, by name, and while an answer streams.

Rules that always apply and the rulebook are a section of the prompt; `read` at `rule://NAME` gives a rule's text; a
rule with a condition stops an answer that breaks it: the partial answer leaves the context, the model is told
the rule, and begins again. Where stopping would end the whole (print, JSON) it is told behind the answer.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from app.extensions.public import (
    AssistantMessage,
    BeforeAgentStart,
    Context,
    CustomMessage,
    ExtensionApi,
    MarkdownBlock,
    Text,
    ToolCallStart,
    ToolResultAnswer,
    ToolResultPayload,
    View,
    text_of,
)
from app.resources.paths import Paths
from app.resources.rule_watch import Hit, RuleWatch, interruption, reminder
from app.resources.rules import SOURCES, Rules, UnknownRule, find_rules
from app.resources.system_prompt import rules_section

MESSAGE = "rule-violation"
SCHEME = "rule://"
SECTION = "project_rules"


class _RulesInForce:
    """The rules of one session, and what has been found in its answers."""

    def __init__(self, api: ExtensionApi) -> None:
        self._api = api
        self.rules = Rules()
        self.watch = RuleWatch(())
        self.calls: dict[int, str] = {}
        self.reminders: dict[str, Hit] = {}
        self._stopping: asyncio.Task[None] | None = None
        self._wishes: Mapping[str, Any] = {}

    def read(self, context: Context) -> None:
        self._wishes = wishes = self._api.settings().get("rules") or {}
        paths = Paths.from_env(os.environ, context.cwd)
        self.rules = Rules()
        if wishes.get("enabled", True):
            sources = wishes.get("sources", SOURCES)
            self.rules = find_rules(paths, is_trusted=context.is_project_trusted(), sources=sources)
        watched = self.rules.rules if wishes.get("interrupt", True) else ()
        self.watch = RuleWatch(watched, repeat_gap_turns=wishes.get("repeatGapTurns", 10))
        for problem in self.rules.problems:
            context.ui.notify(problem, "warning")

    def follow(self, context: Context) -> None:
        """Other wishes than the last time are other rules."""
        if (self._api.settings().get("rules") or {}) != self._wishes:
            self.read(context)

    def begin_answer(self) -> None:
        self.watch.begin_turn()
        self.calls.clear()

    def hear(self, event: Any, context: Context) -> None:
        if isinstance(event, ToolCallStart):
            self.calls[event.content_index] = event.id
        hit = self.watch.hear(event)
        for problem in self.watch.take_problems():
            context.ui.notify(problem, "warning")
        if hit is None or self._stopping is not None:
            return
        if hit.interrupts:
            self._stopping = asyncio.get_running_loop().create_task(self._interrupt(hit, context))
        elif event.content_index in self.calls:
            self.reminders[self.calls[event.content_index]] = hit

    async def _interrupt(self, hit: Hit, context: Context) -> None:
        details = {"rule": hit.rule.name, "path": str(hit.rule.path), "matched": hit.matched}
        try:
            if context.mode in ("print", "json"):
                text = interruption(hit, was_stopped=False)
                await self._api.send_message(MESSAGE, text, details=details, deliver_as="follow_up")
                return
            await context.abort()
            last = context.session.messages()[-1:]
            if last and isinstance(last[0], AssistantMessage) and last[0].stop_reason == "aborted":
                await self._api.edit_context(last[0].id, None)
            await self._api.send_message(MESSAGE, interruption(hit), details=details, trigger_turn=True)
        finally:
            self._stopping = None


def extension(api: ExtensionApi) -> None:
    state = _RulesInForce(api)
    api.message_renderer(MESSAGE, _draw)

    @api.on("session_start")
    def start(event: Any, context: Context) -> None:
        state.read(context)

    @api.on("before_agent_start")
    def tell(event: BeforeAgentStart, context: Context) -> None:
        state.follow(context)
        section = rules_section(*state.rules.for_prompt())
        if section:
            event.sections[SECTION] = section
        else:
            event.sections.pop(SECTION, None)

    @api.on("turn_start")
    def turn(event: Any, context: Context) -> None:
        state.begin_answer()

    @api.on("message_update")
    def update(event: Any, context: Context) -> None:
        if not state.watch.is_idle:
            state.hear(event.assistant_message_event, context)

    @api.on("tool_result")
    def result(event: ToolResultPayload, context: Context) -> ToolResultAnswer | None:
        path = event.input.get("path")
        if event.tool_name == "read" and isinstance(path, str) and path.strip().startswith(SCHEME):
            return _rule_text(state.rules, path.strip().removeprefix(SCHEME))
        hit = state.reminders.pop(event.tool_call_id, None)
        return ToolResultAnswer(content=(Text(text=reminder(hit)), *event.content)) if hit else None


def _rule_text(rules: Rules, name: str) -> ToolResultAnswer:
    try:
        return ToolResultAnswer(content=(Text(text=rules.read(name)),), details={}, is_error=False)
    except UnknownRule as problem:
        return ToolResultAnswer(content=(Text(text=str(problem)),), is_error=True)


def _draw(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    return View(
        title="rule",
        summary=f"{details.get('rule', '')} · the answer broke it and begins again",
        body=(MarkdownBlock(text=text_of(message.content)),),
        level="warning",
    )
