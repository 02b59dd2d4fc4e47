"""Installs packages into bayou's own folder: local paths, git repositories, Python distributions.

A package is fetched beside the installed ones first, shown, and moved into place when the user agrees. None
of its code runs before that: git hooks are off, and of Python distributions only wheels are taken.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.extensions.loading.loader import MANIFEST_NAME
from app.extensions.packages.package_contents import (
    PackageContents,
    PackageError,
    inspect_folder,
    inspect_site_folder,
    manifest_of,
)
from app.resources.paths import Paths
from app.resources.text_files import read_text, write_text
from app.resources.trust.content_fingerprint import fingerprint
from app.values.user_errors import FileError
from tools.files.presence import is_file
from tools.patterns import late
from tools.running.own_programs import find_own_program

PackageKind = Literal["path", "git", "python"]
_IGNORED_FILES = shutil.ignore_patterns(".git", "__pycache__", "node_modules", ".venv", "*.pyc")
_FETCH_SECONDS = 300
_WHEELS_ONLY = ("--only-binary", ":all:")
"""Building from source would run the package's code before the user has agreed."""
_ARCHIVE = late(r"\.(?:whl|egg|zip|tar|tgz|tbz|txz|gz|bz2|xz)\Z", re.IGNORECASE)
"""File endings that pip takes for a distribution."""
_DISTRIBUTION = late(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==[A-Za-z0-9][A-Za-z0-9.!+-]*)?"
)
"""A name of the index and a version: nothing that leads past the index."""


