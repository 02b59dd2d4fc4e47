"""The `bash` tool: reads a command's arguments and words its result. `tools.running.running_command` runs the
command."""

import asyncio
import functools
import os
import shlex
import signal
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tools.argument_aliases import make_alias_resolver
from tools.argument_schema import UNDECLARED_ARGUMENT_META, make_arguments_schema
from tools.box.sandbox_permission_requests import SANDBOX_REQUEST_EXAMPLES, parse_sandbox_permission_request
from tools.call_effects import Effects, ProgramOfCall
from tools.edits.edit_arguments import EditArguments, run_edit
from tools.edits.files_named_by_edits import find_patch_in_command
from tools.file_and_process_operations import FileOperations
from tools.files.paths import absolute_path
from tools.lazy_patterns import lazy_regex
from tools.number_formatting import format_elapsed
from tools.result_limits import format_size
from tools.running.command_card import make_command_card, make_command_progress_result
from tools.running.command_interceptor import find_tool_instead_of_command
from tools.running.command_output_buffer import CommandOutputSnapshot
from tools.running.poll_interval import PollInterval
from tools.running.pty.pty_host import PtyHost
from tools.running.running_command import CommandOutcome, RunningCommand, start_command
from tools.running.sandbox_notes import find_sandbox_notes_of_job, format_sandbox_notes, make_sandbox_details
from tools.running.shell_settings import (
    CommandToSpawn,
    check_environment_variable_names,
    command_environment,
    split_leading_cd,
)
from tools.running.withheld_environment_variables import (
    find_withheld_variables_needed,
    format_withheld_variables_note,
    withheld_variable_names,
)
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.text_sanitizing import escape_controls, render_final_output
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Json, TextPart, ToolResult, text_result

_MIN_COMMAND_TIMEOUT: Final = 1
_MAX_COMMAND_TIMEOUT: Final = 3600
_TAIL_BYTES_OF_BACKGROUND_COMMAND: Final = 2_000
"""The number of output bytes that are reported when a command continues in the background."""
_PATH_IN_COMMAND_PATTERN: Final = lazy_regex(
    r"""(?P<into>>>?\s*)?(?:"([^"\n]{1,500})"|'([^'\n]{1,500})'|([^\s"'`;|&()<>=]{1,500}))"""
)
_MAX_PATHS_IN_COMMAND: Final = 500
_MAX_OUTPUT_HEAD_BYTES_READ: Final = 1 << 20


class BashArguments(msgspec.Struct, frozen=True, kw_only=True):
    command: Annotated[str, msgspec.Meta(description="Command to run")]
    timeout: Annotated[
        float | None,
        msgspec.Meta(
            description="Seconds until it is stopped, 1 to 3600; default: the user's limit; 0 or background: none"
        ),
    ] = None
    env: Annotated[dict[str, str] | None, msgspec.Meta(description="Extra environment variables")] = None
    pty: Annotated[
        bool | None,
        msgspec.Meta(
            description="Run in a terminal that the user sees and can type into; only for programs that need one"
        ),
    ] = None
    background: Annotated[
        bool | None,
        msgspec.Meta(description="Return at once and run as a job; its result is delivered when it ends"),
    ] = None

    allow: Annotated[
        list[str] | None,
        msgspec.Meta(
            description=f"Exactly what the sandbox refused: {SANDBOX_REQUEST_EXAMPLES}. The user is asked"
        ),
    ] = None
    outside: Annotated[
        bool | None,
        msgspec.Meta(
            description="Only if allow cannot express it: run outside the sandbox. The user is asked"
        ),
    ] = None
    reason: Annotated[str | None, msgspec.Meta(description="Why allow or outside, for the user")] = None

    cwd: Annotated[str | None, UNDECLARED_ARGUMENT_META] = None
    head: Annotated[Annotated[int, msgspec.Meta(ge=1)] | None, UNDECLARED_ARGUMENT_META] = None
    """The number of first output lines to show; `tail` is that of the last lines."""
    tail: Annotated[Annotated[int, msgspec.Meta(ge=1)] | None, UNDECLARED_ARGUMENT_META] = None

    def effects(self, context: ToolContext) -> Effects:
        patch, shell = self.patch(), workspace_of_context(context).shell_settings()
        if patch is not None and not shell.is_persistent:
            return EditArguments(input=patch).effects(context)
        stands_in = absolute_path(self.cwd, context.cwd) if self.cwd else str(context.cwd)
        folder = workspace_of_context(context).files.real_path(stands_in)
        written, named = _find_path_words(self.command, Path(folder))
        lasts = shell.is_persistent and not (self.background or self.pty)
        return Effects(
            runs=ProgramOfCall(
                language="shell",
                code=self.command,
                folder=folder,
                is_folder_known=not lasts,
                environment=self.env or {},
                outside=(self.reason or "") if self.outside else None,
                requests=tuple(self.allow or ()),
                reason=self.reason or "",
                named=named,
                written=written,
            ),
            state="terminal" if self.pty else "shell" if lasts else "",
        )

    def patch(self) -> str | None:
        """Returns the patch of a shell command that is an `apply_patch` call and nothing else; None for any
        other command."""
        return find_patch_in_command(msgspec.to_builtins(self))


