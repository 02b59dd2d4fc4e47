"""Builds the rows of an approval question: the question, what would happen, the numbered answers and the keys."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from widgets.diffstat import split_diffstat
from widgets.key_labels import fitting_key_hints
from widgets.row_builder import cells, clean_single_line
from widgets.status.approval_request import (
    RULE_SCOPE_LABELS,
    ApprovalAnswerOption,
    ApprovalCallPart,
    ApprovalKeyLabels,
    ApprovalRequest,
    ChangedFile,
)
from widgets.transcript.leaves.diff_leaf import DiffLeaf
from widgets.transcript.leaves.highlight import language_of_file
from widgets.transcript.leaves.safe_text import clean, cut_end_to_fit, expand_tabs, wrap_line_into_ranges

StyledApprovalRow = tuple[tuple[str, str], ...]
"""The pieces of a row: the name of a style, and text."""
DIFF_STYLE_PREFIX = "diff:"
"""The beginning of a style's name that is one of a diff in the transcript."""
MAX_APPROVAL_TEXT_ROWS = 4
MAX_SHOWN_CALL_PARTS = 3
_SHELL_OPERATOR_CHARACTERS = " &|;"
ROOMY_APPROVAL_CARD_MIN_ROWS = 30
"""Rows of the terminal from which there are blank rows below the question, above the answers and below the keys."""
_APPROVAL_GAP_MIN_ROWS = 24
"""Rows of the terminal from which the row of an omitted reason is left blank above the answers."""
_MIN_PROPOSED_CHANGE_ROWS = 12
"""Rows that a change may take in a low terminal; in a higher one it takes up to half of the rows."""
_RESERVED_SCREEN_ROWS = 6
"""Rows that the question leaves for the editor, the lines around it and a part of the transcript."""
_APPROVAL_LABEL_CELLS = 21
_DENIAL_REASON_REQUEST_TEXT = "No. Write below why, and what to do instead."
_CALL_PART_INDENT = 4
_EFFECT_GAP = 4
"""Cells between a part of a call and what it does, which would read as its arguments if it were nearer."""
_APPROVAL_DIFF_INDENT = 2
_CHANGED_LINE_STYLE_SUFFIXES = ("|add", "|remove")
"""The ends of the style names of changed lines."""
_UNCLEAR_KEY_CELLS = 50
"""Cells from which the card has room to say that a key is unclear in this terminal."""


class ProposedChange:
    """The change that is asked about, drawn as in the transcript: line numbers, syntax colours, changed words."""

    def __init__(self, files: Sequence[ChangedFile]) -> None:
        self._files = [
            (clean_single_line(file.heading), DiffLeaf(clean(file.diff), language_of_file(file.path)))
            for file in files
        ]

    def rows(self, width: int) -> "list[StyledApprovalRow]":
        return [row for heading, leaf in self._files for row in self._file_rows(heading, leaf, width)]

    @staticmethod
    def _file_rows(heading: str, leaf: DiffLeaf, width: int) -> "Iterator[StyledApprovalRow]":
        if heading:
            kinds = ((piece.kind or "text", piece.text) for piece in split_diffstat(f"  {heading}"))
            yield tuple(kinds)
        for row in range(len(leaf.layout(max(1, width - _APPROVAL_DIFF_INDENT)))):
            pieces = leaf.pieces(row)
            used = sum(cells(piece.text) for piece in pieces)
            rest = " " * (width - _APPROVAL_DIFF_INDENT - used)
            drawn = ((f"{DIFF_STYLE_PREFIX}{piece.key}", piece.text) for piece in pieces)
            yield (
                ("muted", " " * _APPROVAL_DIFF_INDENT),
                *drawn,
                (f"{DIFF_STYLE_PREFIX}{leaf.row_fill_style_key(row)}", rest),
            )


