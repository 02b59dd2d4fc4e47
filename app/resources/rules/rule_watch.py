"""Watches a streaming answer for violations of the conditional rules.

It only searches and counts. The engine stops the stream, drops the partial answer and continues with the
text that `rule_interruption_text` returns."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import assert_never

import msgspec

from app.resources.rules.rule_files import AgentRule
from app.resources.rules.rule_patterns import RulePatternTooSlow, search_rule_condition
from app.resources.rules.rule_scopes import DEFAULT_RULE_SCOPES, StreamPart
from app.values.codec import encode_json
from app.values.content import AssistantContent, Text, Thinking, ToolCall, UnknownContent
from app.values.stream import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tools.lazy_patterns import lazy_regex

_RULE_SEARCH_LOOKBACK_CHARS = 4000
"""The number of characters before new text in which a match may begin. Searching the whole answer for each piece
would have quadratic cost."""


_MAX_RULE_SEARCH_SECONDS = 5.0
"""The maximum total search time of a rule in one session, in seconds."""
_MAX_CHARS_SEARCHED_FOR_PATH = 20_000
"""The number of characters at the beginning of a call's arguments in which the path is searched."""
_TOOL_PATH_ARGUMENT = lazy_regex(r'"(?:path|file_path|filePath)"\s*:\s*"((?:[^"\\]|\\.)*)"')


class RuleViolation(msgspec.Struct, frozen=True, kw_only=True):
    """A violation of a rule: the rule and the text that matched."""

    rule: AgentRule
    matched: str
    interrupts: bool
    """Whether the answer is stopped; False: the call may run, and its result names the rule that it violated."""


class _StreamedCall:
    """The arguments of a tool call that are still arriving, and the path in them."""

    def __init__(self, tool: str = "") -> None:
        self.tool = tool
        self.path = ""
        self._head = ""

    def add_arguments(self, delta: str) -> None:
        if self.path or len(self._head) > _MAX_CHARS_SEARCHED_FOR_PATH:
            return
        self._head += delta
        match = _TOOL_PATH_ARGUMENT.search(self._head)
        if match is not None:
            self.path = match[1].replace("\\/", "/").replace('\\"', '"').replace("\\\\", "\\")


