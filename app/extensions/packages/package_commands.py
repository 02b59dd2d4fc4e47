"""Implements `bayou install`, `remove`, `list` and `update`: a fetched package is shown, and installed once the user
agrees; and `bayou plugin marketplace`, which adds sources of packages."""

from collections.abc import Callable

from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import (
    discard_staged_package,
    find_installed_package,
    install_staged_package,
    list_installed_packages,
    remove_package,
    stage_package,
)
from app.resources.paths import BayouPaths
from app.values.user_errors import FileError
from tools.text_sanitizing import one_line
from tools.text_tables import align_columns

AskYesOrNo = Callable[[str], bool]
"""Shows a text and asks yes or no."""
PrintLine = Callable[[str], None]

USAGE_BY_PACKAGE_COMMAND = {
    "install": "bayou install SOURCE [--yes]   (a folder, a git URL, pip:NAME, or NAME@MARKET)",
    "remove": "bayou remove NAME",
    "list": "bayou list",
    "update": "bayou update [NAME] [--yes]",
    "marketplace": "bayou plugin marketplace add SOURCE | list [NAME] | update [NAME] | remove NAME",
}


def run_package_command(
    name: str,
    words: list[str],
    paths: BayouPaths,
    *,
    ask: AskYesOrNo | None,
    say: PrintLine,
    complain: PrintLine,
) -> int:
    """Runs a package command and returns the exit code. Without a terminal `ask` is None, and `--yes` is
    required."""
    if {"-h", "--help"} & set(words):
        say(USAGE_BY_PACKAGE_COMMAND[name])
        return 0
    options = [word for word in words if word.startswith("--")]
    rest = [word for word in words if not word.startswith("--")]
    unknown = [word for word in options if word != "--yes" or name in ("remove", "list", "marketplace")]
    wanted = {"install": (1, 1), "remove": (1, 1), "list": (0, 0), "update": (0, 1), "marketplace": (1, 2)}[
        name
    ]
    if unknown or not wanted[0] <= len(rest) <= wanted[1]:
        complain(
            f"{'Unknown option: ' + unknown[0] + '. ' if unknown else ''}Usage: {USAGE_BY_PACKAGE_COMMAND[name]}"
        )
        return 2
    agreed = (lambda text: True) if "--yes" in options else ask
    try:
        return _COMMANDS[name](rest, paths, agreed, say, complain)
    except (PackageError, FileError, OSError) as problem:
        complain(str(problem))
        return 1


def _install(
    words: list[str], paths: BayouPaths, ask: AskYesOrNo | None, say: PrintLine, complain: PrintLine
) -> int:
    staged = stage_package(paths, words[0])
    if staged.is_unchanged:
        discard_staged_package(staged)
        say(f"{staged.package.name} is up to date.")
        return 0
    say(staged.approval_text())
    if ask is None or not ask(f"Install {staged.package.name}?"):
        discard_staged_package(staged)
        complain(
            "Nothing was installed." + (" Add --yes to install without confirmation." if ask is None else "")
        )
        return 1
    package = install_staged_package(paths, staged)
    say(f"Installed {package.name}. It is loaded at the next start, or after /reload.")
    return 0


def _remove(
    words: list[str], paths: BayouPaths, ask: AskYesOrNo | None, say: PrintLine, complain: PrintLine
) -> int:
    say(f"Removed {remove_package(paths, words[0]).name}.")
    return 0


def _list(
    words: list[str], paths: BayouPaths, ask: AskYesOrNo | None, say: PrintLine, complain: PrintLine
) -> int:
    packages = list_installed_packages(paths)
    if not packages:
        say("No packages are installed.")
        return 0
    rows = [(one.name, one.revision or "–", one.installed_at, one.source) for one in packages]
    heads, *lines = align_columns((("package", "revision", "installed", "source"), *rows))
    say(heads)
    for line, package in zip(lines, packages, strict=True):
        say("\n".join([line, *(f"  {part}" for part in package.contents.describe_lines())]))
    return 0


def _update(
    words: list[str], paths: BayouPaths, ask: AskYesOrNo | None, say: PrintLine, complain: PrintLine
) -> int:
    packages = (find_installed_package(paths, words[0]),) if words else list_installed_packages(paths)
    codes = [0]
    for package in packages:
        try:
            codes.append(_install([package.source], paths, ask, say, complain))
        except PackageError as problem:
            complain(f"{package.name}: {problem}")
            codes.append(1)
    return max(codes)


def _marketplace(
    words: list[str], paths: BayouPaths, ask: AskYesOrNo | None, say: PrintLine, complain: PrintLine
) -> int:
    from app.extensions.packages import marketplaces as markets  # noqa: PLC0415  (seldom)

    verb, *names = words
    if verb not in ("add", "list", "update", "remove") or (verb in ("add", "remove") and not names):
        complain(f"Usage: {USAGE_BY_PACKAGE_COMMAND['marketplace']}")
        return 2
    if verb == "add":
        market, plugins = markets.add_marketplace(paths, names[0])
        say(
            f"Added {market.name} with {len(plugins)} plugins. Install one: bayou plugin add "
            f"NAME@{market.name}"
        )
        return 0
    if verb == "remove":
        say(f"Removed {markets.remove_marketplace(paths, names[0]).name}. Its installed plugins stay.")
        return 0
    known = (markets.find_marketplace(paths, names[0]),) if names else markets.list_marketplaces(paths)
    if not known:
        say("There are no marketplaces. Add one: bayou plugin marketplace add SOURCE")
    codes = [0]
    for market in known:
        try:
            if verb == "update":
                count = len(markets.update_marketplace(paths, market))
                say(
                    f"{market.name} has {count} plugins. Update those that are installed: bayou plugin update"
                )
                continue
            plugins = markets.read_marketplace_plugins(market)
        except PackageError as problem:
            complain(str(problem))
            codes.append(1)
            continue
        say(f"{market.name} from {market.source}, {len(plugins)} plugins")
        for plugin in plugins if names else ():
            say(one_line(f"  {plugin.name}@{market.name}  {plugin.description}")[:200])
    return max(codes)


_COMMANDS = {
    "install": _install,
    "remove": _remove,
    "list": _list,
    "update": _update,
    "marketplace": _marketplace,
}
