"""Parses a JSON object while it arrives; each character is read once, however often the result is inspected.

Model arguments are parsed a little more leniently than JSON: raw control characters in strings and unknown
escapes are taken literally. Malformed input is not guessed at."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from tools.lazy_patterns import lazy_regex
from tools.tool_result_values import Json

_STRING_RUN_PATTERN: Final = lazy_regex(r'(?:[^"\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_SCALAR_PATTERN: Final = lazy_regex(r"[^\s,\]}:\"\[{]*+")
_WHITE_SPACE_PATTERN: Final = lazy_regex(r"[ \t\r\n]*+")
_HIGH_SURROGATE_PATTERN: Final = lazy_regex(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_INCOMPLETE_ESCAPE_PATTERN: Final = lazy_regex(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_LONE_SURROGATE_PATTERN: Final = lazy_regex(r"[\ud800-\udfff]")
_MAX_SCALAR_CHARS: Final = 400
_MAX_JSON_DEPTH: Final = 100
_REPLACEMENT_CHARACTER: Final = "\ufffd"

JsonParserState = Literal["begin", "name", "colon", "value", "text", "behind", "over", "lost"]


class StreamedJsonParser:
    """The arguments of a tool call while they stream in. Members are as they were sent; the last member may be
    incomplete."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self._open_containers: list[tuple[dict[str, Any] | list[Any], str]] = []
        """The JSON containers that are open at this point, each object with the name of the member that is
        arriving."""
        self._state: JsonParserState = "begin"
        self._may_close_container = False
        """Whether the JSON container that has just begun may end now, as an empty one."""
        self._is_reading_name = False
        """Whether the JSON string that is arriving is a member's name and not a value."""
        self._has_partial_value = False
        """Whether the value that is arriving is already stored in part in its container."""
        self._string_pieces: list[str] = []
        self._unread_escape = ""
        self.is_strict_json = True
        """Whether the JSON text received so far was valid, so that nothing had to be repaired."""

    @property
    def is_complete(self) -> bool:
        return self._state == "over"

    @property
    def is_malformed(self) -> bool:
        """Whether the JSON input cannot be parsed; the members before the error stay available."""
        return self._state == "lost"

    def parse_chunk(self, text: str) -> None:
        text, self._unread_escape = self._unread_escape + text, ""
        at = 0
        while at < len(text) and self._state not in ("over", "lost"):
            at = self._read_string(text, at) if self._state == "text" else self._read_punctuation(text, at)

    def partial_members(self) -> Mapping[str, Any]:
        """Returns the members of the JSON object received so far, read-only, including the part of a string that has
        arrived."""
        if self._state == "text" and not self._is_reading_name:
            self._store_value(self._join_string_pieces())
        return self._root

    def complete_members(self) -> dict[str, Any]:
        """Returns the complete members of the JSON object so far; of an arriving list, the items before the last."""
        if self.is_complete or not self._open_containers:
            return dict(self._root)
        out = dict(self._root)
        name = self._open_containers[0][1]
        if len(self._open_containers) == 1 and (self._is_reading_name or self._state in ("behind", "name")):
            return out
        value: Json = out.pop(name, None)
        if len(self._open_containers) > 1 and isinstance(value, list):
            is_arriving = len(self._open_containers) > 2 or (
                self._state == "text" and self._has_partial_value
            )
            out[name] = value[: len(value) - is_arriving]
        return out

    @property
    def partial_string_name(self) -> str | None:
        """Returns the member name of the JSON string that is arriving, in whichever object it is."""
        if self._state != "text" or self._is_reading_name:
            return None
        return next((name for _, name in reversed(self._open_containers) if name), None)

    # Texts

    def _read_string(self, text: str, at: int) -> int:
        match = _STRING_RUN_PATTERN.match(text, at)
        end = match.end() if match is not None else at
        run = text[at:end]
        behind = text[end : end + 6]
        is_cut = len(behind) < 6 and _INCOMPLETE_ESCAPE_PATTERN.fullmatch(behind) is not None
        if (
            is_cut
            and (half := _HIGH_SURROGATE_PATTERN.search(run)) is not None
            and _is_escape(run, half.start())
        ):
            run, behind = run[: half.start()], half[0] + behind  # its other half is still to arrive
        self._add_run(run)
        if is_cut:
            self._unread_escape = behind
            return len(text)
        if text[end] == '"':
            self._end_string()
            return end + 1
        self._string_pieces.append("\\")  # the escape does not exist, so the backslash is literal
        self.is_strict_json = False
        return end + 1

    def _add_run(self, run: str) -> None:
        if not run:
            return
        if "\\" in run:
            has_codes = "\\u" in run
            run = json.loads(f'"{run}"', strict=False)
            if has_codes and _LONE_SURROGATE_PATTERN.search(run):
                run = _LONE_SURROGATE_PATTERN.sub(_REPLACEMENT_CHARACTER, run)
                self.is_strict_json = False
        self._string_pieces.append(run)

    def _join_string_pieces(self) -> str:
        if len(self._string_pieces) != 1:
            self._string_pieces = ["".join(self._string_pieces)]
        return self._string_pieces[0]

    def _end_string(self) -> None:
        text, self._string_pieces = self._join_string_pieces(), []
        if self._is_reading_name:
            container, _ = self._open_containers[-1]
            self._open_containers[-1] = (container, text)
            self._is_reading_name, self._state = False, "colon"
        else:
            self._store_value(text)
            self._state = "behind"

    def _store_value(self, value: Any) -> None:
        """Stores a JSON value as the arriving member, or replaces its partial value."""
        container, name = self._open_containers[-1]
        if isinstance(container, dict):
            container[name] = value
        elif self._state == "text" and self._has_partial_value:
            container[-1] = value
        else:
            container.append(value)
        self._has_partial_value = True

    # Everything else

    def _read_punctuation(self, text: str, at: int) -> int:
        blank = _WHITE_SPACE_PATTERN.match(text, at)
        at = blank.end() if blank is not None else at
        if at == len(text):
            return at
        char, state = text[at], self._state
        if state == "begin" and char == "{":
            self._open_container(self._root, "name")
        elif state == "name" and char == '"':
            self._is_reading_name, self._state = True, "text"
        elif state == "colon" and char == ":":
            self._state = "value"
        elif state == "behind" and char == ",":
            self._state = "name" if isinstance(self._open_containers[-1][0], dict) else "value"
        elif (
            char in "]}" and (state == "behind" or self._may_close_container) and self._close_container(char)
        ):
            self._open_containers.pop()
            self._state = "behind" if self._open_containers else "over"
        elif state == "value":
            return self._read_value(text, at)
        else:
            self._state = "lost"
        if char != "{" or state != "begin":
            self._may_close_container = False
        return at + 1

    def _close_container(self, char: str) -> bool:
        return isinstance(self._open_containers[-1][0], dict) == (char == "}")

    def _open_container(self, container: dict[str, Any] | list[Any], state: JsonParserState) -> None:
        self._open_containers.append((container, ""))
        self._state, self._may_close_container = (
            state if len(self._open_containers) <= _MAX_JSON_DEPTH else "lost",
            True,
        )

    def _read_value(self, text: str, at: int) -> int:
        char = text[at]
        self._may_close_container = False
        if char == '"':
            self._state, self._has_partial_value = "text", False
            return at + 1
        if char in "{[":
            made: dict[str, Any] | list[Any] = {} if char == "{" else []
            self._store_value(made)
            self._open_container(made, "name" if char == "{" else "value")
            return at + 1
        match = _SCALAR_PATTERN.match(text, at)
        end = match.end() if match is not None else at
        if end == len(text) and end - at < _MAX_SCALAR_CHARS:
            self._unread_escape = text[at:]
            return end
        try:
            self._store_value(json.loads(text[at:end]))
            self._state = "behind"
        except ValueError:
            self._state = "lost"
        return end


def _is_escape(run: str, at: int) -> bool:
    """Returns whether the backslash at this position is not itself escaped."""
    return (at - len(run[:at].rstrip("\\"))) % 2 == 0
