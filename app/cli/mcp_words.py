"""The words behind `bayou mcp`: what there is, and what those of `add` say."""

from typing import Any

import msgspec

from app.assembly.options import UsageError
from app.mcp.entries import EXPOSURES, name_problem

USAGE = """\
bayou mcp list [--json]            the servers that are configured, and where; contacts none
bayou mcp get NAME                 all that is configured of one
bayou mcp add NAME [-l] -- COMMAND [ARG …]
bayou mcp add NAME [-l] --url URL
                                   adds one to your own servers, with -l to this folder's (.bayou/mcp.json)
      --env NAME=VALUE             a variable for the command (may be repeated)
      --header NAME=VALUE          a header for the address (may be repeated)
      --bearer-env NAME            sends the token that is in the variable NAME
      --exposure auto|direct|search|hidden
bayou mcp remove NAME              takes it out of the file it stands in
bayou mcp enable|disable NAME      whether it is used
bayou mcp test [NAME …]            connects to them, or to all; ends with 1 if one cannot be reached
bayou mcp restart NAME             connects anew and asks for everything that it offers
bayou mcp login NAME [--no-browser]
bayou mcp logout NAME              signs in to a server on the network, and out
bayou mcp logs NAME                the last that it wrote, and the file with all of it
bayou mcp import PROGRAM [-l] [--yes]
                                   takes over the servers of claude, cursor, vscode, codex, opencode or pi
"""
CONTACTS = ("test", "login", "logout", "restart")
_VALUED = ("--url", "--env", "--header", "--bearer-env", "--exposure")


class AddedServer(msgspec.Struct, kw_only=True):
    """What the words of `add` say."""

    name: str
    is_local: bool = False
    entry: dict[str, Any] = msgspec.field(default_factory=dict)


def added_server(words: list[str]) -> AddedServer:
    """Raises `UsageError`."""
    rest, command = list(words), list[str]()
    if "--" in rest:
        at = rest.index("--")
        rest, command = rest[:at], rest[at + 1 :]
    added = AddedServer(name="")
    while rest:
        word = rest.pop(0)
        word, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _VALUED and not is_joined:
            if not rest:
                raise UsageError(f"{word} needs a value.")
            value = rest.pop(0)
        if word.startswith("-"):
            _take_flag(added, word, value)
        elif added.name:
            told = f'"{word}" is one too many; a command stands behind --: bayou mcp add NAME -- {word} …'
            raise UsageError(told)
        else:
            added.name = word
    if command:
        added.entry |= {"command": command[0], "args": command[1:]}
    _check(added)
    return added


def _take_flag(added: AddedServer, word: str, value: str) -> None:
    entry = added.entry
    match word:
        case "-l" | "--local":
            added.is_local = True
        case "--url" | "--exposure":
            entry[word[2:]] = value
        case "--env":
            entry["env"] = {**entry.get("env", {}), **_pair(word, value)}
        case "--header":
            entry["headers"] = {**entry.get("headers", {}), **_pair(word, value)}
        case "--bearer-env":
            entry["headers"] = {**entry.get("headers", {}), "Authorization": f"Bearer ${{{value}}}"}
        case _:
            raise UsageError(f"{word} is not known. A server's own words stand behind --.\n{USAGE}")


def _check(added: AddedServer) -> None:
    entry = added.entry
    if not added.name:
        raise UsageError("Server name required. Usage: bayou mcp add NAME …")
    if wrong := name_problem(added.name):
        raise UsageError(f"{wrong}.")
    if ("command" in entry) == bool(entry.get("url")):
        raise UsageError("A server has a command (behind --) or an address (--url), one of them.")
    if entry.get("exposure", "auto") not in EXPOSURES:
        raise UsageError(f"--exposure is one of {', '.join(EXPOSURES)}.")
    if "headers" in entry and "command" in entry:
        raise UsageError("--header and --bearer-env are for an address; a command gets --env.")
    if "env" in entry and "command" not in entry:
        raise UsageError("--env is for a command; an address gets --header.")


def _pair(flag: str, text: str) -> dict[str, str]:
    """`NAME=VALUE`, and for headers `Name: value` as well."""
    separators = [mark for mark in ("=", ":") if mark in text]
    if not separators or (flag == "--env" and "=" not in text):
        raise UsageError(f"{flag} needs NAME=VALUE.")
    mark = "=" if flag == "--env" else min(separators, key=text.index)
    name, _, value = text.partition(mark)
    return {name.strip(): value.strip() if flag == "--header" else value}
