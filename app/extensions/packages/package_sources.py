"""Fetches packages into a folder: copies of local folders, clones of git repositories, wheels of Python distributions,
plugins of marketplaces.

None of their code runs: git hooks are off, and of Python distributions only wheels are taken."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.extensions.packages.package_contents import PackageError
from app.resources.paths import BayouPaths
from tools.lazy_patterns import lazy_regex
from tools.running.programs_outside_project import find_program_outside_project

PackageSourceKind = Literal["path", "git", "python", "marketplace"]
_IGNORED_PACKAGE_FILES = shutil.ignore_patterns(".git", "__pycache__", "node_modules", ".venv", "*.pyc")
_PACKAGE_FETCH_TIMEOUT_SECONDS = 300
_PIP_WHEELS_ONLY_OPTIONS = ("--only-binary", ":all:")
"""Building from source would run the package's code before the user has agreed."""
_ARCHIVE_FILE_NAME_PATTERN = lazy_regex(r"\.(?:whl|egg|zip|tar|tgz|tbz|txz|gz|bz2|xz)\Z", re.IGNORECASE)
"""File endings that pip takes for a distribution."""
_DISTRIBUTION_REQUIREMENT_PATTERN = lazy_regex(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==[A-Za-z0-9][A-Za-z0-9.!+-]*)?"
)
"""A name of the index and a version: nothing that leads past the index."""
_MARKET_PLUGIN_PATTERN = lazy_regex(r"([A-Za-z0-9][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9._-]*)")
_COMMIT_PATTERN = lazy_regex(r"[0-9a-f]{7,64}")


class FetchedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """The result of fetching a package: its revision and its manifest."""

    revision: str = ""
    """The commit or version."""
    manifest: dict[str, Any] | None = None
    """The marketplace's entry, for a plugin without its own manifest."""


def fetch_package(paths: BayouPaths, source: str, place: Path) -> FetchedPackage:
    """Fetches a package into a new folder. Raises `PackageError`."""
    match package_source_kind(source):
        case "path":
            copy_package_folder(paths, source, place)
            return FetchedPackage()
        case "git":
            return FetchedPackage(revision=clone_package_repository(paths, source, place))
        case "python":
            return FetchedPackage(revision=_install_wheels(paths, source, place))
        case _:
            from app.extensions.packages.marketplaces import fetch_marketplace_plugin  # noqa: PLC0415  (few packages come from one)

            return fetch_marketplace_plugin(paths, source, place)


def package_source_kind(source: str) -> PackageSourceKind:
    """Tells the kind of a source: `pip:NAME` is a Python distribution; `git:…`, `git@…` and URLs are
    repositories; `NAME@MARKET` is a plugin of a marketplace; the rest are paths."""
    if source.startswith("pip:"):
        return "python"
    if source.startswith(("git:", "git@", "git+", "https://", "http://", "ssh://", "file://")):
        return "git"
    return "marketplace" if _MARKET_PLUGIN_PATTERN.fullmatch(source) else "path"


def split_plugin_and_marketplace(source: str) -> tuple[str, str]:
    """Returns the plugin and the marketplace of `NAME@MARKET`."""
    name, _, market = source.partition("@")
    return name, market


def copy_package_folder(paths: BayouPaths, source: str, place: Path) -> None:
    path = paths.cwd / Path(source).expanduser()
    if path.is_file() and path.suffix == ".py":
        place.mkdir()
        shutil.copy2(path, place / path.name)
    elif path.is_dir():
        shutil.copytree(path, place, symlinks=True, ignore=_IGNORED_PACKAGE_FILES)
    else:
        raise PackageError(f"{path}: no such folder or .py file")


def clone_package_repository(paths: BayouPaths, source: str, place: Path, *, commit: str = "") -> str:
    """Clones a repository and returns its commit; with `commit` exactly that one."""
    url, _, ref = source.removeprefix("git+").partition("#")
    url = url.removeprefix("git:")
    if not url.startswith(("git@", "https://", "http://", "ssh://", "file://", "/")):
        url = f"https://{url}"
    program = find_program_outside_project("git", outside=paths.cwd) or "git"
    base = [program, "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]
    clone = [
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--no-recurse-submodules",
        *(["--branch", ref] if ref else []),
    ]
    _run_command(
        [*base, *clone, "--", url, str(place)],
        "git",
        {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"},
    )
    if commit:
        if not _COMMIT_PATTERN.fullmatch(commit):
            raise PackageError(f"{source}: {commit[:80]!r} is not the id of a commit")
        at = [*base, "-C", str(place)]
        _run_command(
            [*at, "fetch", "--quiet", "--depth", "1", "origin", commit], "git", {"GIT_TERMINAL_PROMPT": "0"}
        )
        _run_command(
            [*at, "checkout", "--quiet", "--detach", "FETCH_HEAD"], "git", {"GIT_LFS_SKIP_SMUDGE": "1"}
        )
    revision = _run_command([*base, "-C", str(place), "rev-parse", "--short=12", "HEAD"], "git", {}).strip()
    shutil.rmtree(place / ".git", ignore_errors=True)
    return revision


def _install_wheels(paths: BayouPaths, source: str, place: Path) -> str:
    match = _DISTRIBUTION_REQUIREMENT_PATTERN.fullmatch(source.removeprefix("pip:").strip())
    if match is None or _ARCHIVE_FILE_NAME_PATTERN.search(match["name"]):
        raise PackageError(
            f"{source}: after pip: write a package name and optionally a version, such as "
            "pip:bayou-notes or pip:bayou-notes==1.2. For a local folder or a URL leave out pip:"
        )
    # Imported here because only an installation needs a distribution's dependencies.
    from app.extensions.packages.pip_dependency_checks import (  # noqa: PLC0415
        require_dependencies_from_index,
        require_installed_dependencies_from_index,
    )

    # Isolated and in the root folder: Python would import a `pip` that lies in the folder where bayou was
    # started.
    base = [sys.executable, "-I", "-m", "pip"]
    if subprocess.run([*base, "--version"], capture_output=True, check=False, cwd="/").returncode:
        beside = str(Path(sys.executable).parent)
        uv = shutil.which("uv", path=beside) or find_program_outside_project("uv", outside=paths.cwd)
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
            *_PIP_WHEELS_ONLY_OPTIONS,
        ]
        require_dependencies_from_index(
            source, match[0], lambda wanted: _run_command([*asked, "--", *wanted], "pip", {})
        )
    _run_command([*base, "install", "--quiet", *_PIP_WHEELS_ONLY_OPTIONS, *target, "--", match[0]], "pip", {})
    require_installed_dependencies_from_index(source, place)
    from importlib.metadata import distributions  # noqa: PLC0415  (only for Python packages)

    versions = {one.metadata["Name"].lower(): one.version for one in distributions(path=[str(place)])}
    return versions.get(match["name"].lower(), "")


def _run_command(command: list[str], program: str, env: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_PACKAGE_FETCH_TIMEOUT_SECONDS,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            cwd="/",
            check=False,
        )
    except FileNotFoundError:
        raise PackageError(f"{program} is not installed; install it and try again") from None
    except subprocess.TimeoutExpired:
        raise PackageError(
            f"{program} did not answer within {_PACKAGE_FETCH_TIMEOUT_SECONDS} seconds"
        ) from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        said = next((line for line in lines if line.startswith("fatal: ")), lines[-1])
        raise PackageError(f"{program} failed: {said}")
    return done.stdout
