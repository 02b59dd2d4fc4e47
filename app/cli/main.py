"""The command line's way: words → options → session → face. Each step imports what it needs and no more."""

import sys

from app.version import VERSION

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["--version"], ["-v"]):
        return _say(f"bayou {VERSION}")
    return _run(words)


def _run(words: list[str]) -> int:
    # Help and usage errors need the flags' table only.
    from app.assembly.options import UsageError  # noqa: PLC0415
    from app.cli.flags import help_text  # noqa: PLC0415
    from app.cli.options import options_from  # noqa: PLC0415

    try:
        subcommand = _subcommand(words)
        if subcommand is not None:
            return subcommand(words[1:])
        options = options_from(words)
        if options.version:
            return _say(f"bayou {VERSION}")
        if options.help:
            return _say(help_text())
        # The session's parts are heavier than anything above.
        from app.cli.start import start  # noqa: PLC0415

        return start(options)
    except UsageError as problem:
        _complain(str(problem))
        return EXIT_USAGE
    except KeyboardInterrupt:
        return 130


def _subcommand(words: list[str]):
    from app.cli.subcommands import SUBCOMMANDS  # noqa: PLC0415  (only names; each imports its own needs)

    return SUBCOMMANDS.get(words[0]) if words else None


def _say(text: str) -> int:
    sys.stdout.write(text + "\n")
    return 0


def _complain(text: str) -> None:
    sys.stderr.write(f"bayou: {text}\n")
