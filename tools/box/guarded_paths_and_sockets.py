"""Finds the places on this machine that a sandbox policy concerns: sockets, autorun files. Everything here
only reads.

Places with secrets are passed in."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.box.nested_repositories import matches_autorun_pattern
from tools.box.sandbox_policy import SandboxPolicy, innermost_containing
from tools.files.paths import real_path
from tools.protected.autorun_files import PROJECT_AUTORUN_FILES, VCS_CONTROL_FILES, VCS_FOLDERS

_GUARDED_WORKSPACE_NAMES: Final = (
    *(
        row.name
        for row in PROJECT_AUTORUN_FILES
        if "*" not in row.name and not row.is_generated and row.name.partition("/")[0] not in VCS_FOLDERS
    ),
    *VCS_CONTROL_FILES,
)
"""Names in the workspace whose content runs later, or decides what may run. Git folders have separate rules."""
_GUARDED_SYSTEM_FOLDERS: Final = (
    "bin",
    "boot",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "proc/sys",
    "sbin",
    "sys",
    "usr",
)


_HIDDEN_RUNTIME_FOLDER_SOCKETS: Final = (
    "bus",
    "docker.sock",
    "podman/podman.sock",
    "keyring",
    "gnupg",
    "systemd",
    "at-spi",
    "ssh-agent.socket",
)
"""Sockets in the user's runtime folder."""
_HIDDEN_SYSTEM_SOCKETS: Final = (
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/lxd.socket",
    "/run/incus",
    "/run/libvirt",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
)
_HIDDEN_HOME_SOCKETS: Final = (
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".gnupg/S.gpg-agent",
    ".1password",
)
_SOCKET_PATH_VARIABLES: Final = ("DOCKER_HOST", "CONTAINER_HOST", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")
SERVICE_SOCKETS_ALLOWED_IN_SANDBOX: Final = (
    *(f"/run/{name}" for name in ("postgresql", "mysqld", "mariadb", "redis", "memcached")),
    *(f"/run/{name}" for name in ("nscd", "systemd/resolve", "systemd/userdb")),
    "/var/lib/sss/pipes/nss",
)
"""Sockets of databases used in tests, and of services that resolve host and user names."""
_LISTENING_UNIX_SOCKET_FLAG: Final = 0x10000
_MAX_HIDDEN_SOCKETS: Final = 300


def find_guarded_paths(workspace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the paths of a workspace that no command may change: those that exist, and those that do not."""
    if workspace == "/":
        paths = [f"/{name}" for name in (*_GUARDED_WORKSPACE_NAMES, *_GUARDED_SYSTEM_FOLDERS)]
        return tuple(path for path in paths if os.path.lexists(path) and real_path(path) == path), ()
    ending = [name for name in list_folder(workspace) if matches_autorun_pattern(name)]
    paths = [f"{workspace}/{name}" for name in (*_GUARDED_WORKSPACE_NAMES, *ending)]
    present = tuple(path for path in paths if os.path.lexists(path))
    return present, tuple(path for path in paths if path not in present)


def find_guarded_paths_in(roots: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the paths that no command may change in several folders: those that exist, and those that do not."""
    found = [find_guarded_paths(root) for root in roots]
    present = (path for there, _ in found for path in there)
    missing = (path for _, absent in found for path in absent)
    return tuple(dict.fromkeys(present)), tuple(dict.fromkeys(missing))


def find_sockets_to_hide(
    home: str, environment: Mapping[str, str], workspace: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns folders and files by which programs outside the sandbox can be reached: agents, daemons, desktops."""
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    wanted = [*_HIDDEN_SYSTEM_SOCKETS, *(f"{home}/{name}" for name in _HIDDEN_HOME_SOCKETS)]
    wanted += [f"{runtime}/{name}" for name in _HIDDEN_RUNTIME_FOLDER_SOCKETS]
    wanted += [f"/tmp/tmux-{os.getuid()}"]
    for name in _SOCKET_PATH_VARIABLES:
        said = environment.get(name, "")
        path = said.split(",")[0].removeprefix("unix:").removeprefix("path=").removeprefix("//")
        if path.startswith("/") and not path.startswith(workspace.rstrip("/") + "/"):
            wanted.append(path)
    wanted += [path for path in _listening_sockets() if not _is_allowed_socket(path, workspace)]
    folders: list[str] = []
    files: list[str] = []
    for path in dict.fromkeys(wanted):
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116  (a plain text, and many)
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            folders.append(real_path(path))
        elif stat.S_ISSOCK(mode):
            files.append(real_path(path))
    return tuple(dict.fromkeys(folders)), tuple(dict.fromkeys(files))


def _listening_sockets() -> list[str]:
    """Returns the paths of all listening sockets of this machine."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines[1:]:
        fields = line.split(maxsplit=7)
        if (
            len(fields) == 8
            and fields[7].startswith("/")
            and int(fields[3], 16) & _LISTENING_UNIX_SOCKET_FLAG
        ):
            found.append(fields[7])
    return found[:_MAX_HIDDEN_SOCKETS]


def _is_allowed_socket(path: str, workspace: str) -> bool:
    if path.startswith(workspace.rstrip("/") + "/"):
        return True
    return path.startswith(SERVICE_SOCKETS_ALLOWED_IN_SANDBOX) or path.removeprefix("/var").startswith(
        SERVICE_SOCKETS_ALLOWED_IN_SANDBOX
    )


def existing_real_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns those of the paths that exist, with links resolved."""
    return tuple(dict.fromkeys(real_path(path) for path in paths if os.path.lexists(path)))


def list_folder(path: str) -> list[str]:
    try:
        return os.listdir(path)  # noqa: PTH208  (texts are wanted)
    except OSError:
        return []


def find_newly_hidden_paths(box: SandboxPolicy, before: SandboxPolicy) -> tuple[str, ...]:
    """Returns the places that a running process can still see but that a process started now could not. Sockets,
    which come and go, are excluded, and so are private files of programs, which change often."""
    return tuple(
        path
        for path in box.hidden
        if path not in box.private
        and innermost_containing(path, before.hidden) is None
        and not _is_socket(path)
    )


def add_shared_files_to_policy(box: SandboxPolicy, before: SandboxPolicy | None) -> SandboxPolicy:
    """Returns the current sandbox policy for a process that still runs with the earlier policy `before`: files that
    got further hard links since then are marked as writable for it, so that they are compared."""
    if before is None:
        return box
    held = {*before.linked, *before.guarded, *before.hidden}
    new = (path for path in box.linked if path not in held and innermost_containing(path, held) is None)
    return msgspec.structs.replace(box, shared=tuple(dict.fromkeys((*box.shared, *new))))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116  (a text)
    except OSError:
        return True
