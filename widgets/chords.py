"""Keys in a row: `ctrl+x t` is the key Ctrl+X and then T. Pure; the application feeds it keys and does the actions.

No clock runs: a begun chord waits until a key ends it, and Escape or a key that leads nowhere drops it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class ChordStep(NamedTuple):
    """What a key did to the chord."""

    action: str = ""
    """The id of the action that is complete now."""
    is_waiting: bool = False
    """More keys are needed; the key is used up."""
    is_dropped: bool = False
    """A begun chord led nowhere; the key is used up."""

    @property
    def is_used(self) -> bool:
        return bool(self.action) or self.is_waiting or self.is_dropped


class Chords:
    def __init__(self, bindings: Mapping[str, Iterable[str]]) -> None:
        """`bindings` names for each action its keys; only those with a blank in them are chords."""
        self._actions: dict[tuple[str, ...], str] = {}
        self._begun: tuple[str, ...] = ()
        self.conflicts: list[tuple[str, str, str]] = []
        """Chord, the action that has it, and the action that wanted it too."""
        for action, keys in bindings.items():
            for key in keys:
                parts = tuple(key.split())
                if len(parts) > 1:
                    self._add(parts, action)

    def _add(self, parts: tuple[str, ...], action: str) -> None:
        for known, owner in self._actions.items():
            size = min(len(known), len(parts))
            if known[:size] == parts[:size]:
                self.conflicts.append((" ".join(parts), owner, action))
                return
        self._actions[parts] = action

    @property
    def pending_keys(self) -> str:
        """The keys pressed so far, to be shown while the next is waited for."""
        return " ".join(self._begun)

    def choices(self) -> dict[str, str]:
        """The keys that would go on from here, and to which action they lead (the first of several)."""
        size = len(self._begun)
        found: dict[str, str] = {}
        for parts, action in self._actions.items():
            if size and parts[:size] == self._begun:
                found.setdefault(parts[size], action)
        return found

    def press(self, key: str) -> ChordStep:
        parts = (*self._begun, key)
        if key == "escape" and self._begun:
            self._begun = ()
            return ChordStep(is_dropped=True)
        if action := self._actions.get(parts):
            self._begun = ()
            return ChordStep(action=action)
        if any(known[: len(parts)] == parts for known in self._actions):
            self._begun = parts
            return ChordStep(is_waiting=True)
        was_begun = bool(self._begun)
        self._begun = ()
        return ChordStep(is_dropped=was_begun)
