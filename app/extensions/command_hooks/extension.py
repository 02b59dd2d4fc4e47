"""The built-in extension `builtin:hooks`: runs the hooks of settings files, as one more subscriber of a
session's hooks.

It registers only for the events that hooks are for. A hook can block, ask, change a call before the gate
judges it, and add context; it can never allow what the gate would not.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from app.extensions.api import ExtensionApi
from app.extensions.command_hooks.claude_tools import claude_inputs, claude_tool_for, from_claude_tool_input
from app.extensions.command_hooks.hook_answers import CommandHookAnswer, strictest_answer
from app.extensions.command_hooks.hook_list import (
    NO_HOOKS_TEXT,
    format_hook_table_lines,
    hook_trial_result_text,
    make_hook_input,
    make_sample_hook_input,
)
from app.extensions.command_hooks.hook_runs import CommandHookRunner
from app.extensions.extension_views import View
from app.extensions.handler_contexts import CommandContext, Context
from app.extensions.hooks import payloads as p
from app.extensions.packages.package_installer import plugin_hook_files
from app.resources.hook_files import ConfiguredHook, ConfiguredStatusLine, HookEvent, find_hooks
from app.resources.paths import BayouPaths
from app.values.content import Text, text_of
from app.values.messages import CustomMessage
from tools.tool_result_values import TextBlock

if TYPE_CHECKING:
    from app.extensions.command_hooks.status_line import StatusLineRunner

HOOK_CONTEXT_MESSAGE_TYPE = "hook"
MAX_STOP_CONTINUATIONS = 10
"""How often Stop hooks may send the agent on before a run ends all the same."""


class _SessionCommandHooks:
    """The configured hooks of one session."""

    def __init__(self, api: ExtensionApi) -> None:
        self._api = api
        self.runner = CommandHookRunner(api)
        self.hooks: tuple[ConfiguredHook, ...] = ()
        self._status: StatusLineRunner | None = None
        """Made when a file has a status line."""
        self._unregister_functions: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._start_task: asyncio.Task[None] | None = None
        self._continuations = 0
        self._ends_run = False
        self._last_message = ""
        """The last message of hooks, which is not shown twice in a row."""

    def read_hooks(self, context: Context) -> None:
        """Reads the files again and registers for the events of their hooks."""
        paths = BayouPaths.from_env(os.environ, context.cwd)
        found = find_hooks(paths, is_trusted=context.is_project_trusted(), plugins=plugin_hook_files(paths))
        self.hooks = found.hooks
        for stop in self._unregister_functions:
            stop()
        wanted = {name: deed for name, deed in self._hook_handlers().items() if deed is not None}
        self._unregister_functions = [self._api.on(name, deed) for name, deed in wanted.items()]
        self._configure_status_line(found.status_line, context)
        for problem in found.problems:
            context.ui.notify(f"Hooks: {problem}", "warning")

    def _configure_status_line(self, line: ConfiguredStatusLine | None, context: Context) -> None:
        if line is None and self._status is None:
            return
        from app.extensions.command_hooks.status_line import STATUS_LINE_EVENTS, StatusLineRunner  # noqa: PLC0415  (few have one)

        status = self._status = self._status or StatusLineRunner(self._api, self.runner.shell)
        status.set_command(line, context)
        if line is not None:
            self._unregister_functions += [
                self._api.on(name, status.request_update) for name in STATUS_LINE_EVENTS
            ]
            self._unregister_functions.append(
                self._api.on("session_shutdown", lambda event, context: status.stop())
            )

    def _hook_handlers(self) -> dict[str, Callable[..., Any] | None]:
        used = {hook.event for hook in self.hooks}

        def needed(deed: Callable[..., Any], *events: HookEvent) -> Callable[..., Any] | None:
            return deed if used.intersection(events) else None

        return {
            "tool_call": needed(self.before_tool, "PreToolUse"),
            "tool_result": needed(self.after_tool, "PostToolUse"),
            "turn_end": needed(self.end_turn, "PostToolUse"),
            "input": needed(self.before_prompt, "UserPromptSubmit", "SessionStart"),
            "agent_before_settle": needed(self.run_stop_hooks, "Stop"),
            "agent_settled": needed(self.reset_stop_continuations, "Stop"),
            "helper_before_settle": needed(self.run_subagent_stop_hooks, "SubagentStop"),
            "session_before_compact": needed(self.before_compaction, "PreCompact"),
            "session_compact": needed(self.after_compaction, "SessionStart"),
            "session_shutdown": needed(self.end_session, "SessionEnd"),
            "question_asked": needed(self.run_question_notification_hooks, "Notification"),
        }

    # Asking the hooks

    async def run_hooks(
        self, event: HookEvent, subjects: tuple[str, ...], context: Context, **fields: Any
    ) -> CommandHookAnswer:
        """Runs the hooks of this event whose matcher fits one of the subjects, and shows their messages."""
        hooks = [hook for hook in self.hooks if hook.event == event and hook.matcher.matches(subjects)]
        if not hooks:
            return CommandHookAnswer()
        answer = await self.runner.run(hooks, make_hook_input(event, context, fields), context)
        if answer.message and answer.message != self._last_message:
            context.ui.notify(answer.message, "warning")
        self._last_message = answer.message
        return answer

    async def _run_tool_hooks(
        self,
        name: HookEvent,
        event: p.ToolCallPayload | p.ToolResultPayload,
        context: Context,
        **fields: Any,
    ) -> tuple[CommandHookAnswer, dict[str, Any]]:
        """Runs the configured hooks for a tool call, once for each of its files; returns the strictest answer and the
        call's arguments with the changes that the hooks made."""
        effects = await asyncio.to_thread(context.session.effects_of, event.tool_name, event.input)
        tool = claude_tool_for(event.tool_name, effects)
        inputs = claude_inputs(tool, event.input, effects)
        answers: list[CommandHookAnswer] = []
        changed = event.input
        for told in inputs:
            answer = await self.run_hooks(
                name,
                (event.tool_name, *tool.names),
                context,
                tool_name=tool.names[0] if tool.names else event.tool_name,
                tool_input=told,
                tool_use_id=event.tool_call_id,
                **fields,
            )
            if answer not in answers:  # a hook may say the same for each file
                answers.append(answer)
            if answer.changed_input is not None:
                changed = from_claude_tool_input(
                    changed, told, answer.changed_input, is_only_file=len(inputs) == 1
                )
        return strictest_answer(answers), changed

    async def before_tool(self, event: p.ToolCallPayload, context: Context) -> p.ToolCallAnswer | None:
        answer, changed = await self._run_tool_hooks("PreToolUse", event, context)
        if answer.decision == "block":
            return p.ToolCallAnswer(
                block=True, reason=f"Blocked by a hook: {answer.reason}", terminate=answer.ends_run
            )
        event.input = changed
        if answer.decision == "ask" and not await self._is_approved(event, answer, context):
            return p.ToolCallAnswer(
                block=True,
                reason=f"A hook wanted approval for this call, and it was not given: {answer.reason}",
            )
        if answer.context:
            await self._add_context(answer.context, "PreToolUse", "aside", event.tool_call_id)
        return None

    async def _is_approved(
        self, event: p.ToolCallPayload, answer: CommandHookAnswer, context: Context
    ) -> bool:
        """Asks the user whether a call that a hook questions may run. The permission gate judges an approved call
        all the same."""
        if not context.has_ui:
            return False
        call = ", ".join(f"{name}: {value}" for name, value in event.input.items())
        title = f"A hook asks about {event.tool_name}"
        return await context.ui.confirm(title, f"{answer.reason}\n\n{call[:1000]}".strip())

    async def after_tool(self, event: p.ToolResultPayload, context: Context) -> p.ToolResultAnswer | None:
        response = {"content": text_of(event.content), "isError": event.is_error}
        answer, _changed = await self._run_tool_hooks("PostToolUse", event, context, tool_response=response)
        self._ends_run = self._ends_run or answer.ends_run
        said = [answer.reason] if answer.decision == "block" else []
        said += [answer.context] if answer.context else []
        if not said:
            return None
        text = "\n".join(said)
        return p.ToolResultAnswer(
            content=(*event.content, Text(text=f"\nA hook after this call says: {text}"))
        )

    def end_turn(self, event: p.TurnEnded, context: Context) -> p.BoundaryAnswer | None:
        if not self._ends_run:
            return None
        self._ends_run = False
        return p.BoundaryAnswer(continue_=False)

    async def before_prompt(self, event: p.Input, context: Context) -> p.InputAnswer | None:
        if self._start_task is not None:
            await self._start_task  # what it adds is for this prompt
        answer = await self.run_hooks(
            "UserPromptSubmit", (), context, prompt=context.session.masked(event.text)
        )
        if answer.decision == "block":
            return p.InputAnswer(action="refuse", reason=f"A hook blocked this prompt: {answer.reason}")
        if answer.context:
            how = "next_turn" if context.is_idle() else "steer"
            await self._add_context(answer.context, "UserPromptSubmit", how)
        return None

    async def run_stop_hooks(self, event: p.BeforeSettle, context: Context) -> None:
        if event.outcome != "completed":
            return
        last = event.message
        answer = await self.run_hooks(
            "Stop",
            (),
            context,
            stop_hook_active=self._continuations > 0,
            last_assistant_message=last.text if last is not None else "",
        )
        if answer.decision != "block" or answer.ends_run:
            return
        if self._continuations >= MAX_STOP_CONTINUATIONS:
            context.ui.notify(_stop_limit_text("the agent"), "warning")
            return
        self._continuations += 1
        await self._add_context(f"you are not done: {answer.reason}", "Stop", "follow_up")

    async def run_subagent_stop_hooks(
        self, event: p.HelperBeforeSettle, context: Context
    ) -> p.HelperBoundaryAnswer | None:
        answer = await self.run_hooks(
            "SubagentStop",
            (event.kind,),
            context,
            stop_hook_active=event.times_continued > 0,
            agent_id=event.tool_call_id,
            agent_type=event.kind,
            agent_transcript_path=str(event.session_file or ""),
            last_assistant_message=event.message.text,
        )
        if answer.decision != "block" or answer.ends_run:
            return None
        if event.times_continued >= MAX_STOP_CONTINUATIONS:
            context.ui.notify(_stop_limit_text(f"the helper {event.kind}"), "warning")
            return None
        return p.HelperBoundaryAnswer(prompt=f"A SubagentStop hook says: you are not done: {answer.reason}")

    def reset_stop_continuations(self, event: Any, context: Context) -> None:
        self._continuations = 0

    async def before_compaction(
        self, event: p.SessionBeforeCompact, context: Context
    ) -> p.CompactAnswer | None:
        trigger = "manual" if event.reason == "manual" else "auto"
        answer = await self.run_hooks(
            "PreCompact",
            (trigger,),
            context,
            trigger=trigger,
            custom_instructions=event.custom_instructions or "",
        )
        if answer.decision != "block":
            return None
        context.ui.notify(f"A hook blocked the compaction: {answer.reason}", "warning")
        return p.CompactAnswer(cancel=True)

    # Telling the hooks

    def start_session_start_hooks(self, source: str, context: Context) -> None:
        """Runs the hooks for a session's start in the background; the first prompt waits for them."""
        if any(hook.event == "SessionStart" for hook in self.hooks):
            self._start_task = self._run_in_background(self._run_session_start_hooks(source, context))

    async def _run_session_start_hooks(self, source: str, context: Context) -> None:
        answer = await self.run_hooks("SessionStart", (source,), context, source=source)
        if answer.context:
            await self._add_context(answer.context, "SessionStart", "next_turn")

    def after_compaction(self, event: p.SessionCompact, context: Context) -> None:
        self.start_session_start_hooks("compact", context)

    async def end_session(self, event: p.SessionShutdown, context: Context) -> None:
        if event.reason != "reload":
            reason = {"quit": "prompt_input_exit", "new": "clear", "resume": "resume"}.get(
                event.reason, "other"
            )
            await self.run_hooks("SessionEnd", (reason,), context, reason=reason)

    def run_question_notification_hooks(self, event: p.QuestionWaits, context: Context) -> None:
        self._run_in_background(self._run_notification_hooks(event, context))

    async def _run_notification_hooks(self, event: p.QuestionWaits, context: Context) -> None:
        kind = "permission_prompt" if event.is_approval else "elicitation_dialog"
        await self.run_hooks(
            "Notification",
            (kind,),
            context,
            message=context.session.masked(event.title),
            notification_type=kind,
        )

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _add_context(
        self, text: str, event: HookEvent, deliver_as: Any, call_id: str | None = None
    ) -> None:
        await self._api.send_message(
            HOOK_CONTEXT_MESSAGE_TYPE,
            f"A {event} hook says: {text}",
            details={"event": event},
            deliver_as=deliver_as,
            call_id=call_id,
        )

    # Listing

    async def run_command(self, arguments: str, context: CommandContext) -> None:
        """Lists the hooks; `/hooks 2` tries the second one with a sample input."""
        paths = BayouPaths.from_env(os.environ, context.cwd)
        if not self.hooks:
            context.ui.notify(NO_HOOKS_TEXT)
            return
        heads, *lines = format_hook_table_lines(self.hooks, self.runner.last_runs, paths)
        word = arguments.strip().removeprefix("try").strip()
        if not word and context.mode == "tui":
            title = f"Hooks · enter try one with a sample input\n{heads}"
            chosen = await context.ui.select(title, lines)
            word = "" if chosen is None else str(lines.index(chosen) + 1)
        elif not word:
            numbered = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
            context.ui.notify(
                "\n".join([f"   {heads}", *numbered, "/hooks NUMBER tries one with a sample input."])
            )
        if not word:
            return
        if not word.isascii() or not word.isdigit() or not 1 <= int(word) <= len(lines):
            context.ui.notify(f"There is no hook {word}; /hooks lists 1 to {len(lines)}.", "error")
            return
        hook = self.hooks[int(word) - 1]
        await self.runner.run((hook,), make_sample_hook_input(hook, context), context)
        run = self.runner.last_runs.get(hook)
        if run is not None:
            context.ui.notify(hook_trial_result_text(hook, run))


def _stop_limit_text(who: str) -> str:
    return f"Stop hooks sent {who} on {MAX_STOP_CONTINUATIONS} times; it stops now all the same."


def extension(api: ExtensionApi) -> None:
    hooks = _SessionCommandHooks(api)
    api.message_renderer(HOOK_CONTEXT_MESSAGE_TYPE, _draw_hook_message)
    api.command("hooks", description="hooks of your settings files: list and try them")(hooks.run_command)

    @api.on("session_start")
    def start(event: p.SessionStart, context: Context) -> None:
        hooks.read_hooks(context)
        if event.reason != "reload":
            has_history = event.reason == "startup" and bool(context.session.messages())
            source = {"startup": "startup", "new": "clear"}.get(event.reason, "resume")
            hooks.start_session_start_hooks("resume" if has_history else source, context)


def _draw_hook_message(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    return View(
        title="hook", summary=str(details.get("event", "")), body=(TextBlock(text=text_of(message.content)),)
    )
