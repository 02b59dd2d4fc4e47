"""Questions that the session asks and the client answers: which are open, and what their answers mean."""

import asyncio
from typing import Any

from app.values.events import Event, QuestionAsked

_NEEDS_ANSWER = ("select", "confirm", "input", "editor")


class Questions:
    """The open questions, by id."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, asyncio.Future[Any]]] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    def note(self, event: Event) -> None:
        if not isinstance(event, QuestionAsked) or event.method not in _NEEDS_ANSWER:
            return
        future = event.answer
        if not isinstance(future, asyncio.Future):
            return
        self._open[event.id] = (event.method, future)
        future.add_done_callback(lambda done: self._open.pop(event.id, None))
        if event.timeout:
            timer = asyncio.get_running_loop().call_later(
                event.timeout / 1000, self._settle, event.id, _cancelled(event.method)
            )
            self._timers.add(timer)

    def answer(self, data: dict[str, Any]) -> None:
        """An answer to a question that is not open (any more) is passed over."""
        known = self._open.get(str(data.get("id")))
        if known is None:
            return
        method, _ = known
        if data.get("cancelled"):
            value = _cancelled(method)
        elif method == "confirm":
            value = bool(data.get("confirmed"))
        else:
            value = data.get("value")
        self._settle(str(data["id"]), value)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for question_id, (method, _) in tuple(self._open.items()):
            self._settle(question_id, _cancelled(method))

    def _settle(self, question_id: str, value: Any) -> None:
        known = self._open.pop(question_id, None)
        if known is not None and not known[1].done():
            known[1].set_result(value)


def _cancelled(method: str) -> bool | None:
    return False if method == "confirm" else None
