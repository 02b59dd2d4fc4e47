"""Parses tool arguments: JSON from a model, complete or not. Invalid text never raises.

jiter parses in one pass over the text; this module handles text that is not quite JSON."""

import re
from io import StringIO
from typing import Any

from tools.lazy_patterns import lazy_regex

_CONTROL_CHARACTER_PATTERN = lazy_regex(r"[\x00-\x1f]")
_STRING_LITERAL_PATTERN = lazy_regex(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_BAD_JSON_ESCAPE_PATTERN = lazy_regex(
    r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(u[0-9a-fA-F]{0,3}\Z)|(.|\Z))', re.DOTALL
)
_JSON_ESCAPE_BY_CONTROL_CHARACTER = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def parse_partial_tool_arguments(text: str) -> dict[str, Any]:
    """Returns the readable part of incomplete arguments as an object, which may be empty."""
    data, _ = _parse_json_object(text, is_partial=True)
    return data if isinstance(data, dict) else {}


def parse_tool_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Returns the complete arguments, and an error if they could not be parsed."""
    if not text.strip():
        return {}, None
    data, problem = _parse_json_object(text, is_partial=False)
    if problem is not None:
        return {}, problem
    if isinstance(data, str):  # some models send the object as a JSON string
        inner, inner_problem = _parse_json_object(data, is_partial=False)
        if inner_problem is None and isinstance(inner, dict):
            return inner, None
    if data is None:
        return {}, None
    if not isinstance(data, dict):
        return {}, f"The arguments are not an object but {_json_type_name(data)}: {_shorten_error_text(text)}"
    return data, None


class PartialToolArguments:
    """Arguments that arrive in deltas. They are parsed again only after they have grown considerably, so that
    all parsing together costs little more than one pass."""

    __slots__ = ("_buffer", "_latest_value", "_length", "_next_parse_length")

    def __init__(self) -> None:
        self._buffer = StringIO()
        self._length = 0
        self._next_parse_length = 0
        self._latest_value: dict[str, Any] = {}

    def add_delta(self, delta: str) -> None:
        self._length += len(delta)
        self._buffer.write(delta)

    @property
    def text(self) -> str:
        return self._buffer.getvalue()

    @property
    def latest_value(self) -> dict[str, Any]:
        """Returns the latest parsed value. The text is parsed again when its length has doubled."""
        if self._length >= self._next_parse_length:
            self._latest_value = self.parse_now()
            self._next_parse_length = self._length + max(64, self._length)
        return self._latest_value

    def parse_now(self) -> dict[str, Any]:
        return parse_partial_tool_arguments(self.text)

    def parse_complete(self) -> tuple[dict[str, Any], str | None]:
        """Returns the complete arguments, as `parse_tool_arguments` does."""
        return parse_tool_arguments(self.text)


def repair_json(text: str) -> str:
    """Escapes raw control characters and fixes invalid escapes inside the text's strings."""

    def mend(match: re.Match[str]) -> str:
        found = match.group()
        if "\\" in found:
            found = _BAD_JSON_ESCAPE_PATTERN.sub(_repair_escape, found)
        return _CONTROL_CHARACTER_PATTERN.sub(
            lambda c: _JSON_ESCAPE_BY_CONTROL_CHARACTER.get(c.group()) or f"\\u{ord(c.group()):04x}", found
        )

    return _STRING_LITERAL_PATTERN.sub(mend, text)


def _repair_escape(match: re.Match[str]) -> str:
    good, unfinished, other = match.groups()
    if good is not None:
        return match.group()
    if unfinished is not None or not other:
        return match.group()
    return "\\\\" + other


def _parse_json_object(text: str, *, is_partial: bool) -> tuple[Any, str | None]:
    import jiter  # noqa: PLC0415  (only responses need it)

    mode = "trailing-strings" if is_partial else False
    problem = ""
    for attempt in (text, None):
        candidate = repair_json(text) if attempt is None else attempt
        try:
            raw = candidate.encode("utf-8", "replace")
            return jiter.from_json(raw, partial_mode=mode, cache_mode="none", allow_inf_nan=False), None
        except ValueError as fault:
            problem = problem or str(fault)
    return None, f"The arguments are not valid JSON: {problem}. Received: {_shorten_error_text(text)}"


def _json_type_name(data: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false"}.get(type(data), "a number")


def _shorten_error_text(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
