"""Finds extensions: bayou's own, the user's, the trusted project's, those of settings, flags and packages.

Finding runs no extension code. It gives a list of `ExtensionSource`s that `Extensions.load` takes.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.extensions.extension_registrations import Extension, ExtensionSource
from app.resources.paths import BayouPaths
from tools.files.path_existence import is_dir, is_file

ExtensionOrigin = Literal["builtin", "user", "project", "flag", "settings", "package", "entry-point"]
ENTRY_POINT_GROUP = "bayou.extensions"
"""The entry-point group of installed Python distributions."""
HOOKS_EXTENSION_NAME = "builtin:hooks"
"""Settings cannot switch it off, since a project's would lift the user's guards; `disableAllHooks` can."""
MODULE_BY_BUILTIN_EXTENSION = {
    "builtin:file-maps": "app.extensions.builtin.file_maps",
    HOOKS_EXTENSION_NAME: "app.extensions.command_hooks.extension",
    "builtin:nested-context": "app.extensions.builtin.nested_context",
    "builtin:read-recovery": "app.extensions.builtin.read_recovery",
    "builtin:rules": "app.extensions.builtin.rules",
}
PACKAGE_MANIFEST_NAME = "bayou.json"


class ExtensionSelectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of command line, settings and trust about extensions."""

    is_safe: bool = False
    """`--safe`: load no extensions."""
    only_named: bool = False
    """`--no-extensions`: load only those named with `-e`."""
    named: tuple[str, ...] = ()
    """`-e`: paths, or `builtin:NAME`."""
    settings: tuple[str, ...] = ()
    """The setting `extensions`: more paths; `-NAME` switches one off."""
    packages: tuple[Path, ...] = ()
    """Files and folders of installed packages."""
    sites: tuple[Path, ...] = ()
    """Folders with installed packages that are Python distributions."""
    is_trusted: bool = False


class FoundExtensions(msgspec.Struct, frozen=True, kw_only=True):
    """The extensions found, and the problems of others."""

    sources: tuple[ExtensionSource, ...] = ()
    problems: tuple[str, ...] = ()


def find_extensions(paths: BayouPaths, choice: ExtensionSelectionOptions) -> FoundExtensions:
    """Finds the extensions in the order in which they are loaded. An extension found twice counts once."""
    if choice.is_safe:
        return FoundExtensions()
    problems: list[str] = []
    sources = (
        _named_sources(paths, choice.named, problems)
        if choice.only_named
        else _all_sources(paths, choice, problems)
    )
    off = {word[1:] for word in choice.settings if word.startswith("-")} - {HOOKS_EXTENSION_NAME}
    seen: set[str] = set()
    kept: list[ExtensionSource] = []
    for source in sources:
        key = (
            str(Path(source.path).resolve())
            if source.origin not in ("builtin", "entry-point")
            else source.name
        )
        if source.name in off or key in seen:
            continue
        seen.add(key)
        kept.append(source)
    return FoundExtensions(sources=tuple(kept), problems=tuple(problems))


def _all_sources(
    paths: BayouPaths, choice: ExtensionSelectionOptions, problems: list[str]
) -> list[ExtensionSource]:
    sources = [builtin_extension_source(name) for name in MODULE_BY_BUILTIN_EXTENSION]
    sources += extensions_in_folder(paths.agent_dir / "extensions", "user")
    if choice.is_trusted:
        sources += extensions_in_folder(paths.project_dir / "extensions", "project")
    for word in choice.settings:
        if not word.startswith("-"):
            sources += _sources_from_argument(paths, word.removeprefix("+"), "settings", problems)
    for path in choice.packages:
        sources += _sources_at(path, "package") or extensions_in_folder(path, "package")
    sources += entry_point_extension_sources(problems, choice.sites)
    return sources + _named_sources(paths, choice.named, problems)


def _named_sources(paths: BayouPaths, words: Iterable[str], problems: list[str]) -> list[ExtensionSource]:
    return [source for word in words for source in _sources_from_argument(paths, word, "flag", problems)]


def _sources_from_argument(
    paths: BayouPaths, word: str, origin: ExtensionOrigin, problems: list[str]
) -> list[ExtensionSource]:
    if word in MODULE_BY_BUILTIN_EXTENSION:
        return [builtin_extension_source(word)]
    if word.startswith("builtin:"):
        problems.append(f"There is no {word}. There are: {', '.join(MODULE_BY_BUILTIN_EXTENSION)}.")
        return []
    path = paths.home / word[2:] if word.startswith("~/") else paths.cwd / word
    found = _sources_at(path, origin) or extensions_in_folder(path, origin)
    if not found:
        problems.append(f"{path}: there is no extension; a .py file or a folder with __init__.py is needed")
    return found


