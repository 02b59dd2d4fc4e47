"""Turns a sandbox policy into instructions for `tools.box.process_confinement`, according to the abilities of the
system. Pure.

The first method that works is used: `namespaces` (with Landlock if available), `landlock` alone, `seatbelt` on
macOS (`tools.box.seatbelt`), `none`. docs/sandbox.md, which the tests write, states what each method enforces."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from tools.box.sandbox_policy import SandboxPolicy, outermost_paths
from tools.box.seccomp_filter import AllowedSocketKinds, build_seccomp_program, has_syscall_numbers_of_machine

ConfinementMethod = Literal["namespaces", "namespaces without landlock", "landlock", "seatbelt", "none"]
CONFINEMENT_METHODS: Final[tuple[ConfinementMethod, ...]] = (
    "namespaces",
    "namespaces without landlock",
    "landlock",
    "seatbelt",
    "none",
)

_LANDLOCK_EXECUTE_RIGHT, _LANDLOCK_WRITE_RIGHT, _LANDLOCK_READ_RIGHT = 1 << 0, 1 << 1, 1 << 2
_LANDLOCK_CREATE_AND_REMOVE_RIGHTS: Final = sum(1 << number for number in range(4, 13))
_LANDLOCK_REFER_RIGHT, _LANDLOCK_TRUNCATE_RIGHT = 1 << 13, 1 << 14
_LANDLOCK_SCOPE_ABSTRACT_SOCKETS, _LANDLOCK_SCOPE_SIGNALS = 1, 2
_MIN_LANDLOCK_VERSION: Final = 2
"""The oldest version of Landlock that bayou uses; earlier ones forbid renaming a file into another folder."""
_MIN_LANDLOCK_VERSION_WITH_SCOPES: Final = 6

_CAPABILITIES_KEPT_BY_ROOT: Final = (0, 1, 3, 4, 5, 6, 7, 10)
"""Capabilities that root keeps: file owners and modes, signals, changing the user, low ports."""
_DEVICES_VISIBLE_IN_SANDBOX: Final = ("null", "zero", "full", "random", "urandom", "tty", "pts")
_GPU_DEVICES_VISIBLE_IN_SANDBOX: Final = ("dri", "kfd", "nvidiactl", "nvidia-uvm", "nvidia0")
"""Devices that stay visible, because the system checks for each user who may open them."""
_DEVICES_WRITABLE_IN_SANDBOX: Final = (
    *_DEVICES_VISIBLE_IN_SANDBOX,
    "ptmx",
    "shm",
    "console",
    "dri",
    "kfd",
    "nvidiactl",
    "nvidia-uvm",
)


class SandboxFeatures(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox features that this system supports, found by trying them."""

    has_mounts: bool = False
    """Whether mount namespaces work, with all mount operations that the sandbox needs."""
    has_networks: bool = False
    landlock: int = 0
    """The Landlock version; 0 if there is none."""
    has_filter: bool = False
    sees_connections: bool = False
    """Whether the process that starts a command can check each connection before it is made."""
    machine: str = "x86_64"
    needs_users: bool = True
    """Whether namespaces need a user namespace, because bayou is not root."""
    why: str = ""
    """The reason why the system supports no stronger sandbox."""
    has_seatbelt: bool = False
    """Whether the system is macOS and its `sandbox-exec` accepts the profile."""

    @property
    def step(self) -> ConfinementMethod:
        if self.has_mounts and self.has_networks and self.has_filter:
            return "namespaces" if self.supports_landlock else "namespaces without landlock"
        if self.supports_landlock and self.has_filter:
            return "landlock"
        return "seatbelt" if self.has_seatbelt else "none"

    @property
    def supports_landlock(self) -> bool:
        return self.landlock >= _MIN_LANDLOCK_VERSION

    @property
    def supports_landlock_scopes(self) -> bool:
        return self.landlock >= _MIN_LANDLOCK_VERSION_WITH_SCOPES


