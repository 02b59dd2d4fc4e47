"""From the command line's words to options; contradictions are found here."""

import msgspec

from app.assembly.options import Options, UsageError, said
from app.cli.flags import Parsed, parse
from tools.patterns import late

_SESSION_ID = late(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$")


def options_from(arguments: list[str]) -> Options:
    """Reads the command line. Raises `UsageError`."""
    parsed = parse(arguments)
    options = msgspec.convert(_fields(parsed), Options)
    _refuse_contradictions(options)
    return options


def _fields(parsed: Parsed) -> dict[str, object]:
    fields: dict[str, object] = dict(parsed.values)
    if "continue" in fields:
        fields["continue_"] = fields.pop("continue")
    fields["files"], fields["messages"] = said(parsed.words)
    fields["words"] = parsed.words
    fields["extension_flags"] = dict(parsed.unknown)
    fields["follows"] = dict(parsed.follows)
    return fields


def _refuse_contradictions(options: Options) -> None:
    places = {
        "--session": options.session,
        "--continue": options.continue_,
        "--resume": options.resume,
        "--no-session": options.no_session,
    }
    if options.fork is not None:
        _refuse("--fork", places)
    if options.session_id is not None:
        del places["--no-session"]
        _refuse("--session-id", places)
        if not _SESSION_ID.match(options.session_id):
            raise UsageError(
                f"--session-id {options.session_id}: use letters, digits, dots, dashes and underscores, "
                "beginning and ending with a letter or digit."
            )
    chosen = [name for name, value in places.items() if value]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other.")
    if options.provider and not options.model:
        raise UsageError("--provider needs --model: it says where to look for the model.")
    if options.api_key and not (options.model or options.models):
        raise UsageError("--api-key needs --model (or --models): a key belongs to a provider.")
    if options.approve and options.no_approve:
        raise UsageError("--approve and --no-approve exclude each other.")
    if options.mode == "rpc" and options.files:
        raise UsageError("@file arguments are not read in RPC mode; send them with a prompt command.")
    if options.no_tools and options.tools:
        raise UsageError("--tools and --no-tools exclude each other.")


def _refuse(flag: str, places: dict[str, object]) -> None:
    for other, value in places.items():
        if value:
            raise UsageError(f"{flag} and {other} exclude each other.")
