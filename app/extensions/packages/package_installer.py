"""Installs packages into bayou's own folder, from the sources of `package_sources`.

A package is fetched beside the installed ones first, shown, and moved into place when the user agrees. None
of its code runs before that.
"""

import json
import os
import re
import shutil
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.loading.extension_finder import PACKAGE_MANIFEST_NAME
from app.extensions.packages.package_contents import (
    PackageContents,
    PackageError,
    inspect_package_folder,
    inspect_pip_target_folder,
    read_package_manifest_or_empty,
)
from app.extensions.packages.package_sources import PackageSourceKind, fetch_package, package_source_kind
from app.resources.paths import BayouPaths
from app.resources.plugin_folder import PluginFolder
from app.resources.text_files import read_text, write_text
from app.resources.trust.content_fingerprint import fingerprint
from app.values.user_errors import FileError
from tools.files.path_existence import is_file


class InstalledPackage(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in the list of installed packages."""

    name: str
    source: str
    kind: PackageSourceKind
    revision: str = ""
    """The commit or version."""
    fingerprint: str
    """The fingerprint of the contents that the user agreed to."""
    contents: PackageContents
    installed_at: str = ""

    def folder(self, paths: BayouPaths) -> Path:
        return paths.packages_dir / self.name


class StagedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that has been fetched but not yet approved."""

    package: InstalledPackage
    place: Path
    replaces: InstalledPackage | None = None

    @property
    def is_unchanged(self) -> bool:
        return self.replaces is not None and self.replaces.fingerprint == self.package.fingerprint

    def approval_text(self) -> str:
        """Returns the text that asks the user for approval."""
        package = self.package
        revision = f" ({package.revision})" if package.revision else ""
        verb = "Update" if self.replaces else "Install"
        lines = [f"{verb} {package.name}{revision} from {package.source}:"]
        return "\n".join([*lines, *(f"  {line}" for line in package.contents.describe_lines())])


class InstalledPackageParts(msgspec.Struct, frozen=True, kw_only=True):
    """The folders and files that installed packages contribute."""

    extensions: tuple[Path, ...] = ()
    skills: tuple[Path, ...] = ()
    prompts: tuple[Path, ...] = ()
    themes: tuple[Path, ...] = ()
    commands: tuple[tuple[PluginFolder, Path], ...] = ()
    """Folders of commands, each with its package."""
    agents: tuple[Path, ...] = ()
    hooks: tuple[tuple[PluginFolder, Path], ...] = ()
    servers: tuple[tuple[PluginFolder, Path], ...] = ()
    """Files with hooks and MCP servers, each with its plugin."""
    sites: tuple[Path, ...] = ()
    """Folders with Python distributions."""


def stage_package(paths: BayouPaths, source: str) -> StagedPackage:
    """Fetches a package and inspects it. Raises `PackageError`, leaving no files behind."""
    from app.extensions.packages.plugin_contents import (  # noqa: PLC0415  (a start only reads the list)
        PLUGIN_MANIFEST_FILE,
        inspect_plugin,
        read_plugin_manifest,
    )

    kind = package_source_kind(source)
    paths.packages_dir.mkdir(parents=True, exist_ok=True)
    top = Path(tempfile.mkdtemp(prefix=".staging-", dir=paths.packages_dir))
    place = top / "package"
    try:
        fetched = fetch_package(paths, source, place)
        _require_own_files(place)
        manifest = read_plugin_manifest(place) if not is_file(place / PACKAGE_MANIFEST_NAME) else None
        if manifest is None and fetched.manifest is not None and not is_file(place / PACKAGE_MANIFEST_NAME):
            manifest = fetched.manifest
            (place / PLUGIN_MANIFEST_FILE).parent.mkdir(exist_ok=True)
            (place / PLUGIN_MANIFEST_FILE).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
        if manifest is not None:
            contents = inspect_plugin(place, manifest, has_usual_places=not _lists_parts(fetched.manifest))
        else:
            contents = inspect_pip_target_folder(place) if kind == "python" else inspect_package_folder(place)
        if contents.is_empty:
            unused = f"; its {' and '.join(contents.unused)} are not used by bayou" if contents.unused else ""
            raise PackageError(
                f"{source} contains no extension, skill, command, agent, hook, server, prompt or theme{unused}"
            )
        name = _package_name(
            source, kind, manifest if manifest is not None else read_package_manifest_or_empty(place)
        )
        package = InstalledPackage(
            name=name,
            source=source,
            kind=kind,
            revision=fetched.revision,
            fingerprint=fingerprint(place, is_limited=False),
            contents=contents,
            installed_at=time.strftime("%Y-%m-%d", time.gmtime()),
        )
        earlier = next((one for one in list_installed_packages(paths) if one.name == name), None)
        if earlier is not None and earlier.source != source:
            raise PackageError(
                f"{name} is already installed, from {earlier.source}. Remove it first: bayou remove {name}"
            )
        return StagedPackage(package=package, place=place, replaces=earlier)
    except BaseException:
        shutil.rmtree(top, ignore_errors=True)
        raise


def install_staged_package(paths: BayouPaths, staged: StagedPackage) -> InstalledPackage:
    """Moves an approved package into place. The older version stays complete until the new one is there."""
    target = staged.package.folder(paths)
    if fingerprint(staged.place, is_limited=False) != staged.package.fingerprint:
        raise PackageError(f"{staged.package.name} changed after it was shown. Run the command again.")
    with _install_lock(paths):
        old = staged.place.parent / "old"
        if target.exists():
            target.rename(old)
        try:
            staged.place.rename(target)
            others = [one for one in list_installed_packages(paths) if one.name != staged.package.name]
            _write_package_list(paths, [*others, staged.package])
        except BaseException:
            if target.exists():
                target.rename(staged.place)
            if old.exists():
                old.rename(target)
            raise
    discard_staged_package(staged)
    return staged.package


def discard_staged_package(staged: StagedPackage) -> None:
    shutil.rmtree(staged.place.parent, ignore_errors=True)


def remove_package(paths: BayouPaths, name_or_source: str) -> InstalledPackage:
    """Removes an installed package. Raises `PackageError` when there is no such package."""
    with _install_lock(paths):
        package = find_installed_package(paths, name_or_source)
        _write_package_list(
            paths, [one for one in list_installed_packages(paths) if one.name != package.name]
        )
        shutil.rmtree(package.folder(paths), ignore_errors=True)
    return package


def find_installed_package(paths: BayouPaths, name_or_source: str) -> InstalledPackage:
    packages = list_installed_packages(paths)
    for package in packages:
        if name_or_source in (package.name, package.source):
            return package
    known = ", ".join(package.name for package in packages) or "none"
    raise PackageError(f"{name_or_source} is not installed. Installed: {known}.")


def list_installed_packages(paths: BayouPaths) -> tuple[InstalledPackage, ...]:
    """Lists the installed packages by name. A broken list raises an error, so that it is not overwritten as
    if empty."""
    file = package_list_file(paths)
    try:
        text = read_text(file)
        packages = msgspec.json.decode(text, type=list[InstalledPackage]) if text and text.strip() else []
    except FileError as problem:
        raise PackageError(f"{problem}. Fix or delete the file.") from None
    except (ValueError, RecursionError) as problem:
        raise PackageError(f"{file} cannot be read: {problem}. Fix or delete it.") from None
    return tuple(sorted(packages, key=lambda package: package.name))


def installed_package_parts(paths: BayouPaths) -> InstalledPackageParts:
    """Returns the paths of extensions, skills, prompts and themes in packages. Raises `PackageError` for a
    broken list."""
    found: dict[str, list[Any]] = {name: [] for name in InstalledPackageParts.__struct_fields__}
    for package in list_installed_packages(paths):
        folder = package.folder(paths)
        if package.kind == "python":
            found["sites"].append(folder)
        plugin = PluginFolder(name=package.name, root=folder)
        found["commands"] += [(plugin, (folder / name).resolve()) for name in package.contents.commands]
        found["hooks"] += [(plugin, folder / name) for name in package.contents.hooks]
        found["servers"] += [(plugin, folder / name) for name in package.contents.servers]
        for kind in ("extensions", "skills", "prompts", "themes", "agents"):
            found[kind] += [(folder / name).resolve() for name in getattr(package.contents, kind)]
    return InstalledPackageParts(**{name: tuple(places) for name, places in found.items()})


def plugin_hook_files(paths: BayouPaths) -> tuple[tuple[PluginFolder, Path], ...]:
    """Returns the files with hooks of installed plugins; none if the list of packages is broken."""
    try:
        return installed_package_parts(paths).hooks
    except PackageError:
        return ()


def have_plugins_mcp_servers(paths: BayouPaths) -> bool:
    """Whether a plugin has MCP servers, from the list of packages alone."""
    try:
        return any(package.contents.servers for package in list_installed_packages(paths))
    except PackageError:
        return False


def _lists_parts(manifest: dict[str, Any] | None) -> bool:
    """Says whether a marketplace's entry lists the parts of a plugin, which then has no others."""
    return manifest is not None and any(manifest.get(kind) for kind in ("skills", "commands", "agents"))


def _require_own_files(place: Path) -> None:
    """Rejects links that lead out of the package: their target could change after the user has agreed."""
    top = os.path.realpath(place)
    for folder, names, files in os.walk(place):
        for name in (*names, *files):
            path = Path(folder, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
                raise PackageError(f"{path.relative_to(place)} is a link to a place outside the package")


def _package_name(source: str, kind: PackageSourceKind, manifest: dict[str, Any]) -> str:
    given = manifest.get("name")
    if isinstance(given, str) and given:
        raw = given
    elif kind == "python":
        raw = source.removeprefix("pip:").strip().partition("==")[0]
    else:
        raw = source.partition("#")[0].rstrip("/").rsplit("/", 1)[-1].removesuffix(".git").removesuffix(".py")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", raw).strip(".-")
    if not name:
        raise PackageError(f'{source} has no usable package name; add "name" to its bayou.json')
    return name


def package_list_file(paths: BayouPaths) -> Path:
    return paths.packages_dir / "installed.json"


def _write_package_list(paths: BayouPaths, packages: list[InstalledPackage]) -> None:
    data = [msgspec.to_builtins(package) for package in sorted(packages, key=lambda package: package.name)]
    write_text(package_list_file(paths), json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _install_lock(paths: BayouPaths) -> AbstractContextManager[Any]:
    import filelock  # noqa: PLC0415  (a start only reads the list)

    paths.packages_dir.mkdir(parents=True, exist_ok=True)
    return filelock.FileLock(paths.packages_dir / ".lock", timeout=30)