def limit_features_to_method(abilities: SandboxFeatures, step: ConfinementMethod) -> SandboxFeatures:
    """Returns the system's sandbox features reduced to those of one confinement method."""
    if step == "namespaces":
        return abilities
    if step == "namespaces without landlock":
        return msgspec.structs.replace(abilities, landlock=0)
    without = msgspec.structs.replace(abilities, has_mounts=False, has_networks=False, sees_connections=False)
    return without if step == "landlock" else msgspec.structs.replace(without, landlock=0, has_filter=False)


def signal_scope_instructions(abilities: SandboxFeatures) -> tuple[str, ...]:
    """Returns instructions for the process that starts a session's commands: they can signal only each other."""
    if not abilities.supports_landlock_scopes:
        return ()
    scopes = _LANDLOCK_SCOPE_ABSTRACT_SOCKETS | _LANDLOCK_SCOPE_SIGNALS
    if abilities.step != "landlock":
        return ("final", f"rules 0 0 {scopes}", "restrict")
    # Once any layer covers files, every layer forbids renaming into another folder unless it allows that.
    return (
        "final",
        f"rules {_LANDLOCK_REFER_RIGHT} 0 {scopes}",
        f"allow {_LANDLOCK_REFER_RIGHT} /",
        "restrict",
    )


def network_namespace_instructions(abilities: SandboxFeatures) -> tuple[str, ...]:
    """Returns instructions for the process that creates a session's network."""
    return (*(("users",) if abilities.needs_users else ()), "network")


def make_sandbox_instructions(
    box: SandboxPolicy, abilities: SandboxFeatures, list_folder: Callable[[str], Sequence[str]]
) -> tuple[str, ...]:
    """Returns the instructions that confine a command by a policy, in order. `list_folder` returns the names in a
    folder, none if it is unreadable."""
    step = abilities.step
    if step in ("none", "seatbelt"):
        return ()
    if step == "landlock":
        return (
            *_landlock_instructions(box, abilities, readable=_readable_places(box, list_folder)),
            "bare " + _rights_instruction(abilities),
            _filter_instruction(box, abilities, has_mounts=False),
        )
    return (
        *_join_instructions(box, abilities),
        *_mount_instructions(box, abilities, list_folder),
        *_landlock_with_mounts(box, abilities),
        "bare " + _rights_instruction(abilities),
        *_socket_instructions(box, abilities),
        _filter_instruction(box, abilities, has_mounts=True),
    )


def _join_instructions(box: SandboxPolicy, abilities: SandboxFeatures) -> tuple[str, ...]:
    if box.network == "own":
        return ("join users", "join network") if abilities.needs_users else ("join network",)
    return ("users",) if abilities.needs_users else ()


def _mount_instructions(
    box: SandboxPolicy, abilities: SandboxFeatures, list_folder: Callable[[str], Sequence[str]]
) -> tuple[str, ...]:
    writable = outermost_paths(box.writable)
    is_everything = "/" in writable
    found = ["mounts"]
    names = set(list_folder("/dev"))
    shares_memory = any(path == "/dev/shm" or path.startswith("/dev/shm/") for path in writable)
    # A read-only mount does not prevent writing to devices.
    wanted = (
        *_DEVICES_VISIBLE_IN_SANDBOX,
        *(_GPU_DEVICES_VISIBLE_IN_SANDBOX if abilities.needs_users else ()),
        *(("shm",) if shares_memory else ()),
    )
    found.append("devices " + " ".join(name for name in wanted if name in names))
    if not is_everything:
        found += [f"keep {path}" for path in writable]
        found += ["seal /", "back"]
    if not shares_memory:
        found.append("fresh /dev/shm")
    if "pts" in names and not box.has_terminal:
        found.append("terminals")
    found += [f"pin {path}" for path in box.pinned if path not in writable]
    found += [f"guard {path}" for path in box.guarded]
    found += [f"still {path}" for path in box.linked]
    found += [f"pin {path}" for path in box.links]
    found += [f"hold {path}" for path in box.shown]
    found += [f"empty {path}" for path in box.hidden_folders]
    found += [f"blank {path}" for path in box.hidden_files]
    return tuple(found)


