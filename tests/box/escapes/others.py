"""Attempts to read secrets, to reach other programs, and the network."""

import ctypes
import errno
import fcntl
import os
import pty
import shutil
import signal
import socket
import struct
import threading
import time
from pathlib import Path

from tests.box.escapes.core import SYSTEM, TOLD, attempt, checked, clean, holds_key, inside, number

READ = "reading secrets"


@attempt(READ, "a key in the home")
def _() -> object:
    return holds_key(TOLD["key"])


@attempt(READ, "the same through a link")
def _() -> object:
    link = clean("key-link")
    link.symlink_to(TOLD["key"])
    return holds_key(link)


@attempt(READ, "the same through a hard link")
def _() -> object:
    link = clean("key-hard")
    link.hardlink_to(TOLD["key"])
    return holds_key(link)


@attempt(READ, "the same through `/proc/self/root`")
def _() -> object:
    return holds_key(f"/proc/self/root{TOLD['key']}")


@attempt(READ, "the same through the root of the process that bayou is")
def _() -> object:
    return holds_key(f"/proc/{TOLD['bayou']}/root{TOLD['key']}")


@attempt(READ, "copying the folder of keys")
def _() -> object:
    shutil.rmtree(inside("copied"), ignore_errors=True)
    shutil.copytree(Path(TOLD["key"]).parent, inside("copied"))
    return holds_key(inside("copied") / Path(TOLD["key"]).name)


@attempt(READ, "bayou's own credentials")
def _() -> object:
    return holds_key(TOLD["credentials"])


@attempt(READ, "the environment of bayou")
def _() -> object:
    return Path(f"/proc/{TOLD['bayou']}/environ").read_bytes()


@attempt(READ, "the memory of bayou")
def _() -> object:
    os.close(os.open(f"/proc/{TOLD['bayou']}/mem", os.O_RDONLY))


@attempt(READ, "the environment of the process that started the command")
def _() -> object:
    return Path(f"/proc/{TOLD['starter']}/environ").read_bytes()


@attempt(READ, "shared memory of others (`/dev/shm`)")
def _() -> object:
    return holds_key(TOLD["shared"])


@attempt(READ, "the terminal that bayou runs in")
def _() -> object:
    os.close(os.open(TOLD["terminal"], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))


@attempt(READ, "the disk itself")
def _() -> object:
    for device in Path("/sys/class/block").iterdir():
        try:
            descriptor = os.open(f"/dev/{device.name}", os.O_RDONLY)
        except OSError:
            continue
        if os.read(descriptor, 16):
            return True
    return False


@attempt(READ, "a file by its handle")
def _() -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    key = TOLD["outside"].encode() + b"/file"
    checked(SYSTEM.syscall(number("name_to_handle"), -100, key, handle, ctypes.byref(mount), 0))
    checked(SYSTEM.syscall(number("open_by_handle"), os.open("/", os.O_RDONLY), handle, os.O_RDONLY))


# Other programs

OTHERS = "other programs"


@attempt(OTHERS, "a signal to bayou")
def _() -> object:
    os.kill(TOLD["bayou"], 0)


@attempt(OTHERS, "a signal to bayou by a descriptor of it")
def _() -> object:
    signal.pidfd_send_signal(os.pidfd_open(TOLD["bayou"]), 0)


@attempt(OTHERS, "looking into bayou (ptrace)")
def _() -> object:
    checked(SYSTEM.syscall(number("ptrace"), 0x4206, TOLD["bayou"], 0, 0))


@attempt(OTHERS, "reading memory of bayou (process_vm_readv)")
def _() -> object:
    kept = ctypes.create_string_buffer(8)
    here = struct.pack("PN", ctypes.addressof(kept), 8)
    read = SYSTEM.syscall(number("process_vm_readv"), TOLD["bayou"], here, 1, here, 1, 0)
    return (
        read >= 0 or ctypes.get_errno() == errno.EFAULT
    )  # nothing is there, which it would not say of a stranger


@attempt(OTHERS, "taking a descriptor of bayou (pidfd_getfd)")
def _() -> object:
    checked(SYSTEM.syscall(438, os.pidfd_open(TOLD["bayou"]), 0, 0))


@attempt(OTHERS, "limits of bayou (prlimit)")
def _() -> object:
    kept = ctypes.create_string_buffer(16)
    checked(SYSTEM.syscall(number("prlimit"), TOLD["bayou"], 7, None, kept))


@attempt(OTHERS, "which one is killed when memory is short")
def _() -> object:
    os.close(os.open(f"/proc/{TOLD['bayou']}/oom_score_adj", os.O_WRONLY))


@attempt(OTHERS, "joining the mounts of bayou")
def _() -> object:
    os.close(os.open(f"/proc/{TOLD['bayou']}/ns/mnt", os.O_RDONLY))


@attempt(OTHERS, "a socket of a daemon in the home")
def _() -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(TOLD["socket"])


@attempt(OTHERS, "a socket of a daemon, through `/proc/self/root`")
def _() -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(f"/proc/self/root{TOLD['socket']}")


@attempt(OTHERS, "the same by a relative path")
def _() -> object:
    os.chdir(Path(TOLD["socket"]).parent)
    _connect(Path(TOLD["socket"]).name)


