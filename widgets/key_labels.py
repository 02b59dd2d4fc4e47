"""Labels of keys for texts of the interface: the key that an action has now, written for a person. A text names the
default key and gets the user's one here."""

from collections.abc import Iterable, Mapping

from tools.lazy_patterns import lazy_regex

UNBOUND_KEY_LABEL = "unbound"
"""A key name that no keyboard sends. Textual cannot unbind a key, only rebind it."""
_SHORT_KEY_NAMES = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "underscore": "_",
    "minus": "-",
    "slash": "/",
    "question_mark": "?",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "comma": ",",
    "colon": ":",
    "delete": "del",
}


def format_key_name(key: str) -> str:
    """Formats a key for display: `ctrl+right_square_bracket` becomes `ctrl+]`, `L` becomes `shift+l`."""
    if " " in key:
        return " ".join(map(format_key_name, key.split()))
    parts = key.split("+")
    parts[-1] = _SHORT_KEY_NAMES.get(parts[-1], parts[-1])
    if len(parts) == 1 and len(parts[0]) == 1 and parts[0].isupper():
        return f"shift+{parts[0].lower()}"
    return "+".join(parts)


def key_label(own: Mapping[str, str], action: str, usual: str) -> str:
    """Returns the label of an action's key: that of the default key `usual` unless the user rebound it; empty if the
    user unbound it."""
    if action not in own:
        return normalize_key_name_in_text(usual)
    key = own[action].split(",")[0].strip()
    return "" if key == UNBOUND_KEY_LABEL else format_key_name(key)


def normalize_key_name_in_text(usual: str) -> str:
    """Normalises a key named in a sentence: `Ctrl+R` becomes `ctrl+r`, `Escape` becomes `esc`."""
    return format_key_name(usual.lower()) if len(usual) > 1 else usual


_KEY_OR_COMMAND_PATTERN = lazy_regex(
    r"(?<![\w/+])(?:(?:(?:ctrl|alt|shift|super)\+)+(?:[a-z]+\d*|[^\s\w])|esc|f\d{1,2}|(?:enter|tab)(?= \w))(?![\w+])"
    r"|(?<![\w/.~])/[a-z][a-z-]+(?![\w/.])"
)


def find_key_and_command_spans(text: str) -> list[tuple[int, int]]:
    """Returns the ranges of the keys and slash commands that a sentence of the interface names."""
    return [found.span() for found in _KEY_OR_COMMAND_PATTERN.finditer(text)]


def split_key_hints(hints: str) -> list[tuple[str, bool]]:
    """Splits key hints such as `enter edit · del remove` into pieces, and says of each whether it is a key or other
    text."""
    parts: list[tuple[str, bool]] = []
    for number, hint in enumerate(hints.split(" · ") if hints else ()):
        key, _, words = hint.partition(" ")
        parts += [(" · " if number else "", False), (key, True), (f" {words}", False)]
    return parts


def fitting_key_hints(hints: str, width: int) -> str:
    """Returns as many of the key hints as fit the width: the last ones are dropped first, except one for Escape, which
    closes."""
    left = hints.split(" · ")
    while len(left) > 1 and len(" · ".join(left)) > width:
        left.pop(-2 if left[-1].startswith("esc ") else -1)
    return " · ".join(left)


def format_key_hints(told: Iterable[tuple[str, str]]) -> str:
    """Formats pairs of key and action as key hints: `enter edit · del remove`. Pairs without a key are left out."""
    return " · ".join(f"{key} {words}" for key, words in told if key)
