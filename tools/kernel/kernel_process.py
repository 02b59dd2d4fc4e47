"""Runs a Python kernel as a process: its messages, its output in the right order with them, and how it is stopped.

Output comes through a pipe that the kernel's children share; messages come over a socket that only the kernel has. One
thread reads both: before a message is handled, the output written earlier has been read."""

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

from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.kernel.cell_output import CellOutputCollector
from tools.kernel.kernel_messages import (
    ArtifactRequest,
    CancelToolCallMessage,
    CellDoneMessage,
    CellMessage,
    KernelMessage,
    KernelNamesAnswer,
    KernelStartedMessage,
    ShowValueMessage,
    ToolCallRequest,
    decode_message,
)
from tools.running.local_processes import LocalProcesses, SandboxStartFailed, create_large_pipe

KERNEL_PROGRAM: Final = Path(__file__).with_name("inside") / "kernel.py"
KERNEL_START_TIMEOUT: Final = 20.0
SECONDS_TO_SECOND_INTERRUPT, SECONDS_TO_KERNEL_KILL = 2.0, 1.0
"""Seconds after which a cell that ignores an interrupt gets another, and after which its kernel is killed."""
_KERNEL_SEND_RETRY_INTERVAL: Final = 0.05
_KERNEL_READ_CHUNK_BYTES: Final = 1 << 20
MAX_KERNEL_MESSAGE_BYTES: Final = 256 << 20
"""The maximum length of a message in bytes, more than any picture or tool argument needs; code in a cell could send
longer ones."""
_PARTIAL_KERNEL_MESSAGE_TIMEOUT: Final = 10.0
"""The number of seconds in which the rest of a message must arrive after its beginning; the kernel writes each
message at once."""
_MAX_KERNEL_OUTPUT_BETWEEN_CELLS_BYTES: Final = 64 * 1024
"""The maximum number of bytes kept of output that is printed while no cell runs; only the end is kept."""


class KernelStartFailed(Exception):
    """Raised if a Python kernel does not start, with the output of the program or the system's error."""


