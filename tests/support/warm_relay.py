"""What tests start as a command in place of `python -P -m app`: has bayou forked by `tests.support.warm_bayou`, passes
signals on to it, and ends as it ends. It imports little, so that it starts fast.

warm_relay.py SOCKET WORD …"""

import json
import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
NUMBER = 8
"""Bytes of a length, of a process's number and of an exit code."""


def received(connection: socket.socket) -> int:
    data = b""
    while len(data) < NUMBER:
        more = connection.recv(NUMBER - len(data))
        assert more, "the process that starts bayou has ended"
        data += more
    return int.from_bytes(data, "big", signed=True)


def asked(address: str, streams: tuple[int, int, int], **process: object) -> socket.socket:
    """Asks for a process; the connection tells its number, and its exit code when it has ended."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    request = json.dumps(process).encode()
    socket.send_fds(connection, [len(request).to_bytes(NUMBER, "big", signed=True)], streams)
    connection.sendall(request)
    return connection


def main() -> None:
    connection = asked(
        sys.argv[1],
        (0, 1, 2),
        words=sys.argv[2:],
        cwd=os.getcwd(),  # noqa: PTH109  (costs an import)
        env=dict(os.environ),
        ends_with_connection=True,
    )
    pid = received(connection)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(pid, number))
    os.closerange(0, 3)  # so that each end of a pipe has one holder
    code = received(connection)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
