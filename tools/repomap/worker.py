"""Maps files for a builder, in a process of its own: paths in, what the index takes out, until nobody asks any more.

Frames are a length of four bytes and msgpack. The first line that comes is where Python finds bayou's modules: the
process is started with none of its own, so that nothing of the folder it works for is ever imported.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from tools.repomap.outlining import indexed
from tools.repomap.store import Indexed
from tools.repomap.way import RightOfWay

_START = (
    "import sys, json; sys.path[:0] = json.loads(sys.stdin.buffer.readline()); "
    "from tools.repomap.{module} import main; main()"
)
_NICE = 10
_BATCHES = msgspec.msgpack.Decoder(tuple[bytes, list[bytes]])
_ANSWERS = msgspec.msgpack.Decoder(list[Indexed])


def start(module: str, way: RightOfWay | None = None) -> "subprocess.Popen[bytes]":
    """Runs `main` of a module of this package in a process that ends when its input does. `way`: whom it waits for."""
    started = subprocess.Popen(
        [sys.executable, "-I", "-c", _START.format(module=module), *(way.words if way is not None else ())],
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=way.descriptors if way is not None else (),
    )
    assert started.stdin is not None
    places = [place for place in sys.path if place and Path(place).is_absolute()]
    started.stdin.write(msgspec.json.encode(places) + b"\n")
    started.stdin.flush()
    return started


def end(process: "subprocess.Popen[bytes]") -> None:
    """By the end of its input, at which it ends; else it is killed."""
    assert process.stdin is not None
    try:
        process.stdin.close()
        process.wait(1.0)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


class MapWorker:
    """The builder's end of one."""

    def __init__(self, way: RightOfWay | None = None) -> None:
        self._process = start("worker", way)

    def ask(self, root: Path, paths: Sequence[str]) -> None:
        assert self._process.stdin is not None
        send(self._process.stdin, (os.fsencode(root), [os.fsencode(path) for path in paths]))

    def answer(self) -> list[Indexed]:
        """Raises `EOFError` when it is gone. Reads no further than the answer, so that a selector sees the next."""
        length = int.from_bytes(self._read(4), "big")
        return _ANSWERS.decode(self._read(length))

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = os.read(self.fileno(), count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def close(self) -> None:
        end(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()


def send(file: IO[bytes], value: object) -> None:
    data = msgspec.msgpack.encode(value)
    file.write(len(data).to_bytes(4, "big") + data)
    file.flush()


def receive(file: IO[bytes]) -> bytes:
    length = file.read(4)
    if len(length) < 4:
        raise EOFError
    data = file.read(int.from_bytes(length, "big"))
    if len(data) < int.from_bytes(length, "big"):
        raise EOFError
    return data


def main() -> None:
    os.nice(_NICE)
    way = RightOfWay.of_words(sys.argv[1:])
    while True:
        try:
            folder, paths = _BATCHES.decode(receive(sys.stdin.buffer))
        except EOFError:
            return
        root = Path(os.fsdecode(folder))
        made: list[Indexed] = []
        for path in paths:
            way.wait()
            found = indexed(root, os.fsdecode(path))
            if found is not None:
                made.append(found)
        try:
            send(sys.stdout.buffer, made)
        except BrokenPipeError:
            return
