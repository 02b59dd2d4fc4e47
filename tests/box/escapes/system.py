"""Attempts on the system itself."""

import ctypes
import os
import signal
import struct
from pathlib import Path

from tests.box.escapes.core import SYSTEM, TOLD, attempt, checked, clean, inside, number

SYSTEM_ITSELF = "the system"


@attempt(SYSTEM_ITSELF, "users of one's own, and with them all rights")
def _() -> object:
    checked(SYSTEM.syscall(number("unshare"), 0x10000000))


@attempt(SYSTEM_ITSELF, "the same by clone")
def _() -> object:
    made = SYSTEM.syscall(number("clone"), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if made == 0:
        os._exit(0)
    checked(made)


@attempt(SYSTEM_ITSELF, "the same by clone3")
def _() -> object:
    made = SYSTEM.syscall(435, struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if made == 0:
        os._exit(0)
    checked(made)


@attempt(SYSTEM_ITSELF, "a mount")
def _() -> object:
    checked(SYSTEM.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, None))


@attempt(SYSTEM_ITSELF, "making `/` writable again")
def _() -> object:
    checked(SYSTEM.mount(None, b"/", None, 32 | 4096, None))


@attempt(SYSTEM_ITSELF, "making `/` writable again, the new way")
def _() -> object:
    checked(SYSTEM.syscall(442, -100, b"/", 0, struct.pack("QQQQ", 0, 1, 0, 0), 32))


@attempt(SYSTEM_ITSELF, "taking away what hides the keys (umount)")
def _() -> object:
    checked(SYSTEM.umount2(str(Path(TOLD["key"]).parent).encode(), 2))


@attempt(SYSTEM_ITSELF, "taking away what protects the hooks (umount)")
def _() -> object:
    checked(SYSTEM.umount2(str(inside(".git/hooks")).encode(), 2))


@attempt(SYSTEM_ITSELF, "a copy of the mounts (open_tree)")
def _() -> object:
    checked(SYSTEM.syscall(428, -100, b"/", 1))


@attempt(SYSTEM_ITSELF, "a file system by fsopen")
def _() -> object:
    checked(SYSTEM.syscall(430, b"tmpfs", 0))


@attempt(SYSTEM_ITSELF, "another root (pivot_root, chroot)")
def _() -> object:
    checked(SYSTEM.syscall(number("chroot"), b"/tmp"))


@attempt(SYSTEM_ITSELF, "a device of the disk, made anew")
def _() -> object:
    os.mknod(clean("disk"), 0o600 | 0o060000, os.makedev(254, 0))


@attempt(SYSTEM_ITSELF, "the memory of the machine (`/dev/mem`)")
def _() -> object:
    os.close(os.open("/dev/mem", os.O_RDONLY))


@attempt(SYSTEM_ITSELF, "what the kernel runs when a program crashes")
def _() -> object:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@attempt(SYSTEM_ITSELF, "`/proc/sysrq-trigger`")
def _() -> object:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


@attempt(SYSTEM_ITSELF, "settings of devices (`/sys`)")
def _() -> object:
    os.close(os.open("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY))


@attempt(SYSTEM_ITSELF, "io_uring")
def _() -> object:
    checked(SYSTEM.syscall(425, 1, ctypes.create_string_buffer(256)))


@attempt(SYSTEM_ITSELF, "bpf")
def _() -> object:
    checked(
        SYSTEM.syscall(
            number("bpf"), 0, ctypes.create_string_buffer(struct.pack("IIII", 1, 4, 4, 1), 128), 128
        )
    )


@attempt(SYSTEM_ITSELF, "userfaultfd")
def _() -> object:
    checked(SYSTEM.syscall(number("userfaultfd"), 1))


@attempt(SYSTEM_ITSELF, "perf events")
def _() -> object:
    event = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
    checked(SYSTEM.syscall(number("perf"), event, 0, -1, -1, 0))


@attempt(SYSTEM_ITSELF, "keys of the kernel (keyctl)")
def _() -> object:
    checked(SYSTEM.syscall(number("keyctl"), 0, -3, 1))


@attempt(SYSTEM_ITSELF, "the name of the machine")
def _() -> object:
    name = os.uname().nodename.encode()
    checked(SYSTEM.syscall(number("sethostname"), name, len(name)))


@attempt(SYSTEM_ITSELF, "messages of the kernel")
def _() -> object:
    checked(SYSTEM.syscall(number("syslog"), 3, ctypes.create_string_buffer(64), 64))


@attempt(SYSTEM_ITSELF, "system calls of another kind (x32)")
def _() -> object:
    checked(SYSTEM.syscall(0x40000000 | 39))


@attempt(SYSTEM_ITSELF, "more rights by a program that has them (sudo)")
def _() -> object:
    return SYSTEM.prctl(39, 0, 0, 0, 0) == 0


@attempt(SYSTEM_ITSELF, "rights of the superuser over mounts, devices and modules")
def _() -> object:
    status = Path("/proc/self/status").read_text()
    held = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapPrm:"))
    return any(held >> one & 1 for one in (2, 12, 16, 17, 19, 21, 27))
