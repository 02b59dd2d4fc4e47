"""Builds the rows of an approval question: the question, what would happen, the numbered answers and the keys."""

from collections.abc import Iterable, Sequence

import msgspec

from widgets.diffstat import split_diffstat
from widgets.key_labels import fitting_hints
from widgets.line import cells, plain_line
from widgets.status.approval_request import (
    SCOPE_LABELS,
    ApprovalAnswer,
    ApprovalKeys,
    ApprovalRequest,
    ChangeRow,
)
from widgets.transcript.leaves.safe_text import clean, crop, expand_tabs, wrap

Row = tuple[tuple[str, str], ...]
"""The pieces of a row: the name of a style, and text."""
MAX_TEXT_ROWS = 4
MAX_PARTS = 3
ROOMY = 30
"""Rows of the terminal from which there is a blank row above the answers."""
_MAX_CHANGE_ROWS = 12
_RESERVED_ROWS = 6
"""Rows that the question leaves for the editor, the lines around it and a part of the transcript."""
_LABEL_CELLS = 20
_MAX_SCOPE_CELLS = max(map(len, SCOPE_LABELS.values()))


class CardState(msgspec.Struct, frozen=True, kw_only=True):
    """What the rows depend on besides the question."""

    width: int
    screen_height: int
    keys: ApprovalKeys
    answers: Sequence[ApprovalAnswer]
    at: int
    change: Sequence[ChangeRow] = ()
    typed: str | None = None
    """The confirmation word as far as it is typed; None while no word is asked for."""
    lists_rules: bool = False
    is_inside: bool = False
    """Whether the question has the focus."""
    is_armed: bool = False
    takes_letters: bool = True
    """Whether single letters answer: the editor is empty."""
    must_repeat: bool = False
    is_too_early: bool = False


