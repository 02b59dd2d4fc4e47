"""Shows a form that an MCP server requests; its fields are checked before it is sent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from app.mcp.elicitation_forms import SECRET_WARNING, default_answers, validate_answers, validate_field
from app.tui.features.mcp.form_screen import FilledField, FormScreen
from app.tui.features.shared_dialogs import pick
from app.tui.page_protocols import AskPerson, NotifyWaiting
from app.values.events import QuestionAsked
from app.values.forms import AskedForm, FormField
from tools.running.browser import open_page
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import InputScreen, QuestionScreen
from widgets.screens.picker import Picked

GRACE_SECONDS = 0.6
FormAnswers = Mapping[str, str] | str | None
"""The answer to a form: texts by field, a field to edit or `decline`; None if the form was
closed."""


class FormPage(msgspec.Struct, frozen=True):
    """Shows the form of an MCP server and sends the answers."""

    ask: AskPerson
    told: NotifyWaiting
    clock: Callable[[], float] = time.monotonic
    show_page: Callable[[str], Awaitable[None]] = lambda url: open_page(url, outside=Path.cwd())

    async def answer(self, event: QuestionAsked) -> None:
        """Shows the form until the user answers or the request is cancelled."""
        form, answer = event.form, event.answer
        if form is None or answer is None:
            return
        self.told(f"{form.server} asks: {form.message}", answer)
        showing = asyncio.ensure_future(self._answers(form))
        answer.add_done_callback(lambda _: showing.cancel())
        try:
            said = await showing
        except asyncio.CancelledError:
            return
        if not answer.done():
            answer.set_result(said)

    async def _answers(self, form: AskedForm) -> FormAnswers:
        if form.url:
            return await self._page(form)
        if not form.fields:
            return await self._said(form, form.message, yes="Yes", no="No")
        return await self._filled(form)

    async def _page(self, form: AskedForm) -> FormAnswers:
        host = urlsplit(form.url).hostname or "an unknown address"
        text = f"{form.message}\n\nIt wants to open a page at {host}:\n{form.url}"
        said = await self._said(form, text, yes="Open it", no="Do not open it")
        if said != {}:
            return said
        if urlsplit(form.url).scheme not in ("http", "https"):
            return "decline"
        await self.show_page(form.url)
        return {}

    async def _said(self, form: AskedForm, text: str, *, yes: str, no: str) -> FormAnswers:
        rows = (ListRow(id="decline", title=no), ListRow(id="accept", title=yes))
        screen = QuestionScreen(f"{form.server} asks", text, rows, grace=GRACE_SECONDS, clock=self.clock)
        row: ListRow | None = await self.ask(screen)
        return None if row is None else {} if row.id == "accept" else "decline"

    async def _filled(self, form: AskedForm) -> FormAnswers:
        values, wrong, current, grace = default_answers(form), dict[str, str](), "", GRACE_SECONDS
        message = "\n".join(filter(None, (form.message, SECRET_WARNING)))
        while True:
            rows = [_filled_field(field, values, wrong) for field in form.fields]
            screen = FormScreen(
                f"{form.server} asks", message, rows, current=current, grace=grace, clock=self.clock
            )
            picked: Picked | None = await self.ask(screen)
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
                    _, wrong = validate_answers(form, values)
                    if not wrong:
                        return values
                    current = next(iter(wrong))
                case _:
                    field = next(each for each in form.fields if each.name == current)
                    text = await self._text(field, values.get(current, ""))
                    if text is not None:
                        values[current] = text
                        wrong.pop(current, None)
                        current = _behind(form, current)

    async def _text(self, field: FormField, before: str) -> str | None:
        if field.kind == "yes-no" or (field.kind == "choice" and field.choices):
            titles = [(each.value, each.title) for each in field.choices] or [("yes", "yes"), ("no", "no")]
            rows = [
                ListRow(id=value, title=title, is_checked=before in (value, title)) for value, title in titles
            ]
            picked = await pick(self.ask, field.title, rows, order="given", current=before)
            return picked.row.id if picked is not None else None
        screen = InputScreen(
            field.title,
            _about(field),
            prefill=before,
            check=lambda text: validate_field(field, text)[1] if text.strip() else "",
        )
        return await self.ask(screen)


def _filled_field(field: FormField, values: Mapping[str, str], wrong: Mapping[str, str]) -> FilledField:
    value: Any = values.get(field.name, "")
    title = next((each.title for each in field.choices if each.value == value), value)
    return FilledField(
        id=field.name,
        title=field.title,
        value=title,
        about=_about(field),
        wrong=wrong.get(field.name, ""),
        is_required=field.is_required,
    )


def _about(field: FormField) -> str:
    words = [field.description]
    if field.kind == "several":
        known = ", ".join(each.title for each in field.choices)
        words.append(
            f"several values, separated by commas: {known}"
            if known
            else "several values, separated by commas"
        )
    elif field.kind in ("number", "integer"):
        words.append("a whole number" if field.kind == "integer" else "a number")
    if field.is_required:
        words.append("needed")
    return "; ".join(filter(None, words))


def _behind(form: AskedForm, name: str) -> str:
    names = [field.name for field in form.fields]
    return names[min(names.index(name) + 1, len(names) - 1)]
