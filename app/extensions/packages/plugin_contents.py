"""Inspects a plugin in Claude Code's form: a folder with `.claude-plugin/plugin.json` or `plugin.json`. Runs nothing.

bayou uses its skills, commands, agents, hooks and MCP servers. The rest is named and not used."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.packages.package_contents import PackageContents, PackageError, read_package_manifest
from app.resources.frontmatter import read_markdown_with_frontmatter
from app.resources.helper_kinds import BUILT_IN_HELPER_AGENT_KINDS
from app.resources.hook_files import read_hook_file
from app.resources.mcp_server_files import MCP_SERVERS_KEY, UncheckedMcpServers
from app.resources.plugin_folder import PluginFolder
from app.resources.trust.project_servers import project_servers
from tools.files.path_existence import exists, is_dir, is_file

PLUGIN_MANIFEST_FILE = ".claude-plugin/plugin.json"
_PLUGIN_MANIFEST_FILES = (PLUGIN_MANIFEST_FILE, "plugin.json")
_DEFAULT_PLUGIN_FILES = {"hooks": "hooks/hooks.json", "mcpServers": ".mcp.json"}
_UNSUPPORTED_PLUGIN_PARTS = {
    "LSP servers": ("lspServers", ".lsp.json"),
    "output styles": ("outputStyles", "output-styles"),
    "monitors": ("monitors", "monitors/monitors.json"),
    "channels": ("channels", "channels"),
}
"""Parts that bayou does not use: their key in the manifest, and their usual place."""
_MAX_SERVER_NAME_CHARS = 64


class PluginMcpServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server of a plugin, with the plugin's folder in place of its variables."""

    name: str
    """`plugin_PLUGIN_SERVER`, so that it cannot replace a server of the user or of another plugin."""
    entry: Mapping[str, Any]