def _landlock_with_mounts(box: SandboxPolicy, abilities: SandboxFeatures) -> tuple[str, ...]:
    """Returns Landlock rules without file rules: with a session's scope they could not allow renaming into another
    folder, because a process under file rules cannot mount. The remaining rules keep commands from inspecting
    each other."""
    if abilities.supports_landlock_scopes:
        return (f"rules 0 0 {_LANDLOCK_SCOPE_ABSTRACT_SOCKETS}", "final", "restrict")
    return _landlock_instructions(box, abilities, readable=None) if abilities.supports_landlock else ()


def _landlock_instructions(
    box: SandboxPolicy, abilities: SandboxFeatures, *, readable: Sequence[str] | None
) -> tuple[str, ...]:
    """Returns the Landlock instructions for a policy. `readable` lists all readable places; None means everything."""
    changes = (
        _LANDLOCK_WRITE_RIGHT
        | _LANDLOCK_CREATE_AND_REMOVE_RIGHTS
        | (_LANDLOCK_REFER_RIGHT if abilities.landlock >= 2 else 0)
    )
    changes |= _LANDLOCK_TRUNCATE_RIGHT if abilities.landlock >= 3 else 0
    writes = _LANDLOCK_WRITE_RIGHT | (changes & _LANDLOCK_TRUNCATE_RIGHT)
    handled = changes | (_LANDLOCK_READ_RIGHT if readable is not None else 0)
    found = [f"rules {handled} 0 0"]
    found += [f"allow {changes} {path}" for path in box.writable]
    found += [
        f"allow {writes if name != 'shm' else changes} /dev/{name}" for name in _DEVICES_WRITABLE_IN_SANDBOX
    ]
    found += [f"allow {_LANDLOCK_READ_RIGHT} {path}" for path in readable or ()]
    return (*found, "final", "restrict")


def _readable_places(box: SandboxPolicy, list_folder: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Returns the places that together contain everything but the hidden places, because Landlock rules can only
    add rights."""
    hidden = set(box.hidden)
    above = {"/"} if hidden else set[str]()
    for path in hidden:
        parts = path.split("/")
        above.update("/".join(parts[:count]) or "/" for count in range(1, len(parts)))
    if not above:
        return ("/",)
    found: list[str] = []
    for folder in sorted(above):
        if any(folder == one or folder.startswith(one + "/") for one in box.hidden_folders):
            continue
        for name in list_folder(folder):
            path = f"{folder.rstrip('/')}/{name}"
            if path not in hidden and path not in above:
                found.append(path)
    return (*found, *box.shown)


def _socket_instructions(box: SandboxPolicy, abilities: SandboxFeatures) -> tuple[str, ...]:
    """Returns instructions that allow abstract socket names where a network namespace or Landlock confines them to the
    session."""
    if not abilities.sees_connections:
        return ()
    are_named = box.network != "open" or abilities.supports_landlock_scopes
    return (*(f"reach {path}" for path in box.sockets), *(("reach @",) if are_named else ()))


def _rights_instruction(abilities: SandboxFeatures) -> str:
    return "" if abilities.needs_users else " ".join(map(str, _CAPABILITIES_KEPT_BY_ROOT))


def _filter_instruction(box: SandboxPolicy, abilities: SandboxFeatures, *, has_mounts: bool) -> str:
    if not has_syscall_numbers_of_machine(abilities.machine):
        raise ValueError(f"There is no system call filter for {abilities.machine}.")
    has_network = box.network == "open" or (box.network == "own" and has_mounts)
    sockets: AllowedSocketKinds = "network" if has_network else "none"
    if has_mounts and abilities.sees_connections:
        sockets = "all" if has_network else "local"
    code = build_seccomp_program(
        abilities.machine,
        sockets=sockets,
        may_look_inside=abilities.supports_landlock,
        has_own_ipc=has_mounts,
    )
    return ("ask " if sockets in ("all", "local") else "filter ") + code.hex()
