"""Inspects what a package contains: extensions, skills, prompts, themes. Runs none of its code."""

import json
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.loading.extension_finder import ENTRY_POINT_GROUP, PACKAGE_MANIFEST_NAME
from app.values.user_errors import UserError
from tools.files.path_existence import exists, is_dir, is_file
from tools.text_sanitizing import one_line


class PackageError(UserError):
    """The package cannot be installed. `str` says why."""


class DistributionEntryPoint(msgspec.Struct, frozen=True, kw_only=True):
    """An entry point of a Python distribution: its name and its value, `module:function`."""

    name: str
    value: str


class PackageContents(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a package, as paths relative to its folder."""

    extensions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """Folders or files of commands in Claude Code's form."""
    agents: tuple[str, ...] = ()
    """Folders or files of helper kinds."""
    hooks: tuple[str, ...] = ()
    """Files with hooks in Claude Code's form."""
    servers: tuple[str, ...] = ()
    """Files with MCP servers."""
    runs: tuple[str, ...] = ()
    """The hooks and servers in words, for the user who is asked for approval."""
    unused: tuple[str, ...] = ()
    """What else it has, which bayou does not use."""
    entry_points: tuple[DistributionEntryPoint, ...] = ()
    """The entry points of a Python distribution."""

    @property
    def is_empty(self) -> bool:
        parts = (self.extensions, self.skills, self.prompts, self.themes, self.commands, self.agents)
        return not any((*parts, self.entry_points, self.hooks, self.servers))

    def describe_lines(self) -> tuple[str, ...]:
        """Describes the contents for the user who is asked for approval."""
        runs = [f"runs Python code: {name}" for name in self.extensions]
        runs += [f"runs Python code: {point.name} ({point.value})" for point in self.entry_points]
        runs += self.runs
        more = [
            f"{kind}: {name}"
            for kind, names in (
                ("skill", self.skills),
                ("prompts", self.prompts),
                ("theme", self.themes),
                ("commands", self.commands),
                ("agents", self.agents),
                ("not used by bayou", self.unused),
            )
            for name in names
        ]
        return tuple(one_line(line) for line in (*runs, *more))


def inspect_package_folder(folder: Path) -> PackageContents:
    """Returns the parts that the folder declares in `bayou.json`, or has in the usual places. Raises
    `PackageError`."""
    if is_file(folder / PACKAGE_MANIFEST_NAME):
        return _declared_contents(folder)
    extensions = ["."] if is_file(folder / "__init__.py") else []
    extensions += [_relative_path(folder, path) for path in _extension_files(folder / "extensions")]
    if not extensions:
        extensions = [path.name for path in sorted(folder.glob("*.py")) if _defines_extension(path)]
    return PackageContents(
        extensions=tuple(extensions),
        skills=tuple(_relative_path(folder, path.parent) for path in _skill_folders(folder)),
        prompts=("prompts",) if any((folder / "prompts").glob("*.md")) else (),
        themes=("themes",) if is_dir(folder / "themes") else (),
    )


def inspect_pip_target_folder(site: Path) -> PackageContents:
    """Returns the entry points of the distributions in a folder that pip has filled."""
    from importlib.metadata import distributions  # noqa: PLC0415  (only for Python packages)

    points = [
        DistributionEntryPoint(name=point.name, value=point.value)
        for distribution in distributions(path=[str(site)])
        for point in distribution.entry_points
        if point.group == ENTRY_POINT_GROUP
    ]
    return PackageContents(entry_points=tuple(sorted(points, key=lambda point: point.name)))


def read_package_manifest_or_empty(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / PACKAGE_MANIFEST_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def read_package_manifest(folder: Path, name: str) -> dict[str, Any]:
    """Returns the manifest of a package. Raises `PackageError` for a file that cannot be read."""
    try:
        data = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise PackageError(f"{name} cannot be read: {problem}") from None
    if not isinstance(data, dict):
        raise PackageError(f"{name} must contain a JSON object")
    return data


def _declared_contents(folder: Path) -> PackageContents:
    data = read_package_manifest(folder, PACKAGE_MANIFEST_NAME)
    fields: dict[str, tuple[str, ...]] = {}
    for kind in ("extensions", "skills", "prompts", "themes"):
        names = data.get(kind, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise PackageError(f"{PACKAGE_MANIFEST_NAME}: {kind} must be a list of paths")
        for name in names:
            target = (folder / name).resolve()
            if not target.is_relative_to(folder.resolve()) or not exists(target):
                raise PackageError(f"{PACKAGE_MANIFEST_NAME} names {name}, which is not in the package")
        fields[kind] = tuple(names)
    return PackageContents(**fields)  # pyright: ignore[reportArgumentType]  (four of its fields)


def _extension_files(folder: Path) -> list[Path]:
    if not is_dir(folder):
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if not path.name.startswith((".", "_")) and (path.suffix == ".py" or is_file(path / "__init__.py"))
    ]


def _defines_extension(path: Path) -> bool:
    return "def extension(" in path.read_text(encoding="utf-8", errors="replace")


def _skill_folders(folder: Path) -> list[Path]:
    if is_file(folder / "SKILL.md"):
        return [folder / "SKILL.md"]
    return sorted((folder / "skills").rglob("SKILL.md"))


def _relative_path(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix() or "."
