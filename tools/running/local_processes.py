"""Starts processes of this machine through the supervisor program (`supervisor`), which ends them with all their
descendants."""

import asyncio
import errno
import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tools.box.guarded_paths_and_sockets import list_folder
from tools.box.sandbox_features import VARIABLES_NEEDED_TO_START_PYTHON, system_sandbox_features
from tools.box.sandbox_instructions import (
    SandboxFeatures,
    make_sandbox_instructions,
    network_namespace_instructions,
    signal_scope_instructions,
)
from tools.box.seatbelt import sandbox_exec_command_line
from tools.file_and_process_operations import CommandLine

_SUPERVISOR_PROGRAM: Final = Path(__file__).with_name("supervisor.py")
_SUPERVISOR_CLOSE_TIMEOUT: Final = 5.0
_EXIT_GRACE_SECONDS_AFTER_OUTPUT_END: Final = 0.05
"""The number of seconds that a process gets between closing its output and its exit."""


class LocalProcess:
    """A running command and its descendants, as reported by the supervisor's watcher of it."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._partial_report = b""
        self._pid_future: asyncio.Future[int] = self._loop.create_future()
        self._start_order_number = 0
        """The process id of a command that may have begun to run."""
        self._exit_code_future: asyncio.Future[int] = self._loop.create_future()
        self._ended_event = asyncio.Event()
        self._no_descendants_event = asyncio.Event()
        self._loop.add_reader(link.fileno(), self._read_reports)

    @property
    def pid(self) -> int:
        return self._pid_future.result()

    async def start(self, command: CommandLine, instructions: Sequence[str] = ()) -> None:
        environment = (f"{name}={value}" for name, value in command.environment.items())
        count = len(command.argv)
        counts = f"{count} {count + len(instructions)}"
        request = _encode_request([command.cwd, counts, *command.argv, *instructions, *environment])
        try:
            await self._loop.sock_sendall(self._link, request)
            await asyncio.shield(self._pid_future)
        except BaseException:
            if self._link.fileno() >= 0:
                self._link.shutdown(socket.SHUT_WR)  # The watcher ends what it may have started, and itself.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._no_descendants_event.wait(), _SUPERVISOR_CLOSE_TIMEOUT)
            self._close_link()
            raise

    async def wait(self) -> int:
        return await asyncio.shield(self._exit_code_future)

    async def end(self) -> None:
        self._send_order(b"end")
        await self._ended_event.wait()

    def kill(self) -> None:
        self._send_order(b"kill")

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        if not is_output_open:
            try:
                await asyncio.wait_for(
                    self._no_descendants_event.wait(), _EXIT_GRACE_SECONDS_AFTER_OUTPUT_END
                )
            except TimeoutError:
                pass
        return not self._no_descendants_event.is_set()

    def _send_order(self, word: bytes) -> None:
        try:
            self._link.send(word)
        except OSError:
            pass  # The watcher has ended, because no process is left.

    def _read_reports(self) -> None:
        try:
            news = self._link.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            news = b""
        *lines, self._partial_report = (self._partial_report + news).split(b"\n")
        for line in lines:
            self._handle_report(line.split())
        if not news:
            self._handle_report(
                [b"exit", b"-9"]
            )  # The watcher was killed, unless it reported the end before.
            self._handle_report([b"alone"])
            self._close_link()

    def _handle_report(self, words: list[bytes]) -> None:
        match words:
            case [b"begins", number]:
                self._start_order_number = int(number)
            case [b"started", number]:
                self._pid_future.set_result(int(number))
            case [b"failed", number, *where]:
                problem = OSError(int(number), os.strerror(int(number)))
                self._pid_future.set_exception(SandboxStartFailed(problem, where) if where else problem)
            case [b"exit", code] if not self._exit_code_future.done():
                self._exit_code_future.set_result(int(code))
            case [b"ended"]:
                self._ended_event.set()
            case [b"alone"]:
                self._ended_event.set()
                self._no_descendants_event.set()
            case _:
                pass

    def _close_link(self) -> None:
        """Closes the link to the command's watcher; may be called repeatedly."""
        if self._link.fileno() >= 0:
            self._loop.remove_reader(self._link.fileno())
            self._link.close()
        if not self._pid_future.done() and self._start_order_number:
            self._pid_future.set_result(self._start_order_number)  # The command itself killed its watcher.
        elif not self._pid_future.done():
            self._pid_future.set_exception(OSError(errno.ECHILD, "The command's watcher was killed"))
        self._pid_future.exception()


class SandboxStartFailed(OSError):
    """Raised if a command was not started, because it could not be sandboxed."""

    def __init__(self, problem: OSError, where: Sequence[bytes]) -> None:
        words = b" ".join(where).decode(errors="replace").strip("b'\"")
        super().__init__(problem.errno, f"{problem.strerror} ({words})")


