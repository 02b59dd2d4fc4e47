"""Asks the user through the client: approvals and choices as permission requests, forms as elicitations."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.engine.permissions.gate_question import DENY, ONCE
from app.engine.questions.form_questions import FORM_NOT_SHOWN_ANSWER
from app.engine.session import Session
from app.modes.acp.client import AcpClient
from app.modes.acp.elicitation_forms import make_elicitation_request, read_elicitation_answers
from app.modes.acp.request_errors import AcpRequestError
from app.modes.acp.request_params import nested_value
from app.modes.acp.tool_call_updates import (
    MAX_SENT_DIFF_BYTES,
    call_title,
    fenced_code_block,
    file_locations_of_call,
    make_content_part,
)
from app.modes.acp.update_messages import (
    CallContent,
    FileDiffContent,
    PermissionKind,
    PermissionOption,
    PermissionRequestParams,
    PermissionToolCall,
    TextContent,
    ToolCallProgressUpdate,
    Update,
)
from app.values.approvals import Approval
from app.values.content import ToolCall
from app.values.events import Event, Notice, QuestionAsked
from app.values.forms import FormChoice, FormField, UserForm
from tools.tool_result_values import DiffBlock

SUPPORTED_QUESTION_METHODS = ("select", "confirm", "input", "editor")
YES, NO = "Yes", "No"
NEVER_IN_SESSION_LABEL_PREFIX = "Never in this session: "
ALLOW_DANGEROUS_ONCE_LABEL = f"{ONCE}, although DANGEROUS"
CANCEL_LABEL = "Cancel"
_REFUSING_LABEL_PREFIXES = ("No", "Do not", "Decide later", "Deny", "Stay", NEVER_IN_SESSION_LABEL_PREFIX)


class ClientQuestions:
    """The open questions of one session."""

    def __init__(self, session: Session, session_id: str, client: AcpClient) -> None:
        self._session = session
        self._session_id = session_id
        self._client = client
        self._open: dict[asyncio.Task[None], tuple[str, asyncio.Future[Any]]] = {}

    def handle_event(self, event: Event) -> None:
        """Sends a question that the session publishes to the ACP client."""
        if not isinstance(event, QuestionAsked) or event.method not in SUPPORTED_QUESTION_METHODS:
            return
        future = event.answer
        if not isinstance(future, asyncio.Future):
            return
        task = asyncio.get_running_loop().create_task(self._answer_question(event, future))
        self._open[task] = event.method, future
        # A question answered by the run, a timeout or another rule is withdrawn.
        future.add_done_callback(lambda _: task.cancel())
        task.add_done_callback(lambda _: self._open.pop(task, None))

    def withdraw_all_questions(self) -> None:
        """Withdraws all open questions with their cancelled answer."""
        for method, future in tuple(self._open.values()):
            if not future.done():
                future.set_result(_cancelled_answer(method))

    async def _answer_question(self, event: QuestionAsked, future: "asyncio.Future[Any]") -> None:
        try:
            answer = await self._ask_client(event)
        except (ConnectionError, AcpRequestError, msgspec.ValidationError):
            answer = _cancelled_answer(event.method)
        if not future.done():
            future.set_result(answer)

    async def _ask_client(self, event: QuestionAsked) -> Any:
        title = event.title or ""
        if event.approval is not None and event.method == "select":
            return await self._ask_approval(event.approval, event.options or ())
        if event.plan is not None:
            shown = [make_content_part(TextContent(text=event.plan.plan))]
            return await self._ask_choice(event, f"Plan: {event.plan.title}", shown)
        if isinstance(event.form, UserForm):
            return await self._ask_form(event, event.form)
        shown = [make_content_part(TextContent(text="\n\n".join(filter(None, (title, event.message)))))]
        match event.method:
            case "select" if self._client.abilities.has_form_elicitation:
                choices = tuple(FormChoice(value=text, title=text) for text in event.options or ())
                return await self._ask_field(title, FormField(name="answer", title="Answer", choices=choices))
            case "select":
                return await self._ask_choice(event, title, shown)
            case "confirm":
                return await self._ask_choice(event, title, shown, (YES, NO)) == YES
            case "input" if event.approval is not None and not self._client.abilities.has_form_elicitation:
                return await self._ask_word(event, event.approval.confirmation_word or "")
            case _:
                field = FormField(
                    name="answer",
                    title="Answer",
                    description=event.placeholder or "",
                    default=event.prefill or "",
                )
                return await self._ask_field(title, field)

    async def _ask_approval(self, approval: Approval, options: Sequence[str]) -> Any:
        """Asks the ACP client whether a tool call may run, and shows the complete call."""
        call = ToolCall(id=approval.tool_call_id, name=approval.tool_name, arguments=approval.arguments)
        offered = [one for one in options if one != DENY]
        offered += [f"{NEVER_IN_SESSION_LABEL_PREFIX}{rule.text}" for rule in approval.rules[:1]]
        chosen = await self._request_permission(
            PermissionToolCall(
                tool_call_id=call.id,
                title=call_title(self._session, call),
                kind=self._session.tools.kind_of_tool(call.name),
                status="pending",
                content=await self._approval_content(call, approval),
                locations=file_locations_of_call(self._session, call),
                raw_input=call.arguments,
            ),
            (DENY, ALLOW_DANGEROUS_ONCE_LABEL)
            if approval.confirmation_word is not None
            else (*offered, DENY),
        )
        if chosen is None or chosen == DENY:
            return DENY
        if chosen.startswith(NEVER_IN_SESSION_LABEL_PREFIX):
            self._session.permissions.rules.add_deny_rule(chosen.removeprefix(NEVER_IN_SESSION_LABEL_PREFIX))
            return DENY
        return ONCE if chosen == ALLOW_DANGEROUS_ONCE_LABEL else chosen

    async def _ask_word(self, event: QuestionAsked, word: str) -> str | None:
        """Asks for the word that a dangerous call needs where the client cannot ask for text. The first option that
        allows by its kind is not the word, so that a client that chooses by kind allows nothing."""
        allow = f"Allow {word}"
        shown = [make_content_part(TextContent(text=f"Choose “{allow}” to run it once."))]
        chosen = await self._ask_choice(event, f"Choose “{allow}”", shown, (CANCEL_LABEL, allow, DENY))
        return word if chosen == allow else None

    async def _approval_content(self, call: ToolCall, approval: Approval) -> list[CallContent]:
        """Returns the complete command or change, with bayou's verdict on its parts."""
        shown: list[CallContent] = list(await self._proposed_diffs(call))
        preview = (
            await self._session.previews.preview_call(call.name, call.arguments, is_for_person=True)
            if not shown
            else None
        )
        if preview is not None:
            card = self._session.tools.draw_call_card(call, preview)
            shown += [
                make_content_part(TextContent(text=f"{block.path}\n{fenced_code_block(block.diff, 'diff')}"))
                for block in card.blocks
                if isinstance(block, DiffBlock)
            ]
        for name, language in (("command", "sh"), ("code", "python")):
            if isinstance(text := call.arguments.get(name), str):
                shown.append(make_content_part(TextContent(text=fenced_code_block(text, language))))
        lines = [f"- {part.text}: {part.letter} ({part.why})" for part in approval.parts]
        if approval.confirmation_word is not None:
            lines.append(f"- Dangerous: {approval.why}")
        if lines:
            shown.append(make_content_part(TextContent(text="\n".join(lines))))
        return shown

    async def _proposed_diffs(self, call: ToolCall) -> list[FileDiffContent]:
        """Returns the files as the call would leave them; none if one is unknown or too large to be sent."""
        files = await self._session.previews.proposed_files(call.name, call.arguments)
        if any(
            len(text) > MAX_SENT_DIFF_BYTES
            for one in files
            for text in (one.old_text or "", one.new_text or "")
        ):
            return []
        return [
            FileDiffContent(
                path=one.real_path or str(self._session.cwd / one.path),
                old_text=one.old_text,
                new_text=one.new_text or "",
            )
            for one in files
        ]

    async def _ask_choice(
        self,
        event: QuestionAsked,
        title: str,
        shown: Sequence[CallContent],
        options: Sequence[str] | None = None,
    ) -> str | None:
        call_id = f"question-{event.id}"
        chosen = await self._request_permission(
            PermissionToolCall(
                tool_call_id=call_id, title=title, kind="other", status="pending", content=list(shown)
            ),
            options if options is not None else event.options or (),
        )
        status = "failed" if chosen is None else "completed"
        self._send_update(ToolCallProgressUpdate(tool_call_id=call_id, status=status))
        return chosen

    async def _request_permission(self, call: PermissionToolCall, options: Sequence[str]) -> str | None:
        """Returns the chosen option; None if the client closed the question without an answer."""
        result = await self._client.connection.send_request(
            "session/request_permission",
            PermissionRequestParams(
                session_id=self._session_id,
                tool_call=call,
                options=[
                    PermissionOption(option_id=str(number), name=text, kind=_option_kind(text))
                    for number, text in enumerate(options)
                ],
            ),
        )
        outcome = result.get("outcome") if isinstance(result, Mapping) else None
        is_chosen = nested_value(outcome, "outcome") == "selected"
        chosen = nested_value(outcome, "optionId") if is_chosen else None
        numbers = {str(number): text for number, text in enumerate(options)}
        return numbers.get(chosen) if isinstance(chosen, str) else None

    async def _ask_form(self, event: QuestionAsked, form: UserForm) -> Mapping[str, str] | str | None:
        """Asks the fields of a form one by one if the ACP client has no forms."""
        if form.server or self._client.abilities.has_form_elicitation:
            return await self._ask_elicitation(form)
        if any(field.kind != "choice" for field in form.fields):
            return FORM_NOT_SHOWN_ANSWER
        answers: dict[str, str] = {}
        for field in form.fields:
            question = msgspec.structs.replace(event, id=f"{event.id}-{field.name}")
            shown = [make_content_part(TextContent(text=field.description))]
            chosen = await self._ask_choice(
                question, field.title, shown, [each.title for each in field.choices]
            )
            if chosen is None:
                return None
            answers[field.name] = chosen
        return answers

    async def _ask_field(self, title: str, field: FormField) -> str | None:
        answers = await self._ask_elicitation(UserForm(server="", message=title, fields=(field,)))
        return answers.get(field.name, "") if isinstance(answers, Mapping) else None

    async def _ask_elicitation(self, form: UserForm) -> Mapping[str, str] | str | None:
        """Returns the answers by field, `decline`, or None for a cancelled form."""
        abilities = self._client.abilities
        if not (abilities.has_url_elicitation if form.url else abilities.has_form_elicitation):
            text = f"{form.server or 'An extension'} asked “{form.message}”, which this client cannot show."
            self._session.events.publish_now(Notice(level="warning", text=text))
            return None
        result = await self._client.connection.send_request(
            "elicitation/create", make_elicitation_request(form, self._session_id)
        )
        return read_elicitation_answers(form, result)

    def _send_update(self, update: Update) -> None:
        self._client.update(self._session_id, update)


def _option_kind(option: str) -> PermissionKind:
    if option.startswith(NEVER_IN_SESSION_LABEL_PREFIX):
        return "reject_always"
    if option.startswith(_REFUSING_LABEL_PREFIXES):
        return "reject_once"
    return "allow_always" if option.startswith("Always") else "allow_once"


def _cancelled_answer(method: str) -> Any:
    return False if method == "confirm" else None
