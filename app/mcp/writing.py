"""Changing what the files say of servers: one value each, the rest of the text stays byte for byte as it was.

What a person says of a project's server stands in their own file: the project's is shared with others, and a change to
it would have to be trusted anew.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.mcp.entries import ServerConfig, checked_entry, is_override, server_key
from app.resources.json_files import change_json
from app.resources.paths import Paths
from app.resources.server_files import KEY, read_servers, user_servers_file
from app.values.json_comments import with_value, without_key
from app.values.unable import FileFault, Unable


def add_server(file: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Raises `Unable` for what cannot be a server, and where one of that name stands already."""
    _, problems = checked_entry(name, dict(entry), origin="user", file=file)
    for problem in problems:
        if not problem.is_hint:
            raise Unable(f'Server "{name}" was not added: {problem.text}.')
    there = name_in(file, name)
    if there is not None:
        raise Unable(f'{file} has a server "{there}" already. Remove it first: bayou mcp remove {there}')
    _change(file, lambda text: with_value(text, (KEY, name), dict(entry)))


def remove_server(file: Path, name: str) -> None:
    _change(file, lambda text: without_key(text, (KEY, name)))


def name_in(file: Path, name: str) -> str | None:
    """How the file calls a server. Raises `Unable` if the file is broken."""
    written = read_servers(file)
    if written.fault:
        raise Unable(f"{file}: {written.fault} Mend the file first; it was left as it is.")
    key = server_key(name)
    return next((each for each in written.entries if server_key(each) == key), None)


def say_of(paths: Paths, server: ServerConfig, key: str, value: Any) -> Path:
    """Sets `enabled` or `exposure` of a server, and gives the file in which that stands now."""
    if server.origin not in ("user", "project"):
        raise Unable(
            f'Server "{server.name}" comes from {_whence(server)}, and that says whether it is used; '
            "nothing was changed."
        )
    own = user_servers_file(paths)
    there = name_in(own, server.name)
    of_own = read_servers(own).entries.get(there) if there is not None else None
    if server.origin == "project" and of_own is not None and not is_override(of_own):
        raise Unable(f'"{server.name}" is defined in {own} too; change it in {server.file}.')
    _change(own, lambda text: with_value(text, (KEY, there or server.name, key), value))
    return own


def _whence(server: ServerConfig) -> str:
    whence = {"flag": "--mcp-config", "extension": "an extension", "client": "the editor"}
    return whence.get(server.origin, str(server.file))


def _change(file: Path, edit: Callable[[str], str]) -> None:
    try:
        change_json(file, edit, new_mode=0o600)  # what is new may come to hold a token
    except OSError as problem:
        raise FileFault(file, f"cannot be written: {problem.strerror or problem}") from None
