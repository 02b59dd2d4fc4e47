"""Key chords: `ctrl+x t` means Ctrl+X and then T.

Pure: the application passes each key and runs the action of a completed chord. There is no timer: a pending chord waits
for its next key; Escape or an unbound key cancels it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class ChordKeyResult(NamedTuple):
    """What one key press did: completed a chord and names its action, waits for more keys, or cancelled the pending
    chord."""

    action: str = ""
    """The id of the action that this key completed."""
    is_waiting: bool = False
    """More keys are needed; the key was consumed."""
    is_cancelled: bool = False
    """The pending chord had no such continuation and was cancelled; the key was consumed."""

    @property
    def was_key_consumed(self) -> bool:
        return bool(self.action) or self.is_waiting or self.is_cancelled


class KeyChordMatcher:
    """Matches key presses one by one against the configured key chords and keeps the keys of the pending chord."""

    def __init__(self, bindings: Mapping[str, Iterable[str]]) -> None:
        """Builds the table of chords from `bindings`, which maps an action to its keys; only keys that contain a space
        are chords. A chord that equals or begins another one is not added, but listed in `conflicts`."""
        self._actions: dict[tuple[str, ...], str] = {}
        self._begun: tuple[str, ...] = ()
        self.conflicts: list[tuple[str, str, str]] = []
        """Conflicting chords: the chord, the action that has it, and the action that also claims it."""
        for action, keys in bindings.items():
            for key in keys:
                parts = tuple(key.split())
                if len(parts) > 1:
                    self._add_chord(parts, action)

    def _add_chord(self, parts: tuple[str, ...], action: str) -> None:
        for known, owner in self._actions.items():
            size = min(len(known), len(parts))
            if known[:size] == parts[:size]:
                self.conflicts.append((" ".join(parts), owner, action))
                return
        self._actions[parts] = action

    @property
    def pending_chord_keys(self) -> str:
        """The keys of a begun chord as far as they were pressed, for display; empty if none is pending."""
        return " ".join(self._begun)

    def choices(self) -> dict[str, str]:
        """Returns the keys that continue the pending chord, each with its action (the first of several); empty if no
        chord is pending."""
        size = len(self._begun)
        found: dict[str, str] = {}
        for parts, action in self._actions.items():
            if size and parts[:size] == self._begun:
                found.setdefault(parts[size], action)
        return found

    def press(self, key: str) -> ChordKeyResult:
        parts = (*self._begun, key)
        if key == "escape" and self._begun:
            self._begun = ()
            return ChordKeyResult(is_cancelled=True)
        if action := self._actions.get(parts):
            self._begun = ()
            return ChordKeyResult(action=action)
        if any(known[: len(parts)] == parts for known in self._actions):
            self._begun = parts
            return ChordKeyResult(is_waiting=True)
        was_begun = bool(self._begun)
        self._begun = ()
        return ChordKeyResult(is_cancelled=was_begun)
