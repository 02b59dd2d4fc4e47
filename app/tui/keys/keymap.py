"""The key map: the default keys, the user's `keybindings.json` over them, and errors in that file."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from textual.binding import Binding, BindingType
from textual.keys import ASCII_KEY_NAMES, KEY_NAME_REPLACEMENTS

from app.resources.text_files import read_text, write_text
from app.values.json_comments import (
    JsonSyntaxError,
    parse_json_with_comments,
    with_json_value,
    without_json_key,
)
from app.values.user_errors import FileError
from tools.lazy_patterns import lazy_regex
from widgets.key_labels import UNBOUND_KEY_LABEL

_KEY_MODIFIERS = ("alt", "ctrl", "shift", "super")
"""The modifiers, in the order of Textual's key names."""


_APPROVAL_ACTION_PREFIX = "app.approval."
"""The prefix of actions that answer questions, which may not be bound to keys that type text."""
_FUNCTION_KEY_PATTERN = lazy_regex(r"(shift\+)?f\d+")


def _first_typing_key(keys: str) -> str | None:
    """Returns the first of these keys that types text: without Ctrl or Alt, and no F key."""
    for chord in keys.split(","):
        for key in chord.split():
            if (
                key != UNBOUND_KEY_LABEL
                and not {"ctrl", "alt"} & set(key.split("+"))
                and not _FUNCTION_KEY_PATTERN.fullmatch(key)
            ):
                return key
    return None


class KeyBindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Key bindings that are active together, such as those of a focused widget and its page, with a name."""

    title: str
    bindings: tuple[Binding, ...]


class UserKeyMap(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that the user has set, by action id, with the errors of the key file; other actions keep their
    defaults."""

    keys_by_action: dict[str, str] = {}
    """Keys in Textual's spelling, separated by commas; the keys of a chord are separated by
    blanks."""
    is_readable: bool = True
    """False if the file exists but could not be read."""
    problems: tuple[str, ...] = ()
    conflict_by_action: dict[str, str] = {}
    """By action id: another action at the same place that has the same key."""


def make_key_binding_group(title: str, *groups: Iterable[BindingType]) -> KeyBindingGroup:
    found = [binding for group in groups for binding in group if isinstance(binding, Binding)]
    return KeyBindingGroup(title=title, bindings=tuple(binding for binding in found if binding.id))


def read_user_key_map(file: Path, places: Sequence[KeyBindingGroup]) -> UserKeyMap:
    """Reads the key bindings file. Never raises: an unreadable file gives no keys, and `problems` has
    the error."""
    try:
        text = read_text(file)
        data = parse_json_with_comments(text) if text and text.strip() else {}
    except FileError as problem:
        return UserKeyMap(is_readable=False, problems=(str(problem),))
    except JsonSyntaxError as problem:
        return UserKeyMap(is_readable=False, problems=(f"{file}:{problem.line}: {problem.message}",))
    if not isinstance(data, dict):
        return UserKeyMap(is_readable=False, problems=(f"{file}: must be an object: {{ … }}",))
    known = {binding.id for one in places for binding in one.bindings if binding.id}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for action, value in dict[str, Any](data).items():
        chosen = _parse_keys(value)
        if action not in known:
            problems.append(f"{file}: unknown action '{action}'; /hotkeys lists all actions")
        elif chosen is None:
            problems.append(f"{file}: {action}: give a key, a list of keys, or [] for none")
        elif action.startswith(_APPROVAL_ACTION_PREFIX) and (writing := _first_typing_key(chosen)):
            problems.append(
                f"{file}: {action}: {writing} types text; use a key with ctrl or alt, or an F key"
            )
        else:
            keys[action] = chosen
    conflicts: dict[str, str] = {}
    for one in places:
        for key, first, second in _find_conflicts(one, keys):
            problems.append(f"{file}: {key} is assigned to both {first} and {second} ({one.title})")
            conflicts |= {first: f"{key} is also {second}", second: f"{key} is also {first}"}
    return UserKeyMap(
        keys_by_action=keys, problems=tuple(dict.fromkeys(problems)), conflict_by_action=conflicts
    )


def keys_of(binding: Binding, own: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the current keys of a binding: the user's, else the default ones; none if it is unbound."""
    keys = own.get(binding.id or "", binding.key)
    return tuple(key.strip() for key in keys.split(",") if key.strip() != UNBOUND_KEY_LABEL)


def save_key_binding(file: Path, action: str, key: str | None) -> None:
    """Writes into the user's key file that an action has only this key; None removes the entry, which restores the
    default keys. Raises `FileError` or `JsonSyntaxError`."""
    text = read_text(file) or "{}\n"
    write_text(
        file, without_json_key(text, (action,)) if key is None else with_json_value(text, (action,), key)
    )


def _parse_keys(value: Any) -> str | None:
    """Converts a value of the key file to keys: a text such as `ctrl+k`, a list of keys, or an empty list for no key;
    None if it is invalid."""
    if isinstance(value, str) and value.strip():
        return textual_key_spelling(value)
    if isinstance(value, list) and all(isinstance(key, str) and key.strip() for key in value):
        return ",".join(textual_key_spelling(key) for key in value) or UNBOUND_KEY_LABEL
    return None


def textual_key_spelling(keys: str) -> str:
    """Converts a user's spelling of a key to Textual's, from pi's `pageUp`, `shift+ctrl+p`, `shift+l` and `ctrl+]`, and
    chords such as `ctrl+x t`."""
    return " ".join(_convert_key(key) for key in keys.split())


def textual_key_of_character(character: str) -> str:
    """Returns Textual's name of the key that types a character."""
    named = character
    if not character.isalnum():
        known = ASCII_KEY_NAMES.get(character, character)
        named = unicodedata.name(character, known).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(named, named)


def _convert_key(key: str) -> str:
    head, plus, last = key.rpartition("+")
    if not last and plus:  # the key is the plus sign itself
        head, last = head.rstrip("+"), "+"
    modifiers = [name for name in _KEY_MODIFIERS if name in head.lower().split("+")]
    if len(last) == 1 and (not modifiers or modifiers == ["shift"]):
        return textual_key_of_character(last.upper() if modifiers else last)
    last = textual_key_of_character(last.lower()) if len(last) == 1 else last.lower()
    return "+".join([*modifiers, last])


def _find_conflicts(one: KeyBindingGroup, own: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Returns conflicts with the user's keys: the key and two actions of a group that both have it, or of which one has
    a chord that begins with it."""
    found: list[tuple[str, str, str]] = []
    owners: dict[str, list[str]] = {}
    for binding in one.bindings:
        for key in keys_of(binding, own):
            owners.setdefault(key.split()[0], []).append(f"{binding.id}\0{key}")
    for begin, wanted in owners.items():
        pairs = [name.split("\0") for name in wanted]
        for at, (action, key) in enumerate(pairs):
            for other, its_key in pairs[at + 1 :]:
                is_same = key == its_key or (begin in (key, its_key) and key != its_key)
                if action != other and is_same and (action in own or other in own):
                    found.append((begin, action, other))
    return found
