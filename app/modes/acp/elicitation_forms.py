"""Converts a form of the session to an elicitation, and the client's answer back to texts by field."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.mcp.elicitation_forms import parse_field_answer
from app.values.forms import FormField, UserForm
from app.values.wire import new_id

_JSON_SCHEMA_TEXT_FORMATS = ("email", "uri", "date", "date-time")


def make_elicitation_request(form: UserForm, session_id: str) -> dict[str, Any]:
    """Returns the parameters of `elicitation/create`."""
    message = f"{form.title}: {form.message}".rstrip(": ") if form.server else form.message
    asked = {"sessionId": session_id, "message": message}
    if form.url:
        return {**asked, "mode": "url", "url": form.url, "elicitationId": new_id()}
    schema = {
        "type": "object",
        "properties": dict(_form_properties(form)),
        "required": [field.name for field in form.fields if field.is_required],
    }
    return {**asked, "mode": "form", "requestedSchema": schema}


def read_elicitation_answers(form: UserForm, result: Any) -> Mapping[str, str] | str | None:
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
                _answer_text(given[key])
                for key in dict.fromkeys((field.name, _free_text_name(field)))
                if given.get(key) not in (None, "")
            ]
        )
    }


def _free_text_name(field: FormField) -> str:
    """Returns the name of the property for a text beside the choices."""
    return f"{field.name}_other" if field.takes_text else field.name


def _form_properties(form: UserForm) -> Iterator[tuple[str, dict[str, Any]]]:
    for field in form.fields:
        schema = {"title": field.title, "description": field.description or None, **_field_schema(field)}
        yield field.name, {key: value for key, value in schema.items() if value is not None}
        if field.takes_text:
            yield _free_text_name(field), {"type": "string", "title": f"{field.title}: other answer"}


def _field_schema(field: FormField) -> dict[str, Any]:
    """Returns the JSON schema of a field's values; absent limits are None."""
    least = None if field.least is None else int(field.least)
    most = None if field.most is None else int(field.most)
    match field.kind:
        case "yes-no":
            return {"type": "boolean", "default": parse_field_answer(field, field.default)[0]}
        case "integer":
            default, _ = parse_field_answer(field, field.default)
            return {"type": "integer", "minimum": least, "maximum": most, "default": default}
        case "number":
            return {"type": "number", "minimum": field.least, "maximum": field.most}
        case "several":
            return {
                "type": "array",
                "items": {"anyOf": _field_choices(field)},
                "minItems": least,
                "maxItems": most,
                "default": field.default.split(", ") if field.default else None,
            }
        case "choice" | "text":
            return {
                "type": "string",
                "oneOf": _field_choices(field) or None,
                "minLength": least,
                "maxLength": most,
                "format": field.format if field.format in _JSON_SCHEMA_TEXT_FORMATS else None,
                "default": field.default or None,
            }


def _field_choices(field: FormField) -> list[dict[str, str]]:
    return [
        {"const": choice.value, "title": ": ".join(filter(None, (choice.title, choice.detail)))}
        for choice in field.choices
    ]


def _answer_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)
