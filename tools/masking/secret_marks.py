"""Marks that replace secrets in a text: `[secret:KIND:DIGEST]`.

The digest uses a key of this installation: equal secrets have equal marks, and nothing can be guessed from a
mark. Its last two digits are a checksum, so that an example in a text is not taken for a real mark."""

import hashlib
import hmac
import re
from collections.abc import Iterator

from tools.lazy_patterns import lazy_regex

_INVALID_SECRET_KIND_PATTERN = lazy_regex(r"[^A-Za-z0-9_.-]+")
_SECRET_DIGEST_DIGITS = 8
SECRET_MARK_PATTERN = lazy_regex(r"\[secret:([A-Za-z0-9_.-]{1,64}):([0-9a-f]{8})([0-9a-f]{2})\]")
SECRET_MARK_PREFIX = "[secret:"


class SecretMarker:
    """Makes the marks that replace secrets, with one key, and recognises its own marks."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def digest(self, secret: str) -> str:
        digits = self._hash_data(b"secret\0" + secret.encode("utf-8", "surrogatepass"))[
            :_SECRET_DIGEST_DIGITS
        ]
        return digits + self._check_digits(digits)

    def mark(self, kind: str, secret: str) -> str:
        valid_kind = _INVALID_SECRET_KIND_PATTERN.sub("-", kind)[:64] or "value"
        return f"{SECRET_MARK_PREFIX}{valid_kind}:{self.digest(secret)}]"

    def find_own_marks(self, text: str) -> Iterator["re.Match[str]"]:
        """Yields the marks of secrets in a text that were made with this key."""
        if SECRET_MARK_PREFIX in text:
            for found in SECRET_MARK_PATTERN.finditer(text):
                if self._check_digits(found[2]) == found[3]:
                    yield found

    def _check_digits(self, digits: str) -> str:
        return self._hash_data(b"check\0" + digits.encode())[:2]

    def _hash_data(self, data: bytes) -> str:
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()
