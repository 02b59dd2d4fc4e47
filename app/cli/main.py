"""The command line's way: words → options → session → face. Each step imports what it needs and no more."""

import sys

from app.version import VERSION

EXIT_FAILED = 1
"""Also for words that are not understood, as in pi: a script asks whether it went well."""


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["--version"], ["-v"]):
        return _say(f"bayou {VERSION}")
    _keep_to_itself(words)
    return _run(words)


def _keep_to_itself(words: list[str]) -> None:
    # Before anything is started that could look; the version needs nothing but itself.
    from app.cli.own_process import forbid_looking_inside, hide_key  # noqa: PLC0415

    forbid_looking_inside()
    hide_key(words)


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
        return EXIT_FAILED
    except KeyboardInterrupt:
        return 130
    except Exception as problem:  # noqa: BLE001  (the last boundary: no traceback reaches a person)
        return _crashed(problem)


def _subcommand(words: list[str]):
    from app.cli.subcommands import SUBCOMMANDS  # noqa: PLC0415  (only names; each imports its own needs)

    return SUBCOMMANDS.get(words[0]) if words else None


def _crashed(problem: Exception) -> int:
    # Only a fault needs these.
    import os  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from app.assembly.crash import report_crash, tell_of_crash  # noqa: PLC0415
    from app.resources.paths import Paths  # noqa: PLC0415

    return tell_of_crash(report_crash(Paths.from_env(os.environ, Path("/")).crash_dir, problem))


def _say(text: str) -> int:
    sys.stdout.write(text + "\n")
    return 0


def _complain(text: str) -> None:
    sys.stderr.write(f"bayou: {text}\n")