def card_rows(asked: ApprovalRequest, state: CardState) -> list[Row]:
    room = max(4, state.screen_height - _RESERVED_ROWS)
    answers = _answer_rows(asked, state)
    is_low = len(answers) + 3 > room
    if is_low:  # a window of the answers around the cursor
        shown = max(1, room - 3)
        first = max(0, min(state.at - shown // 2, len(answers) - shown))
        answers = answers[first : first + shown]
    gap: list[Row] = [(("muted", ""),)] if state.screen_height >= ROOMY else []
    left = max(1, room - len(answers) - len(gap) - 2)
    return [
        _head(asked, state.width),
        *_body(asked, state, left),
        *gap,
        *answers,
        _key_row(asked, state, is_low),
    ]


def _head(asked: ApprovalRequest, width: int) -> Row:
    number = f"{asked.number} of {asked.of}" if asked.of > 1 else ""
    words = {"staged": "nothing is written yet", "call": f"mode: {asked.mode}"}.get(asked.kind, "")
    right = " · ".join(filter(None, (number, words)))
    danger = "▲ DANGEROUS  " if asked.is_dangerous else ""
    question = crop(plain_line(asked.question), max(8, width - cells(danger) - cells(right) - 2))
    pad = " " * max(2, width - cells(danger + question + right))
    return (("danger", danger), ("title", question), ("muted", pad + right if right else ""))


def _body(asked: ApprovalRequest, state: CardState, room: int) -> list[Row]:
    """Returns what would happen, and why that is asked about, in at most `room` rows."""
    telling = _part_rows(asked, state.width)[: max(0, room - 1)]
    room -= len(telling)
    if state.change:
        change = [_change_row(one, state.width) for one in state.change]
        return [*_cut(change, min(room, _MAX_CHANGE_ROWS), state.keys), *telling]
    lines = _rows_of(asked.text, state.width - 2)
    text: list[Row] = [
        (("text", "  "), *((piece.kind or "text", piece.text) for piece in split_diffstat(line)))
        if asked.kind == "staged"
        else (("text", f"  {line}"),)
        for line in lines
        if line or asked.kind == "call"
    ]
    most = MAX_TEXT_ROWS if state.screen_height > 20 else 2
    return [*_cut(text, min(room, most), state.keys), *telling]


def _cut(rows: list[Row], most: int, keys: ApprovalKeys) -> list[Row]:
    """Cuts to `most` rows, the last of which then says how many more there are."""
    if len(rows) <= most:
        return rows
    if most <= 1:
        return rows[: max(0, most)]
    more = f"  … {len(rows) - most + 1} more lines: {keys.whole or 'd'} shows all"
    return [*rows[: most - 1], (("muted", more),)]


def _change_row(row: ChangeRow, width: int) -> Row:
    sign = {"added": "+ ", "removed": "- ", "context": "  ", "file": ""}[row.kind]
    name = {"added": "added", "removed": "removed", "context": "muted", "file": "text"}[row.kind]
    text = expand_tabs(clean(row.text).replace("\n", " "), 0)
    return ((name, crop(f"  {sign}{text}", width)),)


def _part_rows(asked: ApprovalRequest, width: int) -> list[Row]:
    """Returns what each part does; harmless parts are left out."""
    telling = [part for part in asked.parts if not part.is_harmless]
    telling.sort(key=lambda part: not part.is_dangerous)
    if len(asked.parts) < 2:
        return [(("muted", f"  {plain_line(asked.why)}"),)] if asked.why else []
    shown = telling[:MAX_PARTS]
    longest = min(max((cells(plain_line(part.text)) for part in shown), default=0), max(12, width // 2 - 4))
    rows: list[Row] = [
        (
            ("danger", "  ▲ ") if part.is_dangerous else ("warning", "  • "),
            ("text", crop(plain_line(part.text), longest).ljust(longest)),
            ("muted", f"  {plain_line(part.does)}"),
        )
        for part in shown
    ]
    if len(telling) > MAX_PARTS:
        rows.append((("muted", f"  … and {len(telling) - MAX_PARTS} more parts"),))
    return rows


def _answer_rows(asked: ApprovalRequest, state: CardState) -> list[Row]:
    if state.lists_rules:
        return _rule_rows(asked, state)
    rows: list[Row] = []
    for index, answer in enumerate(state.answers):
        is_current = index == state.at
        name = "current" if is_current else "text"
        label = f"{index + 1}  {plain_line(answer.label)}"
        rows.append(
            (
                (name, "› " if is_current else "  "),
                (name, label),
                *_answer_keys(asked, answer, state, " " * max(2, _LABEL_CELLS - cells(label))),
            )
        )
    return rows


def _answer_keys(asked: ApprovalRequest, answer: ApprovalAnswer, state: CardState, pad: str) -> Row:
    """Returns the keys of an answer, or how its word is typed."""
    word = asked.confirmation_word
    if answer.action == "word" and state.typed is not None:
        return (("muted", pad), ("key", f"type {word}: "), ("text", state.typed))
    keys = state.keys
    chord = {"yes": keys.once, "no": keys.deny, "rules": keys.always, "word": keys.enter}.get(
        answer.action, ""
    )
    letter = answer.letter if state.takes_letters or state.is_inside else ""
    shown = "  ".join(filter(None, (letter, "" if state.is_inside else chord)))
    key = "key" if state.is_armed or state.is_inside else "muted"
    more = ""
    if answer.action == "word":
        more = f'  type "{word}" to confirm'
    elif answer.action == "no" and not state.takes_letters and not state.is_inside:
        more = "  with your text as the reason"
    return (("muted", pad), (key, shown), ("muted", more))


def _rule_rows(asked: ApprovalRequest, state: CardState) -> list[Row]:
    known = {rule.text: rule for rule in asked.rules}
    longest = max((cells(plain_line(text)) for text in known), default=0)
    rows: list[Row] = []
    for index, answer in enumerate(state.answers):
        rule, scope = known[answer.label], answer.scope
        name, mark = ("current", "› ") if index == state.at else ("text", "  ")
        matched = f"matches {rule.answers} of {asked.asked} earlier questions"
        count = matched if asked.asked else "first question"
        words = plain_line(rule.words)
        kept = "all projects" if words and scope == "person" else SCOPE_LABELS[scope]
        text = (
            f"{words} for {kept}"
            if words
            else f"{kept:<{_MAX_SCOPE_CELLS}}  {plain_line(rule.text):<{longest}}"
        )
        row = f"{mark}{text}"
        room = state.width - cells(row)
        hosts = _fitting_hosts(rule.hosts, room - cells(f"  {count}"))
        rows.append(((name, row), ("muted", f"{hosts}  {count}" if room > cells(count) + 1 else "")))
    return rows


def _key_row(asked: ApprovalRequest, state: CardState, is_low: bool) -> Row:
    """Returns the key hints; keys are coloured once they are accepted. `is_low`: not all answers are visible."""
    keys, name = state.keys, "key" if state.is_armed or state.is_inside else "muted"
    if state.is_too_early:
        return (("warning", "  not yet: "), ("muted", "the question has just appeared, press the key again"))
    if state.must_repeat and not state.is_inside:
        again = ("the same key", "again, else it stops")
        return hint_row((again, (keys.enter, "focus"), ("esc", "stop")), name, state.width)
    edit = ("e" if asked.kind == "call" else "", "edit the call")
    if state.typed is not None:
        return hint_row((("enter", "confirm"), ("esc", "back")), name, state.width)
    if state.is_inside or state.lists_rules:
        save = "save" if state.lists_rules else "choose"
        more = () if state.lists_rules else (("d", "details"), edit)
        return hint_row(
            (("↑/↓", "move"), ("enter", save), *more, ("esc", "back")),
            name,
            state.width,
        )
    if not state.takes_letters:
        return hint_row(((keys.whole, "details"), (keys.enter, "focus"), ("esc", "stop")), name, state.width)
    details = ("/".join(filter(None, ("d", keys.whole))), "details")
    if is_low and asked.kind != "select":
        letters = [(one.letter, plain_line(one.label).split(",")[0].lower()) for one in state.answers]
        return hint_row((*letters, ("d", "details")), name, state.width)
    hints = (("enter", "choose"), ("↑/↓", "move"), details, (keys.enter, "focus"))
    return hint_row(hints, name, state.width)


def hint_row(pairs: Iterable[tuple[str, str]], name: str, width: int) -> Row:
    """Returns key hints in the given style; those without a key or without room are left out."""
    left = {f"{key} {word}": (key, word) for key, word in pairs if key}
    told: list[tuple[str, str]] = [("muted", "  ")]
    for hint in fitting_hints(" · ".join(left), width - 2).split(" · ") if left else ():
        key, word = left.get(hint, (hint, ""))
        told += [("muted", " · " if len(told) > 1 else ""), (name, key), ("muted", f" {word}")]
    return tuple(told)


def _fitting_hosts(hosts: tuple[str, ...], room: int) -> str:
    """Returns as many hosts as fit, in brackets."""
    for count in range(len(hosts), 0, -1):
        text = f" ({', '.join(hosts[:count])}{', …' * (count < len(hosts))})"
        if cells(text) <= room:
            return text
    return ""


def _rows_of(text: str, width: int) -> list[str]:
    """Wraps foreign text to rows of `width` cells."""
    rows: list[str] = []
    for line in clean(text).split("\n")[:200]:
        line = expand_tabs(line, 0)
        rows += [line[start:end].rstrip() for start, end in wrap(line, width)] or [""]
    return rows
