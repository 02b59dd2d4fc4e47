"""Measures masking of output: 100 MB of command output in pieces, with thirty known secrets,
against copying the same bytes through a decoder."""

import base64
import random
import string
import time
from collections.abc import Callable, Iterable

from bench.table import Row
from tools.masking.encoded_secret_forms import KnownSecret
from tools.masking.masked_stream import MaskedStream
from tools.masking.secret_marks import SecretMarker
from tools.masking.secret_mask import SecretMask

_MEGABYTES = 100
_PIECE_CHARS = 1 << 16
_LETTERS = string.ascii_letters + string.digits


def rows() -> Iterable[Row]:
    chance = random.Random(1)
    values = ["a7" + "".join(chance.choice(_LETTERS) for _ in range(38)) for _ in range(30)]
    mask = SecretMask(
        SecretMarker(b"bench"),
        known=[KnownSecret(f"KEY{n}", one) for n, one in enumerate(values)],
        as_bytes=True,
    )
    for name, text in (("a log", _sample_log(chance, values)), ("base64", _base64(chance, values))):
        data = text.encode()[: 1 << 20]
        read = _best_cpu_ms(lambda data=data: _decode(data))
        started = time.process_time()
        missed = _count_leaks(data, mask, values)
        cost = (time.process_time() - started) * 1000 / _MEGABYTES
        yield Row(
            name=f"masking {_MEGABYTES} MB of {name}, each MB, CPU (missed: {missed})",
            figure=cost,
            unit="ms",
            ratio=cost / read,
            reference="splitting the same text into words",
            limit="60 ms",
        )


def _count_leaks(data: bytes, mask: SecretMask, values: list[str]) -> int:
    """Counts unmasked secrets, with other piece borders each time."""
    stream = MaskedStream(lambda: mask)
    missed = 0
    behind = b""
    for number in range(_MEGABYTES):
        at = -(number * 977 % _PIECE_CHARS)
        for begin in range(at, len(data), _PIECE_CHARS):
            out = stream.mask_next_piece(data[max(0, begin) : begin + _PIECE_CHARS])
            behind = behind[-64:] + out
            missed += any(one.encode() in behind for one in values[:3])
    return missed


def _sample_log(chance: random.Random, values: list[str]) -> str:
    lines = [
        f"2026-11-02 10:{n // 60 % 60:02}:{n % 60:02} INFO app/module_{n % 97}/handler.py: request {n} of "
        f"user {chance.randrange(9999)} took {chance.random():.3f} s"
        + (f" token={values[n % 3]}" if n % 500 == 0 else "")
        for n in range(12_000)
    ]
    return "\n".join(lines) + "\n"


def _base64(chance: random.Random, values: list[str]) -> str:
    lines = [base64.b64encode(chance.randbytes(57)).decode() for _ in range(14_000)]
    for at in range(0, len(lines), 700):
        lines[at] = f"token={values[at % 3]}"
    return "\n".join(lines) + "\n"


def _decode(data: bytes) -> None:
    data.decode().split()


def _best_cpu_ms(deed: Callable[[], None]) -> float:
    """Returns the milliseconds of CPU time, the best of five runs."""
    times: list[float] = []
    for _ in range(5):
        started = time.process_time()
        deed()
        times.append(time.process_time() - started)
    return min(times) * 1000