class _CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a bash call's arguments that are needed to word its result."""

    command: str
    timeout: float | None
    notices: tuple[str, ...]
    uses_default_timeout: bool
    """Whether the command's time limit comes from the settings and not from the call."""
    withheld_variables: frozenset[str]
    """The names of environment variables that the command does not get."""
    head_lines: int | None = None
    """The number of first output lines to which the result is limited."""
    tail_lines: int | None = None


@functools.cache
def make_bash_tool(*, has_terminals: bool = True) -> Tool:
    """Returns the bash tool. `has_terminals` declares its argument `pty` to the model."""
    schema = make_arguments_schema(BashArguments)
    properties = {name: one for name, one in schema["properties"].items() if has_terminals or name != "pty"}
    return Tool(
        name="bash",
        description=(
            "Run a command in the shell, in the working directory. Returns stdout and stderr together, in "
            "order; "
            "of long output only the last 2000 lines or 50KB, with the rest in a file. stdin is empty and "
            "prompts are disabled."
        ),
        schema={**schema, "properties": properties},
        arguments=BashArguments,
        effects=BashArguments.effects,
        kind="execute",
        may_only_read=True,
        prepare=_repair_bash_arguments,
        run=_run_bash_call,
        show=make_command_card,
        snippet="Run shell commands (builds, tests, git, anything without a separate tool)",
        guidelines=(
            "Commands cannot ask questions: pass flags such as -y; give long-running ones a timeout or "
            "background",
        ),
    )


_resolve_aliases = make_alias_resolver(
    BashArguments,
    dict.fromkeys(("cmd", "script", "code"), "command"),
    dict.fromkeys(("workdir", "working_directory", "directory", "dir", "dir_path", "work_dir"), "cwd"),
    dict.fromkeys(("run_in_background", "is_background", "async", "detach"), "background"),
    dict.fromkeys(("timeout_seconds", "timeout_s", "timeout_secs"), "timeout"),
    dict.fromkeys(("environment", "env_vars"), "env"),
    dict.fromkeys(("tty", "interactive"), "pty"),
    dict.fromkeys(
        ("dangerously_disable_sandbox", "dangerouslyDisableSandbox", "with_escalated_permissions"), "outside"
    ),
    dict.fromkeys(("justification",), "reason"),
)


def _repair_bash_arguments(raw: dict[str, Any]) -> dict[str, Any]:
    """Repairs raw arguments of the bash tool: joins commands that are lists of words, and converts time limits in
    milliseconds."""
    out = _resolve_aliases(raw)
    command: Json = out.get("command")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        out["command"] = shlex.join([str(word) for word in command])
    for name in ("timeout_ms", "timeoutMs"):
        given: Json = out.get(name)
        if isinstance(given, int | float) and "timeout" not in out:
            out["timeout"] = out.pop(name) / 1000
    return out


