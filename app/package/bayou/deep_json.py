"""Decodes JSON that is nested more deeply than the fast decoders allow: the tree of a session is as deep as
the session is long."""

import json
import re
from typing import Any

import msgspec

_NEXT = re.compile(r'[ \t\n\r]*(?:([{\[\]},:"])|([^ \t\n\r{\[\]},:"]+))')

_texts = json.JSONDecoder()


def decode_deep(line: bytes) -> Any:
    """Decodes one document without recursion; several times slower than `codec.decode_json`. Raises
    `msgspec.DecodeError`."""
    try:
        return _decode(line.decode("utf-8"))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as problem:
        raise msgspec.DecodeError(f"JSON is malformed: {problem}") from problem


def _decode(text: str) -> Any:
    done: list[Any] = []
    """The finished document."""
    open_values: list[Any] = [done]
    """The values that are being filled, the innermost last."""
    keys: list[str] = []
    """The keys whose values follow later."""
    position, is_key = 0, False
    while match := _NEXT.match(text, position):
        mark, position = match[1], match.end()
        target = open_values[-1]
        if mark in ("}", "]"):
            if isinstance(target, dict) is not (mark == "}"):
                raise ValueError(f"{mark} at {position} has no opening bracket")
            open_values.pop()
            is_key = False
            continue
        if mark == ",":
            is_key = isinstance(target, dict)
            continue
        if mark == ":":
            is_key = False
            continue
        if mark == '"':
            value, position = _texts.raw_decode(text, position - 1)
            if is_key:
                keys.append(value)
                continue
        elif mark is None:
            value = msgspec.json.decode(match[2])
        else:
            value = {} if mark == "{" else []
        if isinstance(target, dict):
            target[keys.pop()] = value
        else:
            target.append(value)
        if mark in ("{", "["):
            open_values.append(value)
            is_key = mark == "{"
    if keys or len(open_values) != 1 or text[position:].strip() or len(done) != 1:
        raise ValueError("the JSON ends too early")
    return done[0]
