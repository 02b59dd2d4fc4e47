"""Shows a form of an MCP server or of the agent; its fields are checked before it is sent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from app.mcp.elicitation_forms import (
    SECRET_INPUT_WARNING,
    default_form_answers,
    describe_form_field,
    parse_field_answer,
    parse_form_answers,
)
from app.tui.features.mcp.form_screen import (
    OTHER_ANSWER_ROW_TEXT,
    FilledFormField,
    FormChoicesScreen,
    RequestedFormScreen,
)
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, NotifyWaiting
from app.values.events import QuestionAsked
from app.values.forms import FormField, UserForm
from tools.running.user_browser import open_page_in_browser
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import QuestionScreen, TextInputDialog
from widgets.screens.picker import PickerResult
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.status.input_guard import TYPING_PAUSE_SECONDS

FORM_KEY_GRACE_SECONDS = 0.6
FormAnswers = Mapping[str, str] | str | None
"""The answer to a form: texts by field, a field to edit or `decline`; None if the form was
closed."""


class RequestedFormPage(msgspec.Struct, frozen=True):
    """Shows the form of an MCP server or of the agent on screens, and sends the answers."""

    ask: AskOnScreen
    notify_waiting: NotifyWaiting
    clock: Callable[[], float] = time.monotonic
    open_web_page: Callable[[str], Awaitable[None]] = lambda url: open_page_in_browser(
        url, outside=Path.cwd()
    )

    async def show_form(self, event: QuestionAsked) -> None:
        """Shows a requested form and answers the request; the form closes if the request is cancelled."""
        form, answer = event.form, event.answer
        if form is None or answer is None:
            return
        self.notify_waiting(f"{form.title}: {form.message}", answer)
        showing = asyncio.ensure_future(self._ask_form(form))
        answer.add_done_callback(lambda _: showing.cancel())
        try:
            said = await showing
        except asyncio.CancelledError:
            return
        if not answer.done():
            answer.set_result(said)

    async def _ask_form(self, form: UserForm) -> FormAnswers:
        if form.url:
            return await self._ask_to_open_page(form)
        if not form.fields:
            return await self._confirm(form, form.message, yes="Yes", no="No")
        if not form.server and len(form.fields) == 1 and form.fields[0].kind == "choice":
            return await self._ask_only_choice(form, form.fields[0])
        return await self._ask_until_sent(form)

    async def _ask_only_choice(self, form: UserForm, field: FormField) -> FormAnswers:
        """Asks a form with a single choice as a plain question, without the screen of a form. Returns its answers, or
        None if the user cancelled."""
        text = await self._ask_choice(field, form.title, field.description, "", grace=FORM_KEY_GRACE_SECONDS)
        return None if text is None else {field.name: text}

    async def _ask_to_open_page(self, form: UserForm) -> FormAnswers:
        host = urlsplit(form.url).hostname or "an unknown address"
        text = f"{form.message}\n\nThe server asks you to open a page at {host}:\n{form.url}"
        said = await self._confirm(form, text, yes="Open the page", no="Decline")
        if said != {}:
            return said
        if urlsplit(form.url).scheme not in ("http", "https"):
            return "decline"
        await self.open_web_page(form.url)
        return {}

    async def _confirm(self, form: UserForm, text: str, *, yes: str, no: str) -> FormAnswers:
        rows = (ListRow(id="decline", title=no), ListRow(id="accept", title=yes))
        screen = QuestionScreen(form.title, text, rows, grace=FORM_KEY_GRACE_SECONDS, clock=self.clock)
        screen.add_class("card")
        row: ListRow | None = await self.ask(screen)
        return None if row is None else {} if row.id == "accept" else "decline"

    async def _ask_until_sent(self, form: UserForm) -> FormAnswers:
        values, wrong, current, grace = (
            default_form_answers(form),
            dict[str, str](),
            "",
            FORM_KEY_GRACE_SECONDS,
        )
        warned = "\n".join(filter(None, (form.message, SECRET_INPUT_WARNING)))
        message = warned if form.server else _agent_text(form.message)
        while True:
            rows = [_filled_field(form, field, values, wrong) for field in form.fields]
            screen = RequestedFormScreen(
                form.title, message, rows, current=current, grace=grace, clock=self.clock
            )
            picked: PickerResult | None = await self.ask(screen)
            grace = 0.0
            if picked is None:
                return None
            current = picked.row.id
            match picked.action:
                case "app.form.decline":
                    return "decline"
                case "app.form.clear":
                    values.pop(current, None)
                case "app.form.send":
                    _, wrong = parse_form_answers(form, values)
                    if not wrong:
                        return values
                    current = next(iter(wrong))
                case _:
                    field = next(each for each in form.fields if each.name == current)
                    text = await self._ask_field(field, values.get(current, ""))
                    if text is None:
                        grace = TYPING_PAUSE_SECONDS  # after Escape a person may go on typing
                    else:
                        values[current] = text
                        wrong.pop(current, None)
                        if not form.server and len(form.fields) == 1:
                            return values
                        current = _next_field(form, current)

    async def _ask_field(self, field: FormField, before: str) -> str | None:
        if field.takes_text:
            choose = self._ask_choices if field.kind == "several" else self._ask_choice
            return await choose(field, field.title, field.description, before)
        if field.kind == "yes-no" or (field.kind == "choice" and field.choices):
            titles = [(each.value, each.title) for each in field.choices] or [("yes", "yes"), ("no", "no")]
            rows = [
                ListRow(id=value, title=title, is_checked=before in (value, title)) for value, title in titles
            ]
            picked = await pick_list_row(self.ask, field.title, rows, order="given", current=before)
            return picked.row.id if picked is not None else None
        return await self._ask_text(field, field.title, before)

    async def _ask_text(self, field: FormField, title: str, before: str) -> str | None:
        screen = TextInputDialog(
            title,
            describe_form_field(field),
            prefill=before,
            check=lambda text: parse_field_answer(field, text)[1] if text.strip() else "",
        )
        return await self.ask(screen)

    async def _ask_choice(
        self, field: FormField, title: str, text: str, before: str, *, grace: float = 0.0
    ) -> str | None:
        """Asks for one of a field's choices, or for another text that the user types. Returns None if the user
        cancelled."""
        while True:
            rows = _choice_rows(field, (before,))
            screen = QuestionScreen(title, _agent_text(text), rows, grace=grace, clock=self.clock)
            screen.add_class("card")
            row: ListRow | None = await self.ask(screen)
            if row is None or row.id != OTHER_ANSWER_ROW_TEXT:
                return row.id if row is not None else None
            grace, is_known = 0.0, any(before == each.value for each in field.choices)
            typed = await self._ask_text(field, field.title, "" if is_known else before)
            if typed is not None and typed.strip():
                return typed.strip()

    async def _ask_choices(self, field: FormField, title: str, text: str, before: str) -> str | None:
        """Asks for several of a field's choices, and for another text besides. Returns them as lines, or None if the
        user cancelled."""
        known = {each.value for each in field.choices}
        marked = [line for line in before.split("\n") if line in known]
        own = " ".join(line for line in before.split("\n") if line not in known)
        while True:
            screen = FormChoicesScreen(title, _agent_text(text), _choice_rows(field, marked, own), marked)
            picked: PickerResult | None = await self.ask(screen)
            if picked is None:
                return None
            marked = screen.marked
            if picked.action != "choose":
                return "\n".join([*marked, *filter(None, (own,))])
            typed = await self._ask_text(field, field.title, own)
            own = own if typed is None else typed.strip()


def _agent_text(text: str) -> PreviewText:
    """Returns a question's text, which the agent wrote, as a preview that draws its Markdown."""
    return PreviewText(parts=(PreviewParagraph(text=text, is_markdown=True),))


def _filled_field(
    form: UserForm, field: FormField, values: Mapping[str, str], wrong: Mapping[str, str]
) -> FilledFormField:
    value: Any = values.get(field.name, "")
    title = next((each.title for each in field.choices if each.value == value), value).replace("\n", ", ")
    return FilledFormField(
        id=field.name,
        title=field.title,
        value=title,
        description=describe_form_field(field)
        if form.server
        else ", ".join(each.title for each in field.choices),
        error=wrong.get(field.name, ""),
        is_required=field.is_required,
    )


def _choice_rows(field: FormField, marked: Sequence[str], own: str = "") -> list[ListRow]:
    rows = [
        ListRow(id=each.value, title=each.title, detail=each.detail, is_checked=each.value in marked)
        for each in field.choices
    ]
    return [
        *rows,
        ListRow(id=OTHER_ANSWER_ROW_TEXT, title=OTHER_ANSWER_ROW_TEXT, detail=own, is_checked=bool(own)),
    ]


def _next_field(form: UserForm, name: str) -> str:
    names = [field.name for field in form.fields]
    return names[min(names.index(name) + 1, len(names) - 1)]
