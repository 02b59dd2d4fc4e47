"""One kernel's process: what it is told and says, its output in order with that, and how it is stopped.

Output comes through a pipe that the kernel's children have too; words come over a socket that only the kernel has. One
thread reads both: when a word comes, the output that was written before it has been taken in.
"""

import array
import asyncio
import fcntl
import os
import select
import signal
import socket
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec

from tools.kernel.output import CellOutput
from tools.kernel.words import (
    ArtifactRequest,
    CallTool,
    CancelCall,
    CellDone,
    CellMessage,
    Hello,
    KernelMessage,
    NamesAnswer,
    Show,
    decode_message,
)
from tools.operations import CommandLine, RunningProcess
from tools.running.process import BoxFailed, LocalProcesses, pipe

KERNEL_PROGRAM: Final = Path(__file__).with_name("inside") / "kernel.py"
START_TIMEOUT: Final = 20.0
INTERRUPT_AGAIN_SECONDS, KILL_AFTER_SECONDS = 2.0, 1.0
"""A cell that goes on after an interrupt gets another, and then its kernel is killed."""
_SEND_INTERVAL: Final = 0.05
_CHUNK: Final = 1 << 20
MAX_MESSAGE_BYTES: Final = 256 << 20
"""More than any picture or argument of a tool: a longer one was written to the socket by a cell."""
_MESSAGE_TIMEOUT: Final = 10.0
"""Seconds for the rest of a word that has begun; the kernel writes each at once."""
_MAX_LATE_OUTPUT: Final = 64 * 1024
"""Of what is printed while no cell runs, the end that is kept."""


class KernelStartFailed(Exception):
    """What it printed instead, or what the system said."""


