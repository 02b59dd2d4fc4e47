"""Decides when a question that appeared by itself accepts keys, so that keys meant for the editor do not answer it.

It must have been completely visible for a while, and no key may have been pressed for a shorter while. Each key
restarts the second period, and so does a time in which the program was blocked. A letter without a meaning there shows
that a text is being typed: then the second period is longer, since its Enter often comes after a pause."""

MIN_QUESTION_VISIBLE_SECONDS = 0.6
MIN_KEY_QUIET_SECONDS = 0.35
TYPING_PAUSE_SECONDS = 2.0
"""Seconds without a letter after which a text that is being typed has ended."""
MIN_UI_STALL_SECONDS = 0.5
"""Seconds between two checks after which keys may have accumulated meanwhile."""


class QuestionInputGuard:
    """Decides whether a question that appeared by itself accepts keys yet, by how long it was visible and no key was
    pressed."""

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._key_at = self._letter_at = float("-inf")
        self._last_check: float | None = None
        self.was_armed = False
        """Whether keys were accepted when the current key arrived."""

    def note_shown(self, now: float) -> None:
        """Called when the question is completely visible: starts the period for which it must be visible before it
        accepts keys."""
        self._shown_at = self._last_check = now
        self.was_armed = False

    def note_hidden(self) -> None:
        self._shown_at = None
        self.was_armed = False

    def update_armed(self, now: float) -> None:
        """Updates whether the question accepts keys now; called regularly while it is visible."""
        self._reset_after_stall(now)
        self._last_check = now

    def note_key_press(self, now: float) -> None:
        """Restarts the period in which no key may be pressed; called at any key, paste or click, before it is
        handled."""
        self._reset_after_stall(now)
        self.was_armed = self.is_armed(now)
        self._key_at = now

    def note_letter(self, now: float) -> None:
        """Makes the period without keys longer after a letter that is no answer, because the user is typing a text."""
        self._letter_at = now

    def is_armed(self, now: float) -> bool:
        if self._shown_at is None or now - self._letter_at < TYPING_PAUSE_SECONDS:
            return False
        return (
            now - self._shown_at >= MIN_QUESTION_VISIBLE_SECONDS
            and now - self._key_at >= MIN_KEY_QUIET_SECONDS
        )

    def is_question_visible_long_enough(self, now: float) -> bool:
        """Returns whether the question has been visible for long enough, whenever the last key was pressed."""
        return self._shown_at is not None and now - self._shown_at >= MIN_QUESTION_VISIBLE_SECONDS

    def _reset_after_stall(self, now: float) -> None:
        if self._last_check is not None and now - self._last_check > MIN_UI_STALL_SECONDS:
            self._key_at = now
            self._last_check = now