class InstalledPackage(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in the list of installed packages."""

    name: str
    source: str
    kind: PackageKind
    revision: str = ""
    """The commit or version."""
    fingerprint: str
    """The fingerprint of the contents that the user agreed to."""
    contents: PackageContents
    installed_at: str = ""

    def folder(self, paths: Paths) -> Path:
        return paths.packages_dir / self.name


class StagedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that has been fetched but not yet approved."""

    package: InstalledPackage
    place: Path
    replaces: InstalledPackage | None = None

    @property
    def is_unchanged(self) -> bool:
        return self.replaces is not None and self.replaces.fingerprint == self.package.fingerprint

    def shown(self) -> str:
        """Returns the text that asks the user for approval."""
        package = self.package
        revision = f" ({package.revision})" if package.revision else ""
        verb = "Update" if self.replaces else "Install"
        lines = [f"{verb} {package.name}{revision} from {package.source}:"]
        return "\n".join([*lines, *(f"  {line}" for line in package.contents.lines())])


class InstalledParts(msgspec.Struct, frozen=True, kw_only=True):
    """The folders and files that installed packages contribute."""

    extensions: tuple[Path, ...] = ()
    skills: tuple[Path, ...] = ()
    prompts: tuple[Path, ...] = ()
    themes: tuple[Path, ...] = ()
    commands: tuple[tuple[str, Path], ...] = ()
    """Folders of commands, each with the name of its package."""
    agents: tuple[Path, ...] = ()
    sites: tuple[Path, ...] = ()
    """Folders with Python distributions."""


def stage_package(paths: Paths, source: str) -> StagedPackage:
    """Fetches a package and inspects it. Raises `PackageError`, leaving no files behind."""
    from app.extensions.packages.plugin_contents import inspect_plugin, plugin_manifest  # noqa: PLC0415  (a start only reads the list)

    kind = kind_of(source)
    paths.packages_dir.mkdir(parents=True, exist_ok=True)
    top = Path(tempfile.mkdtemp(prefix=".staging-", dir=paths.packages_dir))
    place = top / "package"
    try:
        revision = {"path": _copy, "git": _clone, "python": _pip}[kind](paths, source, place)
        _require_own_files(place)
        manifest = plugin_manifest(place) if not is_file(place / MANIFEST_NAME) else None
        if manifest is not None:
            contents = inspect_plugin(place, manifest)
        else:
            contents = inspect_site_folder(place) if kind == "python" else inspect_folder(place)
        if contents.is_empty:
            unused = f"; its {' and '.join(contents.unused)} are not used by bayou" if contents.unused else ""
            raise PackageError(
                f"{source} contains no extension, skill, command, agent, prompt or theme{unused}"
            )
        name = _name(source, kind, manifest if manifest is not None else manifest_of(place))
        package = InstalledPackage(
            name=name,
            source=source,
            kind=kind,
            revision=revision,
            fingerprint=fingerprint(place, is_limited=False),
            contents=contents,
            installed_at=time.strftime("%Y-%m-%d", time.gmtime()),
        )
        earlier = next((one for one in installed_packages(paths) if one.name == name), None)
        if earlier is not None and earlier.source != source:
            raise PackageError(
                f"{name} is already installed, from {earlier.source}. Remove it first: bayou remove {name}"
            )
        return StagedPackage(package=package, place=place, replaces=earlier)
    except BaseException:
        shutil.rmtree(top, ignore_errors=True)
        raise


def commit_package(paths: Paths, staged: StagedPackage) -> InstalledPackage:
    """Moves an approved package into place. The older version stays complete until the new one is there."""
    target = staged.package.folder(paths)
    if fingerprint(staged.place, is_limited=False) != staged.package.fingerprint:
        raise PackageError(f"{staged.package.name} changed after it was shown. Run the command again.")
    with _locked(paths):
        old = staged.place.parent / "old"
        if target.exists():
            target.rename(old)
        try:
            staged.place.rename(target)
            others = [one for one in installed_packages(paths) if one.name != staged.package.name]
            _write(paths, [*others, staged.package])
        except BaseException:
            if target.exists():
                target.rename(staged.place)
            if old.exists():
                old.rename(target)
            raise
    discard_package(staged)
    return staged.package


def discard_package(staged: StagedPackage) -> None:
    shutil.rmtree(staged.place.parent, ignore_errors=True)


def remove_package(paths: Paths, name_or_source: str) -> InstalledPackage:
    """Removes an installed package. Raises `PackageError` when there is no such package."""
    with _locked(paths):
        package = find_package(paths, name_or_source)
        _write(paths, [one for one in installed_packages(paths) if one.name != package.name])
        shutil.rmtree(package.folder(paths), ignore_errors=True)
    return package


def find_package(paths: Paths, name_or_source: str) -> InstalledPackage:
    packages = installed_packages(paths)
    for package in packages:
        if name_or_source in (package.name, package.source):
            return package
    known = ", ".join(package.name for package in packages) or "none"
    raise PackageError(f"{name_or_source} is not installed. Installed: {known}.")


def installed_packages(paths: Paths) -> tuple[InstalledPackage, ...]:
    """Lists the installed packages by name. A broken list raises an error, so that it is not overwritten as
    if empty."""
    file = _list_file(paths)
    try:
        text = read_text(file)
        packages = msgspec.json.decode(text, type=list[InstalledPackage]) if text and text.strip() else []
    except FileError as problem:
        raise PackageError(f"{problem}. Fix or delete the file.") from None
    except (ValueError, RecursionError) as problem:
        raise PackageError(f"{file} cannot be read: {problem}. Fix or delete it.") from None
    return tuple(sorted(packages, key=lambda package: package.name))


def resource_paths(paths: Paths) -> InstalledParts:
    """Returns the paths of extensions, skills, prompts and themes in packages. Raises `PackageError` for a
    broken list."""
    found: dict[str, list[Any]] = {name: [] for name in InstalledParts.__struct_fields__}
    for package in installed_packages(paths):
        folder = package.folder(paths)
        if package.kind == "python":
            found["sites"].append(folder)
        found["commands"] += [(package.name, (folder / name).resolve()) for name in package.contents.commands]
        for kind in ("extensions", "skills", "prompts", "themes", "agents"):
            found[kind] += [(folder / name).resolve() for name in getattr(package.contents, kind)]
    return InstalledParts(**{name: tuple(places) for name, places in found.items()})


def kind_of(source: str) -> PackageKind:
    """Tells the kind of a source: `pip:NAME` is a Python distribution; `git:…`, `git@…` and URLs are
    repositories; the rest are paths."""
    if source.startswith("pip:"):
        return "python"
    if source.startswith(("git:", "git@", "git+", "https://", "http://", "ssh://", "file://")):
        return "git"
    return "path"


def _copy(paths: Paths, source: str, place: Path) -> str:
    path = paths.cwd / Path(source).expanduser()
    if path.is_file() and path.suffix == ".py":
        place.mkdir()
        shutil.copy2(path, place / path.name)
    elif path.is_dir():
        shutil.copytree(path, place, symlinks=True, ignore=_IGNORED_FILES)
    else:
        raise PackageError(f"{path}: no such folder or .py file")
    return ""


def _require_own_files(place: Path) -> None:
    """Rejects links that lead out of the package: their target could change after the user has agreed."""
    top = os.path.realpath(place)
    for folder, names, files in os.walk(place):
        for name in (*names, *files):
            path = Path(folder, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
                raise PackageError(f"{path.relative_to(place)} is a link to a place outside the package")


def _clone(paths: Paths, source: str, place: Path) -> str:
    url, _, ref = source.removeprefix("git+").partition("#")
    url = url.removeprefix("git:")
    if not url.startswith(("git@", "https://", "http://", "ssh://", "file://", "/")):
        url = f"https://{url}"
    program = find_own_program("git", outside=paths.cwd) or "git"
    base = [program, "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]
    clone = [
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--no-recurse-submodules",
        *(["--branch", ref] if ref else []),
    ]
    _run(
        [*base, *clone, "--", url, str(place)],
        "git",
        {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"},
    )
    revision = _run([*base, "-C", str(place), "rev-parse", "--short=12", "HEAD"], "git", {}).strip()
    shutil.rmtree(place / ".git", ignore_errors=True)
    return revision


def _pip(paths: Paths, source: str, place: Path) -> str:
    match = _DISTRIBUTION.fullmatch(source.removeprefix("pip:").strip())
    if match is None or _ARCHIVE.search(match["name"]):
        raise PackageError(
            f"{source}: after pip: write a package name and optionally a version, such as "
            "pip:bayou-notes or pip:bayou-notes==1.2. For a local folder or a URL leave out pip:"
        )
    # Imported here because only an installation needs a distribution's dependencies.
    from app.extensions.packages.distributions import (  # noqa: PLC0415
        require_index_names,
        require_index_names_of_installed,
    )

    # Isolated and in the root folder: Python would import a `pip` that lies in the folder where bayou was
    # started.
    base = [sys.executable, "-I", "-m", "pip"]
    if subprocess.run([*base, "--version"], capture_output=True, check=False, cwd="/").returncode:
        beside = str(Path(sys.executable).parent)
        uv = shutil.which("uv", path=beside) or find_own_program("uv", outside=paths.cwd)
        if uv is None:
            raise PackageError("Python packages need pip or uv, and neither is installed")
        base = [uv, "pip"]
        target = ["--python", sys.executable, "--target", str(place)]
    else:
        target = ["--target", str(place)]
        asked = [
            *base,
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--no-deps",
            "--report",
            "-",
            *_WHEELS_ONLY,
        ]
        require_index_names(source, match[0], lambda wanted: _run([*asked, "--", *wanted], "pip", {}))
    _run([*base, "install", "--quiet", *_WHEELS_ONLY, *target, "--", match[0]], "pip", {})
    require_index_names_of_installed(source, place)
    from importlib.metadata import distributions  # noqa: PLC0415  (only for Python packages)

    versions = {one.metadata["Name"].lower(): one.version for one in distributions(path=[str(place)])}
    return versions.get(match["name"].lower(), "")


def _run(command: list[str], program: str, env: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            cwd="/",
            check=False,
        )
    except FileNotFoundError:
        raise PackageError(f"{program} is not installed; install it and try again") from None
    except subprocess.TimeoutExpired:
        raise PackageError(f"{program} did not answer within {_FETCH_SECONDS} seconds") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        raise PackageError(f"{program}: {lines[-1]}")
    return done.stdout


def _name(source: str, kind: PackageKind, manifest: dict[str, Any]) -> str:
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


def _list_file(paths: Paths) -> Path:
    return paths.packages_dir / "installed.json"


def _write(paths: Paths, packages: list[InstalledPackage]) -> None:
    data = [msgspec.to_builtins(package) for package in sorted(packages, key=lambda package: package.name)]
    write_text(_list_file(paths), json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _locked(paths: Paths) -> AbstractContextManager[Any]:
    import filelock  # noqa: PLC0415  (a start only reads the list)

    paths.packages_dir.mkdir(parents=True, exist_ok=True)
    return filelock.FileLock(paths.packages_dir / ".lock", timeout=30)
