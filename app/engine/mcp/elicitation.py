"""What an MCP server asks the person in the middle of a call: put to whoever can answer, and answered for the server.

A person's face is shown the form as a whole. A program is asked field by field, in the questions that any client of RPC
knows. Where nobody is, the server is told no.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from app.engine.event_bus import Telling
from app.engine.permissions.gate_question import ANSWER_SECONDS
from app.engine.permissions.permission_context import GateStanding
from app.engine.questions import answer_to
from app.mcp.asking import WARNING, checked_field, content_of, form_of
from app.values.forms import AskedForm, FormField

_CANCELLED: dict[str, Any] = {"action": "cancel"}
_DECLINED: dict[str, Any] = {"action": "decline"}
_TRIES = 3
YES, NO = "Yes", "No"


class ServerQuestions:
    """Of one session; one at a time, for a person answers one at a time."""

    def __init__(self, standing: GateStanding, telling: Telling) -> None:
        self._standing = standing
        self._telling = telling
        self._turn = asyncio.Lock()
        self._told: set[str] = set()

    async def ask(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `elicitation/create`."""
        form = form_of(server, params)
        if self._standing.asks == "nobody":
            if server not in self._told:
                self._told.add(server)
                self._telling.warn(f"{server} asked something, which nobody can answer here; it was told no.")
            return _DECLINED
        async with self._turn:
            if self._standing.asks == "person":
                return await self._of_person(form)
            try:
                return await self._of_program(form)
            except TimeoutError:
                return _CANCELLED

    async def _of_person(self, form: AskedForm) -> dict[str, Any]:
        """The face answers with texts by field; `decline` and None are what they say."""
        said = await self._put("input", f"{form.server} asks", None, form=form, message=form.message)
        if said == "decline":
            return _DECLINED
        if not isinstance(said, Mapping):
            return _CANCELLED
        content, wrong = content_of(form, cast("Mapping[str, str]", said))
        if wrong:
            return _CANCELLED
        return {"action": "accept"} if form.url else {"action": "accept", "content": content}

    async def _of_program(self, form: AskedForm) -> dict[str, Any]:
        title = f"{form.server} asks: {form.message}".rstrip(": ")
        if form.url:
            said = await self._put("confirm", title, ANSWER_SECONDS, message=f"Open {form.url}")
            return {"action": "accept"} if said is True else _DECLINED
        if not form.fields:
            said = await self._put("confirm", title, ANSWER_SECONDS, message="")
            return {"action": "accept", "content": {}} if said is True else _DECLINED
        content: dict[str, Any] = {}
        for field in form.fields:
            is_answered, value = await self._field(title, field)
            if not is_answered:
                return _CANCELLED
            if value is not None:
                content[field.name] = value
        return {"action": "accept", "content": content}

    async def _field(self, title: str, field: FormField) -> tuple[bool, Any]:
        wrong = ""
        for _ in range(_TRIES):
            told = "\n".join(filter(None, (title, field.title, field.description, wrong)))
            if field.kind in ("choice", "yes-no") and (field.choices or field.kind == "yes-no"):
                options = tuple(each.title for each in field.choices) or (YES, NO)
                said = await self._put("select", told, ANSWER_SECONDS, options=options)
            else:
                said = await self._put(
                    "input",
                    f"{told}\n{WARNING}",
                    ANSWER_SECONDS,
                    prefill=field.default,
                    placeholder=field.kind,
                )
            if not isinstance(said, str):
                return False, None
            value, wrong = checked_field(field, said)
            if not wrong:
                return True, value
        return False, None

    async def _put(self, method: str, title: str, seconds: float | None, **more: Any) -> Any:
        return await answer_to(self._telling.publish_now, method, title, seconds, **more)
