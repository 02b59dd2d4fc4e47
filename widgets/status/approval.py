"""The approval question above the editor: may this call run? It does not take the focus.

While the editor is empty, single letters, numbers, arrows and Enter answer; with text in it only keys with Ctrl, Alt
or F do, and only after the question was visible for a while (`input_guard`). A letter or number counts once no other
key follows it at once, so the beginning of a word is no answer. F8 focuses the question; then the confirmation word of
a dangerous command is typed. Clicks do nothing."""

import math
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from widgets.line import RowBuilder
from widgets.readable_styles import on_selected_row
from widgets.status.approval_request import (
    ApprovalAnswer,
    ApprovalKeys,
    ApprovalRequest,
    ChangeRow,
    RuleScope,
    answers_to,
    rule_answers,
    typed_answer,
)
from widgets.status.approval_rows import CardState, Row, card_rows
from widgets.status.input_guard import MIN_QUIET_SECONDS, InputGuard
from widgets.terminal.terminal_driver import AmbiguousAltKey

REPEAT_SECONDS = 2.5
"""Seconds in which an ambiguous Alt key must be pressed again to answer; afterwards it counts as Escape."""
HOLD_SECONDS = 0.2
"""Seconds without another key after which a letter or number counts as an answer."""
TOO_EARLY_SECONDS = 1.5
"""Seconds for which the card says that a key came too early."""
_TICK_SECONDS = 0.1
_DETAILS: Final = "d"
_MAC_OPTION: Final = {"å": "once", "≈": "deny", "∑": "always", "√": "details"}
"""What Option with A, X, W and V types in the terminals of a Mac as shipped."""


