"""Expands commands of `.claude/commands`: runs their shell commands and reads their files as calls of tools, through
the permission gate, and limits the run that they begin."""

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.assembly.assembled_session import AssembledSession
from app.engine.core.prompt_intake import SessionRequestRefused
from app.extensions.command_hooks.claude_tools import claude_tool_for
from app.providers.models.model_names import ModelNotFound, select_model
from app.resources.claude_command_files import (
    ShellCommandInBody,
    files_mentioned_in_command,
    parts_of_command_body,
)
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import (
    PromptTemplate,
    has_template_placeholder,
    split_template_arguments,
    substitute_placeholders,
)
from app.values.events import Event
from app.values.models import Model
from tools.call_effects import Effects
from tools.files.path_existence import is_file
from tools.tool_result_values import ToolResult


class CommandFileExpander:
    """Expands the file-defined slash commands of one session."""

    def __init__(self, assembled: AssembledSession, paths: BayouPaths) -> None:
        self._assembled = assembled
        self._paths = paths
        self._limiting: PromptTemplate | None = None
        """The command whose `allowed-tools` limits the tools of the present or the next run; None if there is none."""
        self._former_model: Model | None = None
        assembled.session.subscribe(self._restore_after_run, hears={"agent_settled"})

    async def expand(self, command: PromptTemplate, arguments: str) -> str:
        """Returns the prompt of a file-defined slash command. Raises `SessionRequestRefused` when a part of the prompt
        cannot be made, so that nothing is sent."""
        words = split_template_arguments(arguments)
        parts = [part for part in parts_of_command_body(command.body) if part]
        await self._require_trust(command, parts)
        texts: list[str] = []
        for part in parts:
            if isinstance(part, ShellCommandInBody):
                texts.append(await self._shell_output(command, part, words))
            else:
                texts.append(substitute_placeholders(part, words))
        if arguments.strip() and not has_template_placeholder(command.body):
            texts.append(f"\n\nArguments: {arguments.strip()}")
        own = "".join(text for part, text in zip(parts, texts, strict=False) if isinstance(part, str))
        blocks = [
            await self._file_block(command, name)
            for name in files_mentioned_in_command(own)
            if self._is_file(name)
        ]
        await self._apply_command(command)
        return "\n\n".join(("".join(texts).strip(), *blocks))

    def tool_call_refusal(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Returns why the slash command that began this run does not allow a tool call; empty if it does. Calls
        that only read are never refused."""
        command = self._limiting
        if command is None or command.allowed_tools is None:
            return ""
        effects = self._assembled.session.tools.effects_of_call(name, arguments)
        if effects is not None and _only_reads(effects):
            return ""
        line = effects.runs.code if effects is not None and effects.runs is not None else None
        if command.allowed_tools.allows_call((name, *claude_tool_for(name, effects).names), line):
            return ""
        return f"/{command.name} allows only {', '.join(command.allowed_tools.entries)} in this run"

    async def _require_trust(self, command: PromptTemplate, parts: list[str | ShellCommandInBody]) -> None:
        """Refuses a project's slash command that would run something once the files that the user trusted have
        changed."""
        is_theirs = command.path.is_relative_to(self._paths.top) and not command.path.is_relative_to(
            self._paths.home / ".claude"
        )
        runs = any(isinstance(part, ShellCommandInBody) for part in parts)
        if is_theirs and runs and not await self._assembled.project_trust.recheck_in_thread():
            raise SessionRequestRefused(
                f"/{command.name} was not sent: files of this folder have changed since you trusted it. "
                f"/trust "
                "shows them."
            )

    async def _shell_output(
        self, command: PromptTemplate, part: ShellCommandInBody, words: tuple[str, ...]
    ) -> str:
        result = await self._call_tool("bash", {"command": part.with_arguments(words)})
        if result.is_error:
            raise SessionRequestRefused(
                f"/{command.name} was not sent: !`{part.command}` failed: {result.text}"
            )
        return result.text.strip()

    def _is_file(self, name: str) -> bool:
        return is_file(self._paths.cwd / Path(name).expanduser())

    async def _file_block(self, command: PromptTemplate, name: str) -> str:
        result = await self._call_tool("read", {"path": name})
        if result.is_error:
            raise SessionRequestRefused(
                f"/{command.name} was not sent: @{name} could not be read: {result.text}"
            )
        return f'<file path="{name}">\n{result.text}\n</file>'

    async def _call_tool(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._assembled.session.calls.run(tool, arguments, f"command-{uuid.uuid4().hex[:8]}")

    async def _apply_command(self, command: PromptTemplate) -> None:
        """Applies the tool limits and the model of a slash command until its run has settled."""
        if command.allowed_tools is not None:
            self._limiting = command
        if not command.model:
            return
        session, choice = self._assembled.session, self._assembled.model_choice
        try:
            found = await asyncio.to_thread(select_model, command.model, choice.catalogue, choice.credentials)
        except ModelNotFound:
            session.events.notify(
                f"/{command.name} asks for the model {command.model}, which is not available; the current "
                f"model is used.",
                "warning",
            )
            return
        if session.model is not None and not session.is_running and found.model != session.model:
            self._former_model = session.model
            await session.models.use_model(found.model)

    async def _restore_after_run(self, event: Event) -> None:
        self._limiting = None
        former, self._former_model = self._former_model, None
        if former is not None:
            await self._assembled.session.models.use_model(former)


def _only_reads(effects: Effects) -> bool:
    return not (
        effects.writes
        or effects.stages
        or effects.runs is not None
        or effects.hosts
        or effects.server
        or effects.opaque
    )
