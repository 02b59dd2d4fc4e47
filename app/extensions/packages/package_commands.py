"""Implements `bayou install
remove
list
update`: a fetched package is shown, and installed once the user agrees."""

from collections.abc import Callable

from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import (
    InstalledPackage,
    commit_package,
    discard_package,
    find_package,
    installed_packages,
    remove_package,
    stage_package,
)
from app.resources.paths import Paths
from app.values.user_errors import FileError

Ask = Callable[[str], bool]
"""Shows a text and asks yes or no."""
Say = Callable[[str], None]

USAGE = {
    "install": "bayou install SOURCE [--yes]   (a folder, a git URL, or pip:NAME)",
    "remove": "bayou remove NAME",
    "list": "bayou list",
    "update": "bayou update [NAME] [--yes]",
}


def run(name: str, words: list[str], paths: Paths, *, ask: Ask | None, say: Say, complain: Say) -> int:
    """Runs a package command and returns the exit code. Without a terminal `ask` is None, and `--yes` is
    required."""
    if {"-h", "--help"} & set(words):
        say(USAGE[name])
        return 0
    options = [word for word in words if word.startswith("--")]
    rest = [word for word in words if not word.startswith("--")]
    unknown = [word for word in options if word != "--yes" or name in ("remove", "list")]
    wanted = {"install": (1, 1), "remove": (1, 1), "list": (0, 0), "update": (0, 1)}[name]
    if unknown or not wanted[0] <= len(rest) <= wanted[1]:
        complain(f"{'Unknown option: ' + unknown[0] + '. ' if unknown else ''}Usage: {USAGE[name]}")
        return 2
    agreed = (lambda text: True) if "--yes" in options else ask
    try:
        return _COMMANDS[name](rest, paths, agreed, say, complain)
    except (PackageError, FileError, OSError) as problem:
        complain(str(problem))
        return 1


def _install(words: list[str], paths: Paths, ask: Ask | None, say: Say, complain: Say) -> int:
    staged = stage_package(paths, words[0])
    if staged.is_unchanged:
        discard_package(staged)
        say(f"{staged.package.name} is up to date.")
        return 0
    say(staged.shown())
    if ask is None or not ask(f"Install {staged.package.name}?"):
        discard_package(staged)
        complain(
            "Nothing was installed." + (" Add --yes to install without being asked." if ask is None else "")
        )
        return 1
    package = commit_package(paths, staged)
    say(f"Installed {package.name}. It is loaded at the next start, or after /reload.")
    return 0


def _remove(words: list[str], paths: Paths, ask: Ask | None, say: Say, complain: Say) -> int:
    say(f"Removed {remove_package(paths, words[0]).name}.")
    return 0


def _list(words: list[str], paths: Paths, ask: Ask | None, say: Say, complain: Say) -> int:
    packages = installed_packages(paths)
    if not packages:
        say("No packages are installed.")
    for package in packages:
        say("\n".join([_title(package), *(f"  {line}" for line in package.contents.lines())]))
    return 0


def _title(package: InstalledPackage) -> str:
    revision = f" {package.revision}" if package.revision else ""
    return f"{package.name}{revision} from {package.source}, {package.installed_at}"


def _update(words: list[str], paths: Paths, ask: Ask | None, say: Say, complain: Say) -> int:
    packages = (find_package(paths, words[0]),) if words else installed_packages(paths)
    codes = [0]
    for package in packages:
        try:
            codes.append(_install([package.source], paths, ask, say, complain))
        except PackageError as problem:
            complain(f"{package.name}: {problem}")
            codes.append(1)
    return max(codes)


_COMMANDS = {"install": _install, "remove": _remove, "list": _list, "update": _update}