class ApprovalCardState(msgspec.Struct, frozen=True, kw_only=True):
    """What the approval card's rows depend on besides the question: size, keys, answers, cursor and typed text."""

    width: int
    screen_height: int
    keys: ApprovalKeyLabels
    answers: Sequence[ApprovalAnswerOption]
    chosen_index: int
    change: "ProposedChange | None" = None
    typed: str | None = None
    """The confirmation word as far as it is typed; None while no word is asked for."""
    lists_rules: bool = False
    has_focus: bool = False
    """Whether the question has the focus."""
    is_armed: bool = False
    takes_letters: bool = True
    """Whether single letters answer."""
    has_text: bool = False
    """Whether the editor has a text, which is sent as the reason of a no."""
    asks_reason: bool = False
    """Whether the editor takes the reason of a no."""
    refused_key: str = ""
    """The Alt key that was pressed and allows nothing, because it may be an Escape and a letter."""
    advice: str = ""
    """What to press in place of it."""
    rejected_word: str = ""
    """The word that was sent for a dangerous command and is not its own."""
    is_too_early: bool = False

    @property
    def answers_by_letter(self) -> bool:
        """Whether plain keys answer the approval question now although the editor has the focus."""
        return self.is_armed and self.takes_letters and not self.has_focus and not self.lists_rules

    @property
    def has_cursor(self) -> bool:
        """Whether the arrows and the numbers choose an answer now, so that the card shows a cursor."""
        return self.has_focus or self.lists_rules or self.answers_by_letter


