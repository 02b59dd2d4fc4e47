"""Starts bayou in processes that are forked from one that has imported it, so that a start costs no imports.

For tests of what bayou does once it runs: words, folder, environment, streams, signals and end are those of a process
of its own. Tests of the start itself (imports, Python's flags, closed streams, other locales, limits, what the list of
processes shows) start `python -P -m app`."""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import warm_relay
from tests.support.warm_relay import NUMBER, asked, received

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("bayou", "app", "tools", "widgets")
_NOT_IMPORTED = ("app.package.", "tools.kernel.inside.", "app.batch.cluster.")
"""What belongs to other processes, or needs a library that is not always installed."""


class _Command:
    """The words of a command, which is ready when it is first asked for them."""

    def __iter__(self) -> Iterator[str]:
        return iter((sys.executable, "-I", "-S", warm_relay.__file__, _server()))

    def __str__(self) -> str:
        return " ".join(self)


BAYOU = _Command()
"""`[*BAYOU, WORD, …]` is a command for whatever starts processes. Its number is that of a process before bayou."""


class WarmProcess:
    """A running bayou, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection

    def poll(self) -> int | None:
        return self._code(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"bayou (process {self.pid})", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _code(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            with self._connection:
                self.returncode = received(self._connection)
        return self.returncode


def start(
    *words: str, cwd: Path, streams: tuple[int, int, int], env: Mapping[str, str] | None = None
) -> WarmProcess:
    """Starts `bayou WORDS` in a session of its own, on these file descriptors, which remain the caller's."""
    variables = dict(os.environ if env is None else env)
    connection = asked(_server(), streams, words=words, cwd=str(cwd), env=variables, is_session=True)
    return WarmProcess(received(connection), connection)


def run(
    *words: str, cwd: Path, env: Mapping[str, str] | None = None, input: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Runs `bayou WORDS` to its end, without a terminal."""
    return subprocess.run(
        [*BAYOU, *words], cwd=cwd, env=env, input=input, capture_output=True, text=True, timeout=timeout
    )


_servers: list[tuple[subprocess.Popen[bytes], str]] = []
"""The process that forks, and its address."""


def _server() -> str:
    """Returns the address of the process that forks, which ends with this one. A test may have ended it, too."""
    if not _servers or _servers[-1][0].poll() is not None:
        _servers.append(_start_server())
    return _servers[-1][1]


def _start_server() -> tuple[subprocess.Popen[bytes], str]:
    address = f"{tempfile.mkdtemp(prefix='bayou-')}/warm"
    requests = socket.socket(socket.AF_UNIX)
    requests.bind(address)
    requests.listen(64)
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.support.warm_bayou", str(requests.fileno()), str(os.getpid())],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=(requests.fileno(),),
    )  # fmt: skip
    requests.close()
    assert server.stdout is not None
    with server.stdout as ready:
        ready.read()  # to its end: the time limits of tests begin when everything is imported
    return server, address


class _Server:
    """Forks processes on request and tells their ends."""

    def __init__(self, requests: socket.socket, parent: int) -> None:
        self._requests = requests
        self._parent = parent
        """The process that needs this one."""
        self._awake, self._wake = socket.socketpair()
        self._running: dict[int, socket.socket] = {}
        self._tied: dict[socket.socket, int] = {}
        """Processes that end with the connection that asked for them."""

    def serve(self) -> None:
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while os.getppid() == self._parent:
            watched = [self._requests, self._awake, *self._tied]
            ready = select.select(watched, [], [], 1.0)[0]
            if self._awake in ready:
                self._awake.recv(4096)
                self._tell_ends()
            for connection in self._tied.keys() & set(ready):
                os.kill(self._tied.pop(connection), signal.SIGKILL)
            if self._requests in ready:
                self._fork(self._requests.accept()[0])
        shutil.rmtree(Path(self._requests.getsockname()).parent)

    def _tell_ends(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._running.pop(pid) as connection:
                self._tied.pop(connection, None)
                code = os.waitstatus_to_exitcode(status)
                try:
                    connection.sendall(code.to_bytes(NUMBER, signed=True))
                except OSError:
                    pass  # nobody waits for it

    def _fork(self, connection: socket.socket) -> None:
        """Carries out a request. Whoever asks may end at any moment, which must not end this process."""
        try:
            header, streams, _, _ = socket.recv_fds(connection, NUMBER, 3)
            with connection.makefile("rb") as sent:
                process = json.loads(sent.read(int.from_bytes(header)) if len(streams) == 3 else b"")
        except (OSError, ValueError):
            connection.close()
            return
        pid = os.fork()
        if not pid:
            self._let_go()
            connection.close()
            _become(streams=streams, **process)
        for stream in streams:
            os.close(stream)
        self._running[pid] = connection
        if process.get("ends_with_connection"):
            self._tied[connection] = pid
        with contextlib.suppress(OSError):
            connection.sendall(pid.to_bytes(NUMBER))

    def _let_go(self) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        for one in (self._requests, self._awake, self._wake, *self._running.values()):
            one.close()


def _become(
    *,
    streams: Sequence[int],
    words: list[str],
    cwd: str,
    env: dict[str, str],
    is_session: bool = False,
    **_: Any,
) -> None:
    """Makes this forked process bayou; does not return."""
    if is_session:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    out, errors = sys.stdout, sys.stderr
    sys.stdin = sys.__stdin__ = os.fdopen(0, "r", encoding=out.encoding, errors=out.errors, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding=out.encoding, errors=out.errors, closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(
        2, "w", 1, encoding=errors.encoding, errors=errors.errors, closefd=False
    )
    sys.argv[1:] = words

    from bayou.__main__ import main

    sys.exit(main())


def _import_everything() -> None:
    gc.disable()
    for package in map(importlib.import_module, _PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_NOT_IMPORTED) and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.enable()
    gc.freeze()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _requests, _parent = map(int, sys.argv[1:])
    _import_everything()
    _nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(_nothing, 1)
    os.close(_nothing)
    _Server(socket.socket(fileno=_requests), _parent).serve()
