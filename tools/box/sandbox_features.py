"""Detects which sandbox features this system supports, by trying them once in a short-lived program (`probe`)."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from tools.box.process_confinement import kernel_landlock_version
from tools.box.sandbox_instructions import (
    SandboxFeatures,
    limit_features_to_method,
    make_sandbox_instructions,
    network_namespace_instructions,
)
from tools.box.sandbox_policy import SandboxPolicy
from tools.box.seatbelt import sandbox_exec_command_line
from tools.box.seccomp_filter import has_syscall_numbers_of_machine

_SANDBOX_PROBE_PROGRAM: Final = Path(__file__).with_name("sandbox_probe.py")
VARIABLES_NEEDED_TO_START_PYTHON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that Python needs to start. No others are passed: a command could read a key from the environment of a
process."""
_SANDBOX_PROBE_TIMEOUT: Final = 5.0
_CAP_SYS_ADMIN: Final = 1 << 21
_PROBED_SANDBOX_POLICY: Final = SandboxPolicy(kind="work", writable=("/tmp",), network="own")
"""The smallest sandbox policy that uses every feature; the probe tries the sandbox with it."""


@functools.cache
def system_sandbox_features() -> SandboxFeatures:
    if sys.platform == "darwin":
        problem = _probe_seatbelt()
        return SandboxFeatures(
            has_seatbelt=not problem, why=problem or "it has not been tested on this system yet"
        )
    if sys.platform != "linux":
        return SandboxFeatures(why=f"there is no sandbox on {sys.platform}")
    machine = os.uname().machine
    if not has_syscall_numbers_of_machine(machine):
        return SandboxFeatures(machine=machine, why=f"the dangerous system calls of {machine} are not known")
    found = SandboxFeatures(
        has_mounts=True,
        has_networks=True,
        has_filter=True,
        landlock=kernel_landlock_version(),
        machine=machine,
        sees_connections=True,
        needs_users=not _is_superuser(),
    )
    problem = _probe(found)
    if not problem:
        return found
    for less in (
        {"needs_users": True},
        {"sees_connections": False, "why": problem},
        {"sees_connections": False, "why": problem, "needs_users": True},
    ):
        fewer = msgspec.structs.replace(found, **less)
        if fewer != found and not _probe(fewer):
            return fewer
    alone = msgspec.structs.replace(limit_features_to_method(found, "landlock"), why=problem)
    other = _probe(alone) if alone.supports_landlock else "Landlock is not available"
    return (
        alone
        if not other
        else msgspec.structs.replace(limit_features_to_method(alone, "none"), why=f"{problem}; {other}")
    )


def _probe(abilities: SandboxFeatures) -> str:
    """Tries the sandbox in a short-lived program, and returns which instruction failed and why; empty on success."""
    names = ("/dev", ("null", "shm", "pts"))
    steps = make_sandbox_instructions(
        _PROBED_SANDBOX_POLICY, abilities, lambda folder: names[1] if folder == names[0] else ()
    )
    if abilities.has_networks:
        made = network_namespace_instructions(abilities)
        steps = (*made, *(step for step in steps if not step.startswith("join ")))
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-S", str(_SANDBOX_PROBE_PROGRAM), *steps],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in VARIABLES_NEEDED_TO_START_PYTHON if name in os.environ},
            cwd="/",
            timeout=_SANDBOX_PROBE_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    found = tried.stdout.decode(errors="replace")
    if found == ".":
        return ""
    number, _, instruction = found.partition(" ")
    return (
        f"{_describe_instruction(instruction)}: {os.strerror(int(number))}"
        if number.isdigit()
        else "the sandbox test ended early"
    )


def _probe_seatbelt() -> str:
    """Tries `sandbox-exec` of macOS with a profile, and returns what failed; empty on success."""
    try:
        tried = subprocess.run(
            sandbox_exec_command_line(_PROBED_SANDBOX_POLICY, ("/usr/bin/true",)),
            capture_output=True,
            timeout=_SANDBOX_PROBE_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    return tried.stderr.decode(errors="replace").strip()[:300] if tried.returncode else ""


def _describe_instruction(instruction: str) -> str:
    """Returns a sandbox instruction in words, for messages about one that failed."""
    verb = instruction.split(" ", 1)[0]
    return {
        "users": "making a namespace of users",
        "network": "making a network",
        "mounts": "making a namespace of mounts",
        "rules": "Landlock",
        "restrict": "Landlock",
        "filter": "filtering system calls",
        "ask": "filtering system calls",
        "connections": "looking at connections",
    }.get(verb, f"changing mounts ({verb})")


def _is_superuser() -> bool:
    """Returns whether the user is root with all capabilities, which root in a container often lacks."""
    if os.geteuid() != 0:
        return False
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    return bool(int(line.split()[1], 16) & _CAP_SYS_ADMIN)
