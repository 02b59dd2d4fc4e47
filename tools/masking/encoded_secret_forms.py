"""Defines secrets that are known by value, and the encoded forms in which they reappear."""

import base64
import json
from urllib.parse import quote, quote_plus

import msgspec

from tools.lazy_patterns import lazy_regex

MIN_SECRET_CHARS = 8
"""The minimum length of a known value; a shorter one would match inside innocent words."""
_MIN_DISTINCTIVE_WORD_CHARS = 20
_PERCENT_ESCAPE_PATTERN = lazy_regex(r"%[0-9A-F]{2}")


class KnownSecret(msgspec.Struct, frozen=True):
    name: str
    """The name that the secret's source gives it: a variable, a provider."""
    value: str
    is_plain: bool = False
    """Whether only the exact value is searched for, and none of its encoded forms."""


def is_distinctive_secret(value: str) -> bool:
    """Returns whether a value is unusual enough that every occurrence is the secret; a password like `postgres`
    must not mask that word in all sources."""
    if len(value) < MIN_SECRET_CHARS or len(set(value)) < 4:
        return False
    if any(one.isspace() for one in value.strip()):
        return len(value) >= _MIN_DISTINCTIVE_WORD_CHARS
    has_digit = any(one.isdigit() for one in value)
    has_letter = any(one.isalpha() for one in value)
    has_sign = any(not one.isalnum() and one not in "-_./:" for one in value)
    return (
        (has_digit and has_letter)
        or (has_letter and has_sign)
        or (
            len(value) >= _MIN_DISTINCTIVE_WORD_CHARS
            and (not value.isalpha() or not (value.islower() or value.istitle()))
        )
    )


def base64_and_hex_forms(value: str) -> tuple[str, ...]:
    """Returns a secret as it is, in base64 (also twice) and hexadecimal."""
    data = value.encode("utf-8", "replace")
    hexadecimal = data.hex()
    once = _base64_forms(data)[0].encode()
    found = (value, *_base64_forms(data), hexadecimal, hexadecimal.upper(), *_base64_forms(once))
    return tuple(dict.fromkeys(one for one in found if len(one) >= MIN_SECRET_CHARS))


def encoded_secret_forms(value: str) -> tuple[str, ...]:
    """Returns the forms in which a server may repeat a secret: those of `base64_and_hex_forms`, and as in JSON,
    addresses, HTML and shells."""
    import html  # noqa: PLC0415  (2,000 names of letters; a start without a secret needs none)

    quoted = json.dumps(value)[1:-1]
    in_address = (
        quote(value, safe="", errors="replace"),
        quote(value, safe="/:", errors="replace"),
        quote_plus(value, errors="replace"),
    )
    found = [
        value,
        quoted,
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(quoted)[1:-1],
        quoted.replace("/", "\\/"),
        *in_address,
        *(_PERCENT_ESCAPE_PATTERN.sub(lambda found: found[0].lower(), one) for one in in_address),
        html.escape(value),
        value.replace("'", "'\\''"),
        *base64_and_hex_forms(value),
    ]
    return tuple(dict.fromkeys(one for one in found if len(one) >= MIN_SECRET_CHARS))


def _base64_forms(data: bytes) -> list[str]:
    """Returns the parts of a secret's base64 encodings that do not depend on its position in the encoded text."""
    found: list[str] = []
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + data).decode()
            sure = (before + len(data)) * 8 // 6
            begin = (before * 8 + 5) // 6
            found.append(text[begin:sure])
    return found