def approval_card_rows(asked: ApprovalRequest, state: ApprovalCardState) -> list[StyledApprovalRow]:
    room = max(4, state.screen_height - _RESERVED_SCREEN_ROWS)
    answers = _answer_rows(asked, state)
    scope = [_scope_row(state)] if state.lists_rules else []
    is_low = len(answers) + len(scope) + 3 > room
    keys = [*scope, _key_row(asked, state)]
    if is_low and not state.asks_reason:  # a window of the answers around the cursor
        shown = max(1, room - 3 - len(scope))
        first = max(0, min(state.chosen_index - shown // 2, len(answers) - shown))
        hidden = [*state.answers[:first], *state.answers[first + shown :]]
        answers = answers[first : first + shown]
        if state.answers_by_letter and not state.is_too_early and not state.refused_key:
            answers[-1], keys = _with_letters(answers[-1], hidden, state), []
    elif state.lists_rules:
        answers = [_rule_head_row(asked, state.width), *answers]
    blank: list[StyledApprovalRow] = [(("muted", ""),)]
    outer_gap = blank if state.screen_height >= ROOMY_APPROVAL_CARD_MIN_ROWS else []
    has_spare_row = not is_low and state.screen_height >= _APPROVAL_GAP_MIN_ROWS and _repeats_question(asked)
    inner_gap = blank if outer_gap or has_spare_row else []
    left = max(1, room - len(answers) - 2 * len(outer_gap) - len(inner_gap) - len(keys) - 1)
    return [
        _head_row(asked, state.width),
        *outer_gap,
        *_question_body(asked, state, left),
        *inner_gap,
        *answers,
        *keys,
        *outer_gap,
    ]


def _repeats_question(asked: ApprovalRequest) -> bool:
    """Returns whether the reason of an approval question says only what the question says, such as "writes a.txt" below
    "Change a.txt?"."""
    verb, _, file = asked.why.partition(" ")
    return verb == "writes" and bool(file) and asked.question.endswith(f" {file}?")


def _head_row(asked: ApprovalRequest, width: int) -> StyledApprovalRow:
    number = f"{asked.number} of {asked.total}" if asked.total > 1 else ""
    words = {"staged": "nothing is written yet", "call": f"mode: {asked.mode}"}.get(asked.kind, "")
    right = " · ".join(filter(None, (number, words)))
    danger = "▲ DANGEROUS  " if asked.is_dangerous else ""
    question = clean_single_line(asked.question)
    if cells(danger + question + right) + 2 > width:
        right = number
    question = cut_end_to_fit(question, max(8, width - cells(danger) - cells(right) - 2))
    pad = " " * max(2, width - cells(danger + question + right))
    return (("danger", danger), ("title", question), ("muted", pad + right if right else ""))


def _question_body(asked: ApprovalRequest, state: ApprovalCardState, room: int) -> list[StyledApprovalRow]:
    """Returns the middle rows of the approval card, at most `room`: the command, text or change, and why it is asked
    about."""
    if segments := _command_segments(asked):
        rows = _part_table(segments, state.width)
        if len(rows) <= room:
            return rows
    telling = _part_rows(asked, state.width)
    if len(telling) >= room:  # the command once, then the reasons in one row
        telling = _reason_row(asked, state.width)[: room - 1]
    room -= len(telling)
    if state.change:
        most = min(room, max(_MIN_PROPOSED_CHANGE_ROWS, state.screen_height // 2))
        rows = _without_lead(state.change.rows(state.width), most)
        if most == 2 and not any(map(_is_changed, rows[most:])):  # the old and the new line
            return [*rows[:most], *telling]
        return [*_cut_rows(rows, most, state.keys), *telling]
    lines = _wrap_text(asked.text, state.width - 2)
    text: list[StyledApprovalRow] = [
        (("text", "  "), *((piece.kind or "text", piece.text) for piece in split_diffstat(line)))
        if asked.kind == "staged"
        else (("text", f"  {line}"),)
        for line in lines
        if line or asked.kind == "call"
    ]
    most = MAX_APPROVAL_TEXT_ROWS if state.screen_height > 20 else 2
    if room == 1 and len(text) > 1 and asked.kind == "call":
        text = [(("text", f"  {cut_end_to_fit(clean_single_line(asked.text), state.width - 2)}"),)]
    return [*_cut_rows(text, min(room, most), state.keys), *telling]


def _cut_rows(rows: list[StyledApprovalRow], most: int, keys: ApprovalKeyLabels) -> list[StyledApprovalRow]:
    """Cuts the rows of a change or text to `most`; the last one then says how many are left out and which key shows
    all."""
    if len(rows) <= most:
        return rows
    if most <= 1:
        return rows[: max(0, most)]
    more = f"  … {len(rows) - most + 1} more lines: {keys.details or 'd'} shows all"
    return [*rows[: most - 1], (("muted", more),)]


def _without_lead(rows: list[StyledApprovalRow], most: int) -> list[StyledApprovalRow]:
    """Drops the first rows of a diff if otherwise no changed line would be among the `most` rows that fit."""
    changed = (at for at, row in enumerate(rows) if _is_changed(row))
    first = next(changed, 0)
    return rows[max(0, min(first, len(rows) - most)) :] if first >= most - 1 else rows


def _is_changed(row: StyledApprovalRow) -> bool:
    return any(name.endswith(_CHANGED_LINE_STYLE_SUFFIXES) for name, _ in row)


def _part_rows(asked: ApprovalRequest, width: int) -> list[StyledApprovalRow]:
    """Returns the rows that say what each part of the call does, the dangerous parts first; harmless parts are left
    out."""
    telling = [part for part in asked.parts if not part.is_harmless]
    telling.sort(key=lambda part: not part.is_dangerous)
    if len(asked.parts) < 2:
        has_reason = asked.why and not _repeats_question(asked)
        return [(("muted", f"  {clean_single_line(asked.why)}"),)] if has_reason else []
    rows = _part_table(telling[:MAX_SHOWN_CALL_PARTS], width)
    if len(telling) > MAX_SHOWN_CALL_PARTS:
        rows.append((("muted", f"  … and {len(telling) - MAX_SHOWN_CALL_PARTS} more parts"),))
    return rows


def _reason_row(asked: ApprovalRequest, width: int) -> list[StyledApprovalRow]:
    """Returns one row with what all parts of the call do, the dangerous ones first; nothing if there is no reason."""
    parts = sorted(asked.parts, key=lambda part: not part.is_dangerous)
    effects = dict.fromkeys(
        clean_single_line(part.effect) for part in parts if not part.is_harmless and part.effect
    )
    reasons = "; ".join(effects) or clean_single_line(asked.why)
    mark = ("danger", "▲ ") if asked.is_dangerous else ("warning", "• ")
    return [(mark, ("muted", cut_end_to_fit(reasons, width - 2)))] if reasons else []


def _command_segments(asked: ApprovalRequest) -> list[ApprovalCallPart]:
    """Returns the parts of a command, each with the operator after it, if together they are the whole command, so that
    it need not be shown a second time; otherwise none."""
    if asked.kind != "call" or len(asked.parts) > MAX_SHOWN_CALL_PARTS + 1:
        return []
    pieces = split_command_at_operators(asked.text, [part.text for part in asked.parts])
    return [
        msgspec.structs.replace(part, text=piece) for part, piece in zip(asked.parts, pieces, strict=False)
    ]


def split_command_at_operators(command: str, parts: Sequence[str]) -> list[str]:
    """Splits a command of one line at its operators into the given parts, each with the operator after it; none if
    there are fewer than two, or if the parts are not the whole command."""
    if len(parts) < 2 or clean_single_line(command) != command:
        return []
    starts: list[int] = []
    end = 0
    for part in parts:
        start = command.find(part, end)
        if start < 0 or command[end:start].strip(_SHELL_OPERATOR_CHARACTERS):
            return []
        starts.append(start)
        end = start + len(part)
    if command[end:].strip(_SHELL_OPERATOR_CHARACTERS):
        return []
    return [command[a:b].strip() for a, b in pairwise([0, *starts[1:], len(command)])]


def _part_table(shown: Sequence[ApprovalCallPart], width: int) -> list[StyledApprovalRow]:
    """Returns the rows of a table: each part of the call with what it does, in two columns if all of them fit, else
    each in two rows."""
    telling = [part for part in shown if not part.is_harmless]
    column = max((cells(clean_single_line(part.text)) for part in telling), default=0)
    effect_cells = max((cells(clean_single_line(part.effect)) for part in telling), default=0)
    has_columns = _CALL_PART_INDENT + column + _EFFECT_GAP + effect_cells <= width
    rows: list[StyledApprovalRow] = []
    for part in shown:
        mark = ("danger", "  ▲ ") if part.is_dangerous else ("warning", "  • ")
        text, effect = clean_single_line(part.text), clean_single_line(part.effect)
        if part.is_harmless:
            rows.append(
                (
                    ("muted", " " * _CALL_PART_INDENT),
                    ("text", cut_end_to_fit(text, width - _CALL_PART_INDENT)),
                )
            )
            continue
        if has_columns:
            pad = " " * (column - cells(text) + _EFFECT_GAP)
            rows.append((mark, ("text", text), ("muted", f"{pad}{effect}")))
        else:
            rows.append((mark, ("text", cut_end_to_fit(text, width - _CALL_PART_INDENT))))
            indent = " " * (_CALL_PART_INDENT + 2)
            rows.append((("muted", indent + cut_end_to_fit(effect, width - len(indent))),))
    return rows


def _answer_rows(asked: ApprovalRequest, state: ApprovalCardState) -> list[StyledApprovalRow]:
    if state.asks_reason:
        return [
            (
                ("current", "› "),
                ("text", cut_end_to_fit(_DENIAL_REASON_REQUEST_TEXT, max(8, state.width - 2))),
            )
        ]
    if state.lists_rules:
        return _rule_rows(asked, state)
    rows: list[StyledApprovalRow] = []
    column = max(
        _APPROVAL_LABEL_CELLS, *(cells(clean_single_line(answer.label)) + 5 for answer in state.answers)
    )
    for index, answer in enumerate(state.answers):
        is_current = index == state.chosen_index
        name = "current" if is_current and state.has_cursor else "text"
        mark = name if state.has_cursor else "muted"
        number, label = f"{index + 1}  ", clean_single_line(answer.label)
        keys = _answer_keys(asked, answer, state, " " * (column - cells(number + label)))
        rows.append(((mark, "› " if is_current else "  "), (mark, number), (name, label), *keys))
    return rows


def _with_letters(
    row: StyledApprovalRow, hidden: Sequence[ApprovalAnswerOption], state: ApprovalCardState
) -> StyledApprovalRow:
    """Returns the row of an answer with its letter, followed by the letters of the answers that have no room for a
    row."""
    own = row[:3]
    letter = row[4][1].split("  ")[0]
    used = sum(cells(text) for _, text in own)
    hints = key_hint_row(
        ((one.letter, _short_label(one)) for one in hidden), "key", state.width - used - cells(letter) - 2
    )
    return (*own, ("muted", "  "), ("key", letter), *hints)


def _answer_keys(
    asked: ApprovalRequest, answer: ApprovalAnswerOption, state: ApprovalCardState, pad: str
) -> StyledApprovalRow:
    """Returns the pieces that name the keys of an answer, or how its confirmation word is typed."""
    word = asked.confirmation_word
    if answer.action == "word" and state.typed is not None:
        return (("muted", pad), ("key", "type "), ("danger", str(word)), ("key", ": "), ("text", state.typed))
    keys = state.keys
    chords = {"yes": keys.once, "no": keys.deny, "rules": keys.always}
    if not keys.reports_alt_separately:
        chords = {"no": keys.deny} if state.has_text else {}
    chord = {**chords, "word": keys.focus}.get(answer.action, "")
    letter = answer.letter if state.takes_letters or state.has_focus else ""
    shown = "  ".join(filter(None, (letter, "" if state.has_focus else chord)))
    key = "key" if state.is_armed or state.has_focus else "muted"
    more = ""
    if answer.action == "word":
        return (
            ("muted", pad),
            (key, shown),
            ("muted", '  type "'),
            ("danger", str(word)),
            ("muted", '" to confirm'),
        )
    elif answer.action == "no" and state.has_text and not state.has_focus:
        more = "  sends your text as the reason"
    return (("muted", pad), (key, shown), ("muted", more))


def _rule_head_row(asked: ApprovalRequest, width: int) -> StyledApprovalRow:
    """Returns the row above the rules that could be saved, with the heads of the columns."""
    title, column = "  Save which rule?", "matches" if asked.earlier_questions else ""
    return (("title", title), ("muted", column.rjust(max(0, width - cells(title)))))


def _rule_rows(asked: ApprovalRequest, state: ApprovalCardState) -> list[StyledApprovalRow]:
    rows: list[StyledApprovalRow] = []
    for index, (answer, rule) in enumerate(zip(state.answers, asked.rules, strict=True)):
        name, mark = ("current", "› ") if index == state.chosen_index else ("text", "  ")
        number = f"{mark}{index + 1}  "
        count = f"  {rule.matched_questions} of {asked.earlier_questions}" if asked.earlier_questions else ""
        room = max(8, state.width - cells(number) - cells(count))
        label = cut_end_to_fit(clean_single_line(answer.label), room)
        hosts = _fitting_hosts(rule.hosts, room - cells(label))
        pad = " " * (room - cells(label) - cells(hosts))
        rows.append(((name, f"{number}{label}"), ("muted", f"{hosts}{pad}{count}")))
    return rows


def _scope_row(state: ApprovalCardState) -> StyledApprovalRow:
    """Returns the row that says where the rule will be valid, with the other scopes that the arrows choose."""
    chosen = state.answers[state.chosen_index].scope
    pieces: list[tuple[str, str]] = [("muted", "  for ")]
    for scope, label in RULE_SCOPE_LABELS.items():
        pieces.append(("current", f"‹{label}›") if scope == chosen else ("muted", f" {label} "))
    return tuple(pieces)


def _key_row(asked: ApprovalRequest, state: ApprovalCardState) -> StyledApprovalRow:
    """Returns the last row of the approval card: key hints, or why plain keys do not answer now. Keys are coloured once
    they are accepted."""
    keys, name = state.keys, "key" if state.is_armed or state.has_focus else "muted"
    if state.is_too_early:
        why = "" if state.refused_key else "the question just appeared; "
        return (("warning", "  too early: "), ("muted", f"{why}press the key again"))
    if state.refused_key and not state.has_focus:
        where = " in this terminal" if state.width >= _UNCLEAR_KEY_CELLS else ""
        return (("warning", f"  {state.refused_key} is unclear{where}: "), (name, state.advice))
    if state.asks_reason:
        sends = "deny with your reason" if state.has_text else "deny without a reason"
        return key_hint_row((("enter", sends), ("esc", "back")), "key", state.width)
    edit = ("e" if asked.kind == "call" else "", "edit the call")
    if state.typed is not None:
        why = f'not "{clean_single_line(state.rejected_word)}": ' if state.rejected_word else ""
        again = ("enter", f'after "{asked.confirmation_word}"') if why else ("enter", "confirm")
        return key_hint_row((again, ("esc", "back")), name, state.width, why)
    if state.has_focus or state.lists_rules:
        save = "save" if state.lists_rules else "choose"
        more = (("←/→", "valid for"),) if state.lists_rules else (("d", "details"), edit)
        return key_hint_row(
            (("↑/↓", "move"), ("enter", save), *more, ("esc", "back")),
            name,
            state.width,
        )
    if not state.takes_letters:
        why = "your text has the keys: " if state.has_text else "keys are text now: "
        return key_hint_row(((keys.focus, "focus"), (keys.details, "details")), name, state.width, why)
    details = ("/".join(filter(None, ("d", keys.details if keys.reports_alt_separately else ""))), "details")
    hints = (("enter", "choose"), ("↑/↓", "move"), details, (keys.focus, "focus"))
    return key_hint_row(hints, name, state.width, "" if state.is_armed else "in a moment: ")


def _short_label(answer: ApprovalAnswerOption) -> str:
    short = {"rules": "always", "why": "say why"}
    return short.get(answer.action) or clean_single_line(answer.label).split(",")[0].lower()


def key_hint_row(
    pairs: Iterable[tuple[str, str]], name: str, width: int, lead: str = ""
) -> StyledApprovalRow:
    """Returns a row with key hints in the given style after a text; hints without a key or without room are left
    out."""
    left = {f"{key} {word}": (key, word) for key, word in pairs if key}
    told: list[tuple[str, str]] = [("muted", f"  {lead}")]
    for hint in fitting_key_hints(" · ".join(left), width - 2 - cells(lead)).split(" · ") if left else ():
        key, word = left.get(hint, (hint, ""))
        told += [("muted", " · " if len(told) > 1 else ""), (name, key), ("muted", f" {word}")]
    return tuple(told)


def _fitting_hosts(hosts: tuple[str, ...], room: int) -> str:
    """Returns as many of a rule's hosts as fit, in brackets; empty if not even one does."""
    for count in range(len(hosts), 0, -1):
        text = f" ({', '.join(hosts[:count])}{', …' * (count < len(hosts))})"
        if cells(text) <= room:
            return text
    return ""


def _wrap_text(text: str, width: int) -> list[str]:
    """Wraps a foreign text, at most its first 200 lines, to rows of at most `width` cells."""
    rows: list[str] = []
    for line in clean(text).split("\n")[:200]:
        line = expand_tabs(line, 0)
        rows += [line[start:end].rstrip() for start, end in wrap_line_into_ranges(line, width)] or [""]
    return rows
