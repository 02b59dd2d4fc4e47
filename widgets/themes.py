"""Loads theme files and turns them into Textual themes.

A theme file is JSON: `name`, `appearance` (`dark` or `light`), `vars` (named colours), `colors` (token to colour or
name), and `ansi` for themes that use the terminal's palette. Or it is TCSS: lines `$token: colour;` and additional
style rules. Tokens shared with pi have the same meaning, so pi's theme files load. Every token is also a style variable
in kebab case: `thinkingHigh` is `$thinking-high`. Theme files are found by `app.resources`."""

import re
from typing import Any, Literal

import msgspec
from textual.theme import Theme

from tools.lazy_patterns import lazy_regex
from widgets.colors import (
    ColorParseError,
    is_dark_color,
    mix_colors,
    mix_text_color_for_contrast,
    parse_color,
)

ThemeColorValue = str | int

_THEME_TOKEN_FALLBACKS = {
    "text": "",
    "primary": "accent",
    "secondary": "accent",
    "border": "muted",
    "borderAccent": "accent",
    "borderMuted": "border",
    "thinkingText": "muted",
    "scrollbarThumb": "border",
    "searchMatchText": "text",
    "userMessageBg": "surface",
    "userMessageText": "text",
    "customMessageBg": "surface",
    "customMessageText": "text",
    "customMessageLabel": "secondary",
    "toolPendingBg": "surface",
    "toolSuccessBg": "surface",
    "toolErrorBg": "surface",
    "toolTitle": "text",
    "toolOutput": "muted",
    "mdHeading": "primary",
    "mdLink": "accent",
    "mdLinkUrl": "muted",
    "mdCode": "warning",
    "mdCodeBlock": "text",
    "mdCodeBlockBorder": "borderMuted",
    "mdQuote": "muted",
    "mdQuoteBorder": "border",
    "mdHr": "borderMuted",
    "mdListBullet": "muted",
    "toolDiffAdded": "success",
    "toolDiffRemoved": "error",
    "toolDiffContext": "muted",
    "syntaxComment": "muted",
    "syntaxKeyword": "secondary",
    "syntaxFunction": "primary",
    "syntaxVariable": "text",
    "syntaxString": "success",
    "syntaxNumber": "warning",
    "syntaxType": "warning",
    "syntaxOperator": "text",
    "syntaxPunctuation": "text",
    "thinkingOff": "border",
    "thinkingMinimal": "muted",
    "thinkingLow": "primary",
    "thinkingMedium": "accent",
    "thinkingHigh": "secondary",
    "thinkingXhigh": "warning",
    "thinkingMax": "thinkingXhigh",
    "bashMode": "warning",
    "caretBg": "text",
    "caretText": "background",
}
_REQUIRED_THEME_TOKENS = ("accent", "success", "error", "warning")
THEME_BACKGROUND_CONTRASTS = {"surface": 1.2, "panel": 1.33, "selectedBg": 1.65}
"""The contrast of each background colour with the page."""
THEME_TEXT_CONTRASTS = {"text": 13.0, "muted": 7.0, "dim": 4.6}
"""The approximate contrast of each text colour on the page."""
_DERIVED_THEME_TOKENS = (
    *("muted", "dim", "background", "surface"),
    *("panel", "selectedBg", "scrollbarTrack", "searchMatchBg"),
)
THEME_TOKENS = (*_REQUIRED_THEME_TOKENS, *_DERIVED_THEME_TOKENS, *_THEME_TOKEN_FALLBACKS)
"""All tokens that a theme may set. pi has no background, surface, panel, primary, secondary, caretBg, caretText."""


class ThemeError(ValueError):
    """The error for a theme file that cannot be used; the message names the file and the problem."""


class ThemeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a theme file: name, appearance, and colours by token."""

    name: str
    appearance: Literal["dark", "light"] | None = None
    ansi: bool = False
    vars: dict[str, ThemeColorValue] = {}
    colors: dict[str, ThemeColorValue] = {}
    export: dict[str, ThemeColorValue] = {}
    """Colours of exported pages; not used on the screen."""
    schema: str = msgspec.field(default="", name="$schema")


def parse_theme(raw: bytes, source: str) -> ThemeSpec:
    """Parses a JSON theme file and checks it. Raises `ThemeError` if it cannot be used."""
    try:
        spec = msgspec.json.decode(raw, type=ThemeSpec)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ThemeError(f"{source}: {error}") from error
    if not spec.name or "/" in spec.name or spec.name == "system":
        raise ThemeError(f"{source}: `name` must not be empty, contain a slash or be `system`")
    return _check_theme(spec, source)


_TCSS_VARIABLE_PATTERN = lazy_regex(
    r"^\s*\$([A-Za-z][\w-]*)\s*:\s*([^;]*);[ \t]*(?:/\*.*?\*/)?[ \t]*\n?", re.MULTILINE
)


def parse_tcss_theme_file(text: str, name: str, source: str) -> tuple[ThemeSpec, str]:
    """Parses a TCSS theme file; returns the tokens as a theme, and the additional style rules as text. Raises
    `ThemeError`."""
    colors: dict[str, ThemeColorValue] = {}
    names: dict[str, ThemeColorValue] = {}
    appearance: Any = None
    for match in _TCSS_VARIABLE_PATTERN.finditer(text):
        token, value = _camel_case(match[1]), match[2].strip()
        if token == "appearance":
            appearance = value
            continue
        if value.startswith("$"):
            value = _camel_case(value[1:])
        (colors if token in THEME_TOKENS else names)[token] = int(value) if value.isdigit() else value
    if appearance not in (None, "dark", "light"):
        raise ThemeError(f"{source}: $appearance must be dark or light, not {appearance}")
    spec = ThemeSpec(name=name, appearance=appearance, colors=colors, vars={**colors, **names})
    return _check_theme(spec, source), _TCSS_VARIABLE_PATTERN.sub("", text).strip()


def theme_token_colors(spec: ThemeSpec) -> dict[str, str]:
    """Returns the colour of every theme token: as the theme sets it, else mixed from background and text, else that of
    another token."""
    found: dict[str, str] = {}
    for token, value in spec.colors.items():
        found[token] = _resolve_color(spec, value)
    is_light = spec.appearance == "light"
    if not found.get("background"):
        found["background"] = "#fbfbf9" if is_light else "#14171a"
    if not found.get("text"):
        found["text"] = "#1c2024" if is_light else "#dfe3e6"
    page, text = found["background"], found["text"]
    for token, ratio in (THEME_BACKGROUND_CONTRASTS | THEME_TEXT_CONTRASTS).items():
        if not found.get(token):
            found[token] = mix_text_color_for_contrast(page, text, ratio)
    if not found.get("scrollbarTrack"):
        found["scrollbarTrack"] = page
    for token in THEME_TOKENS:
        if token == "searchMatchBg" and not found.get(token):
            found[token] = mix_colors(page, found["warning"], 0.28)
        value, at = found.get(token), token
        while not value:
            at = _THEME_TOKEN_FALLBACKS[at]
            value = found.get(at)
        found[token] = value
    return found


def to_textual_theme(spec: ThemeSpec) -> Theme:
    """Converts a theme file's content to a Textual theme."""
    if spec.ansi:
        return _ansi_theme(spec)
    colors = theme_token_colors(spec)
    dark = is_dark_color(colors["background"]) if spec.appearance is None else spec.appearance == "dark"
    return Theme(
        name=spec.name,
        primary=colors["primary"],
        secondary=colors["secondary"],
        accent=colors["accent"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        foreground=colors["text"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        boost=colors["userMessageBg"],
        dark=dark,
        variables={**_kebab_case(colors), **_textual_variables(colors)},
    )


def default_style_variables() -> dict[str, str]:
    """Returns the style variables of a plain theme, for the application's `get_theme_variable_defaults`.

    They apply until one of bayou's themes is chosen, and with themes of other origin."""
    plain = ThemeSpec(
        name="plain",
        colors={"accent": "#7fc8a9", "success": "#8ccf7e", "error": "#ef8a83", "warning": "#e0b265"},
    )
    return _kebab_case(theme_token_colors(plain))


def _textual_variables(colors: dict[str, str]) -> dict[str, str]:
    """Returns the values of Textual's own style variables, so that its widgets and the selection follow the theme."""
    selection = mix_colors(colors["background"], colors["accent"], 0.35)
    names = {f"text-{token}": colors[token] for token in ("primary", "secondary", "accent")}
    names |= {f"text-{token}": colors[token] for token in ("success", "warning", "error")}
    return names | {
        "text": colors["text"],
        "text-muted": colors["muted"],
        "text-disabled": colors["dim"],
        "foreground-muted": colors["muted"],
        "border": colors["borderAccent"],
        "border-blurred": colors["borderMuted"],
        "block-cursor-background": colors["selectedBg"],
        "block-cursor-foreground": colors["text"],
        "block-cursor-text-style": "none",
        "scrollbar": colors["scrollbarThumb"],
        "scrollbar-hover": colors["muted"],
        "scrollbar-active": colors["accent"],
        "scrollbar-background": colors["scrollbarTrack"],
        "scrollbar-background-hover": colors["scrollbarTrack"],
        "scrollbar-background-active": colors["scrollbarTrack"],
        "scrollbar-corner-color": colors["scrollbarTrack"],
        "link-color": colors["mdLink"],
        "footer-background": colors["background"],
        "footer-foreground": colors["muted"],
        "footer-key-foreground": colors["accent"],
        "screen-selection-background": selection,
        "screen-selection-foreground": colors["text"],
        "input-selection-background": selection,
    }


def _ansi_theme(spec: ThemeSpec) -> Theme:
    """Builds a Textual theme from colour names of the terminal's palette. Backgrounds are the terminal's; no colours
    are mixed."""
    colors = {token: str(value) for token, value in spec.colors.items()}
    for token in THEME_TOKENS:
        at = token
        while at not in colors and at in _THEME_TOKEN_FALLBACKS:
            at = _THEME_TOKEN_FALLBACKS[at]
        colors[token] = colors.get(at, "") or "ansi_default"
    return Theme(
        name=spec.name,
        primary=colors["primary"],
        secondary=colors["secondary"],
        accent=colors["accent"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        background="ansi_default",
        foreground="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        dark=spec.appearance != "light",
        ansi=True,
        variables={
            **_kebab_case(colors),
            "text-muted": colors["muted"],
            "text-disabled": colors["dim"],
            "ansi-background": "ansi_default",
        },
    )


def _check_theme(spec: ThemeSpec, source: str) -> ThemeSpec:
    unknown = sorted(set(spec.colors) - set(THEME_TOKENS))
    if unknown:
        raise ThemeError(f"{source}: there is no token {', '.join(unknown)}")
    missing = [token for token in _REQUIRED_THEME_TOKENS if token not in spec.colors]
    if missing:
        raise ThemeError(f"{source}: a theme needs {', '.join(missing)}")
    for token, value in spec.colors.items():
        try:
            _resolve_color(spec, value)
        except ColorParseError as error:
            raise ThemeError(f"{source}: {token}: {error}") from error
    return spec


def _resolve_color(spec: ThemeSpec, value: ThemeColorValue) -> str:
    for _ in range(20):
        if not isinstance(value, str) or value not in spec.vars:
            return parse_color(value)
        value = spec.vars[value]
    raise ColorParseError(f"the colour {value!r} refers to itself")


def _kebab_case(colors: dict[str, str]) -> dict[str, str]:
    names = {re.sub("(?<!^)(?=[A-Z])", "-", token).lower(): value for token, value in colors.items()}
    for taken in (
        "primary",
        "secondary",
        "accent",
        "success",
        "warning",
        "error",
        "background",
        "surface",
        "panel",
    ):
        names.pop(taken, None)
    names.pop("text", None)
    names.pop("border", None)
    return names | {"rule": colors["border"]}


def _camel_case(name: str) -> str:
    head, *rest = name.split("-")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
