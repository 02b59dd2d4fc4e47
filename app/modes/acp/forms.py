"""Converts a form of the session to an elicitation, and the client's answer back to texts by field."""

from collections.abc import Mapping
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
    message = f"{form.server} asks: {form.message}".rstrip(": ") if form.server else form.message
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
            properties={field.name: _property(field) for field in form.fields},
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
    return {field.name: _text(given[field.name]) for field in form.fields if field.name in given}


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
    return [EnumOption(const=choice.value, title=choice.title) for choice in field.choices]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