class KernelGone(Exception):
    """It has ended while it was needed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class KernelProcess:
    """A kernel that runs, one cell at a time."""

    def __init__(self, process: RunningProcess, link: socket.socket, output: int) -> None:
        self.process = process
        self.hello: Hello | None = None
        self.cells = 0
        self._link = link
        self._pipe = output
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._lock = threading.Lock()
        self._output: CellOutput | None = None
        self._late = bytearray()
        self._hear: Callable[[CellMessage], None] = lambda word: None
        self._greeted: asyncio.Future[Hello] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._count = self._cell = 0
        self._gone = asyncio.Event()
        threading.Thread(target=self._read, daemon=True, name="bayou-kernel").start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_gone(self) -> bool:
        return self._gone.is_set()

    @staticmethod
    async def start(processes: LocalProcesses, command: CommandLine) -> "KernelProcess":
        """Raises `KernelStartFailed`, and `BoxFailed`."""
        own, other = socket.socketpair()
        reading, writing = pipe()
        try:
            process = await processes.start_piped(command, other.fileno(), writing, writing)
        except BaseException as problem:
            own.close()
            os.close(reading)
            if isinstance(problem, OSError) and not isinstance(problem, BoxFailed):
                raise KernelStartFailed(problem.strerror or str(problem)) from None
            raise
        finally:
            other.close()
            os.close(writing)
        own.setblocking(False)
        os.set_blocking(reading, False)
        kernel = KernelProcess(process, own, reading)
        try:
            await kernel._wait_for_hello()
        except BaseException:
            await kernel.end()
            raise
        return kernel

    async def _wait_for_hello(self) -> None:
        going = asyncio.ensure_future(self._gone.wait())
        await asyncio.wait({self._greeted, going}, timeout=START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        going.cancel()
        if not self._greeted.done():
            raise KernelStartFailed(self.take_late_output().strip()[-600:] or "it said nothing")
        self.hello = self._greeted.result()

    async def run(
        self, order: dict[str, Any], output: CellOutput, hear: Callable[[CellMessage], None]
    ) -> CellDone:
        """A cell to its end. `hear`: what else it says meanwhile. Raises `KernelGone`."""
        self.cells += 1
        with self._lock:
            self._output = output
        self._hear = hear
        try:
            return await self._ask({"op": "run", **order})
        finally:
            self._hear = lambda word: None
            with self._lock:
                self._output = None

    async def ask(self, what: dict[str, Any], seconds: float | None) -> Any:
        """Between cells. None: it did not answer in time, or it is gone."""
        try:
            told: NamesAnswer = await asyncio.wait_for(self._ask(what), seconds)
        except (TimeoutError, KernelGone):
            return None
        return told.names

    async def answer(self, word_id: int, **what: Any) -> None:
        try:
            await self._send({"op": "answer", "id": word_id, **what})
        except OSError:
            pass  # It is gone, which whoever waits for it is told.

    async def interrupt(self) -> None:
        """SIGINT to the kernel and to what it started; and the word, for a cell that is still on its way."""
        try:
            await asyncio.wait_for(self._send({"op": "interrupt", "id": self._cell}), _SEND_INTERVAL)
        except (TimeoutError, OSError):
            pass  # It does not listen.
        try:
            os.killpg(self.pid, signal.SIGINT)
        except (ProcessLookupError, PermissionError):
            pass

    async def stop(self, running: "asyncio.Future[Any]") -> bool:
        """Interrupts a cell; True if its state is kept. What cannot be interrupted is killed."""
        for seconds in (INTERRUPT_AGAIN_SECONDS, KILL_AFTER_SECONDS):
            await self.interrupt()
            done, _ = await asyncio.wait({running}, timeout=seconds)
            if done:
                return not self.is_gone
        await self.end()
        await asyncio.wait({running})
        return False

    async def end(self) -> None:
        """With everything that it started."""
        await self.process.end()
        self.close_link()

    def kill(self) -> None:
        """The same at once, without waiting."""
        self.process.kill()
        self.close_link()

    def close_link(self) -> None:
        try:
            self._link.shutdown(socket.SHUT_RDWR)  # The thread hears of it, and closes both.
        except OSError:
            pass

    def take_late_output(self) -> str:
        """What was printed since the last cell ended: by threads, tasks and children that went on."""
        with self._lock:
            late, self._late = bytes(self._late), bytearray()
        return late.decode("utf-8", "replace")

    # Words

    async def _ask(self, what: dict[str, Any]) -> Any:
        self._count += 1
        number = self._count
        if what["op"] == "run":
            self._cell = number
        answer = self._answers[number] = self._loop.create_future()
        going = asyncio.ensure_future(self._gone.wait())
        try:
            await self._send({**what, "id": number})
            await asyncio.wait({answer, going}, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            await self._gone.wait()
        finally:
            going.cancel()
            del self._answers[number]
        if answer.done():
            return answer.result()
        raise KernelGone(await self.process.wait())

    async def _send(self, word: dict[str, Any]) -> None:
        data = msgspec.json.encode(word)
        async with self._sending:
            await self._loop.sock_sendall(self._link, len(data).to_bytes(4, "big") + data)

    def _on_message(self, word: KernelMessage) -> None:
        """On the loop."""
        match word:
            case Hello():
                if not self._greeted.done():
                    self._greeted.set_result(word)
            case CellDone() | NamesAnswer():
                waiting = self._answers.get(word.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(word)
            case Show() | CallTool() | ArtifactRequest() | CancelCall():
                self._hear(word)
            case _:
                assert_never(word)

    # The thread that reads

    def _read(self) -> None:
        waiting = select.poll()
        waiting.register(self._pipe, select.POLLIN)
        waiting.register(self._link, select.POLLIN)
        heard = bytearray()
        try:
            is_there = True
            while is_there:
                ready = {
                    descriptor for descriptor, _ in waiting.poll(_MESSAGE_TIMEOUT * 1000 if heard else None)
                }
                if not ready:
                    break  # What has begun was not the kernel's.
                if self._pipe in ready and not self._read_output(_CHUNK):
                    waiting.unregister(self._pipe)
                if self._link.fileno() in ready:
                    is_there = self._read_messages(heard)
        finally:
            self._read_output(_available_bytes(self._pipe))
            self._call_on_loop(self._on_exit)
            os.close(self._pipe)

    def _read_messages(self, heard: bytearray) -> bool:
        try:
            news = self._link.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            news = b""
        # What was written before these words stands before them.
        self._read_output(_available_bytes(self._pipe))
        heard += news
        if int.from_bytes(heard[:4], "big") > MAX_MESSAGE_BYTES:
            return False
        while len(heard) >= 4 and len(heard) >= (end := 4 + int.from_bytes(heard[:4], "big")):
            body = bytes(heard[4:end])
            del heard[:end]
            try:
                word = decode_message(body)
            except (ValueError, RecursionError):
                return False  # Not our kernel any more.
            if isinstance(word, Show):
                self._show(word)
            self._call_on_loop(self._on_message, word)
        return bool(news)

    def _show(self, word: Show) -> None:
        with self._lock:
            output = self._output
        if output is not None:
            output.show(word.kind, word.data)

    def _read_output(self, count: int) -> bool:
        """Takes in up to so much of the output; False at its end."""
        while count > 0:
            try:
                data = os.read(self._pipe, min(count, _CHUNK))
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            count -= max(len(data), 1)
            with self._lock:
                if self._output is not None:
                    self._output.write(data)
                else:
                    self._late += data
                    del self._late[:-_MAX_LATE_OUTPUT]
        return True

    def _on_exit(self) -> None:
        self._gone.set()
        self._link.close()

    def _call_on_loop(self, do: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(do, *arguments)
        except RuntimeError:
            pass  # The loop is closed: nobody listens.


def _available_bytes(descriptor: int) -> int:
    """How much is there to be read now."""
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]
