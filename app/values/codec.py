"""Converts values to JSON bytes and back, one object a line. All JSON text of values is written here."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from app.values.wire import PRIVATE_PREFIX, from_wire, to_wire
from tools.tool_result_values import Json

_ENCODED_CHUNK_CHARACTERS = 1_000_000
"""The length of text, in characters, above which it is encoded in chunks of this size, to save memory."""
_LONG_TEXT_PLACEHOLDER = PRIVATE_PREFIX + "text"

_decoder = msgspec.json.Decoder()
_decoder_by_type: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode_json(data: Any) -> bytes:
    """Encodes plain JSON data as UTF-8 without white space. Lone surrogates are written as escapes."""
    try:
        return msgspec.json.encode(data)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(data, ensure_ascii=True, separators=(",", ":"), default=_encode_pieces).encode(
            "ascii"
        )


def _encode_pieces(data: Any) -> Any:
    """Encodes values that JSON does not know: returns encoded data unchanged, and of a struct its fields."""
    if isinstance(data, msgspec.Raw):
        return decode_json(bytes(data))
    if isinstance(data, msgspec.Struct):
        return msgspec.to_builtins(data)
    raise TypeError(f"{type(data).__name__} has no JSON form")


def decode_json(line: bytes | str) -> Any:
    """Decodes one document to plain JSON data. Raises `msgspec.DecodeError` with the position of the
    fault."""
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as problem:
        return _decode_leniently(line, problem)
    except UnicodeEncodeError as problem:  # text with a lone surrogate
        return _decode_leniently(line, msgspec.DecodeError(str(problem)))
    except (UnicodeDecodeError, RecursionError) as problem:
        raise msgspec.DecodeError(str(problem)) from problem


def encode(value: Any) -> bytes:
    """Encodes a value of `app.values` as one line of JSON without the line feed."""
    return encode_json(to_wire(value))


def encode_line_in_pieces(value: Any) -> Iterator[bytes]:
    """Yields a value's line with its line feed in pieces, so that a long text is held in memory once only."""
    data = to_wire(value)
    if not _has_long_text(data):
        yield encode_json(data) + b"\n"
        return
    long: list[str] = []
    head, *rest = encode_json(_with_placeholders(data, long)).split(f'"{_LONG_TEXT_PLACEHOLDER}"'.encode())
    yield head
    for text, behind in zip(long, rest, strict=True):
        yield b'"'
        for start in range(0, len(text), _ENCODED_CHUNK_CHARACTERS):
            yield encode_json(text[start : start + _ENCODED_CHUNK_CHARACTERS])[1:-1]
        yield b'"' + behind
    yield b"\n"


def _has_long_text(data: Json) -> bool:
    if isinstance(data, str):
        return len(data) > _ENCODED_CHUNK_CHARACTERS
    if isinstance(data, dict):
        return any(map(_has_long_text, data.values()))
    return isinstance(data, list) and any(map(_has_long_text, data))


def _with_placeholders(data: Json, long: list[str]) -> Any:
    """Returns a copy of the data with placeholders for long texts, which are appended to `long`."""
    match data:
        case str() if len(data) > _ENCODED_CHUNK_CHARACTERS:
            long.append(data)
            return _LONG_TEXT_PLACEHOLDER
        case dict():
            return {key: _with_placeholders(item, long) for key, item in data.items()}
        case list():
            return [_with_placeholders(item, long) for item in data]
        case _:
            return data


def decode(line: bytes | str, kind: Any) -> Any:
    """Decodes one line of JSON as a value of `kind`. Raises `msgspec.DecodeError` (or its subclass
    `ValidationError`)."""
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    try:
        return _typed_decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return from_wire(decode_json(line), kind)  # unknown fields or types, lone surrogates, broken text


def _typed_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    decoder = _decoder_by_type.get(kind)
    if decoder is None:
        decoder = _decoder_by_type[kind] = msgspec.json.Decoder(kind)
    return decoder


def _decode_leniently(line: bytes | str, problem: msgspec.DecodeError) -> Any:
    # The fast decoder refuses lone surrogates; other writers do put them into files.
    try:
        text = line if isinstance(line, str) else line.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise problem from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
