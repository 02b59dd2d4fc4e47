"""The bytes of a request: in pieces where some are large, so that what is kept between requests is handed on rather
than copied.
"""

from collections.abc import AsyncIterator, Iterable, Iterator

_LARGE = 128 * 1024
"""Smaller ones are joined: each piece is a write of its own."""


class RequestBody:
    """Read as often as it is sent: a redirect or a stale connection asks for it again."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._pieces = tuple(_joined(parts))
        self._length = sum(map(len, self._pieces))

    def __len__(self) -> int:
        return self._length

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    small: list[bytes] = []
    for part in parts:
        if len(part) < _LARGE:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)
