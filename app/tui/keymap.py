"""Which keys do what: the defaults, a person's `keybindings.json` over them, and what is wrong with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from textual.binding import Binding, BindingType

from app.resources.files import FileFault, read_text
from app.values.json_comments import JsonFault, parse

NO_KEY = "unbound"
"""A key that no keyboard has; Textual takes a key away only by giving another."""


class KeyMap(msgspec.Struct, frozen=True, kw_only=True):
    """By action id; what is not named keeps its default."""

    keys: dict[str, str] = {}
    """As Textual takes it: keys with commas between."""
    problems: tuple[str, ...] = ()


def read_keymap(file: Path, bindings: Iterable[Iterable[BindingType]]) -> KeyMap:
    """Never raises; with a broken file the defaults stay."""
    defaults = default_keys(bindings)
    try:
        text = read_text(file)
        data = parse(text) if text and text.strip() else {}
    except FileFault as problem:
        return KeyMap(problems=(f"{problem}. The default keys stay.",))
    except JsonFault as problem:
        return KeyMap(problems=(f"{file}:{problem.line}: {problem.message}. The default keys stay.",))
    if not isinstance(data, dict):
        return KeyMap(problems=(f"{file}: must hold one object: {{ … }}. The default keys stay.",))
    keys: dict[str, str] = {}
    problems: list[str] = []
    for action, value in data.items():
        chosen = _keys(value)
        if action not in defaults:
            problems.append(f"{file}: there is no action '{action}'; /hotkeys lists them")
        elif chosen is None:
            problems.append(f"{file}: {action}: give a key, a list of keys, or [] for none")
        else:
            keys[action] = chosen
    problems += _conflicts(file, {**defaults, **keys}, keys)
    return KeyMap(keys=keys, problems=tuple(problems))


def default_keys(bindings: Iterable[Iterable[BindingType]]) -> dict[str, str]:
    """Action id → default keys."""
    return {
        binding.id: binding.key
        for group in bindings
        for binding in group
        if isinstance(binding, Binding) and binding.id
    }


def _keys(value: Any) -> str | None:
    """`ctrl+k`, a list of such, or an empty list."""
    if isinstance(value, str) and value.strip():
        return _spelled(value)
    if isinstance(value, list) and all(isinstance(key, str) and key.strip() for key in value):
        return ",".join(_spelled(key) for key in value) or NO_KEY
    return None


def _spelled(key: str) -> str:
    """pi's `pageUp` and `shift+ctrl+p` as Textual spells them."""
    parts = key.strip().lower().split("+")
    modifiers = [name for name in ("ctrl", "alt", "shift", "super") if name in parts[:-1]]
    return "+".join([*modifiers, parts[-1]])


def _conflicts(file: Path, all_keys: dict[str, str], changed: dict[str, str]) -> list[str]:
    """A key that the person gave to an action while another of the same page has it."""
    owners: dict[str, list[str]] = {}
    for action, keys in all_keys.items():
        for key in keys.split(","):
            owners.setdefault(key, []).append(action)
    return [
        f"{file}: {key} is given to {' and '.join(actions)}; the first on the page wins"
        for key, actions in owners.items()
        if key != NO_KEY and len(actions) > 1 and any(action in changed for action in actions)
    ]
