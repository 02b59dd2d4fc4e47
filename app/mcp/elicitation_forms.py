"""Converts a server's elicitation schema to the fields of a form, and the person's answers to typed values.
Pure functions.

Only the flat schemas of the protocol are read; a value of any other type is asked for as text and checked as
text.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import msgspec

from app.values.forms import FormChoice, FormField, UserForm
from app.values.user_errors import UserError
from tools.text_sanitizing import escape_controls, find_hidden_character, remove_invisible_chars

_MAX_FORM_FIELDS, _MAX_FIELD_CHOICES = 50, 500
_MAX_FORM_ANSWER_CHARS = 10_000
SECRET_INPUT_WARNING = "Never enter a password or key here: the server sees what you type."
_YES_WORDS, _NO_WORDS = ("y", "yes", "true", "1", "on"), ("n", "no", "false", "0", "off")


def make_elicitation_form(server: str, params: Mapping[str, Any]) -> UserForm:
    """Makes the form for the parameters of `elicitation/create`. Raises `UserError` if the name of a field or the value
    of a choice, which the server would get back, has hidden characters."""
    message = _clean_server_text(params.get("message"))[:4_000]
    if params.get("mode") == "url":
        return UserForm(server=server, message=message, url=_clean_server_text(params.get("url"))[:4_000])
    schema = _as_object(params.get("requestedSchema"))
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set[str]()
    properties = list(_as_object(schema.get("properties")).items())[:_MAX_FORM_FIELDS]
    fields = tuple(
        _make_form_field(name, _as_object(said), is_needed=name in needed) for name, said in properties
    )
    for field in fields:
        values = (find_hidden_character(each.value, allowed="\t\n\r") for each in field.choices)
        if code := find_hidden_character(field.name) or next(filter(None, values), ""):
            raise UserError(
                f"The MCP server {server} asked a question that was declined automatically: the field "
                f'"{field.title}" contains the hidden character {code} in its name or choices.'
            )
    return UserForm(server=server, message=message, fields=fields)


def _clean_server_text(text: Any) -> str:
    """Returns a server's text without characters that deceive the person who reads it."""
    return remove_invisible_chars(escape_controls(str(text or "")))


def parse_field_answer(field: FormField, text: str) -> tuple[Any, str]:
    """Returns the answer as the type that the server wants, or the error text. An empty answer counts as
    none."""
    text = text.strip()
    if not text:
        return None, f"{field.title} is required" if field.is_required else ""
    if len(text) > _MAX_FORM_ANSWER_CHARS:
        return None, f"longer than {_MAX_FORM_ANSWER_CHARS:,} characters"
    match field.kind:
        case "yes-no":
            answer = text.lower()
            return (
                (answer in _YES_WORDS, "")
                if answer in (*_YES_WORDS, *_NO_WORDS)
                else (None, "this field needs yes or no")
            )
        case "number" | "integer":
            return _parse_number(field, text)
        case "choice":
            found = _find_choice(field, text)
            if found is None and field.takes_text:
                found = text
            return (found, "") if found is not None else (None, f"choose one of: {_choices_text(field)}")
        case "several":
            return _parse_choices(field, text)
        case "text":
            return (None, wrong) if (wrong := _text_answer_problem(field, text)) else (text, "")


