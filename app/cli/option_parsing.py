"""Converts the command line's words to options, and rejects contradictions."""

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError, split_files_and_messages
from app.cli.flags import COMMAND_LINE_FLAGS, ParsedCommandLine, parse_command_line
from app.cli.subcommands import SUBCOMMAND_HELP
from tools.lazy_patterns import lazy_regex

_POSITIVE_COUNT_PATTERN = lazy_regex(r"^[1-9][0-9]{0,8}\Z")
_AMOUNT_PATTERN = lazy_regex(r"^[0-9]{1,9}(?:\.[0-9]{1,9})?\Z")
_COMMAND_LIKE_WORD = lazy_regex(r"^[a-z][a-z-]{2,}\Z")
_SESSION_ID_PATTERN = lazy_regex(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$")


def parse_command_line_options(arguments: list[str]) -> CommandLineOptions:
    """Parses the command line. Raises `UsageError`."""
    parsed = parse_command_line(arguments)
    options = msgspec.convert(_option_values(parsed), CommandLineOptions)
    _refuse_contradictions(options)
    return options


def _option_values(parsed: ParsedCommandLine) -> dict[str, object]:
    fields: dict[str, object] = dict(parsed.values)
    if "continue" in fields:
        fields["continue_"] = fields.pop("continue")
    for name, read in (
        ("max-turns", _parse_count),
        ("max-tokens", _parse_count),
        ("max-cost", _parse_amount),
        ("time-limit", _parse_amount),
    ):
        field = name.replace("-", "_")
        if field in fields:
            fields[field] = read(name, str(fields[field]))
    fields["files"], fields["messages"] = split_files_and_messages(parsed.words)
    fields["words"] = parsed.words
    fields["extension_flags"] = dict(parsed.unknown)
    fields["value_positions"] = dict(parsed.unknown_flag_positions)
    return fields


def _parse_count(flag: str, text: str) -> int:
    if not _POSITIVE_COUNT_PATTERN.match(text):
        raise UsageError(f"--{flag} {text}: use a whole number from 1 to 999999999.")
    return int(text)


def _parse_amount(flag: str, text: str) -> float:
    if not _AMOUNT_PATTERN.match(text) or not float(text):
        raise UsageError(f"--{flag} {text}: use a number above 0, such as 0.5 or 60.")
    return float(text)


def _refuse_contradictions(options: CommandLineOptions) -> None:
    places = {
        "--session": options.session,
        "--continue": options.continue_,
        "--resume": options.resume,
        "--no-session": options.no_session,
    }
    if options.fork is not None:
        _refuse_flag("--fork", places)
    if options.session_id is not None:
        del places["--no-session"]
        _refuse_flag("--session-id", places)
        if not _SESSION_ID_PATTERN.match(options.session_id):
            raise UsageError(
                f"--session-id {options.session_id}: use letters, digits, dots, dashes and underscores, "
                "beginning and ending with a letter or digit."
            )
    chosen = [name for name, value in places.items() if value]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} cannot be used together.")
    if options.provider and not options.model:
        raise UsageError("--provider needs --model: it says where to look for the model.")
    if options.api_key and not (options.model or options.models):
        raise UsageError("--api-key needs --model (or --models): a key belongs to a provider.")
    if options.approve and options.no_approve:
        raise UsageError("--approve and --no-approve exclude each other.")
    if options.mode == "rpc" and options.files:
        raise UsageError("@file arguments are not read in RPC mode; send them with a prompt command.")
    if options.mode == "rpc" and options.output_schema is not None:
        raise UsageError(
            "--output-schema is for print and JSON mode: a client of RPC compares answers itself."
        )
    if options.mode == "rpc" and options.result is not None:
        raise UsageError("--result is for print and JSON mode: a client of RPC reads the session itself.")
    _refuse_goal_checks(options)
    if options.no_tools and options.tools:
        raise UsageError("--tools and --no-tools exclude each other.")


def _refuse_goal_checks(options: CommandLineOptions) -> None:
    if not options.goal_check:
        return
    if not all(command.strip() for command in options.goal_check):
        raise UsageError("--goal-check needs a command whose exit code 0 means that the goal is met.")
    if options.mode == "rpc":
        raise UsageError("--goal-check is for print and JSON mode: a client of RPC sends set_goal.")
    if len(options.messages) > 1 and not options.extension_flags:
        raise UsageError("--goal-check takes one prompt, which is the goal. Join the prompts into one.")
    if options.plan:
        raise UsageError("--goal-check and --plan cannot be used together: in plan mode nothing changes.")


def _refuse_flag(flag: str, places: dict[str, object]) -> None:
    for other, value in places.items():
        if value:
            raise UsageError(f"{flag} and {other} cannot be used together.")


def reject_misspelled_subcommand(words: list[str]) -> None:
    """Rejects a single word that is nearly a command or an option, as a typing error. Raises `UsageError`."""
    if len(words) != 1 or not _COMMAND_LIKE_WORD.match(words[0]):
        return
    # Imported here because only a typing error needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = {
        **{flag.name: f"bayou --{flag.name}" for flag in COMMAND_LINE_FLAGS},
        **{name: f"bayou {name}" for name in SUBCOMMAND_HELP},
    }
    close = get_close_matches(words[0], near, n=1, cutoff=0.85)
    if close and words[0] not in near:  # `help` is no slip, and the guide knows it
        raise UsageError(
            f"Unknown command: {words[0]}. Did you mean {near[close[0]]}? To send the word as a "
            f"prompt: bayou -- {words[0]}"
        )