class RuleViolationWatcher:
    """Watches one session's answers for violations of its conditional rules."""

    def __init__(self, rules: Iterable[AgentRule], *, repeat_gap_turns: int = 0) -> None:
        self._rules = [rule for rule in rules if rule.activation == "conditional"]
        self._problems: list[str] = []
        self._gap = repeat_gap_turns
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._turn = 0
        self._last_hit: dict[str, int] = {}
        self._answer = ""
        self._finished: set[str] = set()
        """The answers that have been searched completely; further events of these may arrive late."""
        self._whole: set[int] = set()
        """The blocks of the current answer that have been searched completely."""
        self._tails: dict[int, str] = {}
        self._calls: dict[int, _StreamedCall] = {}

    @property
    def is_idle(self) -> bool:
        """Says whether there are no conditional rules."""
        return not self._rules

    def begin_answer(self, answer_id: str) -> None:
        """Starts an answer; later events belong to it."""
        if answer_id == self._answer:
            return
        self._answer = answer_id
        self._turn += answer_id not in self._finished
        self._whole.clear()
        self._tails.clear()
        self._calls.clear()

    def finish_answer(self) -> None:
        """Marks the current answer as completely searched."""
        self._finished.add(self._answer)

    def search_complete_answer(
        self, content: Iterable[AssistantContent]
    ) -> Iterator[tuple[int, RuleViolation]]:
        """Searches the blocks of a complete answer whose streams were not followed to the end, and yields the
        violations."""
        for index, block in enumerate(content):
            if index in self._whole:
                continue
            self._whole.add(index)
            self._tails.pop(index, None)
            match block:
                case Text():
                    hit = self.search_delta(index, "text", block.text)
                case Thinking():
                    hit = self.search_delta(index, "thinking", block.thinking)
                case ToolCall():
                    call = _StreamedCall(tool=block.name)
                    words = encode_json(block.arguments).decode("utf-8", "replace")
                    call.add_arguments(words)
                    hit = self.search_delta(index, "tool", words, tool=call.tool, path=call.path)
                case UnknownContent():
                    hit = None
                case _:
                    assert_never(block)
            if hit is not None:
                yield index, hit

    def search_event(self, event: BlockEvent) -> RuleViolation | None:
        """Searches an event of the answer's stream. A tool call's arguments are searched as they arrive; a
        scope with a glob applies once the path is known."""
        if not self._rules or self._answer in self._finished:
            return None
        match event:
            case TextEnd() | ThinkingEnd() | ToolCallEnd():
                self._whole.add(event.content_index)
            case TextDelta():
                return self.search_delta(event.content_index, "text", event.delta)
            case ThinkingDelta():
                return self.search_delta(event.content_index, "thinking", event.delta)
            case ToolCallStart():
                self._calls[event.content_index] = _StreamedCall(tool=event.tool_name)
            case ToolCallDelta():
                call = self._calls.setdefault(event.content_index, _StreamedCall())
                call.add_arguments(event.delta)
                return self.search_delta(
                    event.content_index, "tool", event.delta, tool=call.tool, path=call.path
                )
            case TextStart() | ThinkingStart():
                pass
            case _:
                assert_never(event)
        return None

    def search_delta(
        self, index: int, part: StreamPart, delta: str, *, tool: str = "", path: str = ""
    ) -> RuleViolation | None:
        """Searches new text of content block `index` and returns the first violated rule; each rule is
        reported at most once per gap."""
        if not self._rules:
            return None
        tail = self._tails.get(index, "")
        text = tail + delta
        self._tails[index] = text[-_RULE_SEARCH_LOOKBACK_CHARS:]
        for rule in tuple(self._rules):
            if not self._may_match_again(rule) or not self._is_in_scope(rule, part, tool, path):
                continue
            matched = self._search_conditions(rule, text)
            if matched is not None:
                self._last_hit[rule.name] = self._turn
                return RuleViolation(
                    rule=rule, matched=matched[:200], interrupts=_is_interrupting(rule, part)
                )
        return None

    def take_problems(self) -> tuple[str, ...]:
        """Returns the problems since the last call, in words."""
        told, self._problems = tuple(self._problems), []
        return told

    def _search_conditions(self, rule: AgentRule, text: str) -> str | None:
        """Searches for a rule's conditions. A rule that exceeds a time limit, in one search or in total, is
        disabled."""
        begun = time.monotonic()
        try:
            found = [
                matched
                for one in rule.conditions
                if (matched := search_rule_condition(one, text)) is not None
            ]
            self._seconds[rule.name] += time.monotonic() - begun
            if self._seconds[rule.name] < _MAX_RULE_SEARCH_SECONDS:
                return found[0] if found else None
        except RulePatternTooSlow:
            found = []
        self._rules.remove(rule)
        self._problems.append(
            f"{rule.path}: checking its condition takes too long, so the rule {rule.name} no longer "
            "interrupts in this session. Write the condition without nested repetitions."
        )
        return found[0] if found else None

    def _may_match_again(self, rule: AgentRule) -> bool:
        last = self._last_hit.get(rule.name)
        return last is None or (self._gap > 0 and self._turn - last >= self._gap)

    @staticmethod
    def _is_in_scope(rule: AgentRule, part: StreamPart, tool: str, path: str) -> bool:
        return any(scope.covers(part, tool, path) for scope in rule.scopes or DEFAULT_RULE_SCOPES)


def _is_interrupting(rule: AgentRule, part: StreamPart) -> bool:
    match rule.interrupt_mode:
        case "always":
            return True
        case "never":
            return False
        case "prose-only":
            return part != "tool"
        case "tool-only":
            return part == "tool"


def rule_interruption_text(hit: RuleViolation, *, was_stopped: bool = True) -> str:
    """Returns the message to the model about an answer that violated a rule."""
    rule = hit.rule
    place = f"the rule {rule.name} ({rule.path.as_posix()})"
    told = (
        f"Your answer was stopped because it breaks {place}. None of it was kept. Start again and "
        f"follow the rule:"
        if was_stopped
        else f"Your last answer breaks {place}. Fix what it did and follow the rule:"
    )
    return f'{told}\n\n<rule name="{rule.name}">\n{rule.content}\n</rule>'


def rule_reminder_text(hit: RuleViolation) -> str:
    """Returns the text that precedes a tool's result when its call violated a rule that does not interrupt."""
    rule = hit.rule
    return f'<reminder rule="{rule.name}">\nThis call touches a rule of the project:\n{rule.content}\n</reminder>'
