"""Which theme is in force: found by name, read when it is needed, with a word about one that cannot be used."""

import os
from collections.abc import Mapping

from textual.theme import Theme

from app.resources.themes import ThemeFile, Themes
from widgets.themes import ThemeProblem, read_tcss_theme, read_theme, textual_theme

DARK, LIGHT = "bayou-dark", "bayou-light"


def choose(wanted: str, env: Mapping[str, str] = os.environ) -> str:
    """`system` and `light/dark` pairs by what the terminal says of its background; anything else is a name."""
    if wanted == "system":
        return LIGHT if is_light(env) else DARK
    light, separator, dark = wanted.partition("/")
    if separator:
        return light if is_light(env) else dark
    return wanted


def system_theme(appearance: str | None) -> str:
    """The theme for what the terminal said of its background; what the environment says if it said nothing."""
    if appearance is None:
        return choose("system")
    return LIGHT if appearance == "light" else DARK


def is_light(env: Mapping[str, str]) -> bool:
    """`COLORFGBG` ends in the number of the background colour: 7 and 9 to 15 are light."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background.isdigit() and int(background) in (7, *range(9, 16))


def load(themes: Themes, name: str) -> tuple[Theme | None, str | None]:
    """The theme, or why it cannot be used."""
    file = themes.named(name)
    if file is None:
        return None, f"There is no theme '{name}'. Themes: {', '.join(themes.names)}."
    try:
        return _read(file), None
    except (OSError, ThemeProblem) as problem:
        return None, f"The theme '{name}' cannot be used: {problem}"


def _read(file: ThemeFile) -> Theme:
    if file.path.suffix == ".tcss":
        spec, _ = read_tcss_theme(file.path.read_text(encoding="utf-8"), file.name, str(file.path))
    else:
        spec = read_theme(file.path.read_bytes(), str(file.path))
    return textual_theme(spec)
