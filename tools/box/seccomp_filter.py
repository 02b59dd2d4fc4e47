"""Builds the seccomp program that refuses system calls of a sandboxed command. Pure."""

import errno
import struct
from functools import lru_cache
from typing import Final, Literal

_BPF_LOAD, _BPF_JUMP_EQUAL, _BPF_JUMP_AT_LEAST, _BPF_JUMP_ANY_BIT, _BPF_AND, _BPF_RETURN = (
    0x20,
    0x15,
    0x35,
    0x45,
    0x54,
    0x06,
)
_SECCOMP_ALLOW, _SECCOMP_NOTIFY, _SECCOMP_ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
(
    _SECCOMP_DATA_SYSCALL_OFFSET,
    _SECCOMP_DATA_ARCHITECTURE_OFFSET,
    _SECCOMP_DATA_FIRST_ARGUMENT_OFFSET,
    _SECCOMP_DATA_SECOND_ARGUMENT_OFFSET,
) = 0, 4, 16, 24
"""Byte offsets of the system call's number, architecture and arguments in the data that the kernel passes to a
seccomp filter; of an argument, its lower 32 bits."""
_CLONE_NAMESPACE_FLAGS: Final = 0x7E02_0080
"""The flags of `clone` and `unshare` that create a namespace."""
_TERMINAL_INPUT_IOCTLS: Final = (0x5412, 0x541C)

_SOCKET_TYPE_MASK, _SOCK_STREAM, _SOCK_SEQPACKET = 0xF, 1, 5
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

