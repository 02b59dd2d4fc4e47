"""Chooses the extensions of a program run: those that command line, settings and packages name."""

from functools import partial

from app.assembly.command_line_options import CommandLineOptions
from app.extensions.extension_runner import Extensions
from app.extensions.loading.extension_sources import (
    ChosenExtensions,
    ExtensionCommandLineFlags,
    choose_extension_sources,
)
from app.extensions.time_limits import read_hook_limits
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings


def extension_flags(options: CommandLineOptions) -> ExtensionCommandLineFlags:
    return ExtensionCommandLineFlags(
        is_safe=options.safe, only_named=options.no_extensions, named=options.extension
    )


def choose_extensions(
    options: CommandLineOptions, paths: BayouPaths, settings: Settings, *, is_trusted: bool
) -> ChosenExtensions:
    """Returns the extensions and further folders of resources that are named for this folder."""
    return choose_extension_sources(paths, settings, extension_flags(options), is_trusted=is_trusted)


def make_session_extensions(options: CommandLineOptions, effective_settings: EffectiveSettings) -> Extensions:
    """Makes the session's `Extensions`, without loading any."""
    return Extensions(
        flags=options.extension_flags,
        behind=options.value_after_flag,
        limits=partial(read_hook_limits, effective_settings),
    )