async def _run_bash_call(arguments: BashArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    if not arguments.command.strip():
        raise ToolError("The command is empty. Pass the command to run.")
    if "\0" in arguments.command:
        raise ToolError("The command contains a null byte, which no shell accepts. Remove it.")
    unclear = [text for text in arguments.allow or () if parse_sandbox_permission_request(text) is None]
    if unclear:
        raise ToolError(
            f"allow takes forms such as {SANDBOX_REQUEST_EXAMPLES}, not this: {escape_controls(unclear[0])}"
        )
    patch = arguments.patch()
    if patch is not None and not workspace.shell_settings().is_persistent:
        return await run_edit(EditArguments(input=patch), context)
    if arguments.background and arguments.pty:
        raise ToolError(
            "A command cannot use a terminal and run in the background. Leave out pty or background."
        )
    if arguments.background and context.jobs is None:
        raise ToolError("Background jobs are not available here. Run the command without background.")
    check_environment_variable_names(arguments.env or {})
    if (
        arguments.cwd
        and workspace.shell_settings().is_persistent
        and not (arguments.background or arguments.pty)
    ):
        raise ToolError(
            "This session uses one shell for all commands: change the folder with cd instead of cwd."
        )
    stands_in = Path(absolute_path(arguments.cwd, context.cwd)) if arguments.cwd else context.cwd
    if workspace.shell_settings().intercepts_commands:
        _, rest = split_leading_cd(arguments.command)
        rules = workspace.shell_settings().intercept_rules
        refusal = find_tool_instead_of_command(arguments.command, rest, workspace.active_tools(), rules)
        if refusal:
            raise ToolError(refusal)
    extra = dict(arguments.env or {})
    terminal, without = _find_terminal_host(workspace) if arguments.pty else (None, "")
    asked = _make_command_request(arguments, workspace, has_terminal=terminal is not None, notice=without)
    plan = CommandToSpawn(
        command=arguments.command,
        cwd=str(stands_in),
        environment=command_environment(
            workspace.shell_settings(), extra=extra, is_interactive=terminal is not None
        ),
    )
    if terminal is not None:
        from tools.running.pty.pty_run import run_in_terminal_overlay  # noqa: PLC0415  (few commands have a terminal)

        async with (
            workspace.terminal_turn
        ):  # before the first wait: turns are taken in the order of the calls
            await asyncio.to_thread(_check_working_folder, workspace.files, plan.cwd)
            outcome = await run_in_terminal_overlay(
                workspace,
                terminal,
                plan,
                title=arguments.command,
                timeout=asked.timeout,
                call_id=context.call_id,
            )
        return _make_command_result(outcome, asked)
    await asyncio.to_thread(_check_working_folder, workspace.files, plan.cwd)
    running = await start_command(
        workspace,
        plan,
        tool="bash",
        extra=extra,
        has_own_shell=bool(arguments.background or arguments.pty),
        call_id=context.call_id,
    )
    finishing = asyncio.ensure_future(running.finish(asked.timeout))
    if arguments.background:
        return _move_command_to_background(asked, context, running, finishing)
    return await _wait_for_command_end(asked, context, workspace, running, finishing)


def _find_terminal_host(workspace: SessionWorkspace) -> tuple[PtyHost | None, str]:
    """Returns the screen that can show a terminal for the command, or why the command runs without a terminal."""
    if not workspace.shell_settings().has_terminals:
        return None, "This ran without a terminal: the setting bash.pty is off."
    if workspace.pty_host is None:
        return None, "This ran without a terminal: only the full screen can show one."
    return workspace.pty_host, ""


def _make_command_request(
    arguments: BashArguments, workspace: SessionWorkspace, *, has_terminal: bool, notice: str
) -> _CommandRequest:
    settings = workspace.shell_settings()
    is_usual = arguments.timeout is None and not (arguments.background or has_terminal)
    timeout, notices = _clamp_timeout(settings.default_timeout if is_usual else arguments.timeout)
    if notice:
        notices = (*notices, notice)
    hidden = withheld_variable_names(os.environ, settings.passed_variable_names) - {*(arguments.env or {})}
    return _CommandRequest(
        command=arguments.command,
        timeout=timeout,
        notices=notices,
        uses_default_timeout=is_usual,
        withheld_variables=hidden,
        head_lines=arguments.head,
        tail_lines=arguments.tail,
    )


async def _wait_for_command_end(
    asked: _CommandRequest,
    context: ToolContext,
    workspace: SessionWorkspace,
    running: RunningCommand,
    finishing: "asyncio.Task[CommandOutcome]",
) -> ToolResult:
    """Waits for a running bash command and shows its output meanwhile, until it ends or moves to the background."""
    threshold = workspace.shell_settings().background_after_seconds
    shown, pace = 0, PollInterval()
    try:
        while True:
            done, _ = await asyncio.wait({finishing}, timeout=pace.seconds)
            if done:
                return _make_command_result(finishing.result(), asked)
            is_late = threshold is not None and running.seconds >= threshold and not context.is_waited_for()
            if context.jobs is not None and (is_late or context.background_requested()):
                return _move_command_to_background(asked, context, running, finishing, is_unasked=is_late)
            pace.update_interval(has_news := running.output.received_bytes != shown)
            if has_news:
                shown = running.output.received_bytes
                context.progress(make_command_progress_result(running.output))
    except asyncio.CancelledError:
        # Aborted: the output so far is worth more than the bare fact.
        return _make_command_result(await running.abort(finishing), asked)


def _move_command_to_background(
    asked: _CommandRequest,
    context: ToolContext,
    running: RunningCommand,
    finishing: "asyncio.Task[CommandOutcome]",
    *,
    is_unasked: bool = False,
) -> ToolResult:
    """Moves a running command to the background, which ends its tool call. `is_unasked` means that the command took
    too long and the user did not ask for the move."""
    assert context.jobs is not None
    running.keep_persistent_shell_for_command()
    if asked.uses_default_timeout:
        running.remove_timeout()
    title = asked.command.strip().split("\n", 1)[0][:120]

    async def work() -> ToolResult:
        try:
            outcome = await asyncio.shield(finishing)
        except asyncio.CancelledError:
            outcome = await running.abort(finishing)
        return _make_command_result(outcome, asked)

    job = context.jobs.adopt(
        call_id=context.call_id,
        title=title,
        work=work(),
        tail=functools.partial(running.output.preview, 4096),
        kill=running.kill,
        look=functools.partial(find_sandbox_notes_of_job, running, title),
    )
    text = (
        f"Background job {job} started: {escape_controls(title)}\n"
        "Its result arrives by itself when it ends; go on with other work."
    )
    if is_unasked:
        passed = format_elapsed(running.seconds)
        text += f"\nIt goes on there because it has run for {passed} already; do not start it again."
    if said := running.output.preview(_TAIL_BYTES_OF_BACKGROUND_COMMAND).strip("\n"):
        text += f"\nWhat it has said so far:\n{said}"
    if context.jobs.is_waited_for:
        text += (
            f"\nThe session cannot end before {job} has. If it does not end by itself (a server), end it "
            f"when "
            f"you are done: kill -- -{running.pid}"
        )
    return text_result(text, details={"jobId": job, "background": True})


def _check_working_folder(files: FileOperations, cwd: str) -> None:
    try:
        kind = files.stat(cwd).kind
    except OSError:
        raise ToolError(f"Working directory does not exist: {escape_controls(cwd)}") from None
    if kind != "directory":
        raise ToolError(f"Working directory is not a directory: {escape_controls(cwd)}")


def _clamp_timeout(timeout: float | None) -> tuple[float | None, tuple[str, ...]]:
    if not timeout:
        return None, ()  # A model that passes 0 wants no limit; one second would be the opposite.
    kept = min(max(timeout, _MIN_COMMAND_TIMEOUT), _MAX_COMMAND_TIMEOUT)
    if kept == timeout:
        return timeout, ()
    allowed = f"{_MIN_COMMAND_TIMEOUT}-{_MAX_COMMAND_TIMEOUT}"
    notice = f"Timeout clamped to {kept:g}s (requested {timeout:g}s; allowed range {allowed})."
    return kept, (notice,)


def _make_command_result(outcome: CommandOutcome, asked: _CommandRequest) -> ToolResult:
    whole = outcome.output.text.rstrip("\n")
    lines = [*asked.notices]
    text, cut = _select_output_lines(outcome.output, head=asked.head_lines, tail=asked.tail_lines) or (
        whole,
        format_command_truncation_notice(outcome.output),
    )
    text = text or "(no output)"
    if cut:
        lines.insert(0, cut)
    if outcome.has_survivors:
        lines.append("Processes started by this command still run; they end with the session.")
    if outcome.killed_survivors:
        lines.append(
            "Processes that this command left running were ended with it. What is to go on, such as a "
            "server, "
            "runs with background: true."
        )
    if outcome.is_timed_out and asked.uses_default_timeout:
        lines.append(
            "That is the usual limit. A command that needs longer gets a timeout (up to 3600, 0 for none), "
            "or background: true."
        )
    if outcome.failed_pipeline_part:
        lines.append(outcome.failed_pipeline_part)
    found = find_withheld_variables_needed(
        asked.command, text, has_failed=bool(outcome.exit_code), names=asked.withheld_variables
    )
    if found:
        lines.append(format_withheld_variables_note(found))
    lines += format_sandbox_notes(outcome, text)
    if lines:
        text += "\n\n" + "\n".join(f"[{line}]" for line in lines)
    ending = _format_ending_line(outcome, asked.timeout)
    if ending:
        text += f"\n\n{ending}"
    return ToolResult(
        content=(TextPart(text=text),),
        details=_make_bash_details(outcome, has_colours=not (asked.head_lines or asked.tail_lines)),
        is_error=bool(ending),
        structured_content={
            "output": outcome.output.text,
            "truncated": outcome.output.truncation.truncated,
            "exit_code": outcome.exit_code,
            "wall_time_seconds": round(outcome.seconds, 3),
        },
    )


def _format_ending_line(outcome: CommandOutcome, timeout: float | None) -> str:
    if outcome.is_aborted:
        return "Command aborted"
    if outcome.is_timed_out:
        return f"Command timed out after {timeout:g} seconds"
    code = outcome.exit_code
    if code is not None and code < 0:
        return f"Command exited with code {128 - code} (ended by {_signal_name(-code)})"
    return f"Command exited with code {code}" if code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def format_command_truncation_notice(output: CommandOutputSnapshot) -> str:
    """Returns a notice that says which part of a command's output is shown and where the rest is; empty if all is
    shown."""
    cut = output.truncation
    if not cut.truncated:
        return ""
    if cut.last_line_partial:
        size, whole = format_size(cut.output_bytes), format_size(output.last_line_bytes)
        return f"Showing last {size} of line {cut.total_lines} (line is {whole}). {output.artifact_notice}"
    first = cut.total_lines - cut.output_lines + 1
    limit = f" ({format_size(cut.max_bytes)} limit)" if cut.truncated_by == "bytes" else ""
    return f"Showing lines {first}-{cut.total_lines} of {cut.total_lines}{limit}. {output.artifact_notice}"


def _make_bash_details(outcome: CommandOutcome, *, has_colours: bool) -> dict[str, Any]:
    details: dict[str, Any] = {"exitCode": outcome.exit_code, "seconds": round(outcome.seconds, 3)}
    if outcome.failed_pipeline_part:
        details["failedPart"] = outcome.failed_pipeline_part
    if outcome.output.truncation.truncated:
        details["truncation"] = outcome.output.truncation.details()
    if outcome.output.artifact:
        details["fullOutputPath"] = str(outcome.output.artifact.path)
        details["artifact"] = outcome.output.artifact.uri
    if outcome.is_timed_out:
        details["timedOut"] = True
    if outcome.is_aborted:
        details["aborted"] = True
    if has_colours and outcome.output.colours:
        details["colours"] = msgspec.to_builtins(outcome.output.colours)
    details.update(make_sandbox_details(outcome, outcome.output.text))
    if outcome.files is not None:
        details["files"] = msgspec.to_builtins(outcome.files)
    return details


def _find_path_words(command: str, cwd: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the redirection targets of a command and all its other words that may be paths; used to order calls that
    touch the same files."""
    folder, rest = split_leading_cd(command)
    inside = Path(absolute_path(folder, cwd)) if folder else cwd
    written: set[str] = set()
    named: set[str] = set()
    for match in _PATH_IN_COMMAND_PATTERN.finditer(rest):
        word = match[2] or match[3] or match[4]
        if word.startswith("-") or "\0" in word or len(named) >= _MAX_PATHS_IN_COMMAND:
            continue
        path = absolute_path(word, inside)
        if not _contains_working_folder(path, cwd):
            (written if match["into"] else named).add(path)
    return frozenset(written), frozenset(named)


def _contains_working_folder(path: str, cwd: Path) -> bool:
    """Returns whether a path contains the working directory; such a path says nothing about the order of calls."""
    return os.path.commonpath((path, cwd)) == path


def _select_output_lines(
    output: CommandOutputSnapshot, *, head: int | None, tail: int | None
) -> tuple[str, str] | None:
    """Returns the first or last lines of the output that the call asked for, and a note on which they are; None if it
    asked for none."""
    wanted = head or tail
    total = output.truncation.total_lines
    if wanted is None or wanted >= total:
        return None
    lines = (_read_output_head(output) if head else output.text).rstrip("\n").split("\n")
    chosen = lines[:head] if head else lines[-wanted:]
    if len(chosen) < wanted:
        return None
    rest = f". Full output: {output.artifact.path} (read {output.artifact.uri})" if output.artifact else ""
    return "\n".join(chosen), f"Showing the {'first' if head else 'last'} {wanted} of {total} lines{rest}"


def _read_output_head(output: CommandOutputSnapshot) -> str:
    """Reads the beginning of a long command output from its artifact, because only the end is kept in memory."""
    if not output.truncation.truncated or output.artifact is None:
        return output.text
    try:
        with output.artifact.path.open("rb") as file:
            return render_final_output(file.read(_MAX_OUTPUT_HEAD_BYTES_READ).decode("utf-8", "replace"))
    except OSError:
        return ""
