"""Runs the programs of hooks, several at a time, and remembers the last run of each."""

import asyncio
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.extensions.api import ExtensionApi
from app.extensions.command_hooks.hook_answers import (
    MAX_HOOK_OUTPUT_BYTES,
    CommandHookAnswer,
    failed_command_hook_answer,
    read_command_hook_answer,
    strictest_answer,
)
from app.extensions.extension_programs import ProgramSandbox
from app.extensions.handler_contexts import Context
from app.extensions.time_limits import pause_extension_time_limit
from app.resources.hook_files import ConfiguredHook
from tools.tool_definition import ToolError

_MAX_PARALLEL_HOOKS = 8
_PROJECT_CHANGED_REASON = (
    "it was not run: files of this folder have changed since you trusted it; /trust shows them"
)
BLOCKING_HOOK_EVENTS = ("PreToolUse", "UserPromptSubmit", "PreCompact")
"""Events whose hooks guard something: a hook that fails blocks it."""


class LastHookRun(msgspec.Struct, frozen=True, kw_only=True):
    """The last run of a configured hook: its time, its duration and its answer."""

    started_at: float
    """When it began, in seconds since 1970."""
    seconds: float
    answer: CommandHookAnswer


class CommandHookRunner:
    """Runs the configured hook commands of one session."""

    def __init__(self, api: ExtensionApi) -> None:
        self.last_runs: dict[ConfiguredHook, LastHookRun] = {}
        self._api = api
        self._parallel_limit = asyncio.Semaphore(_MAX_PARALLEL_HOOKS)
        self.shell = shutil.which("bash", path="/bin:/usr/bin") or "/bin/sh"

    async def run(
        self, hooks: Sequence[ConfiguredHook], payload: Mapping[str, Any], context: Context
    ) -> CommandHookAnswer:
        """Runs the hooks at the same time and returns their combined answer: what blocks goes before what asks,
        changes of the input are applied in the order of the hooks, texts are joined."""
        text = json.dumps(payload, ensure_ascii=False, default=str)
        with pause_extension_time_limit():  # each program has its own limit
            is_project_unchanged = (
                not any(hook.is_project for hook in hooks) or await context.is_project_unchanged()
            )
            async with self._api.sandbox() as sandbox, asyncio.TaskGroup() as group:
                runs = [
                    group.create_task(self._run_one(hook, text, context, sandbox))
                    if is_project_unchanged or not hook.is_project
                    else None
                    for hook in hooks
                ]
        answers = [
            run.result() if run is not None else failed_command_hook_answer(hook, _PROJECT_CHANGED_REASON)
            for hook, run in zip(hooks, runs, strict=True)
        ]
        return _combine_answers(hooks, answers)

    async def _run_one(
        self, hook: ConfiguredHook, text: str, context: Context, sandbox: ProgramSandbox
    ) -> CommandHookAnswer:
        async with self._parallel_limit:
            begun = time.time()
            clock = time.monotonic()
            answer = await self._run_program(hook, text, context, sandbox)
            self.last_runs[hook] = LastHookRun(
                started_at=begun, seconds=time.monotonic() - clock, answer=answer
            )
        return answer

    async def _run_program(
        self, hook: ConfiguredHook, text: str, context: Context, sandbox: ProgramSandbox
    ) -> CommandHookAnswer:
        if hook.arguments is None:
            program, arguments = self.shell, ("-c", hook.command)
        else:
            program, arguments = hook.command, hook.arguments
            if hook.plugin is not None:
                program, arguments = hook.plugin.expand(program), hook.plugin.expand(list(arguments))
        folder = str(context.cwd)
        variables = {"CLAUDE_PROJECT_DIR": folder, "BAYOU_PROJECT_DIR": folder}
        if hook.plugin is not None:
            variables |= hook.plugin.variables
        try:
            result = await sandbox.exec(
                program,
                arguments,
                stdin=text,
                env=variables,
                timeout=hook.timeout_seconds,
                max_bytes=MAX_HOOK_OUTPUT_BYTES,
            )
        except OSError as problem:
            return failed_command_hook_answer(hook, f"it could not be started: {problem.strerror or problem}")
        except ToolError as problem:
            return failed_command_hook_answer(hook, str(problem).rstrip("."))
        answer = read_command_hook_answer(hook, result)
        masked = context.session.masked
        return msgspec.structs.replace(
            answer,
            reason=masked(answer.reason),
            context=masked(answer.context),
            message=masked(answer.message),
            failure=masked(answer.failure),
        )


def _combine_answers(
    hooks: Sequence[ConfiguredHook], answers: Sequence[CommandHookAnswer]
) -> CommandHookAnswer:
    """Combines the answers. A failed guard blocks unless it says `failOpen`; other failures are messages."""
    failures: list[str] = []
    judged: list[CommandHookAnswer] = []
    for hook, answer in zip(hooks, answers, strict=True):
        if not answer.failure:
            judged.append(answer)
        elif hook.event in BLOCKING_HOOK_EVENTS and not hook.fails_open:
            judged.append(CommandHookAnswer(decision="block", reason=answer.failure))
        else:
            failures.append(answer.failure)
    return strictest_answer([*judged, *(CommandHookAnswer(message=failure) for failure in failures)])
