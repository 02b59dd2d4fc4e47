"""Bodies that a server has compressed, unpacked as they come."""

import zlib
from collections.abc import Iterator
from typing import Protocol

from app.providers.errors import ProviderError

ACCEPTED = "gzip, deflate"
_AT_ONCE = 1024 * 1024
"""A small body may unpack to gigabytes: it is handed on in pieces of this size."""


class Unpacking(Protocol):
    def unpack(self, chunk: bytes) -> Iterator[bytes]: ...

    def finish(self) -> None:
        """The body ended. Raises `ProviderError` when it did so in the middle."""
        ...


class Plain:
    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def finish(self) -> None:
        pass


class Deflated:
    """gzip, or zlib's own form, of which some servers leave out the head."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | (16 if name == "gzip" else 0))
        self._has_begun = False

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        rest, piece = chunk, b""
        while rest or len(piece) == _AT_ONCE:
            try:
                piece = self._inflate.decompress(rest, _AT_ONCE)
            except zlib.error as problem:
                if self._has_begun or self._name == "gzip":
                    raise self._damaged(str(problem)) from None
                self._inflate, self._has_begun = zlib.decompressobj(-zlib.MAX_WBITS), True
                continue
            self._has_begun = True
            if piece:
                yield piece
            rest = self._inflate.unconsumed_tail
            if self._inflate.eof and self._name == "gzip" and self._inflate.unused_data:
                # Files of that form may follow one another.
                rest = self._inflate.unused_data
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def finish(self) -> None:
        if self._has_begun and not self._inflate.eof:
            raise self._damaged("it ends in the middle")

    def _damaged(self, why: str) -> ProviderError:
        return ProviderError(
            f"Connection error: the answer's {self._name} encoding is damaged: {why}.", kind="connection"
        )


def unpacking(encoding: str) -> Unpacking:
    """For the header `Content-Encoding`. Raises `ProviderError` for one that was not asked for."""
    match encoding.strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip":
            return Deflated("gzip")
        case "deflate":
            return Deflated("deflate")
        case other:
            raise ProviderError(
                f"The server answered in the encoding '{other}', which was not asked for ({ACCEPTED})."
            )