class ApprovalBar(Widget, can_focus=False):
    """The card above the editor that shows approval questions."""

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
        "approval--danger",
        "approval--warning",
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

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        give_back: Callable[[str], object] = lambda text: None,
        id: str | None = None,
    ) -> None:
        """`give_back`: writes keys into the editor that were no answer after all."""
        super().__init__(id=id)
        self.asked: ApprovalRequest | None = None
        self.keys = ApprovalKeys()
        self.arming = InputGuard()
        self._clock = clock
        self._give_back = give_back
        self._change: Sequence[ChangeRow] = ()
        self._typed: str | None = None
        self._lists_rules = False
        self._opened_by = ""
        """The letter that opened the list of rules; it is text if more text follows."""
        self._at = 0
        self._is_in_use = False
        """Whether the last key moved the cursor of the card, so that the next one is meant for it too."""
        self._takes_letters = True
        self._held_key: tuple[str, Timer] | None = None
        """A letter that counts as an answer unless another key follows at once."""
        self._too_early_until = -math.inf
        self._was_armed = False
        self._ambiguous_key = ""
        """The ambiguous Alt key that is being handled; empty for other keys."""
        self._waits_for = ""
        """The ambiguous key that answers when pressed again."""
        self._pressed_at = self._again_until = math.inf
        self._tells_again = False
        self._check_timer: Timer | None = None
        """A timer that runs only while a question is open, so that an idle program does nothing."""
        self._rows: list[Row] = []
        self._shown_size = Size()

    def on_mount(self) -> None:
        self._check_timer = self.set_interval(_TICK_SECONDS, self._look, pause=self.asked is None)

    @property
    def is_inside(self) -> bool:
        """Whether the card has the keyboard focus."""
        return self.has_focus

    @property
    def shows_keys(self) -> bool:
        """Whether keys are accepted and therefore shown as active."""
        return self._was_armed and self.arming.is_armed(self._clock())

    @property
    def answers(self) -> Sequence[ApprovalAnswer]:
        if self.asked is None:
            return ()
        return rule_answers(self.asked) if self._lists_rules else answers_to(self.asked)

    def show(self, asked: ApprovalRequest | None) -> None:
        """Shows another question, or hides the card."""
        self.arming.hidden()
        self._release()
        if asked is None and self.has_focus:
            self.leave()
        self.asked = asked
        self._shown_size = Size()
        self._change, self._was_armed, self._is_in_use = (), False, False
        self._too_early_until = -math.inf
        self._close_list()
        self._resolve_ambiguity()
        self.display = asked is not None
        self._fit()
        if self._check_timer is not None:
            (self._check_timer.pause if asked is None else self._check_timer.resume)()
        if asked is not None:
            self.call_after_refresh(self._after_paint)

    def show_change(self, id: str, change: Sequence[ChangeRow]) -> None:
        """Shows the change that the question is about, if it is still asked."""
        if self.asked is not None and self.asked.id == id:
            self._change = change
            self._fit()

    def note_editor(self, is_blank: bool) -> None:
        """Called when the editor's text changed: single letters answer only while it is empty."""
        if is_blank != self._takes_letters:
            self._takes_letters = is_blank
            self._fit()

    def note_input(self, event: events.Event) -> bool:
        """Called for every key, paste or click before it is handled.

        Returns True if it shows that the Alt key before it was an Escape and a letter: then the run is to be stopped.
        """
        now = self._clock()
        if self.asked is not None:
            self.arming.key(now)
        elif now >= self._again_until:
            self._resolve_ambiguity()
        if not isinstance(event, events.Key):
            self._release()
        self._ambiguous_key = event.key if isinstance(event, AmbiguousAltKey) else ""
        was_stop = bool(self._waits_for) and isinstance(event, events.Key) and event.is_printable
        if was_stop:
            self._resolve_ambiguity()
        return was_stop

    # Keys from the editor

    def answer(self, allows: bool) -> bool:
        """Answers by a key of the page; returns False if the card was not ready or needs a typed word."""
        asked = self.asked
        if asked is None or (allows and not self.is_intended()) or not self._is_ready():
            return False
        if allows and asked.is_dangerous:
            return False
        if allows and asked.kind == "select":
            self._open()
            return False
        self.post_message(self.Answered(asked.id, allows))
        return True

    def enter(self, *, lists_rules: bool = False) -> None:
        """Focuses the card, if the key came while it was ready."""
        if self.asked is not None and self.is_intended() and self._is_ready():
            self._open(lists_rules=lists_rules)

    def take(self, event: events.Key, *, is_blank: bool) -> bool:
        """Takes a key from the editor that is an answer; returns False if it is for the editor."""
        if self.asked is None or self.has_focus:
            return False
        held = self._held_key[0] if self._held_key is not None else ""
        if held and event.key in ("enter", "backspace", "escape"):
            self._release_held_key()
            if event.key == "enter":
                self._answer_by_letter(held)
            return event.key != "escape"
        self._release()
        if (option := _MAC_OPTION.get(event.character or "")) is not None:
            return self._take_option(option, event.character or "", is_blank=is_blank and not held)
        if not is_blank or held or not self._is_answer(event):
            self._is_in_use = False
            return False
        if not self.arming.was_armed and not self._is_in_use:
            if event.key == "enter":
                self._flash_not_yet()
            return event.key == "enter"
        if event.key in ("up", "down"):
            self._is_in_use = True
            self._move(event.key)
        elif event.key == "enter":
            self._choose(self._at)
        else:
            self._hold_key(event.character or "")
        return True

    def _is_answer(self, event: events.Key) -> bool:
        letters = {answer.letter for answer in self.answers if answer.letter}
        numbers = {str(number) for number in range(1, min(9, len(self.answers)) + 1)}
        return event.key in ("up", "down", "enter") or event.character in letters | numbers | {_DETAILS}

    def _take_option(self, option: str, character: str, *, is_blank: bool) -> bool:
        """Takes a character of Option on a Mac. `å` is a letter of words too, so it answers like a plain letter."""
        if option == "once" and not is_blank:
            return False
        if not self.arming.was_armed:
            return False
        if option == "once":
            self._hold_key(character)
        elif option == "deny":
            self.answer(False)
        elif option == "always":
            self.enter(lists_rules=True)
        else:
            self.post_message(self.DetailsRequested())
        return True

    def offer(self, text: str) -> bool:
        """Moves the cursor to the answer that a text sent from the editor names; Enter then chooses it."""
        asked = self.asked
        if asked is None or not self.display or self.has_focus:
            return False
        if asked.is_dangerous and text.strip() == asked.confirmation_word:
            self._open()
            self._typed = asked.confirmation_word
        elif (index := typed_answer(asked, text)) is not None:
            self._close_list()
            self._at = index
        else:
            return False
        self._fit()
        return True

    def _hold_key(self, character: str) -> None:
        timer = self.set_timer(HOLD_SECONDS, self._on_hold_timeout)
        self._held_key = (character, timer)

    def _on_hold_timeout(self) -> None:
        if (held := self._release_held_key()) and self.asked is not None:
            self._answer_by_letter(held)

    def _release_held_key(self) -> str:
        if self._held_key is None:
            return ""
        (held, timer), self._held_key = self._held_key, None
        timer.stop()
        return held

    def _release(self) -> None:
        """Writes a held letter into the editor: a text begins with it."""
        if held := self._release_held_key():
            self._give_back(held)

    def _answer_by_letter(self, character: str) -> None:
        if character == _DETAILS:
            self.post_message(self.DetailsRequested())
            return
        if (
            not character
        ):  # a key without a character, such as Alt with a letter: an answer may have no letter either
            return
        letter = "y" if character in _MAC_OPTION else character
        for index, answer in enumerate(self.answers):
            if letter in (answer.letter, str(index + 1)):
                self._choose(index, opened_by=character)
                return

    def _choose(self, index: int, *, opened_by: str = "") -> None:
        asked = self.asked
        if asked is None:
            return
        answer = self.answers[index]
        self._at = index
        match answer.action:
            case "yes" | "rule":
                self.post_message(self.Answered(asked.id, True, answer.rule, answer.scope))
            case "no":
                self.post_message(self.Answered(asked.id, False))
            case "word":
                self._open()
            case "rules":
                self._open(lists_rules=True)
                self._opened_by = opened_by

    def _move(self, key: str) -> None:
        self._at = min(max(0, self._at + (1 if key in ("down", "j") else -1)), len(self.answers) - 1)
        self._fit()

    def _open(self, *, lists_rules: bool = False) -> None:
        asked = self.asked
        if asked is None:
            return
        self._close_list()
        if lists_rules and asked.rules:
            self._lists_rules, self._at = True, 0
        if asked.is_dangerous:
            self._typed = ""
            self._at = next(i for i, one in enumerate(self.answers) if one.action == "word")
        self.can_focus = True
        self.focus()
        self._fit()

    def _close_list(self) -> None:
        self._typed, self._lists_rules, self._opened_by, self._at = None, False, "", 0

    def _is_ready(self) -> bool:
        """Returns whether the key came while answers are accepted; if not, the card says so."""
        if not self.arming.was_armed:
            self._flash_not_yet()
        return self.arming.was_armed

    def _flash_not_yet(self) -> None:
        self._too_early_until = self._clock() + TOO_EARLY_SECONDS
        self._fit()

    def is_intended(self) -> bool:
        """Whether a key counts as an answer. An Alt key that may be Escape and a letter must be pressed twice."""
        now, was_quiet = self._clock(), self.asked is None or self.arming.was_armed
        is_again = (
            self._ambiguous_key == self._waits_for
            and now - self._pressed_at >= MIN_QUIET_SECONDS
            and was_quiet
        )
        if not self._ambiguous_key or is_again:
            self._resolve_ambiguity()
            return True
        if self._ambiguous_key != self._waits_for:
            self._waits_for, self._pressed_at = self._ambiguous_key, now
            self._again_until = now + REPEAT_SECONDS
        self._fit()
        return False

    def _resolve_ambiguity(self) -> None:
        self._waits_for, self._again_until = "", math.inf

    def leave(self) -> None:
        self._close_list()
        self.post_message(self.Left())

    def on_blur(self) -> None:
        self.can_focus = False
        self._close_list()
        self._fit()

    # Keys with the focus here

    def on_key(self, event: events.Key) -> None:
        asked = self.asked
        if asked is None:
            return
        event.stop()
        event.prevent_default()
        if event.key == "escape" or isinstance(event, AmbiguousAltKey):  # in doubt it was an Escape
            self.leave()
        elif asked.confirmation_word is not None and self._types(event, asked.confirmation_word):
            self._fit()
        elif self.arming.is_shown_long(self._clock()):
            self._handle_focused_key(event, asked)
        else:
            self._flash_not_yet()

    def _types(self, event: events.Key, word: str) -> bool:
        """Handles typing the confirmation word of a dangerous command, then Enter; returns whether
        the key was used."""
        typed = self._typed or ""
        if event.key == "enter" and typed == word and self.asked is not None:
            self.post_message(self.Answered(self.asked.id, True))
        elif event.key == "backspace":
            self._typed = typed[:-1]
        elif event.is_printable and event.character and (typed or word.startswith(event.character)):
            self._typed = typed + event.character
        else:
            return False
        return True

    def _handle_focused_key(self, event: events.Key, asked: ApprovalRequest) -> None:
        """Handles a key of the focused card: here no typing is going on, so that it counts at once."""
        key, character = event.key, event.character or ""
        if key in ("up", "down", "j", "k"):
            self._typed = None if self._typed == "" else self._typed
            self._move(key)
        elif key == "enter":
            self._choose(self._at)
        elif self._lists_rules and character and not character.isdecimal():
            if self._opened_by and event.is_printable:
                self._give_back(self._opened_by + character)
                self.leave()
        elif key in (_DETAILS, "v"):
            self.post_message(self.DetailsRequested())
        elif key == "e" and asked.kind == "call":
            self.post_message(self.EditRequested())
        else:
            self._answer_by_letter({"x": "n", "w": "a"}.get(character, character))

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
        was_too_early = self._too_early_until > -math.inf
        if was_too_early and now >= self._too_early_until:
            self._too_early_until, self._was_armed = -math.inf, not is_armed
        was_told_again, self._tells_again = self._tells_again, bool(self._waits_for)
        if is_armed != self._was_armed or was_told_again != self._tells_again:
            self._was_armed = is_armed
            self._fit()  # the keys change their colour

    def _after_paint(self) -> None:
        """Begins the time in which the question is visible; anew if the terminal's size changed."""
        is_shown = self.asked is not None and self.is_attached and self.region.height >= len(self._rows)
        if is_shown and self._shown_size != self.app.size:
            self._shown_size = self.app.size
            self.arming.shown(self._clock())

    def on_resize(self) -> None:
        self._fit()
        if self.asked is not None:
            self.call_after_refresh(self._after_paint)

    def _fit(self) -> None:
        asked = self.asked
        self._rows = [] if asked is None else card_rows(asked, self._state())
        height = len(self._rows)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh()

    def _state(self) -> CardState:
        return CardState(
            width=max(20, (self.size.width or 80) - 3),
            screen_height=self.app.size.height,
            keys=self.keys,
            answers=self.answers,
            at=self._at,
            change=self._change,
            typed=self._typed,
            lists_rules=self._lists_rules,
            is_inside=self.has_focus,
            is_armed=self._was_armed,
            takes_letters=self._takes_letters,
            must_repeat=bool(self._waits_for),
            is_too_early=self._clock() < self._too_early_until,
        )

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=1)
        if self.asked is None or y >= len(self._rows):
            return line.strip()
        mark = "approval--mark-floor" if self.asked.is_dangerous else "approval--mark"
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