class KernelProcessEnded(Exception):
    """Raised if the Python kernel ended while it was needed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class KernelProcess:
    """A running Python kernel, which runs one cell at a time."""

    def __init__(self, process: RunningProcess, link: socket.socket, output: int) -> None:
        self.process = process
        self.hello_message: KernelStartedMessage | None = None
        self.cell_count = 0
        self._link = link
        self._output_pipe = output
        self._loop = asyncio.get_running_loop()
        self._send_lock = asyncio.Lock()
        self._lock = threading.Lock()
        self._output: CellOutputCollector | None = None
        self._late_output = bytearray()
        self._message_handler: Callable[[CellMessage], None] = lambda word: None
        self._hello_future: asyncio.Future[KernelStartedMessage] = self._loop.create_future()
        self._answer_futures: dict[int, asyncio.Future[Any]] = {}
        self._order_count = self._cell = 0
        self._gone_event = asyncio.Event()
        threading.Thread(target=self._read_until_exit, daemon=True, name="bayou-kernel").start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_gone(self) -> bool:
        return self._gone_event.is_set()

    @staticmethod
    async def start(processes: LocalProcesses, command: CommandLine) -> "KernelProcess":
        """Starts a Python kernel process. Raises `KernelStartFailed` and `SandboxStartFailed`."""
        own, other = socket.socketpair()
        reading, writing = create_large_pipe()
        try:
            process = await processes.start_piped(command, other.fileno(), writing, writing)
        except BaseException as problem:
            own.close()
            os.close(reading)
            if isinstance(problem, OSError) and not isinstance(problem, SandboxStartFailed):
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
            await kernel.end_process()
            raise
        return kernel

    async def _wait_for_hello(self) -> None:
        going = asyncio.ensure_future(self._gone_event.wait())
        await asyncio.wait(
            {self._hello_future, going}, timeout=KERNEL_START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED
        )
        going.cancel()
        if not self._hello_future.done():
            raise KernelStartFailed(self.take_output_between_cells().strip()[-600:] or "it said nothing")
        self.hello_message = self._hello_future.result()

    async def run_cell(
        self, order: dict[str, Any], output: CellOutputCollector, hear: Callable[[CellMessage], None]
    ) -> CellDoneMessage:
        """Runs a cell to its end and returns the kernel's report. `hear` is called with the cell's other messages.
        Raises `KernelProcessEnded`."""
        self.cell_count += 1
        with self._lock:
            self._output = output
        self._message_handler = hear
        try:
            return await self._ask_without_timeout({"op": "run", **order})
        finally:
            self._message_handler = lambda word: None
            with self._lock:
                self._output = None

    async def ask_kernel(self, what: dict[str, Any], seconds: float | None) -> Any:
        """Sends the kernel a question between cells and returns the answer; None if it does not answer in time, or is
        gone."""
        try:
            told: KernelNamesAnswer = await asyncio.wait_for(self._ask_without_timeout(what), seconds)
        except (TimeoutError, KernelProcessEnded):
            return None
        return told.names

    async def send_answer_to_kernel(self, word_id: int, **what: Any) -> None:
        try:
            await self._send_message({"op": "answer", "id": word_id, **what})
        except OSError:
            pass  # The kernel is gone, which its cell reports.

    async def interrupt_cell(self) -> None:
        """Sends SIGINT to the kernel and its children, and a message for a cell that has not started yet."""
        try:
            await asyncio.wait_for(
                self._send_message({"op": "interrupt", "id": self._cell}), _KERNEL_SEND_RETRY_INTERVAL
            )
        except (TimeoutError, OSError):
            pass  # The kernel does not read.
        try:
            os.killpg(self.pid, signal.SIGINT)
        except (ProcessLookupError, PermissionError):
            pass

    async def stop_cell(self, running: "asyncio.Future[Any]") -> bool:
        """Interrupts the running cell; returns whether the kernel's state is kept. A kernel that ignores the interrupt
        is killed."""
        for seconds in (SECONDS_TO_SECOND_INTERRUPT, SECONDS_TO_KERNEL_KILL):
            await self.interrupt_cell()
            done, _ = await asyncio.wait({running}, timeout=seconds)
            if done:
                return not self.is_gone
        await self.end_process()
        await asyncio.wait({running})
        return False

    async def end_process(self) -> None:
        """Ends the kernel process with all processes that it started."""
        await self.process.end()
        self.close_link()

    def kill_process(self) -> None:
        """Kills the kernel process with all processes that it started, without waiting."""
        self.process.kill()
        self.close_link()

    def close_link(self) -> None:
        try:
            self._link.shutdown(socket.SHUT_RDWR)  # The reading thread notices this and closes both.
        except OSError:
            pass

    def take_output_between_cells(self) -> str:
        """Returns the output that threads, tasks and children wrote since the last cell ended."""
        with self._lock:
            late, self._late_output = bytes(self._late_output), bytearray()
        return late.decode("utf-8", "replace")

    # Messages

    async def _ask_without_timeout(self, what: dict[str, Any]) -> Any:
        self._order_count += 1
        number = self._order_count
        if what["op"] == "run":
            self._cell = number
        answer = self._answer_futures[number] = self._loop.create_future()
        going = asyncio.ensure_future(self._gone_event.wait())
        try:
            await self._send_message({**what, "id": number})
            await asyncio.wait({answer, going}, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            await self._gone_event.wait()
        finally:
            going.cancel()
            del self._answer_futures[number]
        if answer.done():
            return answer.result()
        raise KernelProcessEnded(await self.process.wait())

    async def _send_message(self, word: dict[str, Any]) -> None:
        data = msgspec.json.encode(word)
        async with self._send_lock:
            await self._loop.sock_sendall(self._link, len(data).to_bytes(4, "big") + data)

    def _on_message(self, word: KernelMessage) -> None:
        """Handles a message from the kernel on the event loop."""
        match word:
            case KernelStartedMessage():
                if not self._hello_future.done():
                    self._hello_future.set_result(word)
            case CellDoneMessage() | KernelNamesAnswer():
                waiting = self._answer_futures.get(word.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(word)
            case ShowValueMessage() | ToolCallRequest() | ArtifactRequest() | CancelToolCallMessage():
                self._message_handler(word)
            case _:
                assert_never(word)

    # The thread that reads

    def _read_until_exit(self) -> None:
        waiting = select.poll()
        waiting.register(self._output_pipe, select.POLLIN)
        waiting.register(self._link, select.POLLIN)
        heard = bytearray()
        try:
            is_there = True
            while is_there:
                ready = {
                    descriptor
                    for descriptor, _ in waiting.poll(
                        _PARTIAL_KERNEL_MESSAGE_TIMEOUT * 1000 if heard else None
                    )
                }
                if not ready:
                    break  # The bytes were not written by the kernel.
                if self._output_pipe in ready and not self._read_output(_KERNEL_READ_CHUNK_BYTES):
                    waiting.unregister(self._output_pipe)
                if self._link.fileno() in ready:
                    is_there = self._read_messages(heard)
        finally:
            self._read_output(_count_available_bytes(self._output_pipe))
            self._call_on_loop(self._on_kernel_exit)
            os.close(self._output_pipe)

    def _read_messages(self, heard: bytearray) -> bool:
        try:
            news = self._link.recv(_KERNEL_READ_CHUNK_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            news = b""
        # Output written before these messages precedes them.
        self._read_output(_count_available_bytes(self._output_pipe))
        heard += news
        if int.from_bytes(heard[:4], "big") > MAX_KERNEL_MESSAGE_BYTES:
            return False
        while len(heard) >= 4 and len(heard) >= (end := 4 + int.from_bytes(heard[:4], "big")):
            body = bytes(heard[4:end])
            del heard[:end]
            try:
                word = decode_message(body)
            except (ValueError, RecursionError):
                return False  # No longer our kernel.
            if isinstance(word, ShowValueMessage):
                self._show_value(word)
            self._call_on_loop(self._on_message, word)
        return bool(news)

    def _show_value(self, word: ShowValueMessage) -> None:
        with self._lock:
            output = self._output
        if output is not None:
            output.add_value(word.kind, word.data)

    def _read_output(self, count: int) -> bool:
        """Reads up to `count` bytes of the kernel's output; returns False at its end."""
        while count > 0:
            try:
                data = os.read(self._output_pipe, min(count, _KERNEL_READ_CHUNK_BYTES))
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            count -= max(len(data), 1)
            with self._lock:
                if self._output is not None:
                    self._output.write_text(data)
                else:
                    self._late_output += data
                    del self._late_output[:-_MAX_KERNEL_OUTPUT_BETWEEN_CELLS_BYTES]
        return True

    def _on_kernel_exit(self) -> None:
        self._gone_event.set()
        self._link.close()

    def _call_on_loop(self, do: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(do, *arguments)
        except RuntimeError:
            pass  # The loop is closed.


def _count_available_bytes(descriptor: int) -> int:
    """Returns how many bytes can be read from a descriptor now."""
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]
