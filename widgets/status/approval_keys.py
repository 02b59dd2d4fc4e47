"""Rules for the keys of an approval question: which keys answer; a plain key is held back because it may begin a text;
an Alt key that may be Escape and a letter allows nothing."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.timer import Timer

from widgets.status.approval_request import ApprovalAnswerOption, ApprovalRequest
from widgets.status.input_guard import MIN_KEY_QUIET_SECONDS

REFUSED_SECONDS = 5.0
"""Seconds for which the card says that an ambiguous Alt key was refused, and a text that follows stops the run."""
ANSWER_KEY_HOLD_SECONDS = MIN_KEY_QUIET_SECONDS
"""Seconds without another key after which a letter, number or Enter counts as an answer: as long as before it, because
slow typing has pauses too, and lines of a paste have none behind Enter."""
APPROVAL_DETAILS_LETTER: Final = "d"
ENTER_CHARACTER: Final = "\r"
_APPROVAL_DETAILS_SCREEN_KEYS: Final = frozenset("ynjk ")
"""Plain keys with a meaning on the page of details; others show that a text is being typed, which began with `d`."""
LETTER_BY_MAC_OPTION_CHARACTER: Final = {"å": "y", "≈": "n", "∑": "a", "√": APPROVAL_DETAILS_LETTER}
"""What Option with A, X, W and V types in the terminals of a Mac as shipped, and the letters of the answers."""


def is_text_typing_key(event: events.Key) -> bool:
    """Returns whether a key pressed on the screen with a call's details shows that the user is typing a text."""
    return event.is_printable and event.character not in _APPROVAL_DETAILS_SCREEN_KEYS


def is_approval_key(event: events.Key, answers: Sequence[ApprovalAnswerOption]) -> bool:
    """Returns whether a key has a meaning in an approval question: it moves the cursor, chooses one of the answers, or
    opens the details."""
    letters = {answer.letter for answer in answers if answer.letter}
    numbers = {str(number) for number in range(1, min(9, len(answers)) + 1)}
    return event.key in ("up", "down", "enter") or event.character in letters | numbers | {
        APPROVAL_DETAILS_LETTER
    }


def advice_for(plain_key: str, asked: ApprovalRequest, *, focus_key: str) -> str:
    """Returns what to press in place of an ambiguous Alt key. `focus_key`: the key that focuses the question, since
    plain keys are text until then."""
    if plain_key.startswith("/"):
        return f"use {plain_key}"
    answer = "a number" if asked.kind == "select" else plain_key
    return f"press {focus_key}, then {answer}"


class HeldAnswerKey:
    """The plain key that is held back as a possible answer, if there is one. A timer applies it, unless the next key
    comes first."""

    def __init__(self, start_timer: Callable[[float, Callable[[], None]], Timer]) -> None:
        self._start_timer = start_timer
        self._timer: Timer | None = None
        self.character = ""
        """The character of the key; empty while no key is held."""
        self.is_early = False
        """Whether the last held key came before the question accepted keys, so that it is dropped and not applied."""

    def hold(self, character: str, on_timeout: Callable[[], None], *, is_early: bool) -> None:
        self._timer = self._start_timer(ANSWER_KEY_HOLD_SECONDS, on_timeout)
        self.character, self.is_early = character, is_early

    def take(self) -> str:
        """Stops holding the key and returns its character; empty if none was held."""
        held, self.character = self.character, ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        return held


class AmbiguousAltKeys:
    """Alt keys for which terminals send the same as for Escape and a letter: the one being handled, and the one
    that was refused last. They allow nothing while a question is open."""

    def __init__(self) -> None:
        self.current = ""
        """The ambiguous key that is being handled; empty for other keys."""
        self._refused = ""
        self._advice = ""
        self._pressed_at = -math.inf

    @property
    def refused(self) -> str:
        """The ambiguous Alt key that was pressed last and did nothing; empty if there is none."""
        return self._refused

    @property
    def refusal(self) -> str:
        """What is said about the refused key; empty if there is none."""
        return f"{self._refused} is unclear in this terminal: {self._advice}" if self._refused else ""

    @property
    def advice(self) -> str:
        """What to press in place of the refused key."""
        return self._advice

    def resolve(self) -> None:
        """Forgets the refused key."""
        self._refused = self._advice = ""

    def is_overdue(self, now: float) -> bool:
        """Returns whether the key was refused so long ago that a text that follows is no continuation of it."""
        return bool(self._refused) and now - self._pressed_at >= REFUSED_SECONDS

    def is_intended(self, now: float, *, advice: str) -> bool:
        """Returns whether the key that is being handled is surely the one it looks like; otherwise it is refused, with
        the advice what to press. Without an advice it counts when it is pressed again."""
        is_again = self.current == self._refused and now - self._pressed_at >= MIN_KEY_QUIET_SECONDS
        if not self.current or (is_again and not advice and not self._advice):
            self.resolve()
            return True
        if self.current != self._refused or advice:
            self._refused, self._advice, self._pressed_at = self.current, advice, now
        return False
