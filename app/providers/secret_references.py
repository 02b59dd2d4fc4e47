"""Resolves values that stand for a secret: literal text, `$NAME` for a variable, or `!command` for a
command's output."""

import asyncio
import os
from collections.abc import Mapping

from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex
from tools.running.child_programs import ChildProgram

_ENVIRONMENT_VARIABLE_PATTERN = lazy_regex(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SECRET_COMMAND_TIMEOUT_SECONDS = 60.0


class CredentialError(UserError):
    """Raised if a credential is not available. The message names the provider and the next step, never the secret."""


def parse_variable_name(value: str) -> str | None:
    """Returns the name of the environment variable if the whole value stands for one (`$NAME`); None otherwise."""
    match = _ENVIRONMENT_VARIABLE_PATTERN.fullmatch(value)
    return (match[1] or match[2]) if match else None


def is_secret_resolvable(value: str, env: Mapping[str, str]) -> bool:
    """Says whether the value would probably resolve, without running a command."""
    name = parse_variable_name(value)
    return bool(env.get(name)) if name else bool(value.strip())


def mask_secret(secret: str) -> str:
    """Returns a secret in a form that may be shown: a long one keeps enough characters to be recognised."""
    if len(secret) < 16:
        return "•" * 8
    return f"{secret[:4]}…{secret[-4:]}"


class SecretResolver:
    """Resolves key values; each command runs once per process."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._output_by_command: dict[str, str] = {}
        self._command_locks: dict[str, asyncio.Lock] = {}

    async def resolve_secret(self, value: str, *, what: str) -> str:
        """Returns the secret that a value stands for. `what` is its purpose, for errors. Raises `CredentialError`."""
        if value.startswith("!"):
            return await self._command_output(value[1:].strip(), what)
        name = parse_variable_name(value)
        if name is None:
            return value
        found = self._env.get(name)
        if not found:
            raise CredentialError(
                f"{what} should come from the environment variable {name}, but it is not set."
            )
        return found

    async def _command_output(self, command: str, what: str) -> str:
        async with self._command_locks.setdefault(command, asyncio.Lock()):
            known = self._output_by_command.get(command)
            if known is None:
                known = self._output_by_command[command] = await self._run_command(command, what)
            return known

    async def _run_command(self, command: str, what: str) -> str:
        # The command runs in the user's terminal, where it may ask for a password.
        async with await ChildProgram.start(
            ("/bin/sh", "-c", command), env={**os.environ, **self._env}, keeps_errors=True, is_apart=False
        ) as program:
            try:
                async with asyncio.timeout(_SECRET_COMMAND_TIMEOUT_SECONDS):
                    out, err = await asyncio.gather(program.stdout.read(), program.stderr.read())
                    code = await program.wait()
            except TimeoutError:
                raise CredentialError(
                    f"{what} should come from the command `{command}`, but it did not finish within "
                    f"{_SECRET_COMMAND_TIMEOUT_SECONDS:g} seconds."
                ) from None
        if code != 0:
            reason = err.decode("utf-8", "replace").strip().splitlines()
            detail = f": {reason[-1]}" if reason else ""
            raise CredentialError(
                f"{what} should come from the command `{command}`, but it failed with exit code {code}{detail}"
            )
        text = out.decode("utf-8", "replace").strip()
        if not text:
            raise CredentialError(f"{what} should come from the command `{command}`, but it printed nothing.")
        return text
