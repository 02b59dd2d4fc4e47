"""Signatures of session entries that give rights or make something run, such as added folders and a goal's checks.

A session file may come from anyone, so such an entry counts only with a signature made with this installation's key
for this session, in this folder: it proves that a person gave exactly this here."""

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.values.entries import CustomEntry, Entry, SessionHeader

SIGNATURE_FIELD = "signature"
_TEMPORARY_KEY_BYTES = 32


def _temporary_key() -> bytes:
    return os.urandom(_TEMPORARY_KEY_BYTES)


class EntrySignatures:
    """Signs the data of session entries, and recognises its own signatures."""

    def __init__(self, load_key: Callable[[], bytes] = _temporary_key) -> None:
        """Creates the signatures; `load_key` is called when the first one is made or checked."""
        self._load_key = load_key
        self._key = b""

    def sign(self, header: SessionHeader, custom_type: str, data: dict[str, Any]) -> dict[str, Any]:
        """Returns the data of a custom entry with a signature for this session."""
        return {**data, SIGNATURE_FIELD: self._signature(header, custom_type, data)}

    def is_signed(self, header: SessionHeader, entry: CustomEntry) -> bool:
        """Whether the entry was signed on this machine for the session of this header."""
        data: Any = entry.data
        if not isinstance(data, dict) or not isinstance(given := data.get(SIGNATURE_FIELD), str):
            return False
        try:
            expected = self._signature(header, entry.custom_type, data)
        except (RecursionError, ValueError):  # nested too deeply
            return False
        return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass"))

    def carry_over(
        self, entries: Iterable[Entry], before: SessionHeader, after: SessionHeader
    ) -> list[Entry]:
        """Returns the entries of a session for a copy of it: those signed for it are signed for the copy, if that
        works in the same folder."""
        if before.cwd != after.cwd:
            return list(entries)
        return [
            msgspec.structs.replace(entry, data=self.sign(after, entry.custom_type, _unsigned(entry.data)))
            if type(entry) is CustomEntry and self.is_signed(before, entry)
            else entry
            for entry in entries
        ]

    def _signature(self, header: SessionHeader, custom_type: str, data: dict[str, Any]) -> str:
        signed = ["entry", header.id, header.cwd, custom_type, _unsigned(data)]
        text = json.dumps(signed, sort_keys=True, separators=(",", ":"))
        self._key = self._key or self._load_key()
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _unsigned(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != SIGNATURE_FIELD}