class CommandSupervisor:
    """The running supervisor program, which starts commands; if it was killed, a new one is started."""

    def __init__(self, words: Callable[[], Sequence[str]] = tuple) -> None:
        """Prepares the supervisor; `words` returns its command line arguments."""
        self._arguments = words
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def send_descriptors_to_supervisor(self, kind: bytes, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._link or self._start_supervisor(), [kind], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            self.close()  # The supervisor was killed.
            socket.send_fds(self._start_supervisor(), [kind], descriptors)

    def close(self) -> None:
        """Ends the supervisor, which first ends all running commands."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            try:
                self._process.wait(_SUPERVISOR_CLOSE_TIMEOUT)
            except subprocess.TimeoutExpired:
                pass  # Blocked by a process that cannot be killed.
            self._process = None

    def _start_supervisor(self) -> socket.socket:
        self._link, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SUPERVISOR_PROGRAM), *self._arguments()],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={
                    name: os.environ[name] for name in VARIABLES_NEEDED_TO_START_PYTHON if name in os.environ
                },
            )
        return self._link


class LocalProcesses:
    def __init__(self, abilities: Callable[[], SandboxFeatures] = system_sandbox_features) -> None:
        """`abilities` returns the system's sandbox features."""
        self._abilities = abilities
        self._supervisor = CommandSupervisor()
        self._sandbox_supervisor = CommandSupervisor(
            lambda: ("box", *signal_scope_instructions(self._abilities()))
        )
        self._network: SandboxNetworkNamespace | None = None
        self._network_lock = asyncio.Lock()

    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> LocalProcess:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            stdin = nothing if terminal is None else terminal
            kind = b"p" if terminal is None else b"t"
            return await self._start_with_supervisor(
                command, kind, [stdin, output, output if errors is None else errors]
            )
        finally:
            os.close(nothing)

    async def start_piped(self, command: CommandLine, stdin: int, output: int, errors: int) -> LocalProcess:
        """Starts a process whose standard input is open, connected by pipes or a socket."""
        return await self._start_with_supervisor(command, b"p", [stdin, output, errors])

    async def _start_with_supervisor(
        self, command: CommandLine, kind: bytes, streams: list[int]
    ) -> LocalProcess:
        box = command.box
        abilities = self._abilities() if box is not None else None
        instructions = (
            make_sandbox_instructions(box, abilities, list_folder)
            if box is not None and abilities is not None
            else ()
        )
        if box is not None and abilities is not None and abilities.step == "seatbelt":
            command = msgspec.structs.replace(command, argv=sandbox_exec_command_line(box, command.argv))
        network = await self.network() if box is not None and "join network" in instructions else None
        if box is not None and box.environment:
            environment = {**command.environment, **dict(box.environment)}
            command = msgspec.structs.replace(command, environment=environment)
        own, other = socket.socketpair()
        own.setblocking(False)
        try:
            descriptors = [other.fileno(), *streams]
            if network is not None:
                descriptors += network.namespace_descriptors_to_join(has_users=self._abilities().needs_users)
            supervisor = self._sandbox_supervisor if instructions else self._supervisor
            supervisor.send_descriptors_to_supervisor(kind, descriptors)
        except BaseException:
            own.close()
            raise
        finally:
            other.close()
        process = LocalProcess(own)
        await process.start(command, instructions)
        return process

    async def network(self) -> "SandboxNetworkNamespace":
        """Returns the separate network in which sandboxed commands run that must not see this machine's network."""
        async with self._network_lock:
            if self._network is None:
                self._network = await self._create_network()
            return self._network

    async def _create_network(self) -> "SandboxNetworkNamespace":
        own, other = socket.socketpair()
        own.setblocking(False)
        with own:
            with other:
                self._sandbox_supervisor.send_descriptors_to_supervisor(b"n", [other.fileno()])
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(
                own, _encode_request(["/", "0 0", *network_namespace_instructions(self._abilities())])
            )
            await _wait_readable(own)
            told, descriptors, _, _ = socket.recv_fds(own, 64, 3)
        if not told.startswith(b"network"):
            number = int(told.split()[1]) if told.startswith(b"failed") else errno.ECHILD
            raise SandboxStartFailed(OSError(number, os.strerror(number)), (b"making a network",))
        users, network, listening = descriptors
        return SandboxNetworkNamespace(users, network, socket.socket(fileno=listening), int(told.split()[1]))

    def find_program(self, name: str) -> str | None:
        return shutil.which(name)

    def close(self) -> None:
        """Ends the supervisor programs, which first end all running commands."""
        self._supervisor.close()
        self._sandbox_supervisor.close()
        if self._network is not None:
            self._network.close()
            self._network = None


class SandboxNetworkNamespace:
    """A separate network for sandboxed commands, with one socket by which they reach the proxy."""

    def __init__(self, users: int, network: int, listening: socket.socket, port: int) -> None:
        self._descriptors = (users, network)
        self.listening_socket = listening
        self.port = port
        """The port of the proxy's socket inside the network."""

    def namespace_descriptors_to_join(self, *, has_users: bool) -> tuple[int, ...]:
        return self._descriptors if has_users else self._descriptors[1:]

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self.listening_socket.close()


async def _wait_readable(link: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    news: asyncio.Future[None] = loop.create_future()
    loop.add_reader(link, lambda: None if news.done() else news.set_result(None))
    try:
        await news
    finally:
        loop.remove_reader(link)


def _encode_request(fields: Sequence[str]) -> bytes:
    request = b"\0".join(os.fsencode(field) for field in fields)
    return len(request).to_bytes(8, "big") + request


def create_large_pipe() -> tuple[int, int]:
    """Creates a pipe with room for a megabyte where the system allows it, so that a fast writer seldom waits."""
    read_end, write_end = os.pipe()
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        try:
            fcntl.fcntl(write_end, set_size, 1 << 20)
        except OSError:
            pass  # The user's limit is reached; the default size works too.
    return read_end, write_end
