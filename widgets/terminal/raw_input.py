"""Passes raw terminal input to listeners before it is parsed; they may change or consume it."""

from collections.abc import Callable

RawInputListener = Callable[[str], "str | bool | None"]
"""Gets raw input with escape sequences. Returns True to consume it, or replacement text."""


class RawInputListeners:
    """Passes raw terminal input to listeners, in the order in which they subscribed; each may change or consume it."""

    def __init__(self) -> None:
        self._listeners: list[RawInputListener] = []

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    def add_listener(self, listener: RawInputListener) -> Callable[[], None]:
        """Subscribes a listener to raw terminal input; returns the function that removes it."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def pass_to_listeners(self, text: str) -> str:
        """Passes raw terminal input through all listeners; returns what they leave, empty if one consumed it."""
        for listener in tuple(self._listeners):
            answer = listener(text)
            if answer is True:
                return ""
            if isinstance(answer, str):
                text = answer
        return text