def parse_form_answers(form: UserForm, answers: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns all answers in the types that the server wants, and the errors by field."""
    content: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in form.fields:
        value, problem = parse_field_answer(field, answers.get(field.name, ""))
        if problem:
            wrong[field.name] = problem
        elif value is not None:
            content[field.name] = value
    return content, wrong


def default_form_answers(form: UserForm) -> dict[str, str]:
    return {field.name: field.default for field in form.fields if field.default}


def _make_form_field(name: str, said: Mapping[str, Any], *, is_needed: bool) -> FormField:
    title = _clean_server_text(said.get("title") or name).replace("\n", " ")[:200]
    items = _as_object(said.get("items"))
    kind = said.get("type")
    choices = _parse_field_choices(items if kind == "array" else said)
    field = FormField(
        name=name,
        title=title,
        description=_clean_server_text(said.get("description"))[:1_000],
        is_required=is_needed,
        default=_default_answer_text(said.get("default")),
        choices=choices,
    )
    if kind == "array":
        return _add_field_limits(field, "several", said, "minItems", "maxItems")
    if choices:
        return msgspec.structs.replace(field, kind="choice")
    if kind == "boolean":
        return msgspec.structs.replace(field, kind="yes-no")
    if kind in ("number", "integer"):
        return _add_field_limits(field, kind, said, "minimum", "maximum")
    form = said.get("format")
    field = msgspec.structs.replace(field, format=_clean_server_text(form) if isinstance(form, str) else "")
    return _add_field_limits(field, "text", said, "minLength", "maxLength")


def _add_field_limits(
    field: FormField, kind: Any, said: Mapping[str, Any], least: str, most: str
) -> FormField:
    limits = {name: said.get(key) for name, key in (("least", least), ("most", most))}
    numbers = {name: value for name, value in limits.items() if isinstance(value, int | float)}
    return msgspec.structs.replace(field, kind=kind, **numbers)


def _parse_field_choices(said: Mapping[str, Any]) -> tuple[FormChoice, ...]:
    for key in ("oneOf", "anyOf"):
        listed = said.get(key)
        if isinstance(listed, list):
            pairs = [_as_object(each) for each in listed[:_MAX_FIELD_CHOICES]]
            return tuple(_parse_choice(each["const"], each.get("title")) for each in pairs if "const" in each)
    listed, names = said.get("enum"), said.get("enumNames")
    if not isinstance(listed, list):
        return ()
    titles = names if isinstance(names, list) and len(names) == len(listed) else listed
    return tuple(
        _parse_choice(value, title) for value, title in zip(listed[:_MAX_FIELD_CHOICES], titles, strict=False)
    )


def _parse_choice(value: Any, title: Any) -> FormChoice:
    text = str(value)
    return FormChoice(value=text, title=_clean_server_text(title or text).replace("\n", " ")[:200])


def _default_answer_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_clean_server_text, value))[:_MAX_FORM_ANSWER_CHARS]
    return _clean_server_text(value)[:_MAX_FORM_ANSWER_CHARS] if isinstance(value, str | int | float) else ""


def _parse_number(field: FormField, text: str) -> tuple[Any, str]:
    is_whole = field.kind == "integer"
    try:
        number = int(text) if is_whole else float(text)
    except ValueError:
        return None, "this field needs a whole number" if is_whole else "this field needs a number"
    if number != number or number in (float("inf"), float("-inf")):
        return None, "this field needs a number"
    if field.least is not None and number < field.least:
        return None, f"must be at least {field.least:g}"
    if field.most is not None and number > field.most:
        return None, f"must be at most {field.most:g}"
    return number, ""


def _find_choice(field: FormField, text: str) -> str | None:
    for each in field.choices:
        if text in (each.value, each.title):
            return each.value
    return next((each.value for each in field.choices if text.lower() == each.title.lower()), None)


def _parse_choices(field: FormField, text: str) -> tuple[Any, str]:
    words = _split_answer_values(field, text)
    found = [_find_choice(field, word) if field.choices else word for word in words]
    if field.takes_text:
        found = [word if value is None else value for word, value in zip(words, found, strict=True)]
    for word, value in zip(words, found, strict=True):
        if value is None:
            return None, f'"{word}" is not one of: {_choices_text(field)}'
    values = list(dict.fromkeys(found))
    if field.least is not None and len(values) < field.least:
        return None, f"choose at least {field.least:g}"
    if field.most is not None and len(values) > field.most:
        return None, f"choose at most {field.most:g}"
    return values, ""


def _split_answer_values(field: FormField, text: str) -> list[str]:
    """Splits an answer of several values: at line ends, else at commas unless it is one value with a comma in it."""
    if "\n" not in text and _find_choice(field, text) is None:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not field.takes_text or all(_find_choice(field, word) is not None for word in words):
            return words
    return [word.strip() for word in text.split("\n") if word.strip()]


def _text_answer_problem(field: FormField, text: str) -> str:
    if field.least is not None and len(text) < field.least:
        return f"type at least {field.least:g} characters"
    if field.most is not None and len(text) > field.most:
        return f"type at most {field.most:g} characters"
    match field.format:
        case "email" if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", text):
            return "type an e-mail address like name@example.org"
        case "uri" if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S+$", text):
            return "type an address like https://example.org"
        case "date" if not _is_parsable_by(text, date.fromisoformat):
            return "type a date like 2026-12-31"
        case "date-time" if not _is_parsable_by(text, datetime.fromisoformat):
            return "type a time like 2026-12-31T18:00:00Z"
        case _:
            return ""


def _is_parsable_by(text: str, read: Any) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def describe_form_field(field: FormField) -> str:
    """Describes the expected value, with the description of the field."""
    words = (field.description, describe_expected_answer(field), "needed" if field.is_required else "")
    return "; ".join(filter(None, words))


def describe_expected_answer(field: FormField) -> str:
    """Describes the text that a form field expects; empty where any text or one of the choices will do."""
    if field.kind in ("number", "integer"):
        return "a whole number" if field.kind == "integer" else "a number"
    if field.kind != "several":
        return ""
    known = ", ".join(each.title for each in field.choices)
    told = "several values, separated by commas"
    own = ", or your own words" if field.takes_text else ""
    return f"{told}: {known}{own}" if known else told


def _choices_text(field: FormField) -> str:
    shown = [each.title for each in field.choices[:12]]
    return ", ".join(shown) + (" …" if len(field.choices) > 12 else "")


def _as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
