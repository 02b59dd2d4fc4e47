"""The approval bar above the editor: may this call run? It takes neither the focus nor keys that write text.

From the editor only keys with Ctrl, Alt or F answer, and only after it was visible for a while (`input_guard`). F8
focuses it: then single letters answer, rules can be chosen, and the confirmation word of a dangerous command is typed.
Clicks do nothing."""

import math
import time
from collections.abc import Callable, Iterable
from typing import ClassVar, Literal

import msgspec
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from widgets.diffstat import split_diffstat
from widgets.key_labels import fitting_hints
from widgets.line import Line, cells, plain
from widgets.readable_styles import on_selected_row
from widgets.status.input_guard import QUIET_SECONDS, InputGuard
from widgets.terminal.terminal_driver import AmbiguousAltKey
from widgets.transcript.leaves.safe_text import clean, expand_tabs, wrap

REPEAT_SECONDS = 2.5
"""Seconds in which an ambiguous Alt key must be pressed again to answer; afterwards it counts as Escape."""
MAX_TEXT_ROWS = 4
MAX_PARTS = 3
_RESERVED_ROWS = 6
"""Rows that the bar leaves for the editor, the lines around it and a part of the transcript."""
_TICK_SECONDS = 0.1
RuleScope = Literal["session", "project", "person"]
_SCOPE_LABELS: dict[RuleScope, str] = {
    "session": "this session",
    "project": "this project",
    "person": "always",
}
"""Labels for how long a rule is valid."""
_PROJECT_FIRST: tuple[RuleScope, ...] = ("project", "session", "person")
_MAX_SCOPE_CELLS = max(map(len, _SCOPE_LABELS.values()))
Tone = Literal["text", "muted", "accent", "warning", "error"]


class ApprovalPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a command, with what it does."""

    text: str
    does: str
    """The effect of the part, in one or two words."""
    is_harmless: bool


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that the user may add instead of allowing a call once."""

    text: str
    answers: int
    words: str = ""
    """A description of what the rule allows, shown before "for this project"; if empty, the rule
    itself is shown."""
    hosts: tuple[str, ...] = ()
    """The hosts of its group, shown as far as there is room."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The question that the bar shows."""

    id: str
    tool: str
    text: str
    """The whole command, or the file that is concerned."""
    parts: tuple[ApprovalPart, ...] = ()
    does: str = ""
    why: str = ""
    mode: str = ""
    number: int = 1
    of: int = 1
    confirmation_word: str | None = None
    rules: tuple[ApprovalRule, ...] = ()
    asked: int = 0
    kind: Literal["call", "confirm", "select", "open", "staged"] = "call"
    """`call`: may a tool call run; `confirm` or `select`: a question of an extension; `open`: something that takes the
    keyboard and must not open by itself; `staged`: staged changes to apply or discard."""
    options: tuple[str, ...] = ()


class ApprovalKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys as shown; an unbound key is empty."""

    once: str = "alt+a"
    deny: str = "alt+x"
    always: str = "alt+w"
    whole: str = "alt+v"
    enter: str = "f8"


class ApprovalBar(Widget, can_focus=False):
    """The bar above the editor that shows approval questions."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "approval--mark",
        "approval--mark-floor",
        "approval--title",
        "approval--text",
        "approval--muted",
        "approval--key",
        "approval--current",
        "approval--added",
        "approval--removed",
    }
    DEFAULT_CSS = "ApprovalBar { height: 0; display: none; }"

    class Answered(Message):
        """The user answered the question."""

        def __init__(
            self, id: str, allows: bool, rule: str | None = None, scope: RuleScope = "session"
        ) -> None:
            super().__init__()
            self.id = id
            self.allows = allows
            self.rule = rule
            self.scope: RuleScope = scope

    class DetailsRequested(Message):
        """Asks for all details on a separate screen."""

    class EditRequested(Message):
        """Asks to edit the call."""

    class Left(Message):
        """The focus should return to the editor."""

    class StopRequested(Message):
        """An ambiguous Alt key was not repeated: it was an Escape, which stops the run."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self.asked: ApprovalRequest | None = None
        self.keys = ApprovalKeys()
        self.arming = InputGuard()
        self._clock = clock
        self._typed = ""
        self._chooses = False
        self._at = 0
        self._was_armed = False
        self._doubtful = ""
        """The ambiguous Alt key that is being handled; empty for other keys."""
        self._waits_for = ""
        """The ambiguous key that answers when pressed again."""
        self._pressed_at = self._again_until = math.inf
        self._tells_again = False
        self._looks: Timer | None = None
        """A timer that runs only while a question is open, so that an idle program does nothing."""
        self._rows: list[tuple[tuple[str, str], ...]] = []

    def on_mount(self) -> None:
        self._looks = self.set_interval(_TICK_SECONDS, self._look, pause=self.asked is None)

    @property
    def is_inside(self) -> bool:
        """Whether the bar has the keyboard focus."""
        return self.has_focus

    @property
    def shows_keys(self) -> bool:
        """Whether keys are accepted and therefore shown as active."""
        return self._was_armed and self.arming.is_armed(self._clock())

    def show(self, asked: ApprovalRequest | None) -> None:
        """Shows another question, or hides the bar."""
        self.arming.hidden()
        if asked is None and self.has_focus:
            self.leave()
        self.asked = asked
        self._typed, self._chooses, self._at, self._was_armed = "", False, 0, False
        self._resolve_ambiguity()
        self.display = asked is not None
        self._fit()
        if self._looks is not None:
            (self._looks.pause if asked is None else self._looks.resume)()
        if asked is not None:
            self.call_after_refresh(self._after_paint)

    def note_input(self, event: events.Event) -> bool:
        """Called for every key, paste or click before it is handled.

        Returns True if it shows that the Alt key before it was an Escape and a letter: then the run is to be stopped.
        """
        now = self._clock()
        if self.asked is not None:
            self.arming.key(now)
        elif now >= self._again_until:
            self._resolve_ambiguity()
        self._doubtful = event.key if isinstance(event, AmbiguousAltKey) else ""
        was_stop = bool(self._waits_for) and isinstance(event, events.Key) and event.is_printable
        if was_stop:
            self._resolve_ambiguity()
        return was_stop

    # Keys from the editor

    def answer(self, allows: bool) -> bool:
        """Answers by a key of the page; returns False if the bar was not ready or needs a typed word."""
        asked = self.asked
        if asked is None or (allows and not self.is_intended()) or not self.arming.was_armed:
            return False
        if allows and asked.confirmation_word is not None:
            return False
        if allows and asked.kind == "select":
            self._open(chooses=True)
            return False
        self.post_message(self.Answered(asked.id, allows))
        return True

    def enter(self, *, chooses: bool = False) -> None:
        """Focuses the bar, if the key came while it was ready."""
        if self.asked is not None and self.is_intended() and self.arming.was_armed:
            self._open(chooses=chooses)

    def _open(self, *, chooses: bool) -> None:
        asked = self.asked
        self._chooses = asked is not None and ((chooses and bool(asked.rules)) or asked.kind == "select")
        self.can_focus = True
        self.focus()
        self._fit()

    def is_intended(self) -> bool:
        """Whether a key counts as an answer. An Alt key that may be Escape and a letter must be pressed twice."""
        now, was_quiet = self._clock(), self.asked is None or self.arming.was_armed
        is_again = self._doubtful == self._waits_for and now - self._pressed_at >= QUIET_SECONDS and was_quiet
        if not self._doubtful or is_again:
            self._resolve_ambiguity()
            return True
        if self._doubtful != self._waits_for:
            self._waits_for, self._pressed_at = self._doubtful, now
            self._again_until = now + REPEAT_SECONDS
        self._fit()
        return False

    def _resolve_ambiguity(self) -> None:
        self._waits_for, self._again_until = "", math.inf

    def leave(self) -> None:
        self._typed, self._chooses = "", False
        self.post_message(self.Left())

    def on_blur(self) -> None:
        self.can_focus = False
        self._typed, self._chooses = "", False
        self._fit()

    # Keys with the focus here

    def on_key(self, event: events.Key) -> None:
        asked = self.asked
        if asked is None:
            return
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.leave()
        elif asked.confirmation_word is not None and self._types(event, asked.confirmation_word):
            self._fit()
        elif self.arming.was_armed:
            self._do(event.key, asked)

    def _types(self, event: events.Key, word: str) -> bool:
        """Handles typing the confirmation word of a dangerous command, then Enter; returns whether
        the key was used."""
        if event.key == "enter" and self._typed == word and self.asked is not None:
            self.post_message(self.Answered(self.asked.id, True))
        elif event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.is_printable and event.character and (self._typed or word.startswith(event.character)):
            self._typed += event.character
        else:
            return False
        return True

    def _do(self, key: str, asked: ApprovalRequest) -> None:
        rules = self._choices()
        if self._chooses and key in ("up", "down"):
            self._at = min(max(0, self._at + (1 if key == "down" else -1)), len(rules) - 1)
            self._fit()
        elif self._chooses and key == "enter":
            text, scope = rules[self._at]
            self.post_message(self.Answered(asked.id, True, text, scope))
        elif key == "w" and asked.rules and asked.kind == "call":
            self._chooses = not self._chooses
            self._fit()
        elif key == "v":
            self.post_message(self.DetailsRequested())
        elif key == "e" and asked.kind == "call":
            self.post_message(self.EditRequested())
        elif key == "x" or (key == "n" and asked.kind == "confirm"):
            self.post_message(self.Answered(asked.id, False))
        elif asked.kind == "select":
            pass  # Enter on one of them chooses
        elif (key in ("a", "enter") and asked.confirmation_word is None) or (
            key == "y" and asked.kind == "confirm"
        ):
            self.post_message(self.Answered(asked.id, True))

    def _choices(self) -> list[tuple[str, RuleScope]]:
        """Returns the options to choose from: each rule for the session, for the project, and always;
        or the options of a question."""
        if self.asked is not None and self.asked.kind == "select":
            return [(option, "session") for option in self.asked.options]
        rules = self.asked.rules if self.asked is not None else ()
        keeps_in_order = _PROJECT_FIRST if any(rule.words for rule in rules) else tuple(_SCOPE_LABELS)
        return [(rule.text, scope) for scope in keeps_in_order for rule in rules]

    # Drawing

    def _look(self) -> None:
        if self.asked is None:
            return
        now = self._clock()
        self.arming.look(now)
        is_armed = self.arming.is_armed(now)
        if now >= self._again_until:
            self._resolve_ambiguity()
            self.post_message(self.StopRequested())
        was_told_again, self._tells_again = self._tells_again, bool(self._waits_for)
        if is_armed != self._was_armed or was_told_again != self._tells_again:
            self._was_armed = is_armed
            self._fit()  # the keys change their colour

    def _after_paint(self) -> None:
        if self.asked is not None and self.is_attached and self.region.height >= len(self._rows):
            self.arming.shown(self._clock())

    def on_resize(self) -> None:
        self._fit()
        if self.asked is not None:
            self.call_after_refresh(self._after_paint)

    def _fit(self) -> None:
        asked = self.asked
        self._rows = [] if asked is None else self._content_rows(asked, max(20, (self.size.width or 80) - 3))
        height = len(self._rows)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh()

    def _content_rows(self, asked: ApprovalRequest, width: int) -> list[tuple[tuple[str, str], ...]]:
        number = f"{asked.number} of {asked.of} · " if asked.of > 1 else ""
        head = (
            ("title", f"{asked.tool} wants to run  "),
            ("muted", f"{number}{asked.does} · mode: {asked.mode}"),
        )
        if asked.kind == "staged":
            head = (("title", f"{asked.tool} staged this  "), ("muted", f"{number}nothing is written yet"))
        elif asked.kind != "call":
            head = (("title", f"{asked.tool} asks  "), ("muted", number))
        rows: list[tuple[tuple[str, str], ...]] = [head]
        lines = _rows_of(asked.text, width)
        most = MAX_TEXT_ROWS if self.app.size.height > 20 else 2
        rows += [
            tuple((piece.kind or "text", piece.text) for piece in split_diffstat(line))
            if asked.kind == "staged"
            else (("text", line),)
            for line in lines[:most]
        ]
        if len(lines) > most:
            rows.append(
                (("muted", f"… {len(lines) - most} more lines: {self.keys.whole or 'v in here'} shows all"),)
            )
        telling = [part for part in asked.parts if not part.is_harmless]
        if len(asked.parts) > 1:
            for part in telling[:MAX_PARTS]:
                rows.append((("muted", f"  {part.does}: "), ("text", plain(part.text))))
            if len(telling) > MAX_PARTS:
                rows.append((("muted", f"  … and {len(telling) - MAX_PARTS} more parts"),))
        if asked.why:
            rows.append((("muted", plain(asked.why)),))
        room = max(4, self.app.size.height - _RESERVED_ROWS) - 1
        if self._chooses:
            rules = self._rule_rows(asked, width)
            first = max(0, min(self._at - 1, len(rules) - max(1, room - 2)))
            rules = rules[first : first + max(1, room - 1)]
            rows = [*rows[: max(1, room - len(rules))], *rules]
        return [*rows[:room], self._key_row(asked, width)]

    def _rule_rows(self, asked: ApprovalRequest, width: int) -> list[tuple[tuple[str, str], ...]]:
        known_rules = {rule.text: rule for rule in asked.rules}
        longest = max((cells(plain(text)) for text in known_rules), default=0)
        rows: list[tuple[tuple[str, str], ...]] = []
        for place, (text, scope) in enumerate(self._choices()):
            name, mark = ("current", "› ") if place == self._at else ("text", "  ")
            if asked.kind == "select":
                rows.append(((name, f"{mark}{plain(text)}"),))
                continue
            answers = f"matches {known_rules[text].answers} of {asked.asked} earlier questions"
            count = answers if asked.asked else "first question"
            words = plain(known_rules[text].words)
            kept = "all projects" if words and scope == "person" else _SCOPE_LABELS[scope]
            row = f"{words} for {kept}" if words else f"{kept:<{_MAX_SCOPE_CELLS}}  {plain(text):<{longest}}"
            room = width - cells(mark + row)
            hosts = _fitting_hosts(known_rules[text].hosts, room - cells(f"  {count}"))
            rows.append(
                ((name, mark + row), ("muted", f"{hosts}  {count}" if room > cells(count) + 1 else ""))
            )
        return rows

    def _key_row(self, asked: ApprovalRequest, width: int) -> tuple[tuple[str, str], ...]:
        """Returns the key hints; keys are coloured once they are accepted."""
        keys, name = self.keys, "key" if self._was_armed or self.has_focus else "muted"
        inside = (("x", "deny"), ("v", "details"), ("e", "edit"), ("esc", "back"))
        if asked.confirmation_word is not None and self.has_focus:
            typed = ((name, f"type {asked.confirmation_word}: "), ("text", self._typed), ("muted", "   "))
            return (*typed, *_told(inside, name, width - len(asked.confirmation_word) - len(self._typed) - 9))
        if asked.confirmation_word is not None:
            first = (keys.enter, f'type "{asked.confirmation_word}" to allow it once')
            return _told((first, (keys.deny, "deny"), (keys.whole, "details")), name, width)
        if self._waits_for and not self.has_focus:
            again = ("the same key", "again, else it stops")
            return _told((again, (keys.enter, "focus"), ("esc", "stop")), name, width)
        if asked.kind != "call":
            return _told(self._keys_for_others(asked), name, width)
        if self._chooses:
            return _told((("↑/↓", "choose"), ("enter", "save"), ("esc", "back")), name, width)
        if self.has_focus:
            always = ("w" if asked.rules else "", "always allow…")
            return _told((("a", "allow"), always, *inside), name, width)
        always = (keys.always if asked.rules else "", "always allow…")
        whole, here = (keys.whole, "details"), (keys.enter, "focus")
        return _told(((keys.once, "allow"), (keys.deny, "deny"), always, whole, here), name, width)

    def _keys_for_others(self, asked: ApprovalRequest) -> tuple[tuple[str, str], ...]:
        keys = self.keys
        if asked.kind == "select":
            if self.has_focus:
                return ("↑/↓", "move"), ("enter", "choose"), ("x", "none"), ("esc", "back")
            return (keys.once, "choose…"), (keys.deny, "none"), (keys.whole, "details")
        if asked.kind == "staged":
            if self.has_focus:
                return ("a", "apply"), ("x", "discard"), ("v", "details"), ("esc", "back")
            return (
                (keys.once, "apply"),
                (keys.deny, "discard"),
                (keys.whole, "details"),
                (keys.enter, "focus"),
            )
        yes = "yes" if asked.kind == "confirm" else "answer…"
        if self.has_focus:
            return ("y" if asked.kind == "confirm" else "a", yes), ("x", "no"), ("esc", "back")
        return (keys.once, yes), (keys.deny, "no"), (keys.whole, "details"), (keys.enter, "focus")

    def render_line(self, y: int) -> Strip:
        line = Line(self.size.width, self.rich_style, edge=1)
        if self.asked is None or y >= len(self._rows):
            return line.strip()
        mark = "approval--mark-floor" if self.asked.confirmation_word is not None else "approval--mark"
        line.add("▌ ", self._style(mark))
        current = self._style("approval--current") if self._rows[y][0][0] == "current" else None
        for name, text in self._rows[y]:
            style = self._style(f"approval--{name}")
            line.add(text, style if current is None else on_selected_row(style, current))
        if current is not None:  # to the edge, as in every list
            line.base = on_selected_row(line.base, current)
        return line.strip()

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(name)


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


def _told(pairs: Iterable[tuple[str, str]], name: str, width: int) -> tuple[tuple[str, str], ...]:
    """Returns key hints in the given style; those without a key or without room are left out."""
    left = [f"{key} {word}" for key, word in pairs if key]
    told: list[tuple[str, str]] = []
    for hint in fitting_hints(" · ".join(left), width).split(" · ") if left else ():
        key, _, word = hint.partition(" ")
        told += [("muted", " · " if told else ""), (name, key), ("muted", f" {word}")]
    return tuple(told)
