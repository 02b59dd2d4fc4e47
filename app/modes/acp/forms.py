"""Converts a form of the session to an elicitation, and the client's answer back to texts by field."""

from collections.abc import Iterator, Mapping
from typing import Any

from acp.schema import (
    CreateFormSessionElicitationRequest,
    CreateUrlSessionElicitationRequest,
    ElicitationBooleanPropertySchema,
    ElicitationIntegerPropertySchema,
    ElicitationMultiSelectPropertySchema,
    ElicitationNumberPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    TitledMultiSelectItems,
)
from pydantic import AnyUrl

from app.mcp.elicitation_forms import validate_field
from app.values.forms import AskedForm, FormField
from app.values.wire import new_id

Property = (
    ElicitationStringPropertySchema
    | ElicitationNumberPropertySchema
    | ElicitationIntegerPropertySchema
    | ElicitationBooleanPropertySchema
    | ElicitationMultiSelectPropertySchema
)
Elicitation = CreateFormSessionElicitationRequest | CreateUrlSessionElicitationRequest
_FORMATS = ("email", "uri", "date", "date-time")


def form_request(form: AskedForm, session_id: str) -> Elicitation:
    message = f"{form.title}: {form.message}".rstrip(": ") if form.server else form.message
    if form.url:
        return CreateUrlSessionElicitationRequest(
            mode="url",
            session_id=session_id,
            message=message,
            url=AnyUrl(form.url),
            elicitation_id=new_id(),
        )
    return CreateFormSessionElicitationRequest(
        mode="form",
        session_id=session_id,
        message=message,
        requested_schema=ElicitationSchema(
            type="object",
            properties=dict(_properties(form)),
            required=[field.name for field in form.fields if field.is_required],
        ),
    )


def answers_of(form: AskedForm, result: Any) -> Mapping[str, str] | str | None:
    """Returns texts by field, `decline`, or None for any other answer."""
    if not isinstance(result, Mapping) or result.get("action") == "cancel":
        return None
    if result.get("action") != "accept":
        return "decline" if result.get("action") == "decline" else None
    content = result.get("content")
    given: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
    return {
        field.name: "\n".join(texts)
        for field in form.fields
        if (
            texts := [
                _text(given[key])
                for key in dict.fromkeys((field.name, _own_words(field)))
                if given.get(key) not in (None, "")
            ]
        )
    }


def _own_words(field: FormField) -> str:
    """Returns the name of the property for a text beside the choices."""
    return f"{field.name}_other" if field.takes_text else field.name


def _properties(form: AskedForm) -> Iterator[tuple[str, Property]]:
    for field in form.fields:
        yield field.name, _property(field)
        if field.takes_text:
            yield (
                _own_words(field),
                ElicitationStringPropertySchema(type="string", title=f"{field.title}: in your own words"),
            )


def _property(field: FormField) -> Property:
    told: dict[str, Any] = {"title": field.title, "description": field.description or None}
    least = None if field.least is None else int(field.least)
    most = None if field.most is None else int(field.most)
    match field.kind:
        case "yes-no":
            default, _ = validate_field(field, field.default)
            return ElicitationBooleanPropertySchema(type="boolean", default=default, **told)
        case "integer":
            default, _ = validate_field(field, field.default)
            return ElicitationIntegerPropertySchema(
                type="integer", minimum=least, maximum=most, default=default, **told
            )
        case "number":
            return ElicitationNumberPropertySchema(
                type="number", minimum=field.least, maximum=field.most, **told
            )
        case "several":
            items = TitledMultiSelectItems(any_of=_choices(field))
            default = field.default.split(", ") if field.default else None
            return ElicitationMultiSelectPropertySchema(
                type="array", items=items, min_items=least, max_items=most, default=default, **told
            )
        case "choice" | "text":
            return ElicitationStringPropertySchema(
                type="string",
                one_of=_choices(field) or None,
                min_length=least,
                max_length=most,
                format=field.format if field.format in _FORMATS else None,
                default=field.default or None,
                **told,
            )


def _choices(field: FormField) -> list[EnumOption]:
    return [
        EnumOption(const=choice.value, title=": ".join(filter(None, (choice.title, choice.detail))))
        for choice in field.choices
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)
