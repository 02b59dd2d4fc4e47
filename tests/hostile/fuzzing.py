"""Bytes that were sound once: cut, doubled, swapped and sprinkled with what programs stumble over."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
"""What once broke something, by subject; each is tried with every run of the tests."""
SPICES = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b"\n\n", b"\x1b[", b"\x1b]8;;", b"\x9b", b"\xe2\x80\xae",
    b"\xe2\x80\xa8", b"9" * 5000, b"-1", b"1e999", b"NaN", b"null", b"true", b"{}", b"[]", b'""', b"[" * 600,
    b'{"a":' * 300, b"\\ud800", b"\\u0000", b"|", b"```", b"> " * 80, b"* " * 80, b"$$", b"![](", b"<a", b"&#x0;",
    b"\t", b"data: ", b"\xef\xbb\xbf",
)  # fmt: skip


def mutated(sound: bytes, chance: random.Random) -> bytes:
    data = bytearray(sound)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 2, 8, 64)))
        match chance.randrange(6):
            case 0:
                del data[at:to]
            case 1:
                data[at:at] = chance.choice(SPICES)
            case 2:
                data[at:to] = chance.choice(SPICES)
            case 3:
                data[at:at] = data[at:to] * chance.choice((1, 2, 50))
            case 4 if at < len(data):
                data[at] = chance.randrange(256)
            case _:
                del data[at:]
    return bytes(data)


def seeds_of(subject: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((SEEDS / subject).glob("*"))]


def mutations(sound: Sequence[bytes], *, seconds: float, seed: int) -> Iterator[bytes]:
    """For so long; the same ones for the same seed."""
    chance, end = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < end:
        yield mutated(chance.choice(sound), chance)


def kept(subject: str, data: bytes, attempt: Callable[[], object]) -> None:
    """Tries it; what breaks something is kept among the seeds."""
    try:
        attempt()
    except BaseException:
        keep(subject, data)
        raise


def keep(subject: str, data: bytes) -> None:
    import hashlib

    folder = SEEDS / subject
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
