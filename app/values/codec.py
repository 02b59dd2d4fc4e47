"""Values ↔ JSON bytes, one object a line. Nothing else in the program turns values into JSON text."""

import json
from typing import Any

import msgspec

from app.values.wire import from_wire, to_wire

_decoder = msgspec.json.Decoder()
_typed: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode_json(data: Any) -> bytes:
    """Plain JSON data as UTF-8 without white space. Lone surrogates are written as escapes."""
    try:
        return msgspec.json.encode(data)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def decode_json(line: bytes | str) -> Any:
    """Plain JSON data of one document. Raises `msgspec.DecodeError` with the place of the fault."""
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as problem:
        return _decode_leniently(line, problem)
    except (UnicodeDecodeError, RecursionError) as problem:
        raise msgspec.DecodeError(str(problem)) from problem


def encode(value: Any) -> bytes:
    """A value of `app.values` as one line of JSON, without the line feed."""
    return encode_json(to_wire(value))


def decode(line: bytes | str, kind: Any) -> Any:
    """One line of JSON as a value of `kind`. Raises `msgspec.DecodeError` (or its child `ValidationError`)."""
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    try:
        return _typed_decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return from_wire(decode_json(line), kind)  # unknown fields or types, lone surrogates, broken text


def _typed_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    decoder = _typed.get(kind)
    if decoder is None:
        decoder = _typed[kind] = msgspec.json.Decoder(kind)
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
