"""Expands commands of `.claude/commands`: runs their shell commands and reads their files as calls of tools, through
the permission gate, and limits the run that they begin."""

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.assembly.assembled_session import AssembledSession
from app.engine.core.prompt_intake import RequestRefused
from app.extensions.command_hooks.foreign_tools import foreign_tool
from app.providers.models.model_names import ModelNotFound, select_model
from app.resources.command_files import ShellPart, body_parts, mentioned_files
from app.resources.paths import Paths
from app.resources.prompt_templates import PromptTemplate, has_placeholder, split_arguments, substitute
from app.values.events import Event
from app.values.models import Model
from tools.effects import Effects
from tools.files.presence import is_file
from tools.results import ToolResult


class CommandExpansion:
    """Expands the commands of one session."""

    def __init__(self, assembled: AssembledSession, paths: Paths) -> None:
        self._assembled = assembled
        self._paths = paths
        self._limiting: PromptTemplate | None = None
        """The command whose `allowed-tools` limits the present run, or the next one."""
        self._former_model: Model | None = None
        assembled.session.subscribe(self._finish_command, hears={"agent_settled"})

    async def expand(self, command: PromptTemplate, arguments: str) -> str:
        """Returns the prompt of a command. Raises `RequestRefused` when a part of it cannot be made, so that
        nothing is sent."""
        words = split_arguments(arguments)
        parts = [part for part in body_parts(command.body) if part]
        await self._require_trust(command, parts)
        texts: list[str] = []
        for part in parts:
            if isinstance(part, ShellPart):
                texts.append(await self._output_of(command, part, words))
            else:
                texts.append(substitute(part, words))
        if arguments.strip() and not has_placeholder(command.body):
            texts.append(f"\n\nArguments: {arguments.strip()}")
        own = "".join(text for part, text in zip(parts, texts, strict=False) if isinstance(part, str))
        blocks = [await self._file(command, name) for name in mentioned_files(own) if self._is_file(name)]
        await self._begin(command)
        return "\n\n".join(("".join(texts).strip(), *blocks))

    def refusal(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Says why the command of this run does not let a call run; empty if it does. Calls that only read are
        never refused."""
        command = self._limiting
        if command is None or command.allowed_tools is None:
            return ""
        effects = self._assembled.session.tools.effects_of(name, arguments)
        if effects is not None and _only_reads(effects):
            return ""
        line = effects.runs.code if effects is not None and effects.runs is not None else None
        if command.allowed_tools.allows((name, *foreign_tool(name, effects).names), line):
            return ""
        return f"/{command.name} allows only {', '.join(command.allowed_tools.entries)} in this run"

    async def _require_trust(self, command: PromptTemplate, parts: list[str | ShellPart]) -> None:
        """Refuses a project's command that would run something once the files that the user trusted have
        changed."""
        is_theirs = command.path.is_relative_to(self._paths.top) and not command.path.is_relative_to(
            self._paths.home / ".claude"
        )
        runs = any(isinstance(part, ShellPart) for part in parts)
        if is_theirs and runs and not await self._assembled.project.counts_async():
            raise RequestRefused(
                f"/{command.name} was not sent: files of this folder have changed since you trusted it. /trust "
                "shows them."
            )

    async def _output_of(self, command: PromptTemplate, part: ShellPart, words: tuple[str, ...]) -> str:
        result = await self._call("bash", {"command": part.with_arguments(words)})
        if result.is_error:
            raise RequestRefused(f"/{command.name} was not sent: !`{part.command}` failed: {result.text}")
        return result.text.strip()

    def _is_file(self, name: str) -> bool:
        return is_file(self._paths.cwd / Path(name).expanduser())

    async def _file(self, command: PromptTemplate, name: str) -> str:
        result = await self._call("read", {"path": name})
        if result.is_error:
            raise RequestRefused(f"/{command.name} was not sent: @{name} could not be read: {result.text}")
        return f'<file path="{name}">\n{result.text}\n</file>'

    async def _call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._assembled.session.calls.run(tool, arguments, f"command-{uuid.uuid4().hex[:8]}")

    async def _begin(self, command: PromptTemplate) -> None:
        """Puts the limits and the model of a command into force until the run has settled."""
        if command.allowed_tools is not None:
            self._limiting = command
        if not command.model:
            return
        session, choice = self._assembled.session, self._assembled.choice
        try:
            found = await asyncio.to_thread(select_model, command.model, choice.catalogue, choice.credentials)
        except ModelNotFound:
            session.events.notify(
                f"/{command.name} names the model {command.model}, which is not there; the present one answers.",
                "warning",
            )
            return
        if session.model is not None and not session.is_running and found.model != session.model:
            self._former_model = session.model
            await session.models.use(found.model)

    async def _finish_command(self, event: Event) -> None:
        self._limiting = None
        former, self._former_model = self._former_model, None
        if former is not None:
            await self._assembled.session.models.use(former)


def _only_reads(effects: Effects) -> bool:
    return not (
        effects.writes
        or effects.stages
        or effects.runs is not None
        or effects.hosts
        or effects.server
        or effects.opaque
    )
