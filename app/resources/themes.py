"""Finds themes: the shipped ones in `styles/themes`, the user's, the trusted project's and those of the
settings.

A theme is a JSON or TCSS file, named after the file. The user interface reads its content."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from app.resources.paths import BayouPaths, shipped_styles_dir
from app.resources.text_files import symlink_escape
from tools.files.path_existence import exists, is_file
from tools.files.watched_files import FileChangeStamp, compute_file_change_stamp

ThemeSource = Literal["built-in", "user", "project", "settings"]
THEME_FILE_SUFFIXES = (".json", ".tcss")


class ThemeFile(msgspec.Struct, frozen=True, kw_only=True):
    """A theme's file, and where it comes from."""

    name: str
    path: Path
    source: ThemeSource

    def stamp(self) -> FileChangeStamp:
        """Returns a value that changes with the file, for hot reload."""
        return compute_file_change_stamp(self.path)


class Themes(msgspec.Struct, frozen=True, kw_only=True):
    """The themes that were found, and the faults of unreadable folders."""

    files: tuple[ThemeFile, ...] = ()
    problems: tuple[str, ...] = ()
    places: tuple[tuple[Path, ThemeSource], ...] = ()
    """The folders in which themes were searched."""
    top: Path | None = None
    """The project's top folder; theme files in it whose links lead out of it are not read."""

    def find_themes_again(self) -> "Themes":
        return _find_in_places(self.places, self.top)

    def find_theme(self, name: str) -> ThemeFile | None:
        return next((theme for theme in self.files if theme.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(theme.name for theme in self.files)


def find_themes(
    paths: BayouPaths, *, is_trusted: bool, more: Iterable[Path] = (), has_own: bool = True
) -> Themes:
    """Finds the themes; of several with one name, the last is used, so that a user's theme can replace a
    shipped one. `has_own` includes the user's themes."""
    places: list[tuple[Path, ThemeSource]] = [(shipped_styles_dir() / "themes", "built-in")]
    if has_own:
        places.append((paths.themes_dir, "user"))
    if is_trusted:
        places.append((paths.project_dir / "themes", "project"))
    for place in more:
        places.append((place, "settings"))
    return _find_in_places(tuple(places), paths.top)


def _find_in_places(places: tuple[tuple[Path, ThemeSource], ...], top: Path | None) -> Themes:
    found: dict[str, ThemeFile] = {}
    problems: list[str] = []
    for place, source in places:
        if source == "settings" and not exists(place):
            problems.append(f"{place}: no such theme file or folder")
        for path in _theme_files(place):
            if (
                top is not None
                and source in ("project", "settings")
                and (problem := symlink_escape(path, top))
            ):
                problems.append(problem)
                continue
            if path.stem == "system":
                problems.append(
                    f"{path}: `system` is reserved for the automatic theme; give the theme another name"
                )
                continue
            found[path.stem] = ThemeFile(name=path.stem, path=path, source=source)
    files = tuple(sorted(found.values(), key=lambda theme: theme.name))
    return Themes(files=files, problems=tuple(problems), places=places, top=top)


def _theme_files(place: Path) -> list[Path]:
    if is_file(place):
        return [place] if place.suffix in THEME_FILE_SUFFIXES else []
    try:
        return sorted(
            path for path in place.iterdir() if path.suffix in THEME_FILE_SUFFIXES and is_file(path)
        )
    except OSError:
        return []
