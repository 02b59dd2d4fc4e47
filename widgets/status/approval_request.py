"""The data of an approval question: the call, what it would do, and the answers to choose from."""

from typing import Literal

import msgspec

RuleScope = Literal["session", "project", "person"]
RULE_SCOPE_LABELS: dict[RuleScope, str] = {
    "session": "this session",
    "project": "this project",
    "person": "all projects",
}
"""Labels for where a rule is valid, in the order in which the left and right keys choose them."""


class ApprovalCallPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a call that asks for approval, such as one command of a pipeline, and what it does."""

    text: str
    effect: str
    """What it does and why that is asked about, in a few words."""
    is_harmless: bool
    is_dangerous: bool = False


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """A permission rule that the user may add instead of allowing a call once."""

    text: str
    matched_questions: int
    words: str
    """What the rule allows, as the words after "Always"."""
    scope: RuleScope = "session"
    """Where it is valid, unless the user chooses another scope."""
    hosts: tuple[str, ...] = ()
    """The hosts of its group, shown as far as there is room."""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and its diff in a change that an approval question is about."""

    path: str
    diff: str
    """The unified diff."""
    heading: str = ""
    """Its path and the counts of its lines, unless the question names it."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An approval question as data: the call, what it would do, why it is asked about, and the rules that would allow
    it."""

    id: str
    tool: str
    text: str
    """The whole command, the text, or the file that is concerned."""
    question: str = ""
    """What is asked, as a plain question."""
    parts: tuple[ApprovalCallPart, ...] = ()
    effect: str = ""
    why: str = ""
    mode: str = ""
    number: int = 1
    total: int = 1
    confirmation_word: str | None = None
    rules: tuple[ApprovalRule, ...] = ()
    earlier_questions: int = 0
    kind: Literal["call", "confirm", "select", "open", "staged"] = "call"
    """`call`: may a tool call run; `confirm` or `select`: a question of an extension; `open`: something that takes the
    keyboard and must not open by itself; `staged`: staged changes to apply or discard."""
    options: tuple[str, ...] = ()

    @property
    def is_dangerous(self) -> bool:
        return self.confirmation_word is not None


class ApprovalKeyLabels(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that the approval card names; an unbound key is empty."""

    once: str = "alt+a"
    deny: str = "alt+x"
    always: str = "alt+w"
    details: str = "alt+v"
    focus: str = "f8"
    reports_alt_separately: bool = True
    """Whether the terminal tells Alt from an Escape before a key. If not, the card names plain keys in their place."""


ApprovalAnswerAction = Literal["yes", "word", "no", "why", "rules", "rule"]


class ApprovalAnswerOption(msgspec.Struct, frozen=True, kw_only=True):
    """One of the numbered answers to an approval question."""

    action: ApprovalAnswerAction
    """`word`: it has to be confirmed by a typed word; `why`: no, with a reason that is typed next; `rules`: opens the
    list of rules; `rule`: allows by a rule, or chooses an option."""
    label: str
    letter: str = ""
    rule: str | None = None
    scope: RuleScope = "session"


_APPROVAL_ANSWER_LABELS = {
    "staged": ("Apply", "Discard"),
    "open": ("Answer…", "No"),
    "confirm": ("Yes", "No"),
}


DENY_WITH_REASON_LABEL = "No, and say why…"


def make_approval_answers(asked: ApprovalRequest) -> list[ApprovalAnswerOption]:
    """Returns the numbered answers to an approval question; the cursor starts on the first."""
    yes, no = _APPROVAL_ANSWER_LABELS.get(asked.kind, ("Yes, once", "No"))
    deny = ApprovalAnswerOption(action="no", label=no, letter="n")
    denials = (
        [deny, ApprovalAnswerOption(action="why", label=DENY_WITH_REASON_LABEL)]
        if asked.kind == "call"
        else [deny]
    )
    if asked.kind == "select":
        options = [ApprovalAnswerOption(action="rule", label=one, rule=one) for one in asked.options]
        return [*options, ApprovalAnswerOption(action="no", label="None of these", letter="n")]
    if asked.is_dangerous:
        return [*denials, ApprovalAnswerOption(action="word", label=yes, letter="y")]
    allow = ApprovalAnswerOption(action="yes", label=yes, letter="y")
    always = ApprovalAnswerOption(action="rules", label="Yes, and always…", letter="a")
    return [allow, *([always] if asked.rules and asked.kind == "call" else []), *denials]


def make_rule_answers(asked: ApprovalRequest, scope: RuleScope) -> list[ApprovalAnswerOption]:
    """Returns the answers that add a permission rule, which is valid in the given scope."""
    return [
        ApprovalAnswerOption(action="rule", label=f"Always {rule.words}", rule=rule.text, scope=scope)
        for rule in asked.rules
    ]


def neighbouring_scope(scope: RuleScope, step: int) -> RuleScope:
    """Returns the scope that is `step` places further in their order; the first or the last at its ends."""
    scopes = tuple(RULE_SCOPE_LABELS)
    return scopes[min(max(0, scopes.index(scope) + step), len(scopes) - 1)]


def index_of_typed_approval_answer(asked: ApprovalRequest, text: str) -> int | None:
    """Returns the index of the answer to an approval question that a typed text names: `y`, `yes`, `n`, `no`, `a`,
    `always` or a number. None for any other text."""
    answers = make_approval_answers(asked)
    word = text.strip().casefold()
    if word.isdecimal():
        return int(word) - 1 if 0 < int(word) <= len(answers) else None
    letter = {"yes": "y", "no": "n", "always": "a"}.get(word, word)
    return next((index for index, one in enumerate(answers) if letter and one.letter == letter), None)
