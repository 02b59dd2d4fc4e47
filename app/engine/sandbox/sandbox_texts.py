"""Texts about the sandbox: in `/sandbox`, `bayou sandbox` and the status line. Pure."""

from typing import Final

from app.engine.sandbox.sandboxes import SandboxState
from tools.box.plan import ConfinementMethod

STEP_WORDS: Final[dict[ConfinementMethod, str]] = {
    "namespaces": "all of it: own mounts and network, Landlock, filtered system calls",
    "namespaces without landlock": "own mounts and network, filtered system calls; signals reach other programs",
    "landlock": "partial sandbox: Landlock for files, no sockets; nothing inside the workspace is protected",
    "seatbelt": "a part: places and network by `sandbox-exec`; not tested yet",
    "none": "nothing",
}
SETTING_WORDS: Final = {
    "auto": "the agent's commands run in the sandbox if the system supports it, except in mode full",
    "required": "commands run only in a full sandbox, in every mode",
    "off": "no sandbox",
}
NETWORK_WORDS: Final = {
    "off": "only servers that the session started",
    "listed": "servers that the session started, and hosts that you or rules allow",
    "open": "everything",
}


def state_line(state: SandboxState) -> str:
    if state.is_in_force:
        part = "" if state.step.startswith("namespaces") else " (Landlock only)"
        return f"commands run in the sandbox{part}"
    if state.setting == "off":
        return "no sandbox: the setting sandbox.mode is off"
    if state.step == "none":
        return f"no sandbox: {state.why}"
    return "no sandbox: mode full does not use it"


def state_lines(state: SandboxState) -> list[str]:
    lines = [
        f"Now: {state_line(state)}.",
        f"This system has {STEP_WORDS[state.step]}.",
        f"sandbox.mode {state.setting}: {SETTING_WORDS[state.setting]}.",
        f"sandbox.network {state.network}: commands reach {NETWORK_WORDS[state.network]}.",
    ]
    if state.why and state.step != "none":
        lines.insert(2, f"What is missing: {state.why}.")
    for title, places in (
        ("Can be written", state.writable),
        ("Cannot be written there", state.guarded),
        ("Cannot be seen", state.hidden),
    ):
        if places:
            lines.append(f"{title}:")
            lines += [f"  {place}" for place in places]
    return lines
