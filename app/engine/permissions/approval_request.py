"""Builds the approval request that the user sees for a tool call, with rules that would answer it in future."""

from collections.abc import Callable
from typing import Any

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.toolbox import Toolbox
from app.engine.permissions.permission_context import PermissionContext
from app.engine.permissions.sandbox_exceptions import sandbox_rules_for_refused_places
from app.engine.permissions.session_rules import SessionPermissionRules
from app.engine.permissions.verdict_log import MAX_VERDICT_TEXT_CHARS, PermissionVerdictLog
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import (
    ToolCallDecision,
    confirmation_word,
    count_questions_answered_by_rule,
    decide_tool_call,
)
from app.permits.permit_rules import PermitRuleProblem, parse_permit_rule, suggested_allow_rules
from app.permits.risk_classes import ToolCallPart
from app.permits.sandbox_exceptions import (
    asks_for_sandbox_exception,
    asks_to_leave_sandbox,
    suggested_exception_rules,
)
from app.values.approvals import Approval, JudgedPart, OfferedRule
from app.values.content import ToolCall
from tools.call_effects import Effects


class ApprovalRequestBuilder:
    """Builds one session's approval requests, which show the user a tool call and offer rules."""

    def __init__(
        self,
        *,
        rules: SessionPermissionRules,
        verdicts: PermissionVerdictLog,
        standing: PermissionContext,
        conversation: Conversation,
        toolbox: Toolbox,
        judge: Callable[[str, Effects], ToolCallDecision],
    ) -> None:
        self._rules = rules
        self._verdicts = verdicts
        self._permission_context = standing
        self._conversation = conversation
        self._toolbox = toolbox
        self._judge = judge
        self._questions: list[tuple[str, ToolCallPart]] = []
        """The questions asked so far: the tool's name in rules, and the part of the call."""

    def build_request(
        self,
        call: ToolCall,
        arguments: dict[str, Any],
        decision: ToolCallDecision,
        place: CommandPlace,
        rule_name: str,
    ) -> Approval:
        """Returns the approval request for a tool call. `rule_name`: the tool's name in rules."""
        answer = decision.decisive_part
        texts = () if decision.needs_typed_word else self._offered_rules(rule_name, decision, place)
        number, of = self._position_and_total(call)
        return Approval(
            tool_call_id=call.id,
            tool_name=call.name,
            arguments=arguments,
            parts=tuple(
                JudgedPart(text=part.text[:MAX_VERDICT_TEXT_CHARS], letter=part.risk, why=part.why)
                for part in decision.verdict.parts
            ),
            letter=decision.verdict.risk,
            why=answer.part.why,
            decided_by=answer.decided_by,
            mode=self._rules.mode,
            confirmation_word=confirmation_word(answer.part) if decision.needs_typed_word else None,
            rules=tuple(
                OfferedRule(text=text, answers=count_questions_answered_by_rule(text, self._questions, place))
                for text in texts
            ),
            asked=len(self._questions),
            number=number,
            of=of,
        )

    def _offered_rules(self, tool: str, decision: ToolCallDecision, place: CommandPlace) -> tuple[str, ...]:
        """Returns the rules that would allow this tool call without a question."""
        asked = [answer for answer in decision.part_decisions if answer.outcome == "ask"]
        if len(asked) != 1:
            return ()
        if asks_for_sandbox_exception(decision):
            return suggested_exception_rules(decision)
        if asks_to_leave_sandbox(decision):
            return sandbox_rules_for_refused_places(
                self._conversation.messages, self._permission_context.home
            )
        found: list[str] = []
        policy = self._rules.permission_policy()
        for text in suggested_allow_rules(asked[0].part, tool, place):
            rule = parse_permit_rule(text, "allow", "session")
            if isinstance(rule, PermitRuleProblem):
                continue
            tried = msgspec.structs.replace(policy, rules=(*policy.rules, rule))
            if decide_tool_call(decision.verdict, tool, tried, place).outcome == "run":
                found.append(text)
        return tuple(found)

    def _position_and_total(self, call: ToolCall) -> tuple[int, int]:
        """Returns the number of this approval question among those of the same answer, and their total."""
        last = self._conversation.last_answer
        calls = last.tool_calls if last is not None else ()
        at = next((number for number, one in enumerate(calls) if one.id == call.id), None)
        if at is None:
            return 1, 1
        ids = {one.id for one in calls[:at]}
        before = sum(
            1 for past in self._verdicts.verdicts if past.call_id in ids and past.decision.outcome == "ask"
        )
        after = 0
        for one in calls[at + 1 : at + 20]:
            effects = self._toolbox.effects_of_call(one.name, one.arguments)
            if effects is not None and self._judge(one.name, effects).outcome == "ask":
                after += 1
        return before + 1, before + 1 + after

    def count_question(self, rule_name: str, part: ToolCallPart) -> None:
        """Remembers an approval question, to count how many earlier questions an offered rule would have answered."""
        self._questions.append((rule_name, part))
