"""Runs linters and type checkers on files that the agent changed, and reports new problems to the agent once.

`tools.diagnostics` has the programs and the comparison. This module decides when they run, whether they may run,
and how often the agent gets a report."""

import asyncio
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from app.agent.abort_signal import Aborted, AbortSignal
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.session_options import SessionOptions
from app.engine.files.session_files import SessionFileChanges
from app.engine.files.texts_before_change import FileTextsBeforeChange, current_file_hashes
from app.engine.permissions.permission_context import PermissionContext
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.secrets.session_mask import SessionSecretMask
from app.resources.settings.settings_tools import DiagnosticSettings
from app.values.diagnostics import Diagnostic, DiagnosticsEnd, DiagnosticsStart
from app.values.messages import AssistantMessage, CustomMessage
from app.values.wire import to_wire
from tools.call_effects import Effects, ProgramOfCall
from tools.diagnostics.code_problems import CodeProblem, FileChangeTexts, sort_code_problems
from tools.diagnostics.output_parsers import MAX_SHOWN_PROBLEM_CHARS, clean_problem_text
from tools.files.path_arguments import find_withheld_files
from tools.running.shell_settings import command_environment
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

if TYPE_CHECKING:
    from tools.diagnostics.checkers import CheckedProjectFolder, CheckerCommand
    from tools.diagnostics.problem_comparison import NewCodeProblems

FileItem = TypeVar("FileItem", FileChangeTexts, CodeProblem)
DIAGNOSTICS_MESSAGE_TYPE = "diagnostics"
MAX_SHOWN_DIAGNOSTICS = 20
MAX_DIAGNOSTIC_REPORTS_PER_PROMPT: Mapping[Literal["turn", "edit"], int] = {"turn": 3, "edit": 10}
"""The maximum number of reports that the agent gets within one prompt."""