def read_plugin_manifest(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of a plugin; None if the folder is no plugin. Raises `PackageError` if the manifest
    cannot be read."""
    name = next((name for name in _PLUGIN_MANIFEST_FILES if is_file(folder / name)), None)
    return read_package_manifest(folder, name) if name is not None else None


def inspect_plugin(
    folder: Path, manifest: dict[str, Any], *, has_usual_places: bool = True
) -> PackageContents:
    """Returns the parts of a plugin: those in the usual places, if it may have them, and those that the manifest
    names. Raises `PackageError` for a path that leads out of it."""
    agents, unused = _usable_agents(
        folder, _part_folders(folder, manifest, "agents", has_usual=has_usual_places)
    )
    skills = [
        skill.parent.relative_to(folder).as_posix()
        for name in _part_folders(folder, manifest, "skills", has_usual=has_usual_places)
        for skill in sorted((folder / name).rglob("SKILL.md"))
    ]
    plugin = PluginFolder(name=str(manifest.get("name") or folder.name), root=folder)
    hook_files, server_files = (
        _part_files(folder, manifest, "hooks"),
        _part_files(folder, manifest, "mcpServers"),
    )
    runs, not_run = _hook_descriptions(plugin, hook_files)
    unused += not_run
    runs += _server_descriptions(plugin, server_files)
    unused += [
        kind
        for kind, (key, place) in _UNSUPPORTED_PLUGIN_PARTS.items()
        if manifest.get(key) or exists(folder / place)
    ]
    return PackageContents(
        skills=tuple(dict.fromkeys(skills)),
        commands=tuple(_part_folders(folder, manifest, "commands", has_usual=has_usual_places)),
        agents=tuple(agents),
        hooks=tuple(hook_files),
        servers=tuple(server_files),
        runs=tuple(line.replace(str(folder), "${CLAUDE_PLUGIN_ROOT}") for line in runs),
        unused=tuple(unused),
    )


def read_plugin_mcp_servers(plugin: PluginFolder, file: Path) -> list[PluginMcpServer]:
    """Returns the servers of a plugin's file: below `mcpServers`, or the servers themselves. Raises `PackageError`."""
    data = read_package_manifest(file.parent, file.name)
    is_manifest = file.name == "plugin.json"
    table = data.get(MCP_SERVERS_KEY, {} if is_manifest else data)
    if not isinstance(table, dict):
        raise PackageError(f"{file.name}: {MCP_SERVERS_KEY} must be an object of servers by name")
    return [
        PluginMcpServer(name=_server_name(plugin.name, name), entry=plugin.expand(entry))
        for name, entry in table.items()
        if isinstance(entry, dict)
    ]


def _server_name(plugin: str, server: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"plugin_{plugin}_{server}")[:_MAX_SERVER_NAME_CHARS]


def _hook_descriptions(plugin: PluginFolder, files: list[str]) -> tuple[list[str], list[str]]:
    """Returns a line for each hook, and one for each that does not run."""
    runs: list[str] = []
    unused: list[str] = []
    for name in files:
        read = read_hook_file(plugin.root / name, plugin=plugin)
        runs += [f"hook {hook.detail}" for hook in read.hooks]
        unused += [f"hooks: {problem}" for problem in read.problems]
    return runs, unused


def _server_descriptions(plugin: PluginFolder, files: list[str]) -> list[str]:
    found = [server for name in files for server in read_plugin_mcp_servers(plugin, plugin.root / name)]
    names = [server.name for server in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PackageError(f"two MCP servers of the plugin are called {twice}")
    table = UncheckedMcpServers(path=plugin.root, entries={one.name: one.entry for one in found})
    return [f"MCP server {one.detail}" for one in project_servers(table)]


def _part_files(folder: Path, manifest: dict[str, Any], key: str) -> list[str]:
    """Returns the files with hooks or servers: the usual one, those that the manifest names, and the manifest itself
    if it contains some."""
    said = manifest.get(key)
    usual = _DEFAULT_PLUGIN_FILES[key]
    found = [usual] if is_file(folder / usual) else []
    if isinstance(said, dict):
        found.append(next(name for name in _PLUGIN_MANIFEST_FILES if is_file(folder / name)))
    elif said is not None:
        found += _paths_in_manifest(folder, said, key)
    for name in found:
        _require_json(folder / name)
    return list(dict.fromkeys(found))


def _require_json(file: Path) -> None:
    try:
        json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise PackageError(f"{file.name} cannot be read: {problem}") from None


def _part_folders(folder: Path, manifest: dict[str, Any], kind: str, *, has_usual: bool) -> list[str]:
    """Returns the folders of a kind: the usual one, and those that the manifest names."""
    usual = [kind] if has_usual and is_dir(folder / kind) else []
    return list(dict.fromkeys([*usual, *_paths_in_manifest(folder, manifest.get(kind, []), kind)]))


def _paths_in_manifest(folder: Path, said: Any, kind: str) -> list[str]:
    """Returns the paths that the manifest names for a kind. Raises `PackageError` for one that leads out."""
    names = [said] if isinstance(said, str) else said
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PackageError(f"plugin.json: {kind} must be a path or a list of paths")
    top = folder.resolve()
    for name in names:
        target = (folder / name).resolve()
        if name.startswith(("/", "~")) or not target.is_relative_to(top) or not exists(target):
            raise PackageError(f"plugin.json names {name} for {kind}, which is not in the plugin")
    return [(folder / name).resolve().relative_to(top).as_posix() for name in names]


def _usable_agents(folder: Path, places: list[str]) -> tuple[list[str], list[str]]:
    """Returns the agent files of a plugin without those that have the name of a built-in helper, and a line about
    each of these."""
    kept: list[str] = []
    unused: list[str] = []
    for name in places:
        place = folder / name
        files = [place] if is_file(place) else sorted(place.rglob("*.md"))
        named = {file.relative_to(folder).as_posix(): _built_in_agent_name(file) for file in files}
        clashes = [
            f"{path}, which has the name of the built-in helper {one}" for path, one in named.items() if one
        ]
        unused += clashes
        kept += [path for path, one in named.items() if not one] if clashes else [name]
    return kept, unused


def _built_in_agent_name(file: Path) -> str:
    """Returns the name of an agent if it is that of a built-in helper."""
    document = read_markdown_with_frontmatter(file, [])
    name = str((document.fields.get("name") if document is not None else "") or file.stem)
    return name if any(kind.name == name for kind in BUILT_IN_HELPER_AGENT_KINDS) else ""
