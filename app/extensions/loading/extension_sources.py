"""Chooses the extensions to load, by settings, flags, trust and installed packages, at a start and at every
reload."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from app.extensions.extension_registrations import ExtensionSource
from app.extensions.loading.extension_finder import ExtensionSelectionOptions, find_extensions
from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import InstalledPackageParts, installed_package_parts
from app.resources.paths import BayouPaths
from app.resources.plugin_folder import PluginFolder
from app.resources.settings.settings import Settings


class ExtensionCommandLineFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of the command line that concern extensions."""

    is_safe: bool = False
    only_named: bool = False
    named: tuple[str, ...] = ()


class ChosenExtensions(msgspec.Struct, frozen=True, kw_only=True):
    """The extensions to load, and further folders of resources."""

    sources: tuple[ExtensionSource, ...] = ()
    """The extensions to load, for `Extensions.load` and `.reload`."""
    skills: tuple[Path, ...] = ()
    prompts: tuple[Path, ...] = ()
    themes: tuple[Path, ...] = ()
    """More folders, from settings and packages, for `find_skills`, `find_prompt_templates` and `find_themes`."""
    commands: tuple[tuple[PluginFolder, Path], ...] = ()
    """Folders of commands in packages, each with its package, for `find_prompt_templates`."""
    agents: tuple[Path, ...] = ()
    """Folders of helper kinds in packages."""
    problems: tuple[str, ...] = ()


def choose_extension_sources(
    paths: BayouPaths,
    settings: Settings,
    asked: ExtensionCommandLineFlags = ExtensionCommandLineFlags(),  # noqa: B008  (frozen)
    *,
    is_trusted: bool,
) -> ChosenExtensions:
    """Chooses sources without running anything. With `--safe` there are neither extensions nor packages."""
    problems: list[str] = []
    packages = InstalledPackageParts()
    if not asked.is_safe:
        try:
            packages = installed_package_parts(paths)
        except PackageError as problem:
            problems.append(str(problem))
    mine = settings.resources
    found = find_extensions(
        paths,
        ExtensionSelectionOptions(
            is_safe=asked.is_safe,
            only_named=asked.only_named,
            named=asked.named,
            settings=mine.extensions,
            packages=packages.extensions,
            sites=packages.sites,
            is_trusted=is_trusted,
        ),
    )
    return ChosenExtensions(
        sources=found.sources,
        skills=(*_resolved_paths(paths, mine.skills), *packages.skills),
        prompts=(*_resolved_paths(paths, mine.prompts), *packages.prompts),
        themes=(*_resolved_paths(paths, mine.themes), *packages.themes),
        commands=packages.commands,
        agents=packages.agents,
        problems=(*problems, *found.problems),
    )


def _resolved_paths(paths: BayouPaths, words: Iterable[str]) -> tuple[Path, ...]:
    return tuple(paths.home / word[2:] if word.startswith("~/") else paths.cwd / word for word in words)
