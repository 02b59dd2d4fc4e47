"""Generated from the table of session commands: a client method for each command.

python -m app.modes.rpc.reference          generates it again
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from bayou.values import (
    BashResult,
    CellResult,
    CommandInfo,
    CompactionResult,
    ContextUsage,
    CycledLevel,
    CycledModel,
    Entries,
    FileDifferences,
    Forked,
    ForkMessage,
    GoalCheck,
    GoalView,
    HelperInfo,
    Image,
    InterruptMode,
    JobInfo,
    Kernel,
    Message,
    Model,
    Moved,
    Navigated,
    PendingAction,
    PendingResolved,
    PermissionMode,
    Permissions,
    PromptDisposition,
    QueueMode,
    Removed,
    RestoreChoice,
    RestoredFiles,
    RestorePreview,
    RestoreRow,
    ReviewedChangesData,
    Sandbox,
    SecretMasked,
    ServerView,
    SessionStats,
    State,
    ThinkingLevel,
    TodoPhase,
    ToolExposure,
)


class ClientCommands:
    """Sends every session command to a bayou process: one method for each command."""

    def __init__(self, ask: Callable[..., Awaitable[Any]]) -> None:
        """`ask` gets a command's name, the type and the field of its answer, and the command's fields."""
        self._ask = ask

    async def prompt(
        self,
        message: str,
        images: Sequence[Image] = (),
        streaming_behavior: Literal["steer", "followUp"] | None = None,
        as_it_is: bool = False,
    ) -> PromptDisposition:
        """Send a prompt."""
        return await self._ask(
            "prompt",
            PromptDisposition,
            "disposition",
            message=message,
            images=images,
            streamingBehavior=streaming_behavior,
            asItIs=as_it_is,
        )

    async def ask_beside(self, question: str) -> str:
        """Ask a side question, outside the conversation."""
        return await self._ask("ask_beside", str, "text", question=question)

    async def draft_handoff(self, goal: str) -> str:
        """Draft the first prompt of a new session for a goal. Starts nothing."""
        return await self._ask("draft_handoff", str, "text", goal=goal)

    async def steer(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Queue a message for the next request."""
        return await self._ask("steer", PromptDisposition, "disposition", message=message, images=images)

    async def follow_up(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Queue a message for the end of the run."""
        return await self._ask("follow_up", PromptDisposition, "disposition", message=message, images=images)

    async def abort(self) -> None:
        """Stop the running work. Responds when it has stopped."""
        return await self._ask("abort", None, "")

    async def abort_and_prompt(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Abort, then send a prompt."""
        return await self._ask(
            "abort_and_prompt", PromptDisposition, "disposition", message=message, images=images
        )

    async def clear_queue(self) -> Removed:
        """Remove all queued messages."""
        return await self._ask("clear_queue", Removed, "")

    async def set_steering_mode(self, mode: QueueMode) -> None:
        """How many steering messages are delivered at once."""
        return await self._ask("set_steering_mode", None, "", mode=mode)

    async def set_follow_up_mode(self, mode: QueueMode) -> None:
        """How many follow-ups are delivered at once."""
        return await self._ask("set_follow_up_mode", None, "", mode=mode)

    async def set_interrupt_mode(self, mode: InterruptMode) -> None:
        """Whether steering messages wait for running tools."""
        return await self._ask("set_interrupt_mode", None, "", mode=mode)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Switch retries after errors on or off."""
        return await self._ask("set_auto_retry", None, "", enabled=enabled)

    async def abort_retry(self) -> None:
        """Cancel a waiting retry."""
        return await self._ask("abort_retry", None, "")

    async def retry_now(self) -> None:
        """Retry now instead of waiting."""
        return await self._ask("retry_now", None, "")

    async def compact(self, custom_instructions: str | None = None) -> CompactionResult:
        """Summarise older messages. The session file keeps the originals."""
        return await self._ask("compact", CompactionResult, "", customInstructions=custom_instructions)

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Switch automatic compaction on or off."""
        return await self._ask("set_auto_compaction", None, "", enabled=enabled)

    async def bash(self, command: str, exclude_from_context: bool = False) -> BashResult:
        """Run a command as the user."""
        return await self._ask(
            "bash", BashResult, "", command=command, excludeFromContext=exclude_from_context
        )

    async def abort_bash(self) -> None:
        """Stop the user's command."""
        return await self._ask("abort_bash", None, "")

    async def eval(
        self,
        code: str,
        title: str = "",
        timeout: float | None = None,
        reset: bool = False,
        exclude_from_context: bool = False,
    ) -> CellResult:
        """Run Python as the user. In the kernel of the agent's cells; progress arrives as tool events."""
        return await self._ask(
            "eval",
            CellResult,
            "",
            code=code,
            title=title,
            timeout=timeout,
            reset=reset,
            excludeFromContext=exclude_from_context,
        )

    async def run_notebook(self, path: str, cells: str = "") -> list[CellResult]:
        """Run the code cells of a notebook. Stops at the first that fails. `cells`: 3, 2-5 or 4-."""
        return await self._ask("run_notebook", list[CellResult], "cells", path=path, cells=cells)

    async def abort_eval(self) -> None:
        """Stop the user's cell."""
        return await self._ask("abort_eval", None, "")

    async def restart_kernel(self) -> bool:
        """Restart the Python kernel. Forgets everything that cells defined. False: no kernel runs."""
        return await self._ask("restart_kernel", bool, "restarted")

    async def get_kernel(self) -> Kernel:
        """Interpreter, memory and variables of the kernel."""
        return await self._ask("get_kernel", Kernel, "")

    async def init_context(self) -> PromptDisposition:
        """Write or update AGENTS.md."""
        return await self._ask("init_context", PromptDisposition, "disposition")

    async def review(self, what: str = "") -> PromptDisposition:
        """Review uncommitted changes or a branch."""
        return await self._ask("review", PromptDisposition, "disposition", what=what)

    async def get_state(self) -> State:
        """The session's settings and activity."""
        return await self._ask("get_state", State, "")

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Switch the model. The next request uses it."""
        return await self._ask("set_model", Model, "", provider=provider, modelId=model_id)

    async def cycle_model(self) -> CycledModel | None:
        """Next model."""
        return await self._ask("cycle_model", CycledModel | None, "")

    async def get_available_models(self) -> Sequence[Model]:
        """Models that can be used now."""
        return await self._ask("get_available_models", Sequence[Model], "models")

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """How much the model thinks. Clamped to what the model can do."""
        return await self._ask("set_thinking_level", None, "", level=level)

    async def cycle_thinking_level(self) -> CycledLevel | None:
        """Next thinking level."""
        return await self._ask("cycle_thinking_level", CycledLevel | None, "")

    async def get_available_thinking_levels(self) -> Sequence[str]:
        """The model's thinking levels."""
        return await self._ask("get_available_thinking_levels", Sequence[str], "levels")

    async def set_session_name(self, name: str) -> None:
        """Name the session."""
        return await self._ask("set_session_name", None, "", name=name)

    async def get_session_stats(self) -> SessionStats:
        """File, counts, tokens, cost. Of the whole file, all branches included."""
        return await self._ask("get_session_stats", SessionStats, "")

    async def set_todos(self, phases: Sequence[TodoPhase]) -> Sequence[TodoPhase]:
        """Set the todo list. Answers with the resulting list; the agent reads it with its next request."""
        return await self._ask("set_todos", Sequence[TodoPhase], "todoPhases", phases=phases)

    async def get_context_usage(self) -> ContextUsage | None:
        """How full the context window is."""
        return await self._ask("get_context_usage", ContextUsage | None, "")

    async def get_messages(self) -> Sequence[Message]:
        """Messages in the context."""
        return await self._ask("get_messages", Sequence[Message], "messages")

    async def get_last_assistant_text(self) -> str | None:
        """The last answer."""
        return await self._ask("get_last_assistant_text", str | None, "text")

    async def get_commands(self) -> Sequence[CommandInfo]:
        """Slash commands, prompt templates and skills."""
        return await self._ask("get_commands", Sequence[CommandInfo], "commands")

    async def export_html(self, output_path: str | None = None) -> str:
        """Write the session as a page."""
        return await self._ask("export_html", str, "path", outputPath=output_path)

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Set what runs without approval. read-only, ask, auto-edit or full; for this session."""
        return await self._ask("set_permission_mode", None, "", mode=mode)

    async def set_plan_mode(self, is_on: bool = True) -> None:
        """Plan mode: no changes until you accept a plan. A plan is a question; answer `Accept` or a comment."""
        return await self._ask("set_plan_mode", None, "", isOn=is_on)

    async def set_approvals(self, answers: Literal["ask", "deny"]) -> None:
        """Set whether this client answers approvals. `ask`: it does. `deny`: deny at once what needs approval."""
        return await self._ask("set_approvals", None, "", answers=answers)

    async def add_folder(self, path: str) -> Sequence[str]:
        """Add a folder to the workspace. Its files can be read and changed. Responds with all added folders."""
        return await self._ask("add_folder", Sequence[str], "folders", path=path)

    async def remove_folder(self, path: str) -> Sequence[str]:
        """Remove an added folder from the workspace. Responds with the remaining folders."""
        return await self._ask("remove_folder", Sequence[str], "folders", path=path)

    async def get_permissions(self) -> Permissions:
        """Permission mode, rules and recent decisions."""
        return await self._ask("get_permissions", Permissions, "")

    async def get_sandbox(self) -> Sandbox:
        """What the agent's commands can read, write and reach."""
        return await self._ask("get_sandbox", Sandbox, "")

    async def get_secrets(self) -> Sequence[SecretMasked]:
        """Secrets masked in this session."""
        return await self._ask("get_secrets", Sequence[SecretMasked], "secrets")

    async def call_no_secret(self, digest: str) -> None:
        """Mark a masked value as a false alarm. It is no longer masked. `digest` is the last part of its mark."""
        return await self._ask("call_no_secret", None, "", digest=digest)

    async def unmask(self) -> PromptDisposition:
        """Send the last masked prompt unmasked."""
        return await self._ask("unmask", PromptDisposition, "disposition")

    async def list_jobs(self) -> Sequence[JobInfo]:
        """Background jobs."""
        return await self._ask("list_jobs", Sequence[JobInfo], "jobs")

    async def get_job(self, job_id: str) -> JobInfo:
        """One job with the end of its output."""
        return await self._ask("get_job", JobInfo, "", jobId=job_id)

    async def wait_for_job(self, job_id: str, timeout: float | None = None) -> JobInfo:
        """Wait for a job. Responds when it has ended, or after this many seconds."""
        return await self._ask("wait_for_job", JobInfo, "", jobId=job_id, timeout=timeout)

    async def kill_job(self, job_id: str) -> JobInfo:
        """Stop a background job. The agent learns of it with the next prompt."""
        return await self._ask("kill_job", JobInfo, "", jobId=job_id)

    async def pin_job(self, job_id: str, pinned: bool = True) -> JobInfo:
        """Keep a job running when the session closes, or not."""
        return await self._ask("pin_job", JobInfo, "", jobId=job_id, pinned=pinned)

    async def list_helpers(self) -> Sequence[HelperInfo]:
        """Helper agents. All since the session was opened, ended ones included."""
        return await self._ask("list_helpers", Sequence[HelperInfo], "helpers")

    async def get_helper(self, helper_id: str) -> HelperInfo:
        """One helper agent with its calls and its answer."""
        return await self._ask("get_helper", HelperInfo, "", helperId=helper_id)

    async def steer_helper(self, helper_id: str, message: str) -> HelperInfo:
        """Send a message to a helper. An ended helper continues in the background."""
        return await self._ask("steer_helper", HelperInfo, "", helperId=helper_id, message=message)

    async def stop_helper(self, helper_id: str) -> HelperInfo:
        """Stop a helper. The agent gets its unfinished result."""
        return await self._ask("stop_helper", HelperInfo, "", helperId=helper_id)

    async def new_session(self, parent_session: str | None = None) -> Moved:
        """Start a new session."""
        return await self._ask("new_session", Moved, "", parentSession=parent_session)

    async def switch_session(self, session_path: str) -> Moved:
        """Resume another session."""
        return await self._ask("switch_session", Moved, "", sessionPath=session_path)

    async def fork(self, entry_id: str) -> Forked:
        """Fork from an earlier prompt, in a new file."""
        return await self._ask("fork", Forked, "", entryId=entry_id)

    async def branch(self, entry_id: str) -> Forked:
        """The same as fork."""
        return await self._ask("branch", Forked, "", entryId=entry_id)

    async def clone(self) -> Moved:
        """Continue in a copy of this branch."""
        return await self._ask("clone", Moved, "")

    async def get_fork_messages(self) -> Sequence[ForkMessage]:
        """All prompts of the session file, to fork from."""
        return await self._ask("get_fork_messages", Sequence[ForkMessage], "messages")

    async def get_branch_messages(self) -> Sequence[ForkMessage]:
        """The same as get_fork_messages."""
        return await self._ask("get_branch_messages", Sequence[ForkMessage], "messages")

    async def get_entries(self, since: str | None = None) -> Entries:
        """Entries in file order."""
        return await self._ask("get_entries", Entries, "", since=since)

    async def get_tree(self) -> dict[str, Any]:
        """The entries as a tree."""
        return await self._ask("get_tree", dict[str, Any], "")

    async def navigate_tree(
        self,
        entry_id: str | None = None,
        summarize: bool = False,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
        restore_files: bool = False,
    ) -> Navigated:
        """Go to an entry. `summarize`: summarise the branch that is left. `restoreFiles`: restore the entry's files."""
        return await self._ask(
            "navigate_tree",
            Navigated,
            "",
            entryId=entry_id,
            summarize=summarize,
            customInstructions=custom_instructions,
            replaceInstructions=replace_instructions,
            label=label,
            restoreFiles=restore_files,
        )

    async def merge_branch(
        self,
        entry_id: str,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> Navigated:
        """Add a summary of another branch here."""
        return await self._ask(
            "merge_branch",
            Navigated,
            "",
            entryId=entry_id,
            customInstructions=custom_instructions,
            replaceInstructions=replace_instructions,
            label=label,
        )

    async def undo_compaction(self) -> Navigated:
        """Undo the last compaction. The context has the full history again."""
        return await self._ask("undo_compaction", Navigated, "")

    async def set_label(self, entry_id: str, label: str | None = None) -> None:
        """Set or remove the label of an entry."""
        return await self._ask("set_label", None, "", entryId=entry_id, label=label)

    async def get_file_changes(self) -> Sequence[RestoreRow]:
        """File changes on this branch."""
        return await self._ask("get_file_changes", Sequence[RestoreRow], "files")

    async def get_diff(
        self,
        of: Literal["session", "prompt", "git"] = "session",
        entry_id: str | None = None,
        patch: bool = True,
    ) -> FileDifferences:
        """Show file changes. Of this session, of a prompt (`entryId`, else the last), or since the last commit."""
        return await self._ask("get_diff", FileDifferences, "", of=of, entryId=entry_id, patch=patch)

    async def preview_undo(self, count: int = 1, diffs: bool = False) -> RestorePreview:
        """Preview an undo of file changes. Of the last prompts that changed files. Changes nothing."""
        return await self._ask("preview_undo", RestorePreview, "", count=count, diffs=diffs)

    async def preview_redo(self, diffs: bool = False) -> RestorePreview:
        """Preview a redo."""
        return await self._ask("preview_redo", RestorePreview, "", diffs=diffs)

    async def preview_restore(self, entry_id: str | None = None, diffs: bool = False) -> RestorePreview:
        """Preview a restore of files. To an entry, or to the beginning without one."""
        return await self._ask("preview_restore", RestorePreview, "", entryId=entry_id, diffs=diffs)

    async def undo_files(
        self, count: int = 1, choices: dict[str, RestoreChoice] | None = None, digest: str | None = None
    ) -> RestoredFiles:
        """Undo file changes of the last prompts. `choices`: for single files. `digest`: of the preview."""
        return await self._ask("undo_files", RestoredFiles, "", count=count, choices=choices, digest=digest)

    async def redo_files(
        self, choices: dict[str, RestoreChoice] | None = None, digest: str | None = None
    ) -> RestoredFiles:
        """Redo: reverse the last undo or restore of files."""
        return await self._ask("redo_files", RestoredFiles, "", choices=choices, digest=digest)

    async def restore_files(
        self,
        entry_id: str | None = None,
        choices: dict[str, RestoreChoice] | None = None,
        digest: str | None = None,
    ) -> RestoredFiles:
        """Restore files to an entry. To the beginning without one."""
        return await self._ask(
            "restore_files", RestoredFiles, "", entryId=entry_id, choices=choices, digest=digest
        )

    async def list_pending(self) -> Sequence[PendingAction]:
        """Staged changes to apply or discard. Oldest first."""
        return await self._ask("list_pending", Sequence[PendingAction], "actions")

    async def resolve_pending(
        self,
        action: Literal["apply", "discard"],
        reason: str = "",
        pending_id: str | None = None,
        files: Sequence[str] = (),
    ) -> PendingResolved:
        """Apply or discard staged changes. `pendingId`: optional for the only one. `files`: only these of a helper."""
        return await self._ask(
            "resolve_pending",
            PendingResolved,
            "",
            action=action,
            reason=reason,
            pendingId=pending_id,
            files=files,
        )

    async def review_changes(
        self,
        of: Literal["session", "prompt", "git", "entry"] = "prompt",
        entry_id: str | None = None,
        patch: bool = True,
    ) -> ReviewedChangesData:
        """Review changes by file and hunk. Of a prompt, the session, since the last commit, or since an entry."""
        return await self._ask(
            "review_changes", ReviewedChangesData, "", of=of, entryId=entry_id, patch=patch
        )

    async def take_back_hunks(
        self,
        hunks: Sequence[str],
        of: Literal["session", "prompt", "git", "entry"] = "prompt",
        entry_id: str | None = None,
        put_back: bool = False,
    ) -> RestoredFiles:
        """Take back single hunks of changes. `hunks`: ids from `review_changes` with the same `of`."""
        return await self._ask(
            "take_back_hunks", RestoredFiles, "", hunks=hunks, of=of, entryId=entry_id, putBack=put_back
        )

    async def get_goal(self) -> GoalView | None:
        """The goal and whether its checks still pass. Detects files that changed since."""
        return await self._ask("get_goal", GoalView | None, "goal")

    async def set_goal(self, text: str, checks: Sequence[GoalCheck], start: bool = True) -> GoalView | None:
        """Set a goal with a check. The agent works until the check passes. Sends the text, unless `start` is false."""
        return await self._ask("set_goal", GoalView | None, "goal", text=text, checks=checks, start=start)

    async def check_goal(self) -> GoalView | None:
        """Run the check of the goal now. Does not start the agent. Responds when the check has ended."""
        return await self._ask("check_goal", GoalView | None, "goal")

    async def continue_goal(self) -> GoalView | None:
        """Continue work on the goal. Resets the count of failed checks."""
        return await self._ask("continue_goal", GoalView | None, "goal")

    async def clear_goal(self) -> None:
        """Remove the goal. A running check is stopped; the agent is not."""
        return await self._ask("clear_goal", None, "")

    async def get_mcp_servers(self) -> Sequence[ServerView]:
        """MCP servers with their tools and states. Connects to none of them."""
        return await self._ask("get_mcp_servers", Sequence[ServerView], "servers")

    async def mcp_test(self, name: str) -> ServerView:
        """Reconnect to an MCP server and list everything it offers."""
        return await self._ask("mcp_test", ServerView, "server", name=name)

    async def mcp_set(
        self, name: str, enabled: bool | None = None, exposure: ToolExposure | None = None
    ) -> ServerView:
        """Switch an MCP server on or off, or choose how the model reaches its tools. For this session."""
        return await self._ask("mcp_set", ServerView, "server", name=name, enabled=enabled, exposure=exposure)

    async def mcp_restart(self, name: str) -> ServerView:
        """Disconnect an MCP server and forget its failures; it starts again when it is needed."""
        return await self._ask("mcp_restart", ServerView, "server", name=name)