@attempt(OTHERS, "the same through a link")
def _() -> object:
    link = clean("socket-link")
    link.symlink_to(TOLD["socket"])
    os.chdir(link.parent)
    _connect(link.name)


@attempt(OTHERS, "the same by a thread that changes the path meanwhile")
def _() -> object:
    with socket.socket(socket.AF_UNIX) as server:
        allowed = clean("s")
        server.bind(str(allowed))
        server.listen(500)
        outside = _awaited("late")
        names = (str(allowed), outside)
        length = max(map(len, names)) + 3
        plain, evil = (struct.pack("H", 1) + path.encode().ljust(length - 2, b"\0") for path in names)
        address = ctypes.create_string_buffer(plain, length)
        is_over = threading.Event()

        def swap() -> None:
            while not is_over.is_set():
                ctypes.memmove(address, evil, length)
                ctypes.memmove(address, plain, length)

        threading.Thread(target=swap, daemon=True).start()
        try:
            return any(_reaches(outside, address, length) for _ in range(300))
        finally:
            is_over.set()


@attempt(OTHERS, "a socket of a program that was started later")
def _() -> object:
    _connect(_awaited("late"))


@attempt(OTHERS, "the same among temporary files")
def _() -> object:
    _connect(_awaited("late_temporary"))


@attempt(OTHERS, "the same, moved into the workspace")
def _() -> object:
    moved = clean("moved-socket")
    Path(_awaited("late_moved")).rename(moved)
    _connect(str(moved))


@attempt(OTHERS, "the same, with a second name in the workspace")
def _() -> object:
    linked = clean("linked-socket")
    os.link(_awaited("late_temporary"), linked)
    _connect(str(linked))


@attempt(OTHERS, "a datagram to a socket of a daemon")
def _() -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendto(b"x", TOLD["receiver"])


@attempt(OTHERS, "the same by one of a pair of sockets")
def _() -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", TOLD["receiver"])


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(path)


def _awaited(name: str) -> str:
    """A socket that is bound while the attempts are made."""
    while not Path(TOLD[name]).exists():
        time.sleep(0.01)
    return TOLD[name]


def _reaches(path: str, address: "ctypes.Array[ctypes.c_char]", length: int) -> bool:
    with socket.socket(socket.AF_UNIX) as made:
        return SYSTEM.connect(made.fileno(), address, length) == 0 and made.getpeername() == path


@attempt(OTHERS, "a socket without a file (abstract)")
def _() -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("\0" + TOLD["abstract"])


@attempt(OTHERS, "shared memory of another program (System V)")
def _() -> object:
    attach = SYSTEM.shmat
    attach.restype = ctypes.c_ssize_t
    address = attach(TOLD["memory"], None, 0)
    return address > 0 and ctypes.string_at(address, 5) == b"a key"


@attempt(OTHERS, "a message queue of another program (System V)")
def _() -> object:
    kept = ctypes.create_string_buffer(16)
    checked(SYSTEM.msgrcv(TOLD["queue"], kept, 6, 0, 0o4000))


@attempt(OTHERS, "a semaphore of another program (System V)")
def _() -> object:
    checked(SYSTEM.semctl(TOLD["semaphore"], 0, 16, 5))


@attempt(OTHERS, "a message queue of another program (POSIX)")
def _() -> object:
    _receive(SYSTEM.mq_open(TOLD["named_queue"].encode(), os.O_RDONLY | os.O_NONBLOCK))


@attempt(OTHERS, "the same by the file of the queue (`/dev/mqueue`)")
def _() -> object:
    _receive(os.open("/dev/mqueue" + TOLD["named_queue"], os.O_RDONLY | os.O_NONBLOCK))


def _receive(queue: int) -> None:
    checked(SYSTEM.mq_receive(queue, ctypes.create_string_buffer(1 << 16), ctypes.c_size_t(1 << 16), None))


@attempt(OTHERS, "pushing keys into a terminal (TIOCSTI)")
def _() -> object:
    _, slave = pty.openpty()
    os.setsid()
    fcntl.ioctl(slave, 0x540E, 0)
    fcntl.ioctl(slave, 0x5412, b"x")


# The network

NET = "the network, which is off"


@attempt(NET, "a server of this machine")
def _() -> object:
    socket.create_connection(("127.0.0.1", TOLD["port"]), 2).close()


@attempt(NET, "the same by IPv6")
def _() -> object:
    socket.create_connection(("::ffff:127.0.0.1", TOLD["port"]), 2).close()


@attempt(NET, "the same by Multipath TCP")
def _() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as made:
        made.settimeout(2)
        made.connect(("127.0.0.1", TOLD["port"]))


@attempt(NET, "an address outside")
def _() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("192.0.2.1", 80))


@attempt(NET, "a datagram to a server of this machine")
def _() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("127.0.0.1", TOLD["datagrams"]))
        for _ in range(3):
            made.send(b"x")  # a missing receiver shows as an error of the next send


@attempt(NET, "the addresses of names (DNS)")
def _() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"x", ("192.0.2.53", 53))


@attempt(NET, "raw packets")
def _() -> object:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@attempt(NET, "the machine around a virtual one (vsock)")
def _() -> object:
    socket.socket(40, socket.SOCK_STREAM).close()


@attempt(NET, "ciphers of the kernel (AF_ALG)")
def _() -> object:
    socket.socket(38, socket.SOCK_SEQPACKET).close()
