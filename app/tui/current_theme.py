"""The current theme: found by name or by the terminal's background, with its style rules, and loaded again when its
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
from app.tui.style_cache import load_cached_style_rules, save_style_rules_cache
from tools.files.regular_files import read_regular_file
from tools.files.watched_files import FileChangeStamp
from tools.lazy_patterns import lazy_regex
from widgets.colors import is_dark_color
from widgets.terminal.early_terminal import EarlyTerminal
from widgets.textual_internals import CachedStylesheet
from widgets.themes import ThemeError, parse_tcss_theme_file, parse_theme, to_textual_theme

DARK, LIGHT = "bayou-dark", "bayou-light"
TERMINAL_PALETTE_THEME = "ansi"
"""The theme without colours: it marks important text with bold, underline or reverse."""
THEME_FILE_CHECK_SECONDS = 1.0
_THEME_STYLE_RULES_SOURCE = ("theme", "rules")
"""The location of the current theme's rules in the app's stylesheet."""


def set_color_depth(app: App[int], *, is_true_color: bool) -> None:
    """Sets whether the application sends true colours or only 256, whatever the environment says."""
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
        self._file_stamp: FileChangeStamp = None
        self._is_watching = False
        self._rules_folder = assembled.prompt.paths.cache_dir / "styles"

    @property
    def name(self) -> str:
        return self._app.theme

    @property
    def file(self) -> str:
        """The path of the theme's file; empty if there is none."""
        return str(self._file.path) if self._file is not None else ""

    def apply_initial_theme(self) -> str | None:
        """Applies the first theme before the stylesheet is parsed: doing it later would parse the
        sheet again, a tenth of the start. Returns an error message or None."""
        app, assembled = self._app, self._assembled
        wanted = TERMINAL_PALETTE_THEME if app.no_color else resolve_theme_name(assembled.theme_name)
        file, theme, rules, problem = load_theme(assembled.themes, wanted)
        if theme is None:
            file, theme, rules, _ = load_theme(assembled.themes, DARK)
        if theme is not None:
            self._remember_file(file)
            app.register_theme(theme)
            app.set_reactive(App.theme, theme.name)
            variables = app.get_css_variables()
            app.stylesheet = CachedStylesheet(variables=variables)
            app.stylesheet.kept = load_cached_style_rules(self._rules_folder, variables)
            problem = problem or self._add_rules(rules, file)
        return problem

    def save_parsed_style_rules(self) -> None:
        """Saves the parsed style rules of the page for the next start. Runs in a thread."""
        sheet = self._app.stylesheet
        if isinstance(sheet, CachedStylesheet):
            used = dict(sheet.used)
            if not used.keys() <= sheet.kept.keys():
                save_style_rules_cache(self._rules_folder, self._app.get_css_variables(), used)

    def theme_names(self) -> tuple[str, ...]:
        """Returns the names of all themes, also of those added while bayou runs."""
        self._assembled.themes = self._assembled.themes.find_themes_again()
        return self._assembled.themes.names

    def apply_theme(self, name: str) -> str | None:
        """Applies the theme with this name; returns an error message, and changes nothing, if it cannot be used."""
        if self._assembled.themes.find_theme(resolve_theme_name(name)) is None:
            self.theme_names()
        file, theme, rules, problem = load_theme(self._assembled.themes, resolve_theme_name(name))
        if theme is None or file is None:
            return problem
        if not self._is_theme_allowed(file):
            return f"The theme '{name}' is new or has changed; trust it first with /trust."
        if self._app.no_color:
            return (
                None
                if name == TERMINAL_PALETTE_THEME
                else f"NO_COLOR is set: unset it to see the theme '{name}'."
            )
        if theme.name == self._app.theme and file.stamp() == self._file_stamp:
            return None
        return self._activate_theme(file, theme, rules)

    def _activate_theme(self, file: ThemeFile, theme: Theme, rules: str) -> str | None:
        app = self._app
        app.register_theme(theme)
        if problem := self._add_rules(rules, file):
            return problem
        self._remember_file(file)
        if app.theme == theme.name:
            app.mutate_reactive(
                App.theme
            )  # tells Textual that the colours changed although the name is the same
        else:
            app.theme = theme.name
        return None

    def watch_theme_file(self) -> None:
        """Starts to check the user's theme file for changes once a second; built-in themes never
        change."""
        if self._file is not None and self._file.source != "built-in" and not self._is_watching:
            self._is_watching = True
            self._app.set_timer(THEME_FILE_CHECK_SECONDS, self._reload_if_changed)

    def _reload_if_changed(self) -> None:
        self._is_watching = False
        if self._file is None:
            return
        stamp = self._file.stamp()
        if stamp is not None and stamp != self._file_stamp:
            self._file_stamp = stamp
            if not self._is_theme_allowed(self._file):
                return
            theme, rules, problem = _read_theme_file(self._file)
            if theme is not None:
                problem = self._activate_theme(self._file, theme, rules)
            if problem:
                self._app.notify(problem, severity="warning", markup=False)
        self.watch_theme_file()

    def _is_theme_allowed(self, file: ThemeFile) -> bool:
        """Returns whether a theme may be used: one from the project could hide approval questions, so
        it needs the project's trust."""
        here = self._assembled
        is_named = file.source == "settings" and here.effective_settings.origin("themes") == "project"
        return not (is_named or file.source == "project") or here.project_trust.is_trusted()

    def _remember_file(self, file: ThemeFile | None) -> None:
        self._file = file
        self._file_stamp = file.stamp() if file is not None else None
        if self._app.is_running:
            self.watch_theme_file()

    def _add_rules(self, rules: str, file: ThemeFile | None) -> str | None:
        """Adds a TCSS theme's rules after bayou's own; returns the error and keeps the old stylesheet
        if a rule is invalid."""
        sheet = self._app.stylesheet
        before = sheet.source.get(_THEME_STYLE_RULES_SOURCE)
        if (before.content if before else "") == rules:
            return None
        tried = sheet.copy()
        tried.source.pop(_THEME_STYLE_RULES_SOURCE, None)
        try:
            if rules:
                tried.add_source(rules, read_from=_THEME_STYLE_RULES_SOURCE, tie_breaker=1_000)
                tried.parse()
        except (StylesheetError, StylesheetParseError) as problem:
            return f"{file.path if file else 'theme'}: {_first_error_line(problem)}"
        sheet.source = tried.source
        sheet.reparse()
        return None


