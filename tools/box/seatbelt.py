"""Translates the sandbox policy into a profile for macOS's `sandbox-exec`. Pure; not yet tested on macOS.

Later rules of a profile take precedence. Everything not listed is allowed."""

from collections.abc import Iterable
from typing import Final

from tools.box.sandbox_policy import SandboxPolicy

SANDBOX_EXEC_PROGRAM: Final = "/usr/bin/sandbox-exec"
_SEATBELT_WRITABLE_DEVICES: Final = (
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/dtracehelper",
    "/dev/urandom",
)


def make_seatbelt_profile(box: SandboxPolicy) -> str:
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        _rule(
            "allow file-write*",
            [
                *_path_filters(box.writable),
                *(f"(literal {_quote(path)})" for path in _SEATBELT_WRITABLE_DEVICES),
            ],
        ),
        '(allow file-write* (regex #"^/dev/(ttys|fd/)"))',
        *_rule_per_place("deny file-write*", _path_filters((*box.guarded, *box.linked))),
        *_rule_per_place("deny file-write-unlink", [f"(literal {_quote(path)})" for path in box.pinned]),
        *_rule_per_place("deny file-read-data", _path_filters(box.hidden)),
        *_rule_per_place("deny file-write*", _path_filters(box.hidden)),
        *_rule_per_place("allow file-read-data", _path_filters(box.shown)),
        *_socket_rules(box),
        "(deny signal)",
        "(allow signal (target same-sandbox))",
        "(deny appleevent-send)",
        "(deny system-socket (socket-domain AF_SYSTEM))",
    ]
    if box.network != "open":
        lines += [
            "(deny network*)",
            "(allow network* (local unix-socket))",
            "(allow network* (remote unix-socket))",
        ]
        lines += _socket_rules(box)
    if box.network == "own":
        lines += ['(allow network* (local ip "localhost:*"))', '(allow network* (remote ip "localhost:*"))']
    return "\n".join(lines)


def sandbox_exec_command_line(box: SandboxPolicy, words: Iterable[str]) -> tuple[str, ...]:
    return (SANDBOX_EXEC_PROGRAM, "-p", make_seatbelt_profile(box), *words)


def _socket_rules(box: SandboxPolicy) -> list[str]:
    paths = (f"(remote unix-socket (path-literal {_quote(path)}))" for path in box.hidden_files)
    return _rule_per_place("deny network-outbound", list(paths))


def _path_filters(paths: Iterable[str]) -> list[str]:
    return [f"(subpath {_quote(path)})" for path in paths]


def _rule(verb: str, places: Iterable[str]) -> str:
    return f"({verb} {' '.join(places)})"


def _rule_per_place(verb: str, places: list[str]) -> list[str]:
    return [_rule(verb, places)] if places else []


def _quote(path: str) -> str:
    """Quotes a path as a string of the profile language."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
