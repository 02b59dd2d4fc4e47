"""A method for every command of a session, made from their table and not written.

python -m app.modes.rpc.reference          makes it anew
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
    """What a bayou at the other end can be told."""

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
        """Ask beside the work, outside the conversation."""
        return await self._ask("ask_beside", str, "text", question=question)

    async def draft_handoff(self, goal: str) -> str:
        """Write the first prompt of a new session for a goal. Nothing is begun."""
        return await self._ask("draft_handoff", str, "text", goal=goal)

    async def steer(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Queue a message for the next request."""
        return await self._ask("steer", PromptDisposition, "disposition", message=message, images=images)

    async def follow_up(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Queue a message for the end of the run."""
        return await self._ask("follow_up", PromptDisposition, "disposition", message=message, images=images)

    async def abort(self) -> None:
        """Stop the running work. Responds once it has settled."""
        return await self._ask("abort", None, "")

    async def abort_and_prompt(self, message: str, images: Sequence[Image] = ()) -> PromptDisposition:
        """Abort, then send a prompt."""
        return await self._ask(
            "abort_and_prompt", PromptDisposition, "disposition", message=message, images=images
        )

    async def clear_queue(self) -> Removed:
        """Take queued messages back."""
        return await self._ask("clear_queue", Removed, "")

    async def set_steering_mode(self, mode: QueueMode) -> None:
        """How many steering messages are delivered at once."""
        return await self._ask("set_steering_mode", None, "", mode=mode)

    async def set_follow_up_mode(self, mode: QueueMode) -> None:
        """How many follow-ups are delivered at once."""
        return await self._ask("set_follow_up_mode", None, "", mode=mode)

    async def set_interrupt_mode(self, mode: InterruptMode) -> None:
        """Whether steering waits for running tools."""
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
        """Summarise the older part. The file keeps what the summary stands for."""
        return await self._ask("compact", CompactionResult, "", customInstructions=custom_instructions)

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Switch automatic compaction on or off."""
        return await self._ask("set_auto_compaction", None, "", enabled=enabled)

    async def bash(self, command: str, exclude_from_context: bool = False) -> BashResult:
        """Run a command as the person."""
        return await self._ask(
            "bash", BashResult, "", command=command, excludeFromContext=exclude_from_context
        )

    async def abort_bash(self) -> None:
        """Stop the person's command."""
        return await self._ask("abort_bash", None, "")

    async def eval(
        self,
        code: str,
        title: str = "",
        timeout: float | None = None,
        reset: bool = False,
        exclude_from_context: bool = False,
    ) -> CellResult:
        """Run Python as the person. In the same kernel as the agent's cells; progress comes as events of tools."""
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
        """Run the code cells of a notebook. Until one fails. `cells`: 3, 2-5 or 4-."""
        return await self._ask("run_notebook", list[CellResult], "cells", path=path, cells=cells)

    async def abort_eval(self) -> None:
        """Stop the person's cell."""
        return await self._ask("abort_eval", None, "")

    async def restart_kernel(self) -> bool:
        """Restart the kernel with no names. What cells defined is gone. False: none runs."""
        return await self._ask("restart_kernel", bool, "restarted")

    async def get_kernel(self) -> Kernel:
        """Interpreter, memory and names of the kernel."""
        return await self._ask("get_kernel", Kernel, "")

    async def init_context(self) -> PromptDisposition:
        """Draft an AGENTS.md, or bring it up to date."""
        return await self._ask("init_context", PromptDisposition, "disposition")

    async def review(self, what: str = "") -> PromptDisposition:
        """Review what is not committed, or a branch."""
        return await self._ask("review", PromptDisposition, "disposition", what=what)

    async def get_state(self) -> State:
        """The session's settings and activity."""
        return await self._ask("get_state", State, "")

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Switch the model. It answers from the next request on."""
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
        """File, counts, tokens, cost. They are those of the whole file."""
        return await self._ask("get_session_stats", SessionStats, "")

    async def set_todos(self, phases: Sequence[TodoPhase]) -> Sequence[TodoPhase]:
        """Set the list of todos. Answers with the resulting list; the agent reads it with its next request."""
        return await self._ask("set_todos", Sequence[TodoPhase], "todoPhases", phases=phases)

    async def get_context_usage(self) -> ContextUsage | None:
        """How full the window is."""
        return await self._ask("get_context_usage", ContextUsage | None, "")

    async def get_messages(self) -> Sequence[Message]:
        """The context's messages."""
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
        """What runs without a question. One of read-only, ask, auto-edit and full, for this session."""
        return await self._ask("set_permission_mode", None, "", mode=mode)

    async def set_plan_mode(self, is_on: bool = True) -> None:
        """Plan mode: nothing changes until one is accepted. A plan is a question: `Accept`, or words."""
        return await self._ask("set_plan_mode", None, "", isOn=is_on)

    async def set_approvals(self, answers: Literal["ask", "deny"]) -> None:
        """Say whether this client answers questions. `ask`, or `deny`: what would be asked is refused at once."""
        return await self._ask("set_approvals", None, "", answers=answers)

    async def add_folder(self, path: str) -> Sequence[str]:
        """Work in another folder too. Its files can be read and changed. Answers with all added folders."""
        return await self._ask("add_folder", Sequence[str], "folders", path=path)

    async def remove_folder(self, path: str) -> Sequence[str]:
        """Stop working in an added folder. Answers with the folders that are left."""
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
        """Mark a masked value as a false alarm. It is shown from now on; `digest` is the last part of its mark."""
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
        """Wait for a job. Answers when it has ended, or after so many seconds."""
        return await self._ask("wait_for_job", JobInfo, "", jobId=job_id, timeout=timeout)

    async def kill_job(self, job_id: str) -> JobInfo:
        """End a background job. The agent hears of it with the next prompt."""
        return await self._ask("kill_job", JobInfo, "", jobId=job_id)

    async def pin_job(self, job_id: str, pinned: bool = True) -> JobInfo:
        """Let a job outlive this session, or not."""
        return await self._ask("pin_job", JobInfo, "", jobId=job_id, pinned=pinned)

    async def list_helpers(self) -> Sequence[HelperInfo]:
        """Helper agents. Those of this session since it was opened, also ended ones."""
        return await self._ask("list_helpers", Sequence[HelperInfo], "helpers")

    async def get_helper(self, helper_id: str) -> HelperInfo:
        """One helper agent, with what it has done so far and its answer."""
        return await self._ask("get_helper", HelperInfo, "", helperId=helper_id)

    async def steer_helper(self, helper_id: str, message: str) -> HelperInfo:
        """Tell a helper something. It reads it while it works; one that has ended goes on in the background."""
        return await self._ask("steer_helper", HelperInfo, "", helperId=helper_id, message=message)

    async def stop_helper(self, helper_id: str) -> HelperInfo:
        """Stop a helper. Who waits for it gets what it has."""
        return await self._ask("stop_helper", HelperInfo, "", helperId=helper_id)

    async def new_session(self, parent_session: str | None = None) -> Moved:
        """Begin a new session."""
        return await self._ask("new_session", Moved, "", parentSession=parent_session)

    async def switch_session(self, session_path: str) -> Moved:
        """Go on with another session."""
        return await self._ask("switch_session", Moved, "", sessionPath=session_path)

    async def fork(self, entry_id: str) -> Forked:
        """Go on from before a prompt, in a new file."""
        return await self._ask("fork", Forked, "", entryId=entry_id)

    async def branch(self, entry_id: str) -> Forked:
        """The same as fork."""
        return await self._ask("branch", Forked, "", entryId=entry_id)

    async def clone(self) -> Moved:
        """Go on in a copy of this branch."""
        return await self._ask("clone", Moved, "")

    async def get_fork_messages(self) -> Sequence[ForkMessage]:
        """All prompts of the file."""
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
        """Go to an entry. `summarize` takes a summary of the branch along, `restoreFiles` its files."""
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
        """Back to the full history. It is as it was before the last compaction."""
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
        """What changed in files. By this session, by a prompt (`entryId`, else the last), or since the last commit."""
        return await self._ask("get_diff", FileDifferences, "", of=of, entryId=entry_id, patch=patch)

    async def preview_undo(self, count: int = 1, diffs: bool = False) -> RestorePreview:
        """Preview an undo of file changes. Of the last prompts that changed any. Nothing is changed."""
        return await self._ask("preview_undo", RestorePreview, "", count=count, diffs=diffs)

    async def preview_redo(self, diffs: bool = False) -> RestorePreview:
        """Preview a redo."""
        return await self._ask("preview_redo", RestorePreview, "", diffs=diffs)

    async def preview_restore(self, entry_id: str | None = None, diffs: bool = False) -> RestorePreview:
        """Preview a restore of files. As they were at an entry; without one, before everything."""
        return await self._ask("preview_restore", RestorePreview, "", entryId=entry_id, diffs=diffs)

    async def undo_files(
        self, count: int = 1, choices: dict[str, RestoreChoice] | None = None, digest: str | None = None
    ) -> RestoredFiles:
        """Undo what the last prompts did to files. `choices`: of single files; `digest`: only as it was previewed."""
        return await self._ask("undo_files", RestoredFiles, "", count=count, choices=choices, digest=digest)

    async def redo_files(
        self, choices: dict[str, RestoreChoice] | None = None, digest: str | None = None
    ) -> RestoredFiles:
        """Redo: take the last restore of files back."""
        return await self._ask("redo_files", RestoredFiles, "", choices=choices, digest=digest)

    async def restore_files(
        self,
        entry_id: str | None = None,
        choices: dict[str, RestoreChoice] | None = None,
        digest: str | None = None,
    ) -> RestoredFiles:
        """Restore files to an entry. Without one, before everything."""
        return await self._ask(
            "restore_files", RestoredFiles, "", entryId=entry_id, choices=choices, digest=digest
        )

    async def list_pending(self) -> Sequence[PendingAction]:
        """Changes that were staged and wait for an answer. The oldest first."""
        return await self._ask("list_pending", Sequence[PendingAction], "actions")

    async def resolve_pending(
        self, action: Literal["apply", "discard"], reason: str = "", pending_id: str | None = None
    ) -> PendingResolved:
        """Apply or discard staged changes. Without `pendingId` the only one. All or nothing; of helpers, by file."""
        return await self._ask(
            "resolve_pending", PendingResolved, "", action=action, reason=reason, pendingId=pending_id
        )

    async def review_changes(
        self,
        of: Literal["session", "prompt", "git", "entry"] = "prompt",
        entry_id: str | None = None,
        patch: bool = True,
    ) -> ReviewedChangesData:
        """Changes by file and hunk. Of a prompt, the session, since the last commit, or since an entry."""
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
        """Take hunks of changes back. `hunks`: ids from `review_changes` with the same `of`."""
        return await self._ask(
            "take_back_hunks", RestoredFiles, "", hunks=hunks, of=of, entryId=entry_id, putBack=put_back
        )

    async def get_goal(self) -> GoalView | None:
        """The goal, and whether its proof still holds. Looks whether files have changed."""
        return await self._ask("get_goal", GoalView | None, "goal")

    async def set_goal(self, text: str, checks: Sequence[GoalCheck], start: bool = True) -> GoalView | None:
        """Set a goal with a check. The agent goes on until it passes. The text is sent, unless `start` is false."""
        return await self._ask("set_goal", GoalView | None, "goal", text=text, checks=checks, start=start)

    async def check_goal(self) -> GoalView | None:
        """Run the check of the goal now. It starts no agent. Answers when the check has ended."""
        return await self._ask("check_goal", GoalView | None, "goal")

    async def continue_goal(self) -> GoalView | None:
        """Let the agent go on with the goal. Failed checks are counted anew."""
        return await self._ask("continue_goal", GoalView | None, "goal")

    async def clear_goal(self) -> None:
        """Remove the goal. A running check is stopped; the agent is not."""
        return await self._ask("clear_goal", None, "")

    async def get_mcp_servers(self) -> Sequence[ServerView]:
        """MCP servers with their tools and states. As far as is known: none is contacted."""
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
