"""Texts about the sandbox: in `/sandbox`, `bayou sandbox` and the status line. Pure."""

from typing import Final

from app.engine.sandbox.sandboxes import SandboxState
from tools.box.sandbox_instructions import ConfinementMethod

SANDBOX_CONFINEMENT_DESCRIPTIONS: Final[dict[ConfinementMethod, str]] = {
    "namespaces": "full sandbox: separate mounts and network, Landlock, filtered system calls",
    "namespaces without landlock": "sandbox without Landlock: separate mounts and network, filtered system calls; "
    "commands can signal other programs",
    "landlock": "partial sandbox: Landlock for files, no sockets; nothing inside the workspace is protected",
    "seatbelt": "partial sandbox: files and network through `sandbox-exec`; not tested yet",
    "none": "nothing",
}
SANDBOX_MODE_DESCRIPTIONS: Final = {
    "auto": "the agent's commands run in the sandbox if the system supports it, except in mode full",
    "required": "commands run only in a full sandbox, in every mode",
    "off": "no sandbox",
}
SANDBOX_NETWORK_DESCRIPTIONS: Final = {
    "off": "commands reach only servers started in this session",
    "listed": "commands reach servers started in this session, and hosts allowed by you or by rules",
    "open": "commands reach everything",
}


def sandbox_state_text(state: SandboxState) -> str:
    if state.is_in_force:
        part = "" if state.step.startswith("namespaces") else " (Landlock only)"
        return f"commands run in the sandbox{part}"
    if state.setting == "off":
        return "no sandbox: the setting sandbox.mode is off"
    if state.step == "none":
        return f"no sandbox: {state.why}"
    return "no sandbox: mode full does not use it"


def sandbox_report_lines(state: SandboxState) -> list[str]:
    lines = [
        f"Now: {sandbox_state_text(state)}.",
        f"This system has {SANDBOX_CONFINEMENT_DESCRIPTIONS[state.step]}.",
        f"sandbox.mode {state.setting}: {SANDBOX_MODE_DESCRIPTIONS[state.setting]}.",
        f"sandbox.network {state.network}: {SANDBOX_NETWORK_DESCRIPTIONS[state.network]}.",
    ]
    if state.why and state.step != "none":
        lines.insert(2, f"Missing for the complete sandbox: {state.why}.")
    for title, places in (
        ("Writable paths", state.writable),
        ("Read-only exceptions inside them", state.guarded),
        ("Hidden paths", state.hidden),
    ):
        if places:
            lines.append(f"{title}:")
            lines += [f"  {place}" for place in places]
    return lines