def extensions_in_folder(folder: Path, origin: ExtensionOrigin) -> list[ExtensionSource]:
    """Finds the extensions in a folder, one level deep: `*.py`, folders with `__init__.py`, folders with a
    manifest."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        source
        for path in entries
        if not path.name.startswith((".", "_"))
        for source in _sources_at(path, origin)
    ]


def _sources_at(path: Path, origin: ExtensionOrigin) -> list[ExtensionSource]:
    """Finds the extension or extensions at a path; returns none for any other file or folder."""
    if is_file(path):
        return [_file_source(path, path.stem, origin)] if path.suffix == ".py" else []
    manifest = path / PACKAGE_MANIFEST_NAME
    if is_file(manifest):
        return _sources_from_manifest(path, manifest, origin)
    init = path / "__init__.py"
    return [_file_source(init, path.name, origin)] if is_file(init) else []


def _sources_from_manifest(folder: Path, manifest: Path, origin: ExtensionOrigin) -> list[ExtensionSource]:
    try:
        data = json.loads(manifest.read_text(encoding="utf-8"))
        names = data.get("extensions", ["__init__.py"])
        assert isinstance(names, list) and all(isinstance(name, str) for name in names)
    except (OSError, ValueError, AttributeError, AssertionError):
        return [_broken_source(manifest, folder.name, origin, 'it must hold {"extensions": ["FILE.py", …]}')]
    found: list[ExtensionSource] = []
    for name in names:
        file = folder / name
        if is_dir(file):
            file = file / "__init__.py"
        title = folder.name if len(names) == 1 else f"{folder.name}/{Path(name).stem}"
        if not is_file(file) or not file.resolve().is_relative_to(folder.resolve()):
            found.append(
                _broken_source(manifest, title, origin, f"it names {name}, which is not in its folder")
            )
        else:
            found.append(_file_source(file, title, origin, str(data.get("api", ""))))
    return found


def _file_source(file: Path, name: str, origin: ExtensionOrigin, api: str = "") -> ExtensionSource:
    def load(extension: Extension) -> Any:
        from app.extensions.loading.api_version import require_api_version  # noqa: PLC0415  (behind the first paint)
        from app.extensions.loading.extension_import import load_extension_function  # noqa: PLC0415  (behind the first paint)

        require_api_version(api)
        return load_extension_function(file, extension)

    shown = file.parent if file.name == "__init__.py" else file
    return ExtensionSource(name=name, path=str(shown), origin=origin, load=load)


def _broken_source(file: Path, name: str, origin: ExtensionOrigin, reason: str) -> ExtensionSource:
    def load(extension: Extension) -> Any:
        from app.extensions.loading.extension_import import ExtensionLoadError  # noqa: PLC0415  (behind the first paint)

        raise ExtensionLoadError(reason)

    return ExtensionSource(name=name, path=str(file), origin=origin, load=load)


def builtin_extension_source(name: str) -> ExtensionSource:
    return ExtensionSource(
        name=name,
        path=name,
        origin="builtin",
        load=lambda extension: import_module(MODULE_BY_BUILTIN_EXTENSION[name]).extension,
    )


def entry_point_extension_sources(problems: list[str], sites: Sequence[Path] = ()) -> list[ExtensionSource]:
    """Finds extensions that Python distributions offer in the group `bayou.extensions`, including those in
    bayou's own folder."""
    if not sites and not _has_entry_points(sys.path):
        return []
    # Most users have none, and the module for reading them takes a large part of a start.
    from importlib.metadata import distributions, entry_points  # noqa: PLC0415

    try:
        points: list[Any] = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
        found = [(point, "") for point in points]
        for site in sites:
            own = [point for one in distributions(path=[str(site)]) for point in one.entry_points]
            found += [(point, str(site)) for point in own if point.group == ENTRY_POINT_GROUP]
    except Exception as problem:  # noqa: BLE001  (a broken third-party distribution)
        problems.append(f"Installed extensions cannot be listed: {problem}")
        return []
    return [
        ExtensionSource(
            name=point.name,
            path=f"{point.value} ({ENTRY_POINT_GROUP})",
            origin="entry-point",
            load=lambda extension, point=point, site=site: _load_from_site(point, site),
        )
        for point, site in found
    ]


def _has_entry_points(folders: Iterable[str]) -> bool:
    """Whether any installed distribution names the group. A cheap check that spares most starts the full
    search."""
    wanted = f"[{ENTRY_POINT_GROUP}]".encode()
    for folder in folders:
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]  # noqa: PTH208  (a hundred Path objects for nothing)
        except OSError:
            continue
        for name in names:
            try:
                with open(f"{folder or '.'}/{name}/entry_points.txt", "rb", buffering=0) as file:  # noqa: PTH123  (as above)
                    if wanted in file.read():
                        return True
            except OSError:
                continue  # it offers nothing
    return False


def _load_from_site(point: Any, site: str) -> Any:
    """Loads an entry point of a package. The package's folder is last on the path, so that it cannot shadow
    bayou's modules."""
    if site and site not in sys.path:
        sys.path.append(site)
    return point.load()
