"""Detects in a command's output what the sandbox refused, and words it. Pure.

An error message of the system gives no reason: the policy is checked for whether the sandbox caused it."""

import posixpath
import re
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from tools.box.sandbox_permission_requests import SandboxPermissionRequest
from tools.box.sandbox_policy import SandboxPolicy, innermost_containing
from tools.lazy_patterns import lazy_regex


def _any_of(*words: str) -> "re.Pattern[str]":
    """Builds a pattern that matches any of these words where a word starts, so that `ENOTFOUND` is not found in
    `FileNotFoundError`."""
    return lazy_regex(r"(?<![a-z])(?:" + "|".join(map(re.escape, words)) + ")")


_WRITE_ERROR_PATTERN: Final = _any_of(
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
    "operation not permitted",
    "eperm",
    "device or resource busy",
)
_READ_ERROR_PATTERN: Final = _any_of(
    "no such file",
    "permission denied",
    "not a directory",
    "enoent",
    "invalid format",
    "load key",
)
_NETWORK_ERROR_PATTERN: Final = _any_of(
    "network is unreachable",
    "enetunreach",
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "enotfound",
    "eai_again",
    "nodename nor servname",
    "failed to resolve",
    "no route to host",
    "dns error",
    "address family not supported",
    "connect tunnel failed",
    "from proxy after connect",
    "tunnel connection failed: 403",
    "tunneling socket could not be established",
    "bayou: the sandbox does not let",
)
_LOCAL_CONNECTION_ERROR_PATTERN: Final = _any_of(
    "econnrefused", "connection refused", "could not connect", "can't connect"
)
_PRIVILEGE_ERROR_PATTERN: Final = _any_of(
    "no new privileges", "sudo: effective uid", "setuid", "must be setuid"
)
_CONTAINER_DAEMON_ERROR_PATTERN: Final = _any_of(
    "cannot connect to the docker daemon",
    "docker.sock",
    "docker daemon running",
    "podman.sock",
)
_PATH_IN_ERROR_PATTERN: Final = lazy_regex(
    r"""['"‘’“”`](?P<quoted>[^'"‘’“”`\n]{1,400})['"‘’“”`]|(?P<plain>(?:~|\.{0,2})/?[\w.@+~/-]*[\w@+~-])"""
)
_SHELL_ERROR_PREFIX_PATTERN: Final = lazy_regex(r"^\S+: (?:line )?\d+: ")
"""The shell's own path before the refused path."""
_HARD_LINK_REFUSAL_EXPLANATION: Final = (
    "the same file under another name (a hard link) would change too; `edit` and `write` make a copy first"
)
_MAX_REPORTED_REFUSALS: Final = 4
_MAX_CHECKED_OUTPUT_LINE_CHARS: Final = 2_000

SandboxRefusalKind = Literal["write", "read", "network", "rights", "daemon"]


class SandboxRefusal(msgspec.Struct, frozen=True):
    kind: SandboxRefusalKind
    place: str = ""
    """The absolute path of the refused place, or of the nearest parent that it makes sense to allow."""


def find_sandbox_refusals(
    output: str,
    box: SandboxPolicy,
    *,
    cwd: str,
    has_failed: bool,
    real_path: Callable[[str], str],
) -> tuple[SandboxRefusal, ...]:
    """Returns what the sandbox refused to a command, judged by its output; `real_path` resolves links. Each place is
    returned once, up to a limit."""
    found: dict[SandboxRefusal, None] = {}
    for whole in output.splitlines():
        if len(found) >= _MAX_REPORTED_REFUSALS:
            break
        line = _SHELL_ERROR_PREFIX_PATTERN.sub("", whole)
        low = line[:_MAX_CHECKED_OUTPUT_LINE_CHARS].casefold()
        if _WRITE_ERROR_PATTERN.search(low):
            for place in _refused_places(line, box, cwd, real_path, box.may_write_in_place, _is_allowable):
                found.setdefault(SandboxRefusal("write", place))
        if _READ_ERROR_PATTERN.search(low):
            for place in _refused_places(line, box, cwd, real_path, box.may_read, lambda path: True):
                found.setdefault(SandboxRefusal("read", place))
        if has_failed and _CONTAINER_DAEMON_ERROR_PATTERN.search(low):
            found.setdefault(SandboxRefusal("daemon"))
        elif has_failed and _is_network(low, box):
            found.setdefault(SandboxRefusal("network"))
        if has_failed and _PRIVILEGE_ERROR_PATTERN.search(low):
            found.setdefault(SandboxRefusal("rights"))
    return tuple(found)[:_MAX_REPORTED_REFUSALS]


def find_hidden_files_in_output(text: str, box: SandboxPolicy) -> tuple[SandboxRefusal, ...]:
    """Returns the hidden files that a command's output names, because a program sees them empty, without an error
    message; a file outside the workspace counts only if it is named with its folder."""
    inside = [path for path in box.hidden_files if innermost_containing(path, box.searched) is not None]
    outside = [path for path in box.hidden_files if path not in inside and "/." in path]
    places = [*inside, *outside]
    names = {path: re.escape(path.rpartition("/")[2]) for path in inside}
    names |= {path: re.escape("/".join(path.split("/")[-2:])) for path in outside}
    return tuple(
        SandboxRefusal("read", path)
        for path in places
        if re.search(rf"(?<![\w.-]){names[path]}(?![\w.-])", text)
    )[:_MAX_REPORTED_REFUSALS]


