"""Values that stand for a secret: written out, `$NAME` for a variable, or `!command` for what a command prints."""

import asyncio
import os
from collections.abc import Mapping

from app.values.unable import Unable
from tools.patterns import late
from tools.running.programs import RunningProgram

_VARIABLE = late(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_COMMAND_SECONDS = 60.0


class CredentialError(Unable):
    """A credential that cannot be had. Names the provider and what to do, never the secret."""


def variable_of(value: str) -> str | None:
    """The variable that the whole value names, if it does."""
    match = _VARIABLE.fullmatch(value)
    return (match[1] or match[2]) if match else None


def can_be_had(value: str, env: Mapping[str, str]) -> bool:
    """Whether the value looks as if it will give something, without running anything."""
    name = variable_of(value)
    return bool(env.get(name)) if name else bool(value.strip())


def masked(secret: str) -> str:
    """A secret as it may be shown: enough to recognise it by, if it is long."""
    if len(secret) < 16:
        return "•" * 8
    return f"{secret[:4]}…{secret[-4:]}"


class KeyValues:
    """Reads such values; a command runs once in the life of the process."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._commands: dict[str, str] = {}
        self._running: dict[str, asyncio.Lock] = {}

    async def resolve(self, value: str, *, what: str) -> str:
        """`what` says in errors what the value is for. Raises `CredentialError`."""
        if value.startswith("!"):
            return await self._output_of(value[1:].strip(), what)
        name = variable_of(value)
        if name is None:
            return value
        found = self._env.get(name)
        if not found:
            raise CredentialError(f"{what} is to come from the variable {name}, but that is not set.")
        return found

    async def _output_of(self, command: str, what: str) -> str:
        async with self._running.setdefault(command, asyncio.Lock()):
            known = self._commands.get(command)
            if known is None:
                known = self._commands[command] = await self._run(command, what)
            return known

    async def _run(self, command: str, what: str) -> str:
        # In the person's own terminal session: it may ask for a password there.
        async with await RunningProgram.start(
            ("/bin/sh", "-c", command), env={**os.environ, **self._env}, keeps_errors=True, is_apart=False
        ) as program:
            try:
                async with asyncio.timeout(_COMMAND_SECONDS):
                    out, err = await asyncio.gather(program.stdout.read(), program.stderr.read())
                    code = await program.wait()
            except TimeoutError:
                raise CredentialError(
                    f"{what} is to come from the command `{command}`, but that did not end within "
                    f"{_COMMAND_SECONDS:g} seconds."
                ) from None
        if code != 0:
            reason = err.decode("utf-8", "replace").strip().splitlines()
            detail = f": {reason[-1]}" if reason else ""
            raise CredentialError(
                f"{what} is to come from the command `{command}`, but that failed with exit code {code}{detail}"
            )
        text = out.decode("utf-8", "replace").strip()
        if not text:
            raise CredentialError(
                f"{what} is to come from the command `{command}`, but that printed nothing."
            )
        return text
