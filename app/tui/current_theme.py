"""The current theme: found by name or by the terminal's background, with its style rules, reloaded when its
file changes."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from rich.console import Console
from textual.app import App
from textual.css.errors import StylesheetError
from textual.css.stylesheet import StylesheetErrors, StylesheetParseError
from textual.filter import ANSIToTruecolor, LineFilter, Monochrome, NoColor
from textual.theme import Theme

from app.assembly.assembled_session import AssembledSession
from app.resources.themes import ThemeFile, Themes
from app.tui.style_cache import load_rules, save_rules
from tools.files.regular import read_regular
from tools.files.watched import Stamp
from tools.patterns import late
from widgets.colors import is_dark
from widgets.terminal.early_terminal import EarlyTerminal
from widgets.textual_internals import CachedStylesheet
from widgets.themes import ThemeError, read_tcss_theme, read_theme, textual_theme

DARK, LIGHT = "bayou-dark", "bayou-light"
PLAIN_THEME = "ansi"
"""The theme without colours: it marks important text with bold, underline or reverse."""
WATCH_SECONDS = 1.0
_RULES = ("theme", "rules")
"""The location of the current theme's rules in the app's stylesheet."""


def use_colors(app: App[int], *, is_true_color: bool) -> None:
    """Sets how many colours the terminal supports, overriding what the environment says."""
    app.console = Console(
        color_system="truecolor" if is_true_color else "256",
        file=app.console.file,
        markup=True,
        highlight=False,
        emoji=False,
        no_color=False,  # NO_COLOR is handled by Textual's line filters
        legacy_windows=False,
    )


class CurrentTheme:
    """Finds, applies, watches and reloads the theme of one application."""

    def __init__(self, app: App[int], assembled: AssembledSession) -> None:
        self._app = app
        self._assembled = assembled
        self._file: ThemeFile | None = None
        self._stamp: Stamp = None
        self._is_watching = False
        self._rules_folder = assembled.prompt.paths.cache_dir / "styles"

    @property
    def name(self) -> str:
        return self._app.theme

    @property
    def file(self) -> str:
        """The path of the theme's file; empty if there is none."""
        return str(self._file.path) if self._file is not None else ""

    def begin(self) -> str | None:
        """Applies the first theme before the stylesheet is parsed: doing it later would parse the
        sheet again, a tenth of the start. Returns an error message or None."""
        app, assembled = self._app, self._assembled
        wanted = PLAIN_THEME if app.no_color else choose(assembled.theme)
        file, theme, rules, problem = _load(assembled.themes, wanted)
        if theme is None:
            file, theme, rules, _ = _load(assembled.themes, DARK)
        if theme is not None:
            self._remember(file)
            app.register_theme(theme)
            app.set_reactive(App.theme, theme.name)
            variables = app.get_css_variables()
            app.stylesheet = CachedStylesheet(variables=variables)
            app.stylesheet.kept = load_rules(self._rules_folder, variables)
            problem = problem or self._add_rules(rules, file)
        return problem

    def keep_rules(self) -> None:
        """Saves the parsed style rules of the page for the next start. Runs in a thread."""
        sheet = self._app.stylesheet
        if isinstance(sheet, CachedStylesheet):
            used = dict(sheet.used)
            if not used.keys() <= sheet.kept.keys():
                save_rules(self._rules_folder, self._app.get_css_variables(), used)

    def names(self) -> tuple[str, ...]:
        """Lists the theme names, looking for themes that were added while bayou runs."""
        self._assembled.themes = self._assembled.themes.refreshed()
        return self._assembled.themes.names

    def use(self, name: str) -> str | None:
        """Applies the theme; returns an error message if it cannot be used, and then changes nothing."""
        if self._assembled.themes.named(choose(name)) is None:
            self.names()
        file, theme, rules, problem = _load(self._assembled.themes, choose(name))
        if theme is None or file is None:
            return problem
        if not self._may_use(file):
            return f"The theme '{name}' is new or has changed; trust it first with /trust."
        if self._app.no_color:
            return None if name == PLAIN_THEME else f"NO_COLOR is set: unset it to see the theme '{name}'."
        if theme.name == self._app.theme and file.stamp() == self._stamp:
            return None
        return self._activate(file, theme, rules)

    def _activate(self, file: ThemeFile, theme: Theme, rules: str) -> str | None:
        app = self._app
        app.register_theme(theme)
        if problem := self._add_rules(rules, file):
            return problem
        self._remember(file)
        if app.theme == theme.name:
            app.mutate_reactive(
                App.theme
            )  # tells Textual that the colours changed although the name is the same
        else:
            app.theme = theme.name
        return None

    def watch(self) -> None:
        """Starts to check the user's theme file for changes once a second; built-in themes never
        change."""
        if self._file is not None and self._file.source != "built-in" and not self._is_watching:
            self._is_watching = True
            self._app.set_timer(WATCH_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._is_watching = False
        if self._file is None:
            return
        stamp = self._file.stamp()
        if stamp is not None and stamp != self._stamp:
            self._stamp = stamp
            if not self._may_use(self._file):
                return
            theme, rules, problem = _read(self._file)
            if theme is not None:
                problem = self._activate(self._file, theme, rules)
            if problem:
                self._app.notify(problem, severity="warning", markup=False)
        self.watch()

    def _may_use(self, file: ThemeFile) -> bool:
        """Returns whether a theme may be used: one from the project could hide approval questions, so
        it needs the project's trust."""
        here = self._assembled
        is_named = file.source == "settings" and here.effective_settings.origin("themes") == "project"
        return not (is_named or file.source == "project") or here.project.counts()

    def _remember(self, file: ThemeFile | None) -> None:
        self._file = file
        self._stamp = file.stamp() if file is not None else None
        if self._app.is_running:
            self.watch()

    def _add_rules(self, rules: str, file: ThemeFile | None) -> str | None:
        """Adds a TCSS theme's rules after bayou's own; returns the error and keeps the old stylesheet
        if a rule is invalid."""
        sheet = self._app.stylesheet
        before = sheet.source.get(_RULES)
        if (before.content if before else "") == rules:
            return None
        tried = sheet.copy()
        tried.source.pop(_RULES, None)
        try:
            if rules:
                tried.add_source(rules, read_from=_RULES, tie_breaker=1_000)
                tried.parse()
        except (StylesheetError, StylesheetParseError) as problem:
            return f"{file.path if file else 'theme'}: {_words(problem)}"
        sheet.source = tried.source
        sheet.reparse()
        return None


_NO_COLOR = NoColor()


def line_filters(filters: Sequence[LineFilter], *, no_color: bool, is_ansi: bool) -> Sequence[LineFilter]:
    """Returns the line filters that keep the terminal's own palette, because true colours would undo
    reversed text.

    With `NO_COLOR` no colour is sent at all, where Textual would send greys."""
    kept = [own for own in filters if not (is_ansi and isinstance(own, ANSIToTruecolor))]
    if not no_color:
        return kept
    return [*(own for own in kept if not isinstance(own, Monochrome | NoColor)), _NO_COLOR]


def choose(wanted: str, env: Mapping[str, str] = os.environ) -> str:
    """Resolves `system` and `light/dark` pairs to a theme name by the terminal's background; other
    values are names already."""
    if wanted == "system":
        return LIGHT if is_light(env) else DARK
    light, separator, dark = wanted.partition("/")
    if separator:
        return light if is_light(env) else dark
    return wanted


def system_theme(appearance: str | None) -> str:
    """Returns the theme for the background that the terminal reported; without a report the
    environment decides."""
    if appearance is None:
        return choose("system")
    return LIGHT if appearance == "light" else DARK


def is_light(env: Mapping[str, str]) -> bool:
    """Returns whether the environment says that the background is light: `COLORFGBG` ends in its
    colour number, and 7 and 9 to 15 are light."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background.isdigit() and int(background) in (7, *range(9, 16))


def _load(themes: Themes, name: str) -> tuple[ThemeFile | None, Theme | None, str, str | None]:
    file = themes.named(name)
    if file is None:
        return None, None, "", f"Unknown theme '{name}'. Themes: {', '.join(themes.names)}."
    return file, *_read(file)


def _read(file: ThemeFile) -> tuple[Theme | None, str, str | None]:
    """Reads a theme file; returns the theme and its rules, or an error message."""
    try:
        if file.path.suffix == ".tcss":
            spec, rules = read_tcss_theme(read_regular(file.path).decode("utf-8"), file.name, str(file.path))
        else:
            spec, rules = read_theme(read_regular(file.path), str(file.path)), ""
        return textual_theme(spec), rules, None
    except (OSError, UnicodeDecodeError, ThemeError) as problem:
        return None, "", f"The theme '{file.name}' cannot be used: {problem}"


def _words(problem: Exception) -> str:
    """Returns the first error of a stylesheet in one line."""
    errors = problem.args[0] if problem.args else None
    if isinstance(errors, StylesheetErrors):
        for rule in errors.rules:
            for token, message in rule.errors:
                text = getattr(message, "summary", message)
                return f"line {token.location[0] + 1}: {text}"
    return " ".join(str(problem).split())[:200] or type(problem).__name__


Appearance = Literal["dark", "light"]
_PART = rb"([0-9a-fA-F]{1,4})"
_BACKGROUND = late(rb"\x1b\]11;rgba?:" + b"/".join((_PART,) * 3) + rb"[^\x07\x1b]*(\x07|\x1b\\)")
_ATTRIBUTES = late(rb"\x1b\[\?[\d;]*c")
"""Matches the reply to a query that every terminal answers; no other reply comes after it."""


def appearance_of(held: EarlyTerminal, patience: float = 0.1) -> Appearance | None:
    """Returns None if the terminal does not reply within `patience` seconds."""
    deadline = held.asked_at + patience
    while held.is_held and not _ATTRIBUTES.search(held.read):
        left = deadline - time.monotonic()
        if not held.wait_for(max(0.0, left)) and left <= 0:
            break
    color = background_from(held.read)
    return None if color is None else "dark" if is_dark(color) else "light"


def background_from(answer: bytes) -> str | None:
    """Returns the colour in a terminal's reply to OSC 11."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return None
    parts = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in match.groups()[:3])
    return "#" + "".join(f"{part:02x}" for part in parts)
