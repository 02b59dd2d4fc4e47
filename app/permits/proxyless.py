"""Which network commands connect to their host directly instead of through the sandbox's proxy."""

from typing import Final

from app.permits.verdicts import CallPart

_PROGRAMS: Final = frozenset(
    (
        "ssh", "scp", "sftp", "rsync", "mosh", "autossh", "ssh-copy-id", "ssh-keyscan", "ping", "dig", "nslookup",
        "host", "traceroute", "whois", "telnet", "ftp", "nc", "ncat", "netcat", "socat",
    )
)  # fmt: skip
_PORTS: Final = frozenset({"0", "21", "22", "23", "873", "9418"})
"""Ports of ssh, rsync, the git protocol and similar; 0 means no port."""


def bypasses_proxy(part: CallPart) -> bool:
    """Whether the command of this part connects without the proxy."""
    if not part.network:
        return False
    words = part.words or tuple(part.text.split())
    program = words[0].rpartition("/")[2] if words else ""
    return program in _PROGRAMS or any(host.rpartition(":")[2] in _PORTS for host in part.hosts)
