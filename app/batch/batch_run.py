"""Carries out one run: folder, `setup`, the agent, `check`, patch and result."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.batch.agent_process import AgentProcess, AgentProgress, total_cost, total_token_count
from app.batch.results import INTERRUPTED_RUN_REASON
from app.batch.run_folders import BatchRunFolder, BatchRunFolders
from app.batch.tasks import BatchRun
from app.exit_codes import (
    BLOCKED,
    DONE,
    EXIT_CODE_MEANINGS,
    FAILED,
    LIMIT_REACHED,
    PERMISSION_REFUSED,
    SCHEMA_MISMATCH,
)
from app.resources.text_files import write_text
from app.values.user_errors import UserError
from bayou.batch import BatchResult, Outcome

StopReason = Literal["interrupted", "budget", "person"]
_MAX_STORED_ANSWER_CHARS = 4_000
_AGENT_EXIT_CODES_WITH_RESULT = frozenset((DONE, PERMISSION_REFUSED, BLOCKED))
"""Exit codes of an agent that has answered; then `check` decides, if there is one."""
_DEFAULT_SETUP_AND_CHECK_TIMEOUT_SECONDS = 600.0


class _Usage(msgspec.Struct, rename="camel"):
    """The content of a run's `usage.json`."""

    turns: int = 0
    model: str | None = None
    usage: dict[str, Any] = {}


class _RunEnd(msgspec.Struct, frozen=True):
    """The outcome of a run and its reason."""

    outcome: Outcome
    reason: str = ""


