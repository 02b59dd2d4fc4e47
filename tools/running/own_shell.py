"""The person's own shell: aliases, functions and options of its start-up files, written down once for commands.

A shell with a person reads its start-up files, and writes down what it has then; nothing of its environment is kept.
What holds a secret is left out.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tools.base import ToolError
from tools.files.replacing import swap_in
from tools.masking.mask import shape_spans
from tools.masking.runs import LongWords
from tools.operations import CommandLine, ProcessOperations
from tools.running.shell import ShellSettings, shell_argv
from tools.running.withheld import looks_secret, own_variables
from tools.workspace import Workspace

MOST_SECONDS: Final = 5.0
MOST_BYTES: Final = 512 * 1024
_MARK: Final = "\x01bayou "
_OPTIONS: Final = "extglob globstar nullglob dotglob nocaseglob failglob autocd cdspell"
_BASH: Final = f"""
set +eu
{{
  for o in {_OPTIONS}; do shopt -p $o; done 2>/dev/null; shopt -po pipefail noclobber
  for a in $(compgen -A alias); do builtin printf '\\001bayou alias\\n'; builtin alias -- "$a"; done
  for f in $(compgen -A function); do builtin printf '\\001bayou function %s\\n' "$f"; declare -f "$f"; done
}} >"$BAYOU_OWN_SHELL" 2>/dev/null
"""
_ZSH: Final = """
{
  for a in ${(k)aliases}; do builtin printf '\\001bayou alias\\n'; builtin alias -L -- "$a"; done
  for f in ${(k)functions}; do
    [[ $f == _* ]] || { builtin printf '\\001bayou function %s\\n' "$f"; functions "$f"; }
  done
} >"$BAYOU_OWN_SHELL" 2>/dev/null
"""
_SCRIPTS: Final[Mapping[str, str]] = {"bash": _BASH, "zsh": _ZSH}
_GIVEN: Final = re.compile(r"\b([A-Za-z_]\w*)=((?:'[^']*'|\"[^\"]*\"|[^\s;&|'\"])+)")
_ALIAS: Final = re.compile(r"alias (?:-- )?([^=\s]+)=(.*)", re.DOTALL)


class ShellSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    file: str = ""
    """What commands read first; empty: nothing."""
    aliases: Mapping[str, str] = {}
    functions: frozenset[str] = frozenset()
    problem: str = ""
    """Why there is nothing, or not all."""


class OwnShell:
    """Made at the first command that wants it, and then known as long as the session lives."""

    def __init__(self, folder: Path, home: Path) -> None:
        """`folder`: where it is written, one file for all sessions."""
        self._folder = folder
        self._home = home
        self._making: dict[str, asyncio.Task[ShellSnapshot]] = {}
        self.known: ShellSnapshot | None = None

    async def snapshot(self, shell: str, processes: ProcessOperations) -> ShellSnapshot:
        making = self._making.get(shell)
        if making is None:
            making = self._making[shell] = asyncio.ensure_future(self._made(shell, processes))
        known = await asyncio.shield(making)
        self.known = known
        return known

    async def _made(self, shell: str, processes: ProcessOperations) -> ShellSnapshot:
        name = Path(shell).name
        script = _SCRIPTS.get(name)
        if script is None:
            return ShellSnapshot(problem=f"{name or shell} cannot say what it has; bash and zsh can")
        place = self._folder / f"own-{name}.sh"
        raw = self._folder / f".own-{name}-{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            raw.touch(mode=0o600)
            problem = await self._run(shell, script, raw, processes)
            data = raw.read_bytes()
            if not data:
                return ShellSnapshot(
                    problem=problem or "its start-up files ended it before it could say anything"
                )
            if len(data) > MOST_BYTES:
                return ShellSnapshot(problem=f"it is more than {MOST_BYTES >> 10} KB")
            text, snapshot = _read(data.decode("utf-8", "replace"), name)
            swap_in(str(place), text.encode(), mode=0o600)
        except (OSError, ToolError) as failure:
            return ShellSnapshot(problem=str(failure))
        finally:
            with suppress(OSError):
                raw.unlink(missing_ok=True)
        return msgspec.structs.replace(snapshot, file=str(place), problem=problem or snapshot.problem)

    async def _run(self, shell: str, script: str, raw: Path, processes: ProcessOperations) -> str:
        environment = {
            **own_variables(()),
            "BAYOU_OWN_SHELL": str(raw),
            "HOME": str(self._home),
            "TERM": "dumb",
        }
        command = CommandLine(argv=(shell, "-i", "-c", script), cwd=str(self._home), environment=environment)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            running = await processes.start(command, nowhere)
        finally:
            os.close(nowhere)
        try:
            await asyncio.wait_for(running.wait(), MOST_SECONDS)
        except TimeoutError:
            return f"its start-up files took longer than {MOST_SECONDS:.0f} s"
        finally:
            running.kill()
        return ""


def _read(text: str, shell: str) -> tuple[str, ShellSnapshot]:
    """What commands will read, and what is known of it."""
    options, *pieces = text.split(_MARK)
    bodies: dict[str, str] = {}
    lines: list[str] = []
    aliases: dict[str, str] = {}
    left_out = 0
    for piece in pieces:
        kind, _, body = piece.partition("\n")
        matched = _ALIAS.match(body.strip())
        if _holds_secret(body) or (matched and _holds_secret(_unquoted(matched[2]))):
            left_out += 1
        elif kind.startswith("function "):
            if "builtin autoload -X" not in body:  # zsh has not loaded it
                bodies[kind.removeprefix("function ")] = body
        elif matched:
            lines.append(body)
            aliases[matched[1]] = _unquoted(matched[2])
    # An alias would be read for the name of a function that is defined after it.
    beginning = "shopt -s expand_aliases\n" if shell == "bash" else ""
    whole = "".join((beginning, "unalias -a\n", options, *bodies.values(), *lines))
    problem = (
        f"{left_out} of its definitions hold something like a secret and are left out" if left_out else ""
    )
    return whole, ShellSnapshot(aliases=aliases, functions=frozenset(bodies), problem=problem)


def _holds_secret(text: str) -> bool:
    """By its look, or by the name that it is given."""
    if next(shape_spans(text, LongWords(text)), None) is not None:
        return True
    return any(looks_secret(found[1], found[2].strip("'\"")) for found in _GIVEN.finditer(text))


def _unquoted(text: str) -> str:
    """As bash and zsh write it: in single quotes, a quote in it as `'\\''`."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("'\\''", "'")
    return text


async def own_snapshot(workspace: Workspace, settings: ShellSettings) -> ShellSnapshot | None:
    """What the shell of these settings has, where commands are to have it."""
    if settings.own is None or not workspace.has_local_processes:
        return None
    shell = shell_argv(settings, workspace.processes.find_program)[0]
    return await settings.own.snapshot(shell, workspace.processes)


def with_own_shell(snapshot: ShellSnapshot, shell: str, command: str) -> str:
    """The command behind what the person's shell has."""
    if not snapshot.file:
        return command
    reads = f". '{_quoted(snapshot.file)}' 2>/dev/null"
    if Path(shell).name == "zsh":  # it reads the whole text before it runs any of it
        return f"setopt aliases; {reads}; eval '{_quoted(command)}'"
    return f"{reads}\n{command}"


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")