_NO_COLOR_FILTER = NoColor()


def select_line_filters(
    filters: Sequence[LineFilter], *, no_color: bool, is_ansi: bool
) -> Sequence[LineFilter]:
    """Returns Textual's line filters without those that would replace colours of the terminal's own palette, because
    true colours would undo reversed text. With `NO_COLOR` no colour is sent at all, where Textual would send greys."""
    kept = [own for own in filters if not (is_ansi and isinstance(own, ANSIToTruecolor))]
    if not no_color:
        return kept
    return [*(own for own in kept if not isinstance(own, Monochrome | NoColor)), _NO_COLOR_FILTER]


def resolve_theme_name(wanted: str, env: Mapping[str, str] = os.environ) -> str:
    """Resolves `system` and `light/dark` pairs to a theme name by the terminal's background; other
    values are names already."""
    if wanted == "system":
        return LIGHT if has_light_background(env) else DARK
    light, separator, dark = wanted.partition("/")
    if separator:
        return light if has_light_background(env) else dark
    return wanted


def theme_for_terminal_background(appearance: str | None) -> str:
    """Returns bayou's dark or light theme for the background that the terminal reported; without a report the
    environment decides."""
    if appearance is None:
        return resolve_theme_name("system")
    return LIGHT if appearance == "light" else DARK


def has_light_background(env: Mapping[str, str]) -> bool:
    """Returns whether the environment variable `COLORFGBG` says that the terminal's background is light: it ends in the
    background's colour number, and 7 and 9 to 15 are light."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background.isdigit() and int(background) in (7, *range(9, 16))


def load_theme(themes: Themes, name: str) -> tuple[ThemeFile | None, Theme | None, str, str | None]:
    """Loads a theme by its name: returns its file, the Textual theme and its style rules, and an error message in place
    of them if it is unknown or broken."""
    file = themes.find_theme(name)
    if file is None:
        return None, None, "", f"Unknown theme '{name}'. Themes: {', '.join(themes.names)}."
    return file, *_read_theme_file(file)


def _read_theme_file(file: ThemeFile) -> tuple[Theme | None, str, str | None]:
    """Reads a theme file: returns the Textual theme and its style rules, or an error message in place of them."""
    try:
        if file.path.suffix == ".tcss":
            spec, rules = parse_tcss_theme_file(
                read_regular_file(file.path).decode("utf-8"), file.name, str(file.path)
            )
        else:
            spec, rules = parse_theme(read_regular_file(file.path), str(file.path)), ""
        return to_textual_theme(spec), rules, None
    except (OSError, UnicodeDecodeError, ThemeError) as problem:
        return None, "", f"The theme '{file.name}' cannot be used: {problem}"


def _first_error_line(problem: Exception) -> str:
    """Returns the first error of a stylesheet as one line, with its line number if it is known."""
    errors = problem.args[0] if problem.args else None
    if isinstance(errors, StylesheetErrors):
        for rule in errors.rules:
            for token, message in rule.errors:
                text = getattr(message, "summary", message)
                return f"line {token.location[0] + 1}: {text}"
    return " ".join(str(problem).split())[:200] or type(problem).__name__


Appearance = Literal["dark", "light"]
_COLOR_COMPONENT_PATTERN = rb"([0-9a-fA-F]{1,4})"
_TERMINAL_BACKGROUND_REPLY_PATTERN = lazy_regex(
    rb"\x1b\]11;rgba?:" + b"/".join((_COLOR_COMPONENT_PATTERN,) * 3) + rb"[^\x07\x1b]*(\x07|\x1b\\)"
)
_DEVICE_ATTRIBUTES_REPLY_PATTERN = lazy_regex(rb"\x1b\[\?[\d;]*c")
"""Matches the reply to a query that every terminal answers; no other reply comes after it."""


def query_terminal_appearance(held: EarlyTerminal, patience: float = 0.1) -> Appearance | None:
    """Waits for the terminal's reply about its background colour and returns dark or light; None if none comes within
    `patience` seconds."""
    deadline = held.background_asked_at + patience
    while held.is_holding_terminal and not _DEVICE_ATTRIBUTES_REPLY_PATTERN.search(held.received_input):
        left = deadline - time.monotonic()
        if not held.wait_for_input(max(0.0, left)) and left <= 0:
            break
    color = parse_background_reply(held.received_input)
    return None if color is None else "dark" if is_dark_color(color) else "light"


def parse_background_reply(answer: bytes) -> str | None:
    """Returns the background colour in a terminal's reply to OSC 11 as `#rrggbb`; None if there is no such reply."""
    match = _TERMINAL_BACKGROUND_REPLY_PATTERN.search(answer)
    if match is None:
        return None
    parts = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in match.groups()[:3])
    return "#" + "".join(f"{part:02x}" for part in parts)
