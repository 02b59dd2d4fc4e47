"""Tries the instructions of a sandbox on itself and prints what failed, or `.`.

A separate program, because bayou forbids inspection of its memory and a forked child inherits that, so that an
ordinary user's child could not write its user namespace maps. A freshly started program can. If connections are
brokered, one is made and answered."""

import ctypes
import errno
import os
import sys

_AF_UNIX, _SOCK_STREAM = 1, 1
_ECONNREFUSED = 111
"""The error number for a connection to a file that is not a socket."""
_PIDFD_GETFD_SYSCALL = 438
_PR_SET_DUMPABLE = 4


def main() -> None:
    sys.path.append(os.path.dirname(__file__))  # noqa: PTH120  (no `pathlib`: it doubles what a start costs)
    found = _try_in_child([os.fsencode(word) for word in sys.argv[1:]])
    os.write(1, found.encode(errors="replace"))
    os._exit(0)


def _try_in_child(instructions: "list[bytes]") -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, _confine_and_report(instructions, writing).encode(errors="replace"))
        os._exit(0)
    os.close(writing)
    found = os.read(reading, 512)
    if found.startswith(b"asks "):
        try:
            _answer_connection(child, int(found[5:]))
        except OSError as problem:
            return f"{problem.errno or 0} connections"
        found = os.read(reading, 512)
    return found.decode(errors="replace")


def _confine_and_report(instructions: "list[bytes]", writing: int) -> str:
    confinement = __import__("process_confinement").SandboxInstructionExecutor([])
    try:
        confinement.run_instructions(instructions)
    except OSError as problem:
        return f"{problem.errno or 0} {problem.filename}"
    if confinement.connections < 0:
        return "."
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as a command is after its start
    os.write(writing, b"asks %d" % confinement.connections)
    address = _AF_UNIX.to_bytes(2, sys.byteorder) + b"/dev/null\0"
    system.connect(system.socket(_AF_UNIX, _SOCK_STREAM, 0), address, len(address))
    return "." if ctypes.get_errno() == _ECONNREFUSED else f"{ctypes.get_errno()} connections"


def _answer_connection(child: int, descriptor: int) -> None:
    process = os.pidfd_open(child)
    asked = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD_SYSCALL, process, descriptor, 0)
    if asked < 0:
        raise OSError(ctypes.get_errno() or errno.EPERM, "")
    __import__("connection_broker").SandboxConnectionBroker(asked, [b"/"]).broker_next_connection()


if __name__ == "__main__":
    main()
