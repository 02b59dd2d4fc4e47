"""Marketplaces of plugins in Claude Code's form: a folder or git repository with `.claude-plugin/marketplace.json`,
which lists plugins and where each is fetched.

A folder is read where it is; a repository is cloned beside the packages."""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.packages.package_contents import PackageError, read_package_manifest
from app.extensions.packages.package_sources import (
    FetchedPackage,
    clone_package_repository,
    copy_package_folder,
    fetch_package,
    package_source_kind,
    split_plugin_and_marketplace,
)
from app.resources.paths import BayouPaths
from app.resources.text_files import read_text, write_text
from app.values.user_errors import FileError
from tools.lazy_patterns import lazy_regex

MARKETPLACE_FILE = ".claude-plugin/marketplace.json"
_MARKETPLACES_FOLDER = ".marketplaces"
_NAME_PATTERN = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_GITHUB_SHORTHAND_PATTERN = lazy_regex(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class Marketplace(msgspec.Struct, frozen=True, kw_only=True):
    """A marketplace of plugins that the user has added."""

    name: str
    source: str
    revision: str = ""
    added_at: str = ""
    place: str
    """Its folder."""


class MarketplacePlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that a marketplace offers."""

    name: str
    description: str
    entry: dict[str, Any]


def add_marketplace(paths: BayouPaths, source: str) -> tuple[Marketplace, tuple[MarketplacePlugin, ...]]:
    """Adds a marketplace and returns it with its plugins. Raises `PackageError`, and changes nothing then."""
    known = list_marketplaces(paths)
    market, plugins = _fetch_market(paths, source)
    if any(one.name == market.name for one in known):
        _delete_clone(paths, market)
        raise PackageError(
            f"A marketplace named {market.name} already exists. Remove it first: "
            f"bayou plugin marketplace remove {market.name}"
        )
    _store_marketplaces(paths, [*known, _move_into_place(paths, market)])
    return market, plugins


def update_marketplace(paths: BayouPaths, market: Marketplace) -> tuple[MarketplacePlugin, ...]:
    """Fetches a marketplace again. Raises `PackageError`, and keeps the present state then."""
    fresh, plugins = _fetch_market(paths, market.source)
    if fresh.name != market.name:
        _delete_clone(paths, fresh)
        raise PackageError(
            f"{market.source} is called {fresh.name} now. Remove {market.name} and add it again."
        )
    placed = _move_into_place(paths, fresh)
    _store_marketplaces(
        paths, [placed if one.name == market.name else one for one in list_marketplaces(paths)]
    )
    return plugins


def remove_marketplace(paths: BayouPaths, name: str) -> Marketplace:
    """Removes a marketplace; its installed plugins stay. Raises `PackageError`."""
    market = find_marketplace(paths, name)
    _store_marketplaces(paths, [one for one in list_marketplaces(paths) if one.name != name])
    _delete_clone(paths, market)
    return market


def find_marketplace(paths: BayouPaths, name: str) -> Marketplace:
    known = list_marketplaces(paths)
    for market in known:
        if market.name == name:
            return market
    names = ", ".join(one.name for one in known) or "none"
    raise PackageError(
        f"There is no marketplace {name}. Known: {names}. Add one: bayou plugin marketplace add SOURCE"
    )


def list_marketplaces(paths: BayouPaths) -> tuple[Marketplace, ...]:
    """Returns the added marketplaces. Raises `PackageError` for a broken list."""
    file = _marketplaces_file(paths)
    try:
        text = read_text(file)
        return tuple(msgspec.json.decode(text, type=list[Marketplace])) if text and text.strip() else ()
    except FileError as problem:
        raise PackageError(f"{problem}. Fix or delete the file.") from None
    except (ValueError, RecursionError) as problem:
        raise PackageError(f"{file} cannot be read: {problem}. Fix or delete it.") from None


def read_marketplace_plugins(market: Marketplace) -> tuple[MarketplacePlugin, ...]:
    """Reads the plugins of a marketplace. Raises `PackageError`, also when its folder is gone."""
    folder = Path(market.place)
    if not folder.is_dir():
        raise PackageError(
            f"The folder of the marketplace {market.name} is missing: {folder}. Get it again: bayou plugin "
            f"marketplace update "
            f"{market.name}, or remove it: bayou plugin marketplace remove {market.name}"
        )
    return _read_marketplace(folder)[1]


def fetch_marketplace_plugin(paths: BayouPaths, source: str, place: Path) -> FetchedPackage:
    """Fetches `NAME@MARKET` into a new folder. Raises `PackageError`."""
    name, market_name = split_plugin_and_marketplace(source)
    market = find_marketplace(paths, market_name)
    plugins = read_marketplace_plugins(market)
    found = [one for one in plugins if one.name == name]
    if not found:
        near = ", ".join(sorted(one.name for one in plugins if name.casefold() in one.name.casefold())[:5])
        raise PackageError(
            f"{market_name} has no plugin {name}{f'; it has {near}' if near else ''}. See them: "
            f"bayou plugin marketplace list {market_name}"
        )
    if len(found) > 1:
        raise PackageError(f"{market_name} has two plugins called {name}; install one by its own source")
    entry = found[0].entry
    try:
        revision = _fetch_plugin_entry(paths, market, entry.get("source"), place)
    except ValueError:  # a null byte or a lone surrogate, which no path and no argument can have
        raise PackageError(
            f"the source of the plugin is no path or address: {json.dumps(entry.get('source'))[:200]}"
        ) from None
    own = {key: value for key, value in entry.items() if key not in ("source", "strict", "category", "tags")}
    return FetchedPackage(revision=revision or market.revision, manifest=own)


def _fetch_plugin_entry(paths: BayouPaths, market: Marketplace, source: Any, place: Path) -> str:
    if isinstance(source, str):
        _copy_inside(paths, Path(market.place), source, place)
        return ""
    given = source if isinstance(source, dict) else {}
    kind, ref = given.get("source"), given.get("ref")
    commit = given.get("sha") if isinstance(given.get("sha"), str) else ""
    repository, address = given.get("repo"), given.get("url")
    if kind == "github" and isinstance(repository, str) and _GITHUB_SHORTHAND_PATTERN.fullmatch(repository):
        address = f"https://github.com/{repository}"
    if kind in ("pip", "npm"):
        raise PackageError(f"its source is of the kind {kind}, which bayou cannot install from a marketplace")
    if kind not in ("github", "url", "git-subdir", "git") or not isinstance(address, str):
        raise PackageError(f"unknown kind of plugin source: {json.dumps(source)[:200]}")
    if package_source_kind(address) != "git" or "#" in address:
        raise PackageError(f"{address[:200]} is not the address of a git repository")
    whole = place.with_name("repository")
    wanted = f"{address}#{ref}" if isinstance(ref, str) and ref and not commit else address
    revision = clone_package_repository(paths, wanted, whole, commit=commit or "")
    _copy_inside(paths, whole, str(given.get("path") or "."), place)
    shutil.rmtree(whole, ignore_errors=True)
    return revision


def _copy_inside(paths: BayouPaths, folder: Path, name: str, place: Path) -> None:
    """Copies a folder of a marketplace or repository. Raises `PackageError` for a path that leads out of it."""
    top = Path(os.path.realpath(folder))
    target = Path(os.path.realpath(top / name))
    if name.startswith(("/", "~")) or not target.is_relative_to(top):
        raise PackageError(f"{name} points outside {folder}")
    if not target.is_dir():
        raise PackageError(f"{folder} has no folder {name}")
    copy_package_folder(paths, str(target), place)


def _fetch_market(paths: BayouPaths, source: str) -> tuple[Marketplace, tuple[MarketplacePlugin, ...]]:
    """Fetches a marketplace; a clone stays beside the present ones until it is put in place."""
    source = _source_address(paths, source)
    now = time.strftime("%Y-%m-%d", time.gmtime())
    if package_source_kind(source) == "path":
        folder = Path(os.path.realpath(paths.cwd / Path(source).expanduser()))
        if not folder.is_dir():
            raise PackageError(f"{folder}: no such folder")
        name, plugins = _read_marketplace(folder)
        return Marketplace(name=name, source=str(folder), added_at=now, place=str(folder)), plugins
    if package_source_kind(source) != "git":
        raise PackageError(f"{source}: a marketplace is a folder, a git URL or OWNER/REPOSITORY of GitHub")
    clones = paths.packages_dir / _MARKETPLACES_FOLDER
    clones.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".new-", dir=clones)) / "clone"
    try:
        fetched = fetch_package(paths, source, place)
        name, plugins = _read_marketplace(place)
    except BaseException:
        shutil.rmtree(place.parent, ignore_errors=True)
        raise
    market = Marketplace(name=name, source=source, revision=fetched.revision, added_at=now, place=str(place))
    return market, plugins


def _source_address(paths: BayouPaths, source: str) -> str:
    is_short = _GITHUB_SHORTHAND_PATTERN.fullmatch(source) and not (paths.cwd / source).exists()
    return f"https://github.com/{source}" if is_short else source


def _move_into_place(paths: BayouPaths, market: Marketplace) -> Marketplace:
    """Moves a new clone to the marketplace's folder."""
    clones = paths.packages_dir / _MARKETPLACES_FOLDER
    if not Path(market.place).is_relative_to(clones):
        return market
    target = clones / market.name
    shutil.rmtree(target, ignore_errors=True)
    Path(market.place).rename(target)
    shutil.rmtree(Path(market.place).parent, ignore_errors=True)
    return msgspec.structs.replace(market, place=str(target))


def _delete_clone(paths: BayouPaths, market: Marketplace) -> None:
    place, clones = Path(market.place), paths.packages_dir / _MARKETPLACES_FOLDER
    if place.is_relative_to(clones):
        shutil.rmtree(place.parent if place.parent != clones else place, ignore_errors=True)


def _read_marketplace(folder: Path) -> tuple[str, tuple[MarketplacePlugin, ...]]:
    """Returns the name and the plugins of the marketplace in a folder. Raises `PackageError`."""
    if not (folder / MARKETPLACE_FILE).is_file():
        raise PackageError(f"{folder} has no {MARKETPLACE_FILE}, so it is not a marketplace")
    data = read_package_manifest(folder, MARKETPLACE_FILE)
    name, listed = data.get("name"), data.get("plugins")
    if not isinstance(name, str) or not _NAME_PATTERN.match(name):
        raise PackageError(f"{MARKETPLACE_FILE}: the name must be letters, digits, dots and hyphens")
    if not isinstance(listed, list):
        raise PackageError(f"{MARKETPLACE_FILE}: plugins must be a list")
    root = data.get("metadata", {}).get("pluginRoot") if isinstance(data.get("metadata"), dict) else None
    plugins = [
        MarketplacePlugin(
            name=entry["name"],
            description=str(entry.get("description") or ""),
            entry=_entry_below_root(entry, root),
        )
        for entry in listed
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and _NAME_PATTERN.match(entry["name"])
    ]
    return name, tuple(plugins)


def _entry_below_root(entry: dict[str, Any], root: Any) -> dict[str, Any]:
    source = entry.get("source")
    if not isinstance(root, str) or not isinstance(source, str) or source.startswith(("./", "/", "~")):
        return entry
    return {**entry, "source": f"{root.rstrip('/')}/{source}"}


def _marketplaces_file(paths: BayouPaths) -> Path:
    return paths.packages_dir / "marketplaces.json"


def _store_marketplaces(paths: BayouPaths, markets: list[Marketplace]) -> None:
    data = [msgspec.to_builtins(one) for one in sorted(markets, key=lambda one: one.name)]
    write_text(_marketplaces_file(paths), json.dumps(data, indent=2, ensure_ascii=False) + "\n")