def find_hard_linked_files_in_output(
    text: str, output: str, box: SandboxPolicy
) -> tuple[SandboxRefusal, ...]:
    """Returns the hard-linked files that a command's output names, if it reports a refusal without a path: a
    program that replaces a file reports the new name."""
    if not box.linked or _WRITE_ERROR_PATTERN.search(output.casefold()) is None:
        return ()
    names = {path: re.escape(path.rpartition("/")[2]) for path in box.linked}
    return tuple(
        SandboxRefusal("write", path)
        for path in box.linked
        if re.search(rf"(?<![\w.-]){names[path]}(?![\w.-])", text)
    )[:_MAX_REPORTED_REFUSALS]


def _is_network(line: str, box: SandboxPolicy) -> bool:
    if box.network == "open":
        return False
    is_local = box.network == "off" and _LOCAL_CONNECTION_ERROR_PATTERN.search(line)
    return bool(is_local or _NETWORK_ERROR_PATTERN.search(line))


def _refused_places(
    line: str,
    box: SandboxPolicy,
    cwd: str,
    real_path: Callable[[str], str],
    may: Callable[[str], bool],
    is_worth: Callable[[str], bool],
) -> list[str]:
    found: list[str] = []
    for match in _PATH_IN_ERROR_PATTERN.finditer(line[:_MAX_CHECKED_OUTPUT_LINE_CHARS]):
        said = match["quoted"] or match["plain"]
        if "/" not in said and not match["quoted"]:
            continue
        path = real_path(posixpath.normpath(posixpath.join(cwd, said)))
        if is_worth(path) and not may(path):
            found.append(path)
    return found


def _is_allowable(path: str) -> bool:
    """Returns whether a permission can make the refused place writable, because it is not read-only for everyone
    anyway."""
    return path != "/" and not path.startswith(("/dev/", "/proc/", "/sys/"))


def format_refusal_note(
    found: tuple[SandboxRefusal, ...], box: SandboxPolicy, home: str, exists: Callable[[str], bool]
) -> str:
    """Returns one line on what the sandbox refused and which permission to request, for model and user; empty if
    nothing was refused."""
    if not found:
        return ""
    said: list[str] = []
    for one in found:
        place = path_with_tilde(one.place, home)
        if one.kind == "write" and innermost_containing(one.place, box.linked) is not None:
            said.append(f"writing {place} was refused, {_HARD_LINK_REFUSAL_EXPLANATION}")
            continue
        said.append(
            {
                "write": f"writing {place} was refused",
                "read": f"{place} is hidden",
                "network": f"reaching {one.place} was refused" if one.place else "the network was refused",
                "rights": "programs cannot gain privileges in the sandbox",
                "daemon": "the Docker daemon's socket is hidden",
            }[one.kind]
        )
    judged = " This command was judged read-only, so it ran without write access." * (
        box.kind == "read" and any(one.kind == "write" for one in found)
    )
    wanted = [narrowest_permission_request(one, box, home, exists) for one in found]
    narrow = ", ".join(f'"{text}"' for text in dict.fromkeys(one.text for one in wanted if one is not None))
    asking = (
        f"ask the user for exactly that: the same call with allow: [{narrow}] and a reason."
        if narrow
        else "ask the user: the same call with outside: true and a reason."
    )
    return f"Sandbox: {'; '.join(dict.fromkeys(said))}.{judged} Do without, or {asking}"


def narrowest_permission_request(
    one: SandboxRefusal, box: SandboxPolicy, home: str, exists: Callable[[str], bool]
) -> SandboxPermissionRequest | None:
    """Returns the narrowest permission that would avoid the refusal; None if only running outside the sandbox would."""
    linked = innermost_containing(one.place, box.linked) if one.kind == "write" else None
    if linked is not None:
        return SandboxPermissionRequest("write", path_with_tilde(linked, home))
    if one.kind == "write":
        place = one.place if box.kind == "read" else narrowest_place_to_allow(one.place, home, exists)
        return SandboxPermissionRequest("write", path_with_tilde(place, home)) if place is not None else None
    if one.kind == "read":
        return SandboxPermissionRequest(
            "read", path_with_tilde(innermost_containing(one.place, box.hidden) or one.place, home)
        )
    if one.kind == "network":
        return SandboxPermissionRequest("reach", one.place) if one.place else None
    if one.kind == "daemon":
        names = ("docker.sock", "podman.sock")
        socket = next((path for path in box.hidden_files if path.endswith(names)), None)
        return SandboxPermissionRequest("use", path_with_tilde(socket, home)) if socket is not None else None
    return None


def path_with_tilde(path: str, home: str) -> str:
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def narrowest_place_to_allow(path: str, home: str, exists: Callable[[str], bool]) -> str | None:
    """Returns the narrowest place to request permission for: the file if it exists, otherwise its folder. None if only
    the home or a system folder would do."""
    place = path
    while not exists(place) and place not in ("/", ""):
        place = place.rpartition("/")[0]
    if place in ("/", home) or place.count("/") < 2 or home.startswith(place + "/"):
        return None
    return place
