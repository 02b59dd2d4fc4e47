"""Inspects a plugin in Claude Code's form: a folder with `.claude-plugin/plugin.json` or `plugin.json`. Runs nothing.

bayou uses its skills, commands and agents. Its hooks and servers are named and not used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.extensions.packages.package_contents import PackageContents, PackageError, read_manifest
from app.resources.frontmatter import read_document
from app.resources.helper_kinds import BUILT_IN
from tools.files.presence import exists, is_dir, is_file

_MANIFESTS = (".claude-plugin/plugin.json", "plugin.json")
_UNUSED = {
    "hooks": ("hooks", "hooks/hooks.json"),
    "MCP servers": ("mcpServers", ".mcp.json"),
    "LSP servers": ("lspServers", ".lsp.json"),
    "output styles": ("outputStyles", "output-styles"),
}
"""Parts that bayou does not use: their key in the manifest, and their usual place."""


def plugin_manifest(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of a plugin; None if the folder is none. Raises `PackageError` if it cannot be read."""
    name = next((name for name in _MANIFESTS if is_file(folder / name)), None)
    return read_manifest(folder, name) if name is not None else None


def inspect_plugin(folder: Path, manifest: dict[str, Any]) -> PackageContents:
    """Returns the parts of a plugin. Raises `PackageError` for a path that leads out of it, and for an agent with the
    name of a built-in helper."""
    agents = _places(folder, manifest, "agents")
    for file in _documents(folder, agents):
        _refuse_built_in(folder, file)
    skills = [
        skill.parent.relative_to(folder).as_posix()
        for name in _places(folder, manifest, "skills")
        for skill in sorted((folder / name).rglob("SKILL.md"))
    ]
    unused = [kind for kind, (key, place) in _UNUSED.items() if manifest.get(key) or exists(folder / place)]
    return PackageContents(
        skills=tuple(dict.fromkeys(skills)),
        commands=tuple(_places(folder, manifest, "commands")),
        agents=tuple(agents),
        unused=tuple(unused),
    )


def _places(folder: Path, manifest: dict[str, Any], kind: str) -> list[str]:
    """Returns the folders of a kind: the usual one, and those that the manifest names."""
    said = manifest.get(kind, [])
    names = [said] if isinstance(said, str) else said
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PackageError(f"plugin.json: {kind} must be a path or a list of paths")
    top = folder.resolve()
    for name in names:
        target = (folder / name).resolve()
        if name.startswith(("/", "~")) or not target.is_relative_to(top) or not exists(target):
            raise PackageError(f"plugin.json names {name} for {kind}, which is not in the plugin")
    usual = [kind] if is_dir(folder / kind) else []
    found = [*usual, *((folder / name).resolve().relative_to(top).as_posix() for name in names)]
    return list(dict.fromkeys(found))


def _documents(folder: Path, places: list[str]) -> Iterator[Path]:
    for name in places:
        place = folder / name
        yield from [place] if is_file(place) else sorted(place.glob("*.md"))


def _refuse_built_in(folder: Path, file: Path) -> None:
    document = read_document(file, [])
    name = str((document.fields.get("name") if document is not None else "") or file.stem)
    if any(kind.name == name for kind in BUILT_IN):
        raise PackageError(f"{file.relative_to(folder)} has the name of the built-in helper {name}")
