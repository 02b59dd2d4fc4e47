"""This machine's processes: started by the `keeper` beside this, which ends them with everything they started."""

import asyncio
import errno
import fcntl
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.operations import CommandLine

_KEEPER: Final = Path(__file__).with_name("keeper.py")
_KEEPER_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Not all: a command could read a key from its keeper's environment."""
_CLOSING_SECONDS: Final = 5.0
_LEAVING_SECONDS: Final = 0.05
"""Between a process closing its output and being gone."""


class LocalProcess:
    """A running command and its descendants, by the words of its watcher."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._heard = b""
        self._started: asyncio.Future[int] = self._loop.create_future()
        self._exit: asyncio.Future[int] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._is_alone = asyncio.Event()
        self._loop.add_reader(link, self._listen)

    @property
    def pid(self) -> int:
        return self._started.result()

    async def start(self, command: CommandLine) -> None:
        environment = (f"{name}={value}" for name, value in command.environment.items())
        fields = [command.cwd, str(len(command.argv)), *command.argv, *environment]
        request = b"\0".join(os.fsencode(field) for field in fields)
        try:
            await self._loop.sock_sendall(self._link, len(request).to_bytes(8, "big") + request)
            await asyncio.shield(self._started)
        except BaseException:
            self._leave()  # The watcher ends what it may have started.
            raise

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def end(self) -> None:
        self._say(b"end")
        await self._ended.wait()

    def kill(self) -> None:
        self._say(b"kill")

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        if not is_output_open:
            try:
                await asyncio.wait_for(self._is_alone.wait(), _LEAVING_SECONDS)
            except TimeoutError:
                pass
        return not self._is_alone.is_set()

    def _say(self, word: bytes) -> None:
        try:
            self._link.send(word)
        except OSError:
            pass  # The watcher has left, because there is nothing left to watch.

    def _listen(self) -> None:
        try:
            news = self._link.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            news = b""
        *lines, self._heard = (self._heard + news).split(b"\n")
        for line in lines:
            self._note(line.split())
        if not news:
            self._note([b"exit", b"-9"])  # Somebody killed the watcher, unless it said so before.
            self._note([b"alone"])
            self._leave()

    def _note(self, words: list[bytes]) -> None:
        match words:
            case [b"started", number]:
                self._started.set_result(int(number))
            case [b"failed", number]:
                self._started.set_exception(OSError(int(number), os.strerror(int(number))))
            case [b"exit", code] if not self._exit.done():
                self._exit.set_result(int(code))
            case [b"ended"]:
                self._ended.set()
            case [b"alone"]:
                self._ended.set()
                self._is_alone.set()
            case _:
                pass

    def _leave(self) -> None:
        """Hangs up. May have happened before."""
        if self._link.fileno() >= 0:
            self._loop.remove_reader(self._link)
            self._link.close()
        if not self._started.done():
            self._started.set_exception(OSError(errno.ECHILD, "The command's watcher was killed"))
        self._started.exception()


class LocalProcesses:
    def __init__(self) -> None:
        self._keeper: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> LocalProcess:
        own, other = socket.socketpair()
        own.setblocking(False)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            stdin = nothing if terminal is None else terminal
            descriptors = [other.fileno(), stdin, output, output if errors is None else errors]
            self._hand_over(b"p" if terminal is None else b"t", descriptors)
        except BaseException:
            own.close()
            raise
        finally:
            os.close(nothing)
            other.close()
        process = LocalProcess(own)
        await process.start(command)
        return process

    def find_program(self, name: str) -> str | None:
        return shutil.which(name)

    def close(self) -> None:
        """Lets the keeper end; it ends what is still running first."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._keeper is not None:
            try:
                self._keeper.wait(_CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                pass  # Held up by a process that cannot be killed.
            self._keeper = None

    def _hand_over(self, kind: bytes, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._link or self._start_keeper(), [kind], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            self.close()  # Somebody killed the keeper.
            socket.send_fds(self._start_keeper(), [kind], descriptors)

    def _start_keeper(self) -> socket.socket:
        self._link, other = socket.socketpair()
        with other:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_KEEPER)],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={name: os.environ[name] for name in _KEEPER_VARIABLES if name in os.environ},
            )
        return self._link


def pipe() -> tuple[int, int]:
    """A pipe with room for a megabyte where the system allows it, so that a fast writer seldom waits."""
    read_end, write_end = os.pipe()
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        try:
            fcntl.fcntl(write_end, set_size, 1 << 20)
        except OSError:
            pass  # The system's limit for this user; the usual size works too.
    return read_end, write_end