class BatchRunInProgress:
    """One run from its start to its result."""

    def __init__(
        self,
        run: BatchRun,
        folder: Path,
        workspaces: BatchRunFolders,
        *,
        commit: str | None,
        options: tuple[str, ...],
        max_cost: float | None,
        changed: Callable[[], None],
    ) -> None:
        """`folder` is where the result is stored. `changed` is called when the agent's state has changed."""
        self.run = run
        self.folder = folder
        self.started = time.monotonic()
        self._began = datetime.now(UTC)
        self._workspaces = workspaces
        self._commit = commit
        self._options = options
        self._max_cost = max_cost
        self._changed = changed
        self._agent: AgentProcess | None = None
        self._step_task: asyncio.Task[int | None] | None = None
        self._agent_seconds = 0.0
        self._exit_code: int | None = None
        self._check_code: int | None = None
        self.stopped_by: StopReason | None = None

    @property
    def state(self) -> AgentProgress:
        return self._agent.state if self._agent is not None else AgentProgress()

    async def live_session_file(self) -> Path | None:
        """Returns the session's file as far as it is written."""
        name = _session_file_name(self.folder)
        return self.folder / name if name else None

    async def stop(self, reason: StopReason) -> None:
        """Ends the running agent or command; later steps are not begun."""
        self.stopped_by = self.stopped_by or reason
        if self._step_task is not None:
            self._step_task.cancel()
        if self._agent is not None:
            await self._agent.stop()

    async def carry_out(self) -> BatchResult:
        """Carries out the run and returns its result; a failure becomes a result too."""
        workspace: BatchRunFolder | None = None
        try:
            workspace = await self._workspaces.make_run_folder(self.run, self._commit)
            end = await self._run_steps(workspace)
        except UserError as problem:
            end = _RunEnd("error", str(problem))
        except OSError as problem:
            end = _RunEnd("error", f"{problem.filename or self.folder}: {problem.strerror}")
        finally:
            if workspace is not None:
                await workspace.remove()
        if self.stopped_by == "budget":
            end = _RunEnd("limit", "the budget of the batch is spent")
        elif self.stopped_by == "person":
            end = _RunEnd("cancelled", "stopped by hand")
        elif self.stopped_by is not None:
            end = _RunEnd("cancelled", INTERRUPTED_RUN_REASON)
        return self._make_result(end)

    async def _run_steps(self, workspace: BatchRunFolder) -> _RunEnd:
        task = self.run.task
        if self.stopped_by is not None:
            return _RunEnd("cancelled")
        if task.setup is not None:
            code = await self._run_step("setup", task.setup, workspace, task.setup_limit)
            if self.stopped_by is not None:
                return _RunEnd("cancelled")
            if code is None:
                return _RunEnd("timeout", "setup took too long")
            if code:
                return _RunEnd("error", f"setup ended with {code}: see setup.log")
            workspace = await workspace.with_state_after_setup()
        end = await self._run_agent(workspace)
        await self._save_patch(workspace)
        if (
            task.check is None
            or self._exit_code not in _AGENT_EXIT_CODES_WITH_RESULT
            or self.stopped_by is not None
        ):
            return end
        self._check_code = await self._run_step("check", task.check, workspace, task.check_limit)
        if self._check_code is None:
            return _RunEnd("timeout", "check took too long")
        return (
            _RunEnd("failed", f"check ended with {self._check_code}")
            if self._check_code
            else _RunEnd("passed")
        )

    async def _run_step(
        self, name: str, command: str, workspace: BatchRunFolder, seconds: float | None
    ) -> int | None:
        """Runs a command; returns its exit code, or None if it timed out or the run was stopped."""
        # Imported here because most batches have no commands, and these need the tools.
        from app.batch.setup_and_check_commands import run_setup_or_check  # noqa: PLC0415

        self._step_task = asyncio.ensure_future(
            run_setup_or_check(
                command,
                workspace.path,
                seconds=seconds or _DEFAULT_SETUP_AND_CHECK_TIMEOUT_SECONDS,
                log=self.folder / f"{name}.log",
                # The check runs code that the agent wrote, so it is confined like the agent.
                confined_by=self.run.task.permissions if name == "check" else None,
            )
        )
        try:
            return await self._step_task
        except asyncio.CancelledError:
            if self.stopped_by is None:
                raise
            return None
        finally:
            self._step_task = None

    async def _run_agent(self, workspace: BatchRunFolder) -> _RunEnd:
        task = self.run.task
        agent = self._agent = AgentProcess(
            task,
            workspace.path,
            self.folder.resolve(),
            options=self._options,
            max_cost=self._max_cost,
            rate_limits=self._workspaces.rate_limits,
        )
        began = time.monotonic()
        self._exit_code = await agent.run(self._changed)
        self._agent_seconds = time.monotonic() - began
        if agent.errors:
            write_text(self.folder / "errors.txt", agent.errors)
        told = agent.last_error
        if agent.is_over_time:
            return _RunEnd("timeout", f"it did not end within its limit of {task.time_limit:g} seconds")
        match self._exit_code:
            case 0:
                return _RunEnd("passed")
            case code if code == LIMIT_REACHED:
                is_time = task.time_limit is not None and self._agent_seconds >= task.time_limit
                return _RunEnd("timeout" if is_time else "limit", told)
            case code if code in (FAILED, PERMISSION_REFUSED, SCHEMA_MISMATCH, BLOCKED):
                return _RunEnd("failed", told or EXIT_CODE_MEANINGS[code])
            case code if code < 0:
                return _RunEnd("error", f"bayou was ended by signal {-code}")
            case code:
                return _RunEnd("error", told or f"bayou ended with {code}")

    async def _save_patch(self, workspace: BatchRunFolder) -> None:
        patch = await workspace.patch()
        (self.folder / "changes.patch").unlink(
            missing_ok=True
        )  # the session's, which lacks what commands did
        if patch:
            write_text(self.folder / "changes.patch", patch)

    def _make_result(self, end: _RunEnd) -> BatchResult:
        run, task, state = self.run, self.run.task, self.state
        used = _read_usage(self.folder / "usage.json")
        place = f"runs/{self.folder.name}"
        session = _session_file_name(self.folder)
        return BatchResult(
            id=task.id,
            key=run.key,
            hash=run.hash,
            number=run.number,
            model=used.model or task.model,
            asked_model=task.model,
            thinking=task.thinking,
            permissions=task.permissions,
            label=task.label,
            prompt=hashlib.sha256((task.prompt or "").encode("utf-8", "replace")).hexdigest()[:12],
            source=task.repo or task.folder or "",
            commit=self._commit,
            outcome=end.outcome,
            reason=end.reason,
            exit_code=self._exit_code if self._exit_code is None or self._exit_code >= 0 else None,
            check_code=self._check_code,
            patch=f"{place}/changes.patch" if (self.folder / "changes.patch").exists() else None,
            session=f"{place}/{session}" if session else None,
            folder=place,
            answer=_read_answer(self.folder / "answer.md"),
            turns=used.turns or state.turns,
            usage=used.usage,
            cost=total_cost(used.usage) if used.usage else state.cost,
            tokens=total_token_count(used.usage) if used.usage else state.tokens,
            started=self._began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            seconds=round(time.monotonic() - self.started, 3),
            agent_seconds=round(self._agent_seconds, 3),
        )


def _read_usage(file: Path) -> _Usage:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Usage)
    except (OSError, msgspec.MsgspecError):
        return _Usage()  # it was killed before it could write


def _session_file_name(folder: Path) -> str:
    """Returns the name of the run's session; the live one where the run could not write its result."""
    if (folder / "session.jsonl").exists():
        return "session.jsonl"
    found = sorted((folder / "session").rglob("*.jsonl"))
    return str(found[0].relative_to(folder)) if found else ""


def _read_answer(file: Path) -> str:
    try:
        text = file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
    return text if len(text) <= _MAX_STORED_ANSWER_CHARS else f"{text[:_MAX_STORED_ANSWER_CHARS]}…"