class SessionDiagnostics:
    """Runs linters and type checkers for one session and reports new problems."""

    def __init__(
        self,
        workspace: SessionWorkspace,
        *,
        hooks: Hooks,
        files: SessionFileChanges,
        permits: PermissionGate,
        standing: PermissionContext,
        masking: SessionSecretMask,
        event_bus: EventBus,
        options: SessionOptions,
        next_run: RunStartCallbacks,
    ) -> None:
        self._workspace = workspace
        self._hooks = hooks
        self._permissions = permits
        self._permission_context = standing
        self._masking = masking
        self._event_bus = event_bus
        self._options = options
        self._changed_texts = FileTextsBeforeChange(
            workspace,
            is_wanted=lambda: self._diagnostic_settings.when != "off",
            kept=files.stored_content_by_hash,
            heard=lambda: next_run.register(self._on_run_start),
        )
        self._checked_hashes: dict[str, str] = {}
        """The content hash of each file when it was last checked, by path."""
        self._changes_at_last_check = 0
        """The number of changes received before the last check."""
        self._changes_at_start = 0
        """The number of changes received before the run began."""
        self._reported_problems: Counter[tuple[str, ...]] = Counter()
        self._report_counts: Counter[str] = Counter()
        self._failures: set[str] = set()
        """The failures that were already reported to the user."""

    @property
    def _diagnostic_settings(self) -> DiagnosticSettings:
        return self._options.effective_settings.settings.diagnostics

    def _on_run_start(self) -> None:
        """Keeps the files that are not checked yet, for example after an abort, to be checked once the new run
        changes something."""
        self._changes_at_start = self._changed_texts.change_count
        if self._changes_at_last_check == self._changed_texts.change_count:
            self._changed_texts.forget_texts()
            self._checked_hashes = {}
        self._reported_problems.clear()
        self._report_counts.clear()

    def forget_changed_files(self) -> None:
        """Forgets which files are to be checked, after the session has moved to another point or session."""
        self._changed_texts.forget_texts()
        self._checked_hashes = {}

    async def check_after_calls(self, abort: AbortSignal) -> CustomMessage | None:
        """Returns the report of new problems to send with the results of tool calls, if the settings ask for it."""
        return await self._run_checks("edit", abort) if self._diagnostic_settings.when == "edit" else None

    async def check_at_run_end(
        self, last: AssistantMessage | None, abort: AbortSignal
    ) -> CustomMessage | None:
        """Returns the report of new problems to send when the agent would stop; None when its answer failed."""
        if self._diagnostic_settings.when == "off" or last is None or last.stop_reason != "stop":
            return None
        return await self._run_checks("turn", abort)

    async def _run_checks(self, when: Literal["turn", "edit"], abort: AbortSignal) -> CustomMessage | None:
        heard = self._changed_texts.change_count
        if heard == self._changes_at_start:
            return None
        if self._report_counts[when] >= MAX_DIAGNOSTIC_REPORTS_PER_PROMPT[when]:
            self._changes_at_last_check = heard
        if self._report_counts[when] >= MAX_DIAGNOSTIC_REPORTS_PER_PROMPT[when] or abort.is_set:
            return None
        changed = await asyncio.to_thread(
            lambda: self._without_hidden_files(self._changed_texts.changed_files())
        )
        now = current_file_hashes(changed)
        if not changed or now == self._checked_hashes:
            self._changes_at_last_check = heard
            return None
        try:
            with abort.cancel_when_set():
                end, fresh = await self._find_problems(changed)
        except Aborted:
            await self._event_bus.publish(DiagnosticsEnd(aborted=True))
            return None
        self._checked_hashes, self._changes_at_last_check = now, heard
        if end is None:
            return None
        self._report_checker_failures(end.failures)
        await self._event_bus.publish(end)
        if not fresh or abort.is_set:
            return None
        self._report_counts[when] += 1
        self._reported_problems.update(
            problem.line_independent_key for problem in fresh[:MAX_SHOWN_DIAGNOSTICS]
        )
        return _problems_message(end)

    async def _find_problems(
        self, changed: list[FileChangeTexts]
    ) -> tuple[DiagnosticsEnd | None, list[CodeProblem]]:
        """Returns the new problems in changed files; None: no linter or checker handles these files."""
        # Most sessions run no diagnostics, so the module is imported late.
        from tools.diagnostics.problem_comparison import NewCodeProblems  # noqa: PLC0415

        ground = await self._checked_folder()
        starts, failures = await self._allowed_checkers(changed, ground)
        if starts:
            names = tuple(dict.fromkeys(self._mask_text(start.name) for start in starts))
            await self._event_bus.publish(DiagnosticsStart(programs=names, files=len(changed)))
        found = await self._run_checkers(starts, changed, ground) if starts else NewCodeProblems()
        said = await self._hooks.find_code_problems(changed)
        if not starts and not said and not failures:
            return None, []
        tellable = await asyncio.to_thread(self._without_hidden_files, [*found.problems, *said])
        fresh = self._unreported_problems(tellable)
        shown = await asyncio.to_thread(
            self._display_problems, fresh[:MAX_SHOWN_DIAGNOSTICS], ground.root_folder
        )
        # A program may quote parts of a secret; its output is cut before any part would remain visible.
        broken = tuple(
            clean_problem_text(self._mask_text(one), 2 * MAX_SHOWN_PROBLEM_CHARS)
            for one in (*failures, *found.failures)
        )
        return DiagnosticsEnd(problems=shown, total=len(fresh), failures=broken), fresh

    def _without_hidden_files(self, found: Sequence[FileItem]) -> list[FileItem]:
        """Returns those of the items whose files the model may read, because linters quote the code that they check."""
        real = {one.path: os.path.realpath(one.path) for one in found}
        back = find_withheld_files(self._workspace, ((path, path) for path in set(real.values())))
        return [one for one in found if real[one.path] not in back]

    async def _checked_folder(self) -> "CheckedProjectFolder":
        from tools.diagnostics.checkers import CheckedProjectFolder  # noqa: PLC0415  (as above)

        is_trusted = await self._permission_context.check_trust()
        # An untrusted folder's programs run only in the sandbox, away from the user's files.
        uses_folder = is_trusted or (
            self._permission_context.has_nothing_to_trust() and self._permissions.boxes.are_in_force
        )
        return CheckedProjectFolder(
            root_folder=await asyncio.to_thread(os.path.realpath, self._workspace.cwd),
            is_folder_trusted=uses_folder,
            environment=command_environment(self._workspace.shell_settings()),
        )

    async def _allowed_checkers(
        self, changed: list[FileChangeTexts], ground: "CheckedProjectFolder"
    ) -> "tuple[list[CheckerCommand], list[str]]":
        from tools.diagnostics.problem_comparison import plan_checkers_for_changes  # noqa: PLC0415  (as above)

        commands = await self._checker_commands()
        starts, failures = await asyncio.to_thread(plan_checkers_for_changes, commands, changed, ground)
        if starts and (self._workspace.local_processes is None or not self._workspace.has_local_files):
            return [], [
                "Diagnostics run on local files only, and this session's files are on another machine"
            ]
        allowed: list[CheckerCommand] = []
        for start in starts:
            refused_by = await asyncio.to_thread(self._checker_refusal_reason, start)
            if refused_by:
                failures.append(f"{start.name} was not run: refused by {refused_by}")
            else:
                allowed.append(start)
        return allowed, failures

    def _checker_refusal_reason(self, start: "CheckerCommand") -> str:
        """Returns why a linter or checker may not run. The setting itself allows programs without a question;
        deny rules apply to a program's name and path."""
        program, *words = start.argv
        for name in (program, program.rpartition("/")[2]):
            line = ProgramOfCall(
                language="shell", code=shlex.join((name, *words)), folder=str(self._workspace.cwd)
            )
            decision = self._permissions.judge_effects(Effects(runs=line), tool="bash")
            if decision.outcome == "refuse":
                return decision.decided_by
        return ""

    async def _checker_commands(self) -> dict[str, tuple[str, ...]]:
        chosen = self._diagnostic_settings
        if not await self._permission_context.check_trust():
            chosen = self._options.effective_settings.settings_without_project().diagnostics
        return {
            glob: (said,) if isinstance(said, str) else tuple(said) for glob, said in chosen.commands.items()
        }

    async def _run_checkers(
        self,
        starts: "Sequence[CheckerCommand]",
        changed: list[FileChangeTexts],
        ground: "CheckedProjectFolder",
    ) -> "NewCodeProblems":
        from tools.diagnostics.checker_runs import CheckerEnvironment  # noqa: PLC0415  (as above)
        from tools.diagnostics.problem_comparison import NewCodeProblems, find_new_code_problems  # noqa: PLC0415  (as above)

        processes = self._workspace.local_processes
        assert processes is not None
        try:
            box = await self._permissions.boxes.box_for_program()
        except ToolError as problem:
            return NewCodeProblems(failures=(str(problem).rstrip("."),))
        around = CheckerEnvironment(
            processes=processes,
            environment=ground.environment,
            box=box,
            seconds=self._diagnostic_settings.timeout_seconds,
            private_folder=self._workspace.private_folder,
        )
        async with self._permissions.boxes.watch_for_autorun_files(box, "checker", self._event_bus.warn):
            return await find_new_code_problems(starts, changed, ground, around)

    def _unreported_problems(self, problems: Sequence[CodeProblem]) -> list[CodeProblem]:
        """Returns the problems, sorted, that were not reported in this run, also if their line numbers
        changed."""
        told = self._reported_problems.copy()
        fresh: list[CodeProblem] = []
        for problem in sort_code_problems(problems):
            if told[problem.line_independent_key]:
                told[problem.line_independent_key] -= 1
            else:
                fresh.append(problem)
        return fresh

    def _display_problems(self, problems: Sequence[CodeProblem], root: str) -> tuple[Diagnostic, ...]:
        return tuple(
            Diagnostic(
                path=clean_problem_text(self._mask_text(os.path.relpath(one.path, root))),
                line=one.line,
                column=one.column,
                text=clean_problem_text(self._mask_text(one.text)),
                code=self._mask_text(one.rule_name),
                source=self._mask_text(one.checker_name),
                severity=one.severity,
            )
            for one in problems
        )

    def _mask_text(self, text: str) -> str:
        return self._masking.masked_text(text, "diagnostics")

    def _report_checker_failures(self, failures: Sequence[str]) -> None:
        for failure in failures:
            if failure not in self._failures:
                self._failures.add(failure)
                self._event_bus.warn(f"Diagnostics: {failure}.")


def _problems_message(end: DiagnosticsEnd) -> CustomMessage:
    count = end.total
    rows = [diagnostic_line(one) for one in end.problems]
    more = count - len(rows)
    if more:
        rows.append(f"({more} more are not shown.)")
    what = "a new problem, which was" if count == 1 else f"{count} new problems, which were"
    text = f"Since your changes the checks of this project report {what} not there before:\n"
    text += "\n".join(rows)
    text += "\n\nFix what your changes caused. If a problem is intended, leave it and say so."
    details = {"problems": to_wire(end.problems), "total": count}
    return CustomMessage(custom_type=DIAGNOSTICS_MESSAGE_TYPE, content=text, display=True, details=details)


def diagnostic_line(one: Diagnostic) -> str:
    place = f"{one.path}:{one.line}" + (f":{one.column}" if one.column else "")
    by = ", ".join(word for word in (one.code, one.source) if word)
    return f"{place}: {one.severity}: {one.text}" + (f" [{by}]" if by else "")