_REFUSED_X86_SYSCALLS: Final = {
    "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "mount": 165, "umount2": 166,
    "pivot_root": 155, "setns": 308, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "perf_event_open": 298, "userfaultfd": 323,
    "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "open_by_handle_at": 304, "settimeofday": 164,
    "clock_settime": 227, "sethostname": 170, "setdomainname": 171, "lookup_dcookie": 212, "syslog": 103,
    "vhangup": 153, "iopl": 172, "ioperm": 173, "uselib": 134,
}  # fmt: skip
_REFUSED_ARM_SYSCALLS: Final = {
    "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "mount": 40, "umount2": 39,
    "pivot_root": 41, "setns": 268, "init_module": 105, "finit_module": 273, "delete_module": 106,
    "kexec_load": 104, "kexec_file_load": 294, "reboot": 142, "perf_event_open": 241, "userfaultfd": 282,
    "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "open_by_handle_at": 265, "settimeofday": 170,
    "clock_settime": 112, "sethostname": 161, "setdomainname": 162, "lookup_dcookie": 18, "syslog": 116,
    "vhangup": 58,
}  # fmt: skip
_REFUSED_SYSCALLS_OF_ALL_MACHINES: Final = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467, "pidfd_getfd": 438,
}  # fmt: skip
_SYSCALLS_REPORTED_AS_MISSING: Final = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "clone3": 435,
}
"""System calls that are answered as if the system lacked them, so that programs use an alternative."""
_IPC_SYSCALLS_BY_MACHINE: Final = {
    "x86_64": {"shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68,
               "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241,
               "mq_timedsend": 242, "mq_timedreceive": 243},
    "aarch64": {"shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191,
                "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187, "semtimedop": 192, "mq_open": 180,
                "mq_unlink": 181, "mq_timedsend": 182, "mq_timedreceive": 183},
}  # fmt: skip
"""System calls for shared memory, semaphores and message queues, which have no path that Landlock could protect."""
_PROCESS_INSPECTION_SYSCALLS: Final = {
    "x86_64": {"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312},
    "aarch64": {"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272},
}
_SYSCALLS_WITH_CHECKED_ARGUMENTS: Final = {
    "x86_64": {
        "clone": 56,
        "unshare": 272,
        "ioctl": 16,
        "socket": 41,
        "connect": 42,
        "socketpair": 53,
        "prlimit64": 302,
    },
    "aarch64": {
        "clone": 220,
        "unshare": 97,
        "ioctl": 29,
        "socket": 198,
        "connect": 203,
        "socketpair": 199,
        "prlimit64": 261,
    },
}
_AUDIT_ARCHITECTURE_BY_MACHINE: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_SYSCALL_BIT: Final = 0x4000_0000


def has_syscall_numbers_of_machine(machine: str) -> bool:
    return machine in _AUDIT_ARCHITECTURE_BY_MACHINE


def refused_syscalls(machine: str, *, may_look_inside: bool) -> dict[str, int]:
    """Returns the system calls that are refused with any arguments."""
    found = {
        **(_REFUSED_X86_SYSCALLS if machine == "x86_64" else _REFUSED_ARM_SYSCALLS),
        **_REFUSED_SYSCALLS_OF_ALL_MACHINES,
    }
    return found if may_look_inside else {**found, **_PROCESS_INSPECTION_SYSCALLS[machine]}


AllowedSocketKinds = Literal["all", "local", "network", "none"]
"""The kinds of sockets that a sandboxed process may create: local sockets have a path or an abstract name."""


@lru_cache
def build_seccomp_program(
    machine: str, *, sockets: AllowedSocketKinds, may_look_inside: bool, has_own_ipc: bool
) -> bytes:
    """Builds the seccomp program of a sandboxed command. `may_look_inside`: processes may be inspected, because
    something else limits that to the same sandbox. `has_own_ipc`: System V objects are in a namespace of the sandbox.
    Where local sockets are allowed, each connection is brokered, because a filter cannot read its path from the memory
    of the process. Local datagram sockets are refused: they can send to a path without a connection."""
    lines = [
        _instruction(_BPF_LOAD, _SECCOMP_DATA_ARCHITECTURE_OFFSET),
        _instruction(_BPF_JUMP_EQUAL, _AUDIT_ARCHITECTURE_BY_MACHINE[machine], 1, 0),
        _return_error(errno.EPERM),
        _instruction(_BPF_LOAD, _SECCOMP_DATA_SYSCALL_OFFSET),
    ]
    if machine == "x86_64":
        lines += [_instruction(_BPF_JUMP_AT_LEAST, _X32_SYSCALL_BIT, 0, 1), _return_error(errno.ENOSYS)]
    for number in refused_syscalls(machine, may_look_inside=may_look_inside).values():
        lines += [_instruction(_BPF_JUMP_EQUAL, number, 0, 1), _return_error(errno.EPERM)]
    unknown = (
        _SYSCALLS_REPORTED_AS_MISSING
        if has_own_ipc
        else {**_SYSCALLS_REPORTED_AS_MISSING, **_IPC_SYSCALLS_BY_MACHINE[machine]}
    )
    for number in unknown.values():
        lines += [_instruction(_BPF_JUMP_EQUAL, number, 0, 1), _return_error(errno.ENOSYS)]
    calls = _SYSCALLS_WITH_CHECKED_ARGUMENTS[machine]
    for name in ("clone", "unshare"):
        lines += _for_syscall(
            calls[name],
            _SECCOMP_DATA_FIRST_ARGUMENT_OFFSET,
            [_instruction(_BPF_JUMP_ANY_BIT, _CLONE_NAMESPACE_FLAGS, 0, 1), _return_error(errno.EPERM)],
        )
    pushes = [
        line
        for code in _TERMINAL_INPUT_IOCTLS
        for line in (_instruction(_BPF_JUMP_EQUAL, code, 0, 1), _return_error(errno.EPERM))
    ]
    lines += _for_syscall(calls["ioctl"], _SECCOMP_DATA_SECOND_ARGUMENT_OFFSET, pushes)
    lines += _for_syscall(
        calls["prlimit64"],
        _SECCOMP_DATA_FIRST_ARGUMENT_OFFSET,
        [_instruction(_BPF_JUMP_EQUAL, 0, 1, 0), _return_error(errno.EPERM)],
    )
    has_local = sockets in ("all", "local")
    if has_local:
        lines += [
            _instruction(_BPF_JUMP_EQUAL, calls["connect"], 0, 1),
            _instruction(_BPF_RETURN, _SECCOMP_NOTIFY),
        ]
    lines += _for_syscall(
        calls["socketpair"], _SECCOMP_DATA_SECOND_ARGUMENT_OFFSET, _ALLOW_CONNECTED_SOCKET_INSTRUCTIONS
    )
    refusal = errno.EAFNOSUPPORT if sockets == "all" else errno.EACCES
    local = (
        [_instruction(_BPF_LOAD, _SECCOMP_DATA_SECOND_ARGUMENT_OFFSET), *_ALLOW_CONNECTED_SOCKET_INSTRUCTIONS]
        if has_local
        else [_return_error(errno.EACCES)]
    )
    others = (_AF_INET, _AF_INET6, _AF_NETLINK) if sockets in ("all", "network") else ()
    lines += _for_syscall(
        calls["socket"],
        _SECCOMP_DATA_FIRST_ARGUMENT_OFFSET,
        [
            _instruction(_BPF_JUMP_EQUAL, _AF_UNIX, 0, len(local)),
            *local,
            *(
                line
                for kind in others
                for line in (_instruction(_BPF_JUMP_EQUAL, kind, 0, 1), _return_allow())
            ),
            _return_error(refusal),
        ],
    )
    return b"".join([*lines, _return_allow()])


def _for_syscall(number: int, argument: int, body: list[bytes]) -> list[bytes]:
    """Returns filter instructions that run `body` on an argument of this system call, then restore the number for what
    follows."""
    inside = [_instruction(_BPF_LOAD, argument), *body, _instruction(_BPF_LOAD, _SECCOMP_DATA_SYSCALL_OFFSET)]
    return [_instruction(_BPF_JUMP_EQUAL, number, 0, len(inside)), *inside]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _return_error(problem: int) -> bytes:
    return _instruction(_BPF_RETURN, _SECCOMP_ERRNO | problem)


def _return_allow() -> bytes:
    return _instruction(_BPF_RETURN, _SECCOMP_ALLOW)


_ALLOW_CONNECTED_SOCKET_INSTRUCTIONS: Final = [
    _instruction(_BPF_AND, _SOCKET_TYPE_MASK),
    _instruction(_BPF_JUMP_EQUAL, _SOCK_STREAM, 1, 0),
    _instruction(_BPF_JUMP_EQUAL, _SOCK_SEQPACKET, 0, 1),
    _return_allow(),
    _return_error(errno.EACCES),
]
"""Filter instructions that allow a socket of the loaded type only if it is connection-oriented, and so cannot send
to a path without `connect`."""
