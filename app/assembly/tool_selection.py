"""Determines the tools that command line and settings ask for."""

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.engine.core.toolbox import EnabledToolPatterns
from app.resources.settings.settings import Settings


def selected_tools(options: CommandLineOptions, settings: Settings) -> EnabledToolPatterns:
    if options.no_tools:
        return EnabledToolPatterns(allowed_patterns=())
    names = options.tools.split(",") if options.tools else settings.tools.default_tools or ()
    try:
        choice = EnabledToolPatterns.parse([name.strip() for name in names if name.strip()])
    except ValueError as problem:
        raise UsageError(f"--tools: {problem}") from None
    excluded = tuple(name.strip() for name in (options.exclude_tools or "").split(",") if name.strip())
    return msgspec.structs.replace(choice, removed_patterns=(*choice.removed_patterns, *excluded))
