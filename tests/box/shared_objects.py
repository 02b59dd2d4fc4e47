"""What programs share by an identifier and not by a path: System V memory, queues, semaphores, and POSIX queues."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.box.escapes.core import SYSTEM

_FOR_ALL, _CREATE = 0o666, 0o1000
_REMOVE = 0


@contextmanager
def shared_objects() -> Iterator[dict[str, Any]]:
    """One of each, with a secret in it where it holds something, by names for `TOLD`."""
    with ExitStack() as kept:
        memory = _checked(SYSTEM.shmget(0, 4096, _CREATE | _FOR_ALL))
        kept.callback(SYSTEM.shmctl, memory, _REMOVE, None)
        attach = SYSTEM.shmat
        attach.restype = ctypes.c_void_p
        address = attach(memory, None, 0)
        ctypes.memmove(address, b"a key", 6)
        SYSTEM.shmdt(ctypes.c_void_p(address))
        queue = _checked(SYSTEM.msgget(0, _CREATE | _FOR_ALL))
        kept.callback(SYSTEM.msgctl, queue, _REMOVE, None)
        for _ in range(2):
            _checked(SYSTEM.msgsnd(queue, struct.pack("l6s", 1, b"a key"), 6, 0))
        semaphore = _checked(SYSTEM.semget(0, 1, _CREATE | _FOR_ALL))
        kept.callback(SYSTEM.semctl, semaphore, 0, _REMOVE)
        named = f"/bayou-escapes-{os.getpid()}"
        made = _checked(SYSTEM.mq_open(named.encode(), os.O_CREAT | os.O_RDWR, 0o666, None))
        kept.callback(os.close, made)
        for _ in range(2):
            _checked(SYSTEM.mq_send(made, b"a key", ctypes.c_size_t(5), 0))
        kept.callback(SYSTEM.mq_unlink, named.encode())
        yield {"memory": memory, "queue": queue, "semaphore": semaphore, "named_queue": named}


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "sharing")
    return result
