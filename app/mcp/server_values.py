"""What stands for a value in a server's configuration, filled in when it is contacted: `${NAME}`, `!command`.

Nothing of this happens when files are read: a variable that is missing keeps one server from being started, and a
command that fetches a token runs when the token is needed.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from app.mcp.entries import ServerConfig, address_problem
from app.providers.key_values import KeyValues
from app.values.unable import Unable
from tools.running.withheld import looks_secret
from tools.text import visible

_VARIABLE = re.compile(
    r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^}]*))?\}"
)
_INPUT = re.compile(r"\$\{(?:input|command|config):[^}]*\}")


class ServerRefused(Unable):
    """A server cannot be contacted as it is configured. `str` says which value is missing, never one."""


def secrets_in(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """By name: what of its values, filled in, nobody else may see."""
    for name, value in (*server.env.items(), *server.headers.items()):
        secret = value.rpartition(" ")[2] if name in server.headers else value
        if name.lower() == "authorization" or looks_secret(name.replace("-", "_"), secret):
            yield name, secret
    if server.oauth is not None:
        yield "client-secret", server.oauth.client_secret
        yield "private-key", server.oauth.private_key


class ServerValues:
    """Fills in values. A command runs once for each of these objects, so a new contact after `forget` asks it anew."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._commands = KeyValues(env)

    def forget(self) -> None:
        """What commands printed may be outdated: a token that was refused."""
        self._commands = KeyValues(self._env)

    async def resolved(self, server: ServerConfig) -> ServerConfig:
        """The server with every value as it is to be used. Raises `Unable`."""
        if server.problem:
            raise ServerRefused(server.problem)
        changes: dict[str, object] = {}
        if server.command is not None:
            changes["command"] = self._filled(server.command)
            changes["args"] = tuple(map(self._filled, server.args))
            changes["env"] = await self._all(server.env, "the variable")
            changes["cwd"] = self._filled(server.cwd) if server.cwd is not None else None
        if server.url is not None:
            changes["url"] = await self._one(server.url, "the address")
            changes["headers"] = await self._all(server.headers, "the header")
        if server.oauth is not None:
            changes["oauth"] = msgspec.structs.replace(
                server.oauth,
                client_secret=await self._one(server.oauth.client_secret, "the client secret"),
                private_key=await self._one(server.oauth.private_key, "the private key"),
            )
        found = msgspec.structs.replace(server, **changes)
        self._check(found)
        return found

    async def _all(self, values: Mapping[str, str], what: str) -> dict[str, str]:
        return {name: await self._one(value, f"{what} {name}") for name, value in values.items()}

    async def _one(self, value: str, what: str) -> str:
        if value.startswith("!"):
            return await self._commands.resolve(value, what=what[:1].upper() + what[1:])
        return self._filled(value)

    def _filled(self, value: str) -> str:
        foreign = _INPUT.search(value)
        if foreign:
            raise ServerRefused(
                f"{visible(foreign[0])} is another program's way to ask; write ${{NAME}} for a variable"
            )
        return _VARIABLE.sub(self._variable, value)

    def _variable(self, match: re.Match[str]) -> str:
        found = self._env.get(match["name"])
        if match["has_default"]:
            return found or match["default"]
        if found is None:
            raise ServerRefused(f"${{{match['name']}}} is not set")
        return found

    def _check(self, server: ServerConfig) -> None:
        fault = address_problem(server.url) if server.url is not None else ""
        if fault:
            raise ServerRefused(f"{fault}, once its variables are filled in")
        for name, value in server.headers.items():
            if re.search(r"[\r\n\0]", value):
                raise ServerRefused(
                    f"the header {name} would hold a line break; look at where its value comes from"
                )
        for name, value in server.env.items():
            if "\0" in value:
                raise ServerRefused(f"the variable {name} would hold a NUL character")
