"""The supervisor program: starts commands and keeps track of all their descendants. It is a separate program that needs
only Python's standard library.

bayou starts one supervisor with its first command, and passes it the descriptors of each command. The supervisor forks
a watcher for each command, which starts the command and adopts its orphans (as the nearest "subreaper"): no child
escapes by a new session or an empty environment. A watcher ends all of them on request, and also when bayou is gone,
because its link is closed then. If a command stops or kills its watcher by a signal, the supervisor ends the processes
that the watcher had.

Reports of a watcher: `begins PID`, then `started PID` or `failed ERRNO`, `exit CODE`, `alone` once no process of the
command is left, `ended` after a request to end. Where orphans cannot be adopted (macOS), group and session identify
them.

Sandboxed commands (`tools.box`) have a separate supervisor, started with the word `box` and with instructions for
itself, so that its processes can signal only each other. A guard process, which the commands cannot reach, ends
them if that supervisor is stopped or killed. Each request carries the instructions for the command. The supervisor
also creates networks: it answers `network` with descriptors, or `failed`."""

import ctypes
import fcntl
import os
import select
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` takes longer than the rest of the start
    from types import ModuleType
    from typing import NoReturn

    from tools.box.connection_broker import SandboxConnectionBroker
    from tools.box.process_confinement import MountRestorer, SandboxInstructionExecutor

_PRCTL_SET_DEATH_SIGNAL, _PRCTL_SET_NAME, _PRCTL_SET_SUBREAPER = 1, 15, 36
_IGNORED_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_LIBC = ctypes.CDLL(None)
_TERMINATE_GRACE_SECONDS = 0.3
_KILL_POLL_SECONDS = 0.01
_MAX_KILL_ROUNDS = 100
_MAX_KILL_CHILDREN_ROUNDS = 200
_SURVIVOR_CHECK_INTERVAL = 1.0
_LOST_MOUNT_CHECK_INTERVAL = 0.1
"""The number of seconds between checks for lost mounts, where the system does not report changes."""
_SUPERVISOR_GRACE_SECONDS = 3.0
"""The number of seconds that the supervisor of sandboxed commands gets to end after bayou has ended."""
_MAX_ALLOWED_SOCKETS_BYTES = 1 << 16
_SUPERVISOR_READY_MESSAGE = b" "
_PROC_STAT_THREAD_COUNT_FIELD = 17
"""The index of the thread count among the fields of `/proc/PID/stat` after the program's name."""


def main() -> None:
    link = socket.socket(fileno=0)
    os.set_inheritable(0, False)
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # `pkill python` in a command must not end the supervisor.
    _call_prctl(_PRCTL_SET_NAME, b"bayou-supervise")
    children = _AdoptedProcesses()
    if sys.argv[1:2] == ["box"]:
        if supervisor := os.fork():
            _end_commands_after_supervisor(supervisor, link, children)
        children = _AdoptedProcesses()
        _confine_this_process([word.encode() for word in sys.argv[2:]], [])
        _load_box_module("connection_broker")
    while True:
        ready, _, _ = select.select([link, children.waking], [], [])
        if children.waking in ready:
            children.end_orphans()
        if link not in ready:
            continue
        kind, descriptors, _, _ = socket.recv_fds(link, 1, 6)
        if not kind:
            break
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        try:
            watcher = os.fork()
            children.started_pids.add(watcher)
        except OSError as problem:
            os.write(descriptors[0], b"failed %d\n" % (problem.errno or 0))
            watcher = -1
        if watcher == 0:
            link.close()
            try:
                own = socket.socket(fileno=descriptors[0])
                if kind == b"n":
                    _create_command_network(own)
                else:
                    _CommandWatcher(own).run_command(descriptors[1:], has_terminal=kind == b"t")
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
    _kill_command_processes(os.getpid(), 0, children.end_orphans)


def _end_commands_after_supervisor(
    supervisor: int, link: socket.socket, children: "_AdoptedProcesses"
) -> "NoReturn":
    """Waits until the supervisor has ended or bayou is gone, and then ends the remaining processes of its commands."""
    children.started_pids.add(supervisor)
    waiting = select.poll()
    waiting.register(children.waking, select.POLLIN)
    waiting.register(link, 0)
    timeout = None
    while children.started_pids:
        ready = waiting.poll(timeout)
        if not ready:
            break
        children.end_orphans()
        if any(descriptor == link.fileno() for descriptor, _ in ready):
            waiting.unregister(link)
            timeout = _SUPERVISOR_GRACE_SECONDS * 1000
    _kill_command_processes(os.getpid(), 0, children.end_orphans)
    os._exit(0)


class _AdoptedProcesses:
    """The children that this process started, with the orphans that it adopts as the nearest "subreaper"."""

    def __init__(self) -> None:
        self.started_pids: set[int] = set()
        self.is_subreaper = _call_prctl(_PRCTL_SET_SUBREAPER, 1)
        self.waking, waker = os.pipe()
        """A pipe's ends, of which the first becomes readable when a child has ended or stopped."""
        os.set_blocking(self.waking, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def end_orphans(self) -> bool:
        """Reaps ended children, and kills children that were stopped by a command, or adopted from a watcher that
        is gone. Returns whether no child is left."""
        try:
            os.read(self.waking, 4096)
        except BlockingIOError:
            pass  # Called without a signal.
        while True:
            try:
                child, _ = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                self.started_pids.clear()
                return True
            if not child:
                break
            self.started_pids.discard(child)
        _kill_children(self.started_pids)
        return False


def _call_prctl(option: int, value: "int | bytes") -> bool:
    """Calls Linux's `prctl`. False where it does not exist."""
    try:
        return _LIBC.prctl(option, value, 0, 0, 0) == 0
    except (AttributeError, OSError):
        return False


def _load_box_module(module: str) -> "ModuleType":
    """Loads a module of the sandbox from the folder beside this program, by its file name."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "box")  # noqa: PTH118, PTH120  (no `pathlib`)
    if folder not in sys.path:
        sys.path.append(folder)
    return __import__(module)


def _confine_this_process(instructions: list[bytes], namespaces: list[int]) -> "SandboxInstructionExecutor":
    """Confines this process by running sandbox instructions, and returns the confinement."""
    confinement = _load_box_module("process_confinement").SandboxInstructionExecutor(namespaces)
    confinement.run_instructions(instructions)
    return confinement


def _create_command_network(link: socket.socket) -> None:
    """Creates a network for sandboxed commands with only a listening socket, which bayou serves."""
    request = _receive_request(link)
    try:
        _confine_this_process((request or [])[2:], [])
        listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        names = ("user", "net")
        opened = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in names]
    except OSError as problem:
        link.sendall(b"failed %d\n" % (problem.errno or 0))
        return
    port = listening.getsockname()[1]
    socket.send_fds(link, [b"network %d\n" % port], [*opened, listening.fileno()])


class _CommandWatcher:
    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._command_pid = 0
        self._has_exited = False
        self._connections: SandboxConnectionBroker | None = None
        self._mounts: MountRestorer | None = None
        children = _AdoptedProcesses()
        self._adopts, self._waking = children.is_subreaper, children.waking

    def run_command(self, descriptors: list[int], *, has_terminal: bool) -> None:
        request = _receive_request(self._link)
        if request is None:
            return
        try:
            self._command_pid, self._connections, self._mounts = _start_command(
                request,
                descriptors,
                lambda child: self._send_report(b"begins %d\n" % child),
                has_terminal=has_terminal,
            )
        except OSError as problem:
            self._send_report(b"failed %d %s\n" % (problem.errno or 0, os.fsencode(problem.strerror or "")))
            return
        for descriptor in descriptors:
            os.close(descriptor)
        self._send_report(b"started %d\n" % self._command_pid)
        while not self._reap_and_report():
            connections = self._connections
            asked = [connections.asked] if connections is not None else []
            mounts = self._mounts
            changed = [mounts.changed] if mounts is not None and mounts.changed >= 0 else []
            timeout = None if self._adopts else _SURVIVOR_CHECK_INTERVAL
            if mounts is not None and not changed:
                timeout = _LOST_MOUNT_CHECK_INTERVAL
            ready, _, _ = select.select([self._link, self._waking, *asked, *changed], [], [], timeout)
            if mounts is not None and (not changed or mounts.changed in ready):
                mounts.restore_mounts()
            if (
                connections is not None
                and connections.asked in ready
                and not connections.broker_next_connection()
            ):
                self._connections = None
            if self._waking in ready:
                os.read(self._waking, 4096)
            if self._link in ready:
                self._handle_order()

    def _handle_order(self) -> None:
        try:
            word = self._link.recv(64)
        except OSError:
            word = b""
        if word.startswith(b"end"):
            _terminate_command_processes(os.getpid(), self._command_pid, self._reap_and_report)
        _kill_command_processes(os.getpid(), self._command_pid, self._reap_and_report)
        if not word:
            os._exit(0)
        if not self._has_exited:  # A process that cannot be killed: another user's, or stuck in the kernel.
            self._has_exited = True
            self._send_report(b"exit %d\n" % -signal.SIGKILL)
        self._send_report(b"ended\n")

    def _reap_and_report(self) -> bool:
        """Reaps ended processes; reports the end of the command, and of its last process."""
        news = b""
        has_children = True
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                has_children = False
                break
            if not child:
                break
            if child == self._command_pid and not self._has_exited:
                self._has_exited = True
                news = b"exit %d\n" % os.waitstatus_to_exitcode(status)
        is_alone = not has_children and (
            self._adopts or not _find_descendants(os.getpid(), self._command_pid)
        )
        self._send_report(news + (b"alone\n" if is_alone else b""))
        return is_alone

    def _send_report(self, news: bytes) -> None:
        try:
            if news:
                self._link.sendall(news)
        except OSError:
            pass  # bayou is gone; reading the closed link reports that again.


def _receive_request(link: socket.socket) -> "list[bytes] | None":
    """Reads a request to start a command: its length, then folder, word and instruction counts, words, instructions,
    environment. Returns None if bayou is gone."""
    data = bytearray()
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "big"):
        piece = link.recv(1 << 16)
        if not piece:
            return None
        data += piece
    return bytes(data[8:]).split(b"\0")


def _start_command(
    request: list[bytes], descriptors: list[int], report: "Callable[[int], None]", *, has_terminal: bool
) -> "tuple[int, SandboxConnectionBroker | None, MountRestorer | None]":
    """Starts the requested command, after `report` has passed on its process id, because the command may end its
    watcher at once. Also returns the broker of its connections and the restorer of its mounts, if the sandbox has
    them."""
    folder, counts, *rest = request
    words_end, box_end = (int(count) for count in counts.split())
    words, box, environment = rest[:words_end], rest[words_end:box_end], rest[box_end:]
    mounts = _load_box_module("process_confinement").MountRestorer(box) if b"mounts" in box else None
    problem, told = socket.socketpair()
    child = os.fork()
    if child == 0:
        is_boxed = not box
        try:
            problem.close()
            _detach_child(descriptors[:3], has_terminal=has_terminal)
            confinement = _confine_this_process(box, descriptors[3:]) if box else None
            is_boxed = True
            _send_served_descriptors(told, confinement, has_mounts=mounts is not None)
            if not told.recv(1):  # The watcher was killed.
                os._exit(127)
            os.chdir(folder)
            os.execvpe(words[0], words, dict(entry.split(b"=", 1) for entry in environment if entry))
        except BaseException as failure:  # noqa: BLE001  (nothing but words comes out of here)
            where = b"" if is_boxed else os.fsencode(str(getattr(failure, "filename", failure)))[:300]
            told.send(b"%d %s" % (getattr(failure, "errno", 0) or 0, where.replace(b"\n", b" ")))
        finally:
            os._exit(127)
    told.close()
    connections = None
    with problem:
        news, received, _, _ = socket.recv_fds(problem, _MAX_ALLOWED_SOCKETS_BYTES, 3)
        if news.startswith(_SUPERVISOR_READY_MESSAGE):
            for descriptor in received:
                os.set_inheritable(descriptor, False)
            if mounts is not None:
                mounts.set_command_namespaces([received.pop(), received.pop()])
            if received:
                places = news[1:].split(b"\0")
                connections = _load_box_module("connection_broker").SandboxConnectionBroker(
                    received[0], places
                )
            report(child)
            problem.send(_SUPERVISOR_READY_MESSAGE)
            news = problem.recv(512)
    if news:
        os.waitpid(child, 0)
        code, _, where = news.partition(b" ")
        raise OSError(int(code), os.fsdecode(where))
    return child, connections, mounts


def _send_served_descriptors(
    told: socket.socket, confinement: "SandboxInstructionExecutor | None", *, has_mounts: bool
) -> None:
    """Reports that this process is ready, and sends the watcher the descriptors that it needs: the notifications of
    connections, with the allowed places, and the mount and user namespaces."""
    descriptors = (
        [confinement.connections] if confinement is not None and confinement.connections >= 0 else []
    )
    places = confinement.allowed_sockets if confinement is not None else ()
    if has_mounts:
        descriptors += [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("mnt", "user")]
    if descriptors:
        socket.send_fds(told, [_SUPERVISOR_READY_MESSAGE + b"\0".join(places)], descriptors)
    else:
        told.send(_SUPERVISOR_READY_MESSAGE)


def _detach_child(descriptors: list[int], *, has_terminal: bool) -> None:
    """Prepares a child process before it becomes a command: starts a session, resets signals and closes descriptors."""
    signal.set_wakeup_fd(-1)
    for number in (*_IGNORED_SIGNALS, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _call_prctl(_PRCTL_SET_DEATH_SIGNAL, signal.SIGKILL)  # In case the watcher is killed.
    os.setsid()
    if has_terminal:
        fcntl.ioctl(descriptors[0], termios.TIOCSCTTY, 0)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)


def _terminate_command_processes(parent: int, command: int, is_alone: Callable[[], bool]) -> None:
    """Ends all processes of a command, with SIGTERM first, so that servers can clean up."""
    _signal_command_processes(parent, command, signal.SIGTERM)
    _signal_command_processes(parent, command, signal.SIGCONT)
    deadline = time.monotonic() + _TERMINATE_GRACE_SECONDS
    while time.monotonic() < deadline and not is_alone():
        time.sleep(_KILL_POLL_SECONDS)


def _kill_command_processes(parent: int, command: int, is_alone: Callable[[], bool] = lambda: False) -> None:
    """Kills the processes of a command until none is left.

    A process that forks and ends all the time is gone before it appears in a list of all processes. Its children
    become children of this process, so they are listed directly and killed in quick rounds.
    """
    for _ in range(_MAX_KILL_ROUNDS):
        if is_alone():
            return
        is_found = _signal_command_processes(parent, command, signal.SIGKILL)
        for _ in range(_MAX_KILL_CHILDREN_ROUNDS):
            if is_alone() or not _kill_children():
                break
        if not is_found and not _has_children():
            return
        time.sleep(_KILL_POLL_SECONDS)


def _kill_children(kept: "set[int] | tuple[()]" = ()) -> bool:
    """Kills this process's children except `kept`; returns False if it has none, or if the system does not list
    them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:  # noqa: PTH123  (quick to import)
            children = {int(child) for child in file.read().split()}.difference(kept)
    except OSError:
        return False
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return bool(children)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal_command_processes(parent: int, command: int, number: signal.Signals) -> bool:
    """Sends a signal to all processes of a command; returns False if none was left."""
    found = _find_descendants(parent, command)
    for process in found:
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue
    return bool(found)


def _find_descendants(parent: int, command: int) -> set[int]:
    """Returns all processes below `parent`, and all of the command's group and session, without `parent` itself and
    without zombies."""
    listed = list(_list_processes_from_proc() if os.path.isdir("/proc/self") else _list_processes_from_ps())  # noqa: PTH112  (quick to import)
    found = {process for process, *family in listed if command and command in family} | {parent}
    is_growing = True
    while is_growing:
        below = {process for process, above, _, _ in listed if above in found} - found
        found |= below
        is_growing = bool(below)
    return found - {parent}


def _list_processes_from_proc() -> Iterator[tuple[int, int, int, int]]:
    """Yields the id, parent, group and session of each process of the machine, from `/proc`."""
    for name in os.listdir("/proc"):  # noqa: PTH208  (as above)
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  (as above)
                stat = file.read()
        except OSError:
            continue
        # The name, in parentheses, may contain anything; the fields follow the last parenthesis.
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) > _PROC_STAT_THREAD_COUNT_FIELD and (
            fields[0] not in (b"Z", b"X") or int(fields[_PROC_STAT_THREAD_COUNT_FIELD]) > 1
        ):
            # A program whose first thread has ended looks like a zombie, and goes on in its other threads.
            yield int(name), int(fields[1]), int(fields[2]), int(fields[3])


def _list_processes_from_ps() -> Iterator[tuple[int, int, int, int]]:
    import subprocess  # noqa: PLC0415  (doubles what a supervisor costs to start, and Linux has /proc)

    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False
    )
    for line in listed.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and not fields[3].startswith("Z"):
            yield int(fields[0]), int(fields[1]), int(fields[2]), 0


if __name__ == "__main__":
    main()
