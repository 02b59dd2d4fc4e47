"""Keeps the session's open questions to the client, and decodes their answers."""

import asyncio
from collections.abc import Callable
from typing import Any

from app.values.events import Event, QuestionAsked

_QUESTION_METHODS_WITH_ANSWER = ("select", "confirm", "input", "editor")


class OpenRpcQuestions:
    """The session's questions that the RPC client has not answered yet, by id."""

    def __init__(self, take_back: Callable[[str], None] = lambda question_id: None) -> None:
        """`take_back` tells the client that a question needs no answer any more."""
        self._take_back = take_back
        self._open: dict[str, tuple[str, asyncio.Future[Any]]] = {}
        self._is_closed = False

    def handle_event(self, event: Event) -> None:
        if not isinstance(event, QuestionAsked) or event.method not in _QUESTION_METHODS_WITH_ANSWER:
            return
        future = event.answer
        if not isinstance(future, asyncio.Future):
            return
        self._open[event.id] = (event.method, future)
        if self._is_closed:
            self._resolve(event.id, _cancelled_answer(event.method))
            return
        loop = asyncio.get_running_loop()
        timer = None
        if event.timeout is not None:
            timer = loop.call_later(
                event.timeout / 1000, self._time_out, event.id, _cancelled_answer(event.method)
            )

        def forget(done: asyncio.Future[Any]) -> None:
            if self._open.pop(event.id, None) is not None and not self._is_closed:
                self._take_back(
                    event.id
                )  # the question timed out, its run was stopped, or a changed mode or rule answers it
            if timer is not None:
                timer.cancel()

        future.add_done_callback(forget)

    def accept_answer(self, data: dict[str, Any]) -> None:
        """Settles a question with the client's answer; ignores an answer to a question that is not open."""
        question_id = data.get("id")
        known = self._open.get(question_id) if isinstance(question_id, str) else None
        if known is None:
            return
        method, _ = known
        if data.get("cancelled"):
            value = _cancelled_answer(method)
        elif method == "confirm":
            value = data.get("confirmed") is True
        else:
            value = data.get("value")
        self._resolve(str(question_id), value)

    def _time_out(self, question_id: str, value: Any) -> None:
        if question_id in self._open:
            self._resolve(question_id, value)
            self._take_back(question_id)

    def close(self) -> None:
        """Gives all open and later questions their cancelled answer."""
        self._is_closed = True
        self.cancel_all_questions()

    def cancel_all_questions(self) -> None:
        """Gives all open questions their cancelled answer."""
        for question_id, (method, _) in tuple(self._open.items()):
            self._resolve(question_id, _cancelled_answer(method))
            if not self._is_closed:
                self._take_back(question_id)

    def _resolve(self, question_id: str, value: Any) -> None:
        known = self._open.pop(question_id, None)
        if known is not None and not known[1].done():
            known[1].set_result(value)


def _cancelled_answer(method: str) -> bool | None:
    return False if method == "confirm" else None
