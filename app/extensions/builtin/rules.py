"""The built-in extension `builtin:rules`: applies the project's rules in the prompt, by name, and while an
answer streams.

Rules that always apply and the list of rules are a section of the prompt; `read` at `rule://NAME` returns a
rule's text. A rule with globs is added when a matching file is read or changed, once while it is in the
context. A rule with a condition stops an answer that breaks it before any of its calls runs: the answer
leaves the context, the model gets the rule, and answers again in the same run.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.extensions.public import (
    AssistantMessage,
    Context,
    CustomMessage,
    ExtensionApi,
    MarkdownBlock,
    MessageEnded,
    Text,
    ToolCall,
    ToolCallStart,
    ToolResultAnswer,
    ToolResultPayload,
    View,
    text_of,
)
from app.resources.paths import BayouPaths
from app.resources.rules.rule_files import (
    AGENT_RULE_SOURCES,
    AgentRule,
    AgentRules,
    UnknownAgentRule,
    find_agent_rules,
)
from app.resources.rules.rule_scopes import path_matches_glob
from app.resources.rules.rule_watch import (
    RuleViolation,
    RuleViolationWatcher,
    rule_interruption_text,
    rule_reminder_text,
)
from app.resources.system_prompt import prompt_rules_section

RULE_VIOLATION_MESSAGE_TYPE = "rule-violation"
PROJECT_RULE_MESSAGE_TYPE = "project-rule"
RULE_URL_PREFIX = "rule://"
RULES_PROMPT_SECTION = "project_rules"


class _SessionRuleState:
    """Holds the rules of one session, and the violations found in its answers."""

    def __init__(self, api: ExtensionApi) -> None:
        self._api = api
        self.rules = AgentRules()
        self.watch = RuleViolationWatcher(())
        self.calls: dict[int, str] = {}
        self.reminders: dict[str, RuleViolation] = {}
        self.sent_rules: set[str] = set()
        """Rules that will be added to the context behind this batch of calls."""
        self._last_settings: Mapping[str, Any] | None = None
        """The settings with which the rules were read."""
        self._hooks: list[Callable[[], None]] = []

    def read_rules(self, context: Context) -> None:
        self._last_settings = wishes = self._current_settings()
        paths = BayouPaths.from_env(os.environ, context.cwd)
        self.rules, section = AgentRules(), ""
        if wishes.get("enabled", True):
            sources = wishes.get("sources", AGENT_RULE_SOURCES)
            self.rules = find_agent_rules(paths, is_trusted=context.is_project_trusted(), sources=sources)
            section = prompt_rules_section(*self.rules.prompt_rules())
        if section:
            context.prompt_sections[RULES_PROMPT_SECTION] = section
        else:
            context.prompt_sections.pop(RULES_PROMPT_SECTION, None)
        watched = self.rules.rules if wishes.get("interrupt", True) else ()
        self.watch = RuleViolationWatcher(watched, repeat_gap_turns=wishes.get("repeatGapTurns", 10))
        self._register_hooks()
        for problem in self.rules.problems:
            context.ui.notify(problem, "warning")

    def _register_hooks(self) -> None:
        """Registers only the hooks that the rules need: most projects have no rules."""
        for stop in self._hooks:
            stop()
        wanted: dict[str, Callable[..., Any]] = {}
        if self.rules.rules:
            wanted |= {"turn_end": self.forget_sent_rules, "tool_result": self.handle_tool_result}
        if not self.watch.is_idle:
            wanted |= {
                "message_start": self.handle_message_start,
                "message_update": self.handle_message_update,
                "message_end": self.handle_message_end,
            }
        self._hooks = [self._api.on(name, deed) for name, deed in wanted.items()]

    def _current_settings(self) -> Mapping[str, Any]:
        return self._api.settings().get("rules") or {}

    def reread_if_settings_changed(self, context: Context) -> None:
        """Reads the rules again when their settings have changed."""
        if self._current_settings() != self._last_settings:
            self.read_rules(context)

    def begin_answer(self, answer_id: str) -> None:
        self.watch.begin_answer(answer_id)
        self.calls.clear()

    # Hooks

    def forget_sent_rules(self, event: Any, context: Context) -> None:
        self.sent_rules.clear()

    def handle_message_start(self, event: Any, context: Context) -> None:
        if isinstance(event.message, AssistantMessage):
            self.begin_answer(event.message.id)

    async def handle_message_update(self, event: Any, context: Context) -> None:
        await self.handle_stream_event(event.assistant_message_event, context)

    async def handle_message_end(self, event: MessageEnded, context: Context) -> None:
        answer = event.message
        if isinstance(answer, AssistantMessage) and answer.stop_reason not in ("error", "aborted"):
            await self.check_complete_answer(answer, context)

    async def handle_tool_result(self, event: ToolResultPayload, context: Context) -> ToolResultAnswer | None:
        path = event.input.get("path")
        if (
            event.is_error and isinstance(path, str) and path.strip().startswith(RULE_URL_PREFIX)
        ):  # the path is not a valid file name
            return _rule_text_result(self.rules, path.strip().removeprefix(RULE_URL_PREFIX))
        if self.rules.rules_with_globs() and not event.is_error:
            effects = context.session.effects_of
            touched = await asyncio.to_thread(effects, event.tool_name, event.input)
            for file in (*touched.reads, *touched.writes, *touched.stages) if touched is not None else ():
                await self.send_matching_rules(_relative_path(file, context.cwd), event.tool_call_id, context)
        hit = self.reminders.pop(event.tool_call_id, None)
        return ToolResultAnswer(content=(Text(text=rule_reminder_text(hit)), *event.content)) if hit else None

    # Violations and new rules

    async def handle_stream_event(self, event: Any, context: Context) -> None:
        if isinstance(event, ToolCallStart):
            self.calls[event.content_index] = event.id
        hit = self.watch.search_event(event)
        if hit is not None:
            await self._apply_rule(event.content_index, hit)
        self._report_problems(context)

    async def check_complete_answer(self, answer: AssistantMessage, context: Context) -> None:
        """Checks the complete answer before any of its calls runs, since streamed pieces may arrive late."""
        self.begin_answer(answer.id)
        self.calls.update(
            {index: block.id for index, block in enumerate(answer.content) if isinstance(block, ToolCall)}
        )
        for index, hit in self.watch.search_complete_answer(answer.content):
            await self._apply_rule(index, hit)
            if hit.interrupts:
                break
        self.watch.finish_answer()
        self._report_problems(context)

    def unsent_rules_for(self, path: str, context: Context) -> list[AgentRule]:
        """Returns the rules that match a file and are not in the context."""
        about = [
            rule
            for rule in self.rules.rules_with_globs()
            if any(path_matches_glob(path, glob) for glob in rule.globs)
        ]
        if not about:
            return []
        standing = {
            message.details.get("rule")
            for message in context.session.messages()
            if isinstance(message, CustomMessage)
            and message.custom_type == PROJECT_RULE_MESSAGE_TYPE
            and isinstance(message.details, dict)
        }
        return [rule for rule in about if rule.name not in standing and rule.name not in self.sent_rules]

    async def send_matching_rules(self, path: str, call_id: str, context: Context) -> None:
        for rule in self.unsent_rules_for(path, context):
            self.sent_rules.add(rule.name)
            text = f'For {path} this rule counts:\n\n<rule name="{rule.name}">\n{rule.content}\n</rule>'
            details = {"rule": rule.name, "path": str(rule.path), "file": path}
            await self._api.send_message(
                PROJECT_RULE_MESSAGE_TYPE, text, details=details, deliver_as="aside", call_id=call_id
            )

    async def _apply_rule(self, index: int, hit: RuleViolation) -> None:
        if not hit.interrupts:
            if index in self.calls:
                self.reminders[self.calls[index]] = hit
            return
        self.watch.finish_answer()
        details = {"rule": hit.rule.name, "path": str(hit.rule.path), "matched": hit.matched}
        if not self._api.interrupt(RULE_VIOLATION_MESSAGE_TYPE, rule_interruption_text(hit), details=details):
            text = rule_interruption_text(hit, was_stopped=False)
            await self._api.send_message(RULE_VIOLATION_MESSAGE_TYPE, text, details=details)

    def _report_problems(self, context: Context) -> None:
        for problem in self.watch.take_problems():
            context.ui.notify(problem, "warning")


def extension(api: ExtensionApi) -> None:
    state = _SessionRuleState(api)
    api.message_renderer(RULE_VIOLATION_MESSAGE_TYPE, _draw_rule_violation)
    api.message_renderer(PROJECT_RULE_MESSAGE_TYPE, _draw_added_rule)

    @api.on("session_start")
    def start(event: Any, context: Context) -> None:
        if event.reason == "reload":  # a change of settings is reported as a reload
            state.reread_if_settings_changed(context)
        else:
            state.read_rules(context)


def _relative_path(path: str, folder: Path) -> str:
    """Returns the path relative to the working directory, as globs are written."""
    inside = os.path.relpath(path, folder)
    return path if inside.startswith("..") else inside


def _rule_text_result(rules: AgentRules, name: str) -> ToolResultAnswer:
    try:
        return ToolResultAnswer(content=(Text(text=rules.rule_text(name)),), details={}, is_error=False)
    except UnknownAgentRule as problem:
        return ToolResultAnswer(content=(Text(text=str(problem)),), is_error=True)


def _draw_rule_violation(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    return View(
        title="rule",
        summary=f"{details.get('rule', '')} · the answer broke it and begins again",
        body=(MarkdownBlock(text=text_of(message.content)),),
        level="warning",
    )


def _draw_added_rule(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    return View(
        title="rule",
        summary=f"{details.get('rule', '')} · counts for {details.get('file', '')}",
        body=(MarkdownBlock(text=text_of(message.content)),),
    )
