"""Brokers the connections of a sandboxed command: sockets with a path can be connected to in allowed places only.

The kernel stops `connect` and asks (seccomp user notification), and the process that started the command connects the
command's own socket itself. So the checked path is the connected one, even if the command changes its memory
meanwhile.

The supervisor's watcher of the command and `probe` run it; it needs only Python's standard library."""

import _thread
import ctypes
import errno
import fcntl
import os
import select
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)
_SECCOMP_NOTIFY_RECEIVE_IOCTL, _SECCOMP_NOTIFY_SEND_IOCTL, _SECCOMP_NOTIFY_ID_VALID_IOCTL = (
    0xC050_2100,
    0xC018_2101,
    0x4008_2102,
)
_SECCOMP_NOTIFICATION_STRUCT, _SECCOMP_RESPONSE_STRUCT = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_PIDFD_GETFD_SYSCALL, _OPENAT2_SYSCALL = 438, 437
_OPENAT2_RESOLVE_IN_ROOT = 0x10
_AF_UNIX = 1
_MAX_SOCKET_ADDRESS_BYTES = 128


class SandboxConnectionBroker:
    """Brokers the connections of one command and its children. `places` are folders and sockets; `@` allows
    abstract names."""

    def __init__(self, asked: int, places: "list[bytes]") -> None:
        self.asked = asked
        self._names_are_reached = b"@" in places
        self._places = [place for place in places if place != b"@"]

    def broker_next_connection(self) -> bool:
        """Answers the next connection that the sandboxed command attempts. Returns False when no more can come."""
        question = bytearray(_SECCOMP_NOTIFICATION_STRUCT.size)
        try:
            fcntl.ioctl(self.asked, _SECCOMP_NOTIFY_RECEIVE_IOCTL, question)
        except OSError:  # The process that asked has ended.
            waiting = select.poll()
            waiting.register(self.asked, select.POLLIN)
            return not any(events & select.POLLHUP for _, events in waiting.poll(0))
        number, thread, _, _, _, _, descriptor, address, length, *_ = _SECCOMP_NOTIFICATION_STRUCT.unpack(
            question
        )
        try:
            connection = self._connection(
                number, thread, descriptor & 0xFFFF_FFFF, address, length & 0xFFFF_FFFF
            )
        except OSError as problem:
            self._reply(number, problem.errno or errno.EACCES)
            return True
        if connection.may_wait:
            _thread.start_new_thread(self._connect, (number, connection))
        else:
            self._connect(number, connection)
        return True

    def _connection(
        self, number: int, thread: int, descriptor: int, address: int, length: int
    ) -> "_Connection":
        if not 2 <= length <= _MAX_SOCKET_ADDRESS_BYTES:
            raise OSError(errno.EINVAL, "")
        memory = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.pread(memory, length, address)
        finally:
            os.close(memory)
        process = os.pidfd_open(_process_id(thread))
        try:
            socket = _check_result(_LIBC.syscall(_PIDFD_GETFD_SYSCALL, process, descriptor, 0))
        finally:
            os.close(process)
        connection = _Connection(socket, text)
        try:
            if len(text) != length:
                raise OSError(errno.EFAULT, "")
            if int.from_bytes(text[:2], "little") == _AF_UNIX and length > 2:
                self._resolve_path(connection, thread, text[2:])
            fcntl.ioctl(self.asked, _SECCOMP_NOTIFY_ID_VALID_IOCTL, struct.pack("=Q", number))
        except OSError:
            connection.close()
            raise
        return connection

    def _resolve_path(self, connection: "_Connection", thread: int, name: bytes) -> None:
        if name.startswith(b"\0"):
            if not self._names_are_reached:
                raise OSError(errno.EACCES, "")
            return
        path = name.split(b"\0", 1)[0]
        if not path.startswith(b"/"):
            path = os.readlink(b"/proc/%d/cwd" % thread) + b"/" + path  # noqa: PTH115  (no `pathlib`: it costs a start)
        place = connection.place = _open_as(thread, path)
        real = os.readlink(b"/proc/self/fd/%d" % place)  # noqa: PTH115
        if not any(real == one or real.startswith(one.rstrip(b"/") + b"/") for one in self._places):
            raise OSError(errno.EACCES, "")
        connection.address = struct.pack("=H", _AF_UNIX) + b"/proc/self/fd/%d\0" % place

    def _connect(self, number: int, connection: "_Connection") -> None:
        result = _LIBC.connect(connection.socket, connection.address, len(connection.address))
        problem = ctypes.get_errno() if result < 0 else 0
        connection.close()
        self._reply(number, problem)

    def _reply(self, number: int, problem: int) -> None:
        try:
            fcntl.ioctl(
                self.asked, _SECCOMP_NOTIFY_SEND_IOCTL, _SECCOMP_RESPONSE_STRUCT.pack(number, 0, -problem, 0)
            )
        except OSError:
            pass  # The process that asked has ended.


class _Connection:
    def __init__(self, socket: int, address: bytes) -> None:
        self.socket = socket
        self.address = address
        self.place = -1
        """A descriptor of the socket file that the process wants to connect to; -1 for a socket without a path."""

    @property
    def may_wait(self) -> bool:
        return not fcntl.fcntl(self.socket, fcntl.F_GETFL) & os.O_NONBLOCK

    def close(self) -> None:
        os.close(self.socket)
        if self.place >= 0:
            os.close(self.place)


def _process_id(thread: int) -> int:
    with open(f"/proc/{thread}/status", "rb") as file:  # noqa: PTH123  (as above)
        line = next(line for line in file if line.startswith(b"Tgid:"))
    return int(line.split()[1])


def _open_as(thread: int, path: bytes) -> int:
    """Opens a path as the sandboxed process sees it, whose root and mounts differ from those of this process."""
    root = os.open(f"/proc/{thread}/root", os.O_PATH | os.O_CLOEXEC)
    try:
        how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _OPENAT2_RESOLVE_IN_ROOT)
        return _check_result(_LIBC.syscall(_OPENAT2_SYSCALL, root, path, how, ctypes.c_size_t(len(how))))
    finally:
        os.close(root)


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
