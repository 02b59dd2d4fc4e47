"""Asks forms: the user answers all fields at once, a program field by field in questions that any RPC client
knows."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from app.engine.core.event_bus import EventBus
from app.engine.core.user_questions import ask_question
from app.engine.permissions.gate_question import PROGRAM_ANSWER_TIMEOUT
from app.engine.permissions.permission_context import PermissionContext
from app.values.forms import FormField, UserForm

_MAX_FORM_FIELD_ATTEMPTS = 3
YES, NO = "Yes", "No"
OTHER_ANSWER_LABEL = "Other answer…"
"""The label of the option that stands for a free text, behind the choices of a field."""


FORM_NOT_SHOWN_ANSWER = "unshown"
"""The answer of a user interface that cannot show a form."""


class FormReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a form: the action and the values by field."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = {}
    """The answers by field, converted and checked."""
    missing_reason: str = ""
    """The reason why there is no answer; empty if the form was closed."""


DECLINED_FORM_REPLY = FormReply(action="decline")
CANCELLED_FORM_REPLY = FormReply(action="cancel")


class UserFormQuestions:
    """Asks the forms of one session, one at a time."""

    def __init__(self, standing: PermissionContext, event_bus: EventBus) -> None:
        self._permission_context = standing
        self._event_bus = event_bus
        self._question_lock = asyncio.Lock()

    @property
    def can_ask(self) -> bool:
        """Whether a user or a program can answer forms."""
        return self._permission_context.approver != "none"

    async def ask_form(self, form: UserForm) -> FormReply:
        if not self.can_ask:
            return DECLINED_FORM_REPLY
        async with self._question_lock:
            if self._permission_context.approver == "person":
                return await self._ask_person(form)
            try:
                return await self._ask_program(form)
            except TimeoutError:
                minutes = round(PROGRAM_ANSWER_TIMEOUT / 60)
                return FormReply(action="cancel", missing_reason=f"No answer came within {minutes} minutes.")

    async def _ask_person(self, form: UserForm) -> FormReply:
        """Shows a form to the user; the interface answers with texts by field, `decline`, `unshown` or None."""
        from app.mcp.elicitation_forms import parse_form_answers  # noqa: PLC0415  (few sessions ask a form)

        said = await self._ask_question("input", form.title, None, form=form, message=form.message)
        if said == "decline":
            return DECLINED_FORM_REPLY
        if said == FORM_NOT_SHOWN_ANSWER:
            return FormReply(action="decline", missing_reason="The user's client cannot show this form.")
        if not isinstance(said, Mapping):
            return CANCELLED_FORM_REPLY
        content, wrong = parse_form_answers(form, cast("Mapping[str, str]", said))
        if wrong:
            told = "; ".join(
                f"{field.title}: {wrong[field.name]}" for field in form.fields if field.name in wrong
            )
            return FormReply(action="cancel", missing_reason=f"The answer is not valid ({told}).")
        return FormReply(action="accept", content={} if form.url else content)

    async def _ask_program(self, form: UserForm) -> FormReply:
        title = f"{form.title}: {form.message if form.server else ''}".rstrip(": ")
        if form.url or not form.fields:
            told = f"Open {form.url}" if form.url else ""
            said = await self._ask_question("confirm", title, PROGRAM_ANSWER_TIMEOUT, message=told)
            return FormReply(action="accept") if said is True else DECLINED_FORM_REPLY
        content: dict[str, Any] = {}
        for field in form.fields:
            value, wrong = await self._ask_field(form, title, field)
            if wrong is not None:
                return FormReply(action="cancel", missing_reason=wrong)
            if value is not None:
                content[field.name] = value
        return FormReply(action="accept", content=content)

    async def _ask_field(self, form: UserForm, title: str, field: FormField) -> tuple[Any, str | None]:
        """Asks a program for one field of a form. Returns the value, and the reason if there is none, which is
        empty if the program closed the question."""
        from app.mcp.elicitation_forms import (  # noqa: PLC0415  (as above)
            SECRET_INPUT_WARNING,
            describe_expected_answer,
            parse_field_answer,
        )

        wrong = ""
        for _ in range(_MAX_FORM_FIELD_ATTEMPTS):
            details = [f"{each.title}: {each.detail}" for each in field.choices if each.detail]
            told = "\n".join(filter(None, (title, field.title, field.description, *details, wrong)))
            said, is_choice = None, field.kind == "yes-no" or (field.kind == "choice" and bool(field.choices))
            if is_choice:
                options = tuple(each.title for each in field.choices) or (YES, NO)
                options += (OTHER_ANSWER_LABEL,) if field.takes_text else ()
                said = await self._ask_question("select", told, PROGRAM_ANSWER_TIMEOUT, options=options)
            if not is_choice or said == OTHER_ANSWER_LABEL:
                hint = SECRET_INPUT_WARNING if form.server else describe_expected_answer(field)
                said = await self._ask_question(
                    "input",
                    f"{told}\n{hint}".rstrip(),
                    PROGRAM_ANSWER_TIMEOUT,
                    prefill=field.default,
                    placeholder=field.kind,
                )
            if not isinstance(said, str):
                return None, ""
            value, wrong = parse_field_answer(field, said)
            if not wrong:
                return value, None
        return None, f"The answer is not valid ({field.title}: {wrong})."

    async def _ask_question(self, method: str, title: str, seconds: float | None, **more: Any) -> Any:
        return await ask_question(self._event_bus.publish_now, method, title, seconds, **more)
