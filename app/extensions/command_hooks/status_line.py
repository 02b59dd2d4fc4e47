"""The status line of a script: the command `statusLine` of a settings file, whose first line the footer shows.

It runs in the sandbox beside the session, at most every 300 ms, and gets what has changed as JSON in Claude Code's
form. Nothing waits for it."""

import asyncio
import json
import time
from typing import Any

from app.extensions.api import ExtensionApi
from app.extensions.handler_contexts import Context
from app.resources.hook_files import ConfiguredStatusLine
from app.version import VERSION
from tools.tool_definition import ToolError

STATUS_LINE_UI_KEY = "status-line"
MIN_SECONDS_BETWEEN_STATUS_LINE_RUNS = 0.3
_STATUS_LINE_TIMEOUT_SECONDS = 5.0
_MAX_STATUS_LINE_OUTPUT_BYTES = 100_000
_MAX_STATUS_LINE_CHARS = 2_000
STATUS_LINE_EVENTS = (
    *("turn_end", "agent_settled", "model_select", "thinking_level_select"),
    *("session_tree", "session_compact", "session_info_changed"),
)
"""What changes the input of the command."""


class StatusLineRunner:
    """Runs the command of one session after each change."""

    def __init__(self, api: ExtensionApi, shell: str) -> None:
        self._api = api
        self._shell = shell
        self._configured_line: ConfiguredStatusLine | None = None
        self._running: asyncio.Task[None] | None = None
        self._is_run_requested = False
        self._last_run_at = time.monotonic()
        self._failure = ""
        """The last failure, which is reported once."""

    def set_command(self, line: ConfiguredStatusLine | None, context: Context) -> None:
        """Sets the command that makes the status line; None removes the status line."""
        if line is None and self._configured_line is not None:
            self.stop()
            context.ui.set_status(STATUS_LINE_UI_KEY, None)
        self._configured_line = line
        self.request_update(None, context)

    def request_update(self, event: Any, context: Context) -> None:
        """Requests a run of the status line's command, because its input has changed. Returns at once."""
        if self._configured_line is None or context.mode != "tui":
            return
        self._is_run_requested = True
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run_requested(context))

    def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._running = None

    async def _run_requested(self, context: Context) -> None:
        while self._is_run_requested and self._configured_line is not None:
            self._is_run_requested = False
            begun = time.monotonic()
            await self._run_command(self._configured_line, context)
            await asyncio.sleep(max(0.0, MIN_SECONDS_BETWEEN_STATUS_LINE_RUNS - (time.monotonic() - begun)))

    async def _run_command(self, line: ConfiguredStatusLine, context: Context) -> None:
        if line.is_project and not await context.is_project_unchanged():
            context.ui.set_status(STATUS_LINE_UI_KEY, None)
            return
        folder = str(context.cwd)
        try:
            result = await self._api.exec(
                self._shell,
                ("-c", line.command),
                stdin=json.dumps(self._input_json(context), ensure_ascii=False),
                env={"CLAUDE_PROJECT_DIR": folder, "BAYOU_PROJECT_DIR": folder},
                timeout=_STATUS_LINE_TIMEOUT_SECONDS,
                max_bytes=_MAX_STATUS_LINE_OUTPUT_BYTES,
                sandboxed=True,
            )
        except (OSError, ToolError) as problem:
            self._report_failure(str(problem), context)
            return
        if result.was_killed:
            self._report_failure(
                f"it took longer than {_STATUS_LINE_TIMEOUT_SECONDS:g} seconds and was ended", context
            )
        elif result.is_truncated:
            self._report_failure(
                f"it wrote more than {_MAX_STATUS_LINE_OUTPUT_BYTES // 1000} kB and was ended", context
            )
        elif result.code != 0:
            self._report_failure(f"exit code {result.code} {result.stderr.strip()[:200]}".strip(), context)
        else:
            self._failure = ""
            text = next(iter(result.stdout.strip().splitlines()), "")
            context.ui.set_status(
                STATUS_LINE_UI_KEY, context.session.masked(text[:_MAX_STATUS_LINE_CHARS]) or None
            )

    def _report_failure(self, failure: str, context: Context) -> None:
        context.ui.set_status(STATUS_LINE_UI_KEY, None)
        if failure != self._failure:
            self._failure = failure
            context.ui.notify(f"The statusLine command failed: {failure}.", "warning")

    def _input_json(self, context: Context) -> dict[str, Any]:
        record, model, window = context.session, context.model, context.context_usage()
        usage, last = record.usage, record.last_usage
        size = window.window if window is not None else 0
        percent = round(window.percent or 0) if window is not None else None
        return {
            "hook_event_name": "Status",
            "session_id": record.id,
            "session_name": record.name,
            "transcript_path": str(record.file or ""),
            "cwd": str(context.cwd),
            "model": {"id": model.id, "display_name": model.name} if model is not None else None,
            "workspace": {
                "current_dir": str(context.cwd),
                "project_dir": str(context.cwd),
                "added_dirs": [str(folder) for folder in context.added_folders],
            },
            "version": VERSION,
            "output_style": {"name": "default"},
            "cost": {
                "total_cost_usd": usage.cost.total,
                "total_duration_ms": round(1000 * (time.monotonic() - self._last_run_at)),
            },
            "context_window": {
                "total_input_tokens": usage.input + usage.cache_read + usage.cache_write,
                "total_output_tokens": usage.output,
                "context_window_size": size,
                "used_percentage": percent,
                "remaining_percentage": None if percent is None else 100 - percent,
                "current_usage": None
                if last is None
                else {
                    "input_tokens": last.input,
                    "output_tokens": last.output,
                    "cache_creation_input_tokens": last.cache_write,
                    "cache_read_input_tokens": last.cache_read,
                },
            },
            "exceeds_200k_tokens": bool(window is not None and (window.tokens or 0) > 200_000),
        }
