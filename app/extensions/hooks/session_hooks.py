"""Implements a session's hooks by calling its extensions. `event_forwarder` passes the session's events to them.
Each method is one hook of `app.engine.core.hooks`; without handlers it costs a dictionary look-up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from app.agent.hooks import FinishedTurn, ToolCallVerdict
from app.agent.tool_results import wire_content_of_result
from app.compaction.compaction_plan import CompactionPlan
from app.engine.core.conversation import join_prompt_sections
from app.engine.core.hook_results import (
    CompactionOverride,
    CompactionReason,
    HelperAnswer,
    NavigationOverride,
    NavigationRequest,
    RequestIds,
    UserCommandOverride,
)
from app.engine.core.hooks import Hooks, SessionSwitchReason
from app.engine.core.prompt_intake import PromptInput, SessionRequestRefused
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.extension_registrations import require_session_binding
from app.extensions.extension_runner import Extensions
from app.extensions.extension_views import view_text
from app.extensions.hooks import payloads as p
from app.extensions.hooks.payload_conversion import (
    compaction_override_from_answer,
    copy_tool_arguments,
    decode_arguments,
    messages_to_request_context,
    new_problems,
    shell_override_from_answer,
    tool_result_from_payload,
)
from app.providers.model_stream import EventCallback, PayloadCallback, RequestContext
from app.values.content import ToolCall, text_of
from app.values.entries import BranchSummaryEntry
from app.values.messages import AssistantMessage, CustomMessage, Message, SystemMessage
from app.values.models import Model
from tools.diagnostics.code_problems import CodeProblem, FileChangeTexts
from tools.running.shell_settings import CommandToSpawn
from tools.tool_definition import ToolError
from tools.tool_result_values import ToolResult

if TYPE_CHECKING:
    from app.extensions.extension_session_binding import SessionBinding


class ExtensionHooks(Hooks):
    """Answers the hooks of one session through its extensions."""

    def __init__(self, extensions: Extensions) -> None:
        self.catalogue = ExtensionCatalogue(extensions.hooks)
        self._extensions = extensions
        self._hooks = extensions.hooks
        self._handlers = extensions.hooks.handlers
        self._turn = 0
        self._have_settings_changed = False
        """Whether settings have changed since the last prompt."""
        self._run_system_prompt: str | None = None
        """The system prompt that `before_agent_start` set, until the next run."""

    @property
    def _binding(self) -> SessionBinding:
        return require_session_binding(self._hooks.binding)

    def settings_changed(self) -> None:
        self._have_settings_changed = True

    # A prompt

    def is_extension_command(self, text: str) -> bool:
        return text.startswith("/") and _command_name(text) in self.catalogue.commands()

    async def run_extension_command(self, text: str) -> bool:
        return await self.catalogue.run_command(_command_name(text), text.partition(" ")[2].strip())

    async def change_prompt(self, words: PromptInput) -> PromptInput | None:
        if "input" not in self._handlers:
            return words
        payload = p.Input(
            text=words.text, images=words.images, source=words.source, while_running=words.queue_while_running
        )
        answer: p.InputAnswer | None = await self._hooks.emit("input", payload)
        if answer is not None and answer.action == "handled":
            return None
        if answer is not None and answer.action == "refuse":
            raise SessionRequestRefused(answer.reason or "An extension refused this prompt.")
        return msgspec.structs.replace(words, text=payload.text, images=tuple(payload.images))

    async def expand_prompt(self, text: str) -> str:
        bound = self._hooks.binding
        expand = bound.expand_prompt if bound is not None and (text.startswith("/") or "$" in text) else None
        return text if expand is None else await expand(text)

    async def messages_before_prompt(self, words: PromptInput) -> Sequence[CustomMessage]:
        self._run_system_prompt, self._turn = None, 0
        if self._have_settings_changed:
            self._have_settings_changed = False
            await self._extensions.restart_for_changed_settings()
        if "before_agent_start" not in self._handlers:
            return ()
        bound = self._binding
        payload = p.BeforeAgentStart(
            prompt=words.text,
            images=words.images,
            system_prompt=join_prompt_sections(bound.session.requests.prompt_sections()),
            sections=bound.prompt_sections,
        )
        answers = await self._hooks.emit("before_agent_start", payload)
        if answers is None:
            return ()
        self._run_system_prompt = answers.system_prompt
        return answers.messages

    def extension_commands(self) -> Sequence[Any]:
        from app.extensions.command_listing import extension_commands  # noqa: PLC0415  (behind the first paint)

        found = extension_commands(self._hooks.loaded)
        return found if self._hooks.binding is None else [*found, *self._hooks.binding.file_commands()]

    def text_of_custom_message(self, message: CustomMessage) -> str:
        shown = self.catalogue.render_message(message, expanded=True)
        return text_of(message.content) if shown is None or shown.view is None else view_text(shown.view)

    # A request

    def prompt_sections(self, usual: Mapping[str, str]) -> Mapping[str, str]:
        return usual if self._run_system_prompt is None else {"preamble": self._run_system_prompt}

    async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        if "context" not in self._handlers:
            return messages
        payload = p.ContextPayload(messages=tuple(messages))
        await self._hooks.emit("context", payload)
        return tuple(payload.messages)

    async def change_request(self, context: RequestContext) -> RequestContext:
        """Passes system prompt and tools as a system message in front; the system messages of the answer are
        sent."""
        if "context_with_system" not in self._handlers:
            return context
        system = SystemMessage(content=context.system_prompt, tools_added=context.tools or None)
        payload = p.ContextPayload(messages=(system, *context.messages))
        await self._hooks.emit("context_with_system", payload)
        return messages_to_request_context(payload.messages)

    def payload_editor(self, model: Model, ids: RequestIds) -> PayloadCallback | None:
        if "before_provider_request" not in self._handlers:
            return None

        async def tell(payload: dict[str, Any], model: Model) -> dict[str, Any] | None:
            told = p.BeforeProviderRequest(
                model=model, payload=payload, request_id=ids.request_id, message_ids=tuple(ids.message_ids)
            )
            await self._hooks.emit("before_provider_request", told)
            return told.payload

        return tell

    async def change_request_headers(self, headers: dict[str, str | None]) -> None:
        if "before_provider_headers" in self._handlers:
            await self._hooks.emit("before_provider_headers", p.BeforeProviderHeaders(headers=headers))

    async def on_response_headers(self, status: int, headers: Mapping[str, str], ids: RequestIds) -> None:
        if "after_provider_response" in self._handlers:
            told = p.AfterProviderResponse(
                status=status,
                headers=dict(headers),
                request_id=ids.request_id,
                message_ids=tuple(ids.message_ids),
            )
            await self._hooks.emit("after_provider_response", told)

    def stream_listener(self, model: Model) -> EventCallback | None:
        if "provider_stream_event" not in self._handlers:
            return None

        async def tell(event: str, data: bytes) -> None:
            told = p.ProviderStreamEvent(
                provider=model.provider,
                api=model.api,
                model=model.id,
                event=event,
                data=decode_arguments(data),
            )
            await self._hooks.emit("provider_stream_event", told)

        return tell

    # A turn

    async def change_finished_answer(self, message: AssistantMessage) -> AssistantMessage:
        if "message_end" not in self._handlers:
            return message
        payload = p.MessageEnded(message=message)
        await self._hooks.emit("message_end", payload)
        changed = payload.message
        return changed if isinstance(changed, AssistantMessage) else message

    def may_change_tool_calls(self) -> bool:
        return "tool_call" in self._handlers

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> ToolCallVerdict:
        if self._hooks.binding is not None and (
            reason := self._hooks.binding.tool_refusal(call.name, arguments)
        ):
            return ToolCallVerdict(is_blocked=True, reason=reason)
        if "tool_call" not in self._handlers:
            return ToolCallVerdict()
        payload = p.ToolCallPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            input=copy_tool_arguments(arguments),
            parent_tool_call_id=parent_id,
        )
        answer: p.ToolCallAnswer | None = await self._hooks.emit("tool_call", payload)
        changed = payload.input if payload.input != arguments else None
        if answer is None or not answer.block:
            return ToolCallVerdict(arguments=changed)
        return ToolCallVerdict(is_blocked=True, reason=answer.reason, should_end_run=answer.terminate)

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        if "tool_result" not in self._handlers:
            return result
        payload = p.ToolResultPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            input=arguments,
            content=wire_content_of_result(result),
            details=result.details,
            structured_content=result.structured_content,
            is_error=result.is_error,
            parent_tool_call_id=parent_id,
        )
        answer: p.ToolResultAnswer | None = await self._hooks.emit("tool_result", payload)
        return result if answer is None else tool_result_from_payload(result, payload)

    async def after_turn(self, outcome: FinishedTurn) -> bool:
        index, self._turn = self._turn, self._turn + 1
        if "turn_end" not in self._handlers:
            return False
        payload = p.TurnEnded(turn_index=index, message=outcome.message, tool_results=outcome.results)
        return await self._run_boundary_hook("turn_end", payload) is False

    async def before_settle(self, last: AssistantMessage | None) -> bool:
        if "agent_before_settle" not in self._handlers:
            return False
        is_error = last is not None and last.stop_reason == "error"
        payload = p.BeforeSettle(outcome="error" if is_error else "completed", message=last)
        return await self._run_boundary_hook("agent_before_settle", payload) is True

    async def before_helper_settles(self, helper: HelperAnswer) -> str | None:
        if "helper_before_settle" not in self._handlers:
            return None
        payload = p.HelperBeforeSettle(
            kind=helper.kind,
            tool_call_id=helper.call_id,
            session_file=helper.session_file,
            times_continued=helper.times_continued,
            message=helper.message,
        )
        answer: p.HelperBoundaryAnswer | None = await self._hooks.emit("helper_before_settle", payload)
        return answer.prompt if answer is not None else None

    async def find_code_problems(self, changed: Sequence[FileChangeTexts]) -> Sequence[CodeProblem]:
        if "diagnose" not in self._handlers:
            return ()
        folder = self._binding.session.cwd
        files = tuple(
            p.FileToDiagnose(
                path=one.path,
                before=None if one.old_content is None else one.old_content.decode("utf-8", "replace"),
                is_there=one.new_content is not None,
            )
            for one in changed
        )
        answer: p.DiagnoseAnswer | None = await self._hooks.emit("diagnose", p.Diagnose(files=files))
        if answer is None:
            return ()
        return await asyncio.to_thread(new_problems, answer.problems, changed, folder)

    async def _run_boundary_hook(self, name: str, payload: Any) -> bool | None:
        """Adds the entries that extensions return; returns True for one more turn, False to stop, None
        without a preference."""
        answer: p.BoundaryAnswer | None = await self._hooks.emit(name, payload)
        if answer is None:
            return None
        for draft in answer.entries:
            await self._append_draft(draft)
        return answer.continue_

    async def _append_draft(self, draft: p.Draft) -> None:
        session = self._binding.session
        match draft.type:
            case "custom":
                await session.notes.append_custom_entry(draft.custom_type, draft.data)
            case "custom_message":
                message = CustomMessage(
                    custom_type=draft.custom_type,
                    content=draft.content,
                    display=draft.display,
                    details=draft.details,
                )
                await session.send(message, deliver_as="aside")
            case "context_edit":
                await session.notes.edit_context(draft.target_id, draft.replacement)
            case "compaction":
                await session.compaction.record_summary(draft.summary, draft.first_kept_entry_id)

    # Other sessions, shell commands

    async def may_leave_session(self, reason: SessionSwitchReason, target: Path | None) -> bool:
        """Asks whether the session may be left (a fork was asked about before), and announces the shutdown
        when it may."""
        if reason != "fork":
            asked = p.SessionBeforeSwitch(reason=reason, target_session_file=target)
            answer = await self._hooks.emit("session_before_switch", asked)
            if answer is not None and answer.cancel:
                return False
        told = p.SessionShutdown(reason=reason, target_session_file=target)
        await self._hooks.emit("session_shutdown", told)
        return True

    async def may_fork_session(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        asked = p.SessionBeforeFork(entry_id=entry_id, position=position)
        answer = await self._hooks.emit("session_before_fork", asked)
        return answer is None or not answer.cancel

    async def before_user_command(self, command: str, exclude: bool) -> UserCommandOverride:
        if "user_bash" not in self._handlers:
            return UserCommandOverride()
        told = p.UserBash(command=command, exclude_from_context=exclude, cwd=self._binding.session.cwd)
        answer: p.UserBashAnswer | None = await self._hooks.emit("user_bash", told)
        if answer is None:
            return UserCommandOverride()
        return shell_override_from_answer(answer)

    async def before_process_spawn(self, plan: CommandToSpawn) -> CommandToSpawn:
        if "spawn" not in self._handlers:
            return plan
        payload = p.Spawn(command=plan.command, cwd=Path(plan.cwd), environment=dict(plan.environment))
        answer: p.SpawnAnswer | None = await self._hooks.emit("spawn", payload)
        if answer is not None and answer.block:
            raise ToolError(answer.reason or "An extension blocked this command.")
        return CommandToSpawn(command=payload.command, cwd=str(payload.cwd), environment=payload.environment)

    async def on_program_end(self) -> None:
        await self._extensions.close()

    # Compaction and the tree

    async def before_compaction(
        self,
        preparation: CompactionPlan,
        reason: CompactionReason,
        instructions: str | None,
        will_retry: bool,
    ) -> CompactionOverride:
        if "session_before_compact" not in self._handlers:
            return CompactionOverride()
        payload = p.SessionBeforeCompact(
            reason=reason,
            messages=preparation.discarded_messages,
            kept=preparation.kept_messages,
            first_kept_entry_id=preparation.first_kept_entry_id,
            tokens_before=preparation.tokens_before,
            previous_summary=preparation.previous_summary,
            custom_instructions=instructions,
            will_retry=will_retry,
            file_ops=preparation.files,
        )
        answer: Any = await self._hooks.emit("session_before_compact", payload)
        if answer is None:
            return CompactionOverride()
        return compaction_override_from_answer(answer, preparation)

    async def before_navigation(self, move: NavigationRequest) -> NavigationOverride:
        if "session_before_tree" not in self._handlers:
            return NavigationOverride()
        payload = p.SessionBeforeTree(
            target_id=move.target_id,
            old_leaf_id=move.old_leaf_id,
            common_ancestor_id=move.common_ancestor_id,
            messages=move.messages,
            wants_summary=move.options.should_summarise,
            custom_instructions=move.options.instructions,
            replace_instructions=move.options.replaces_instructions,
            label=move.options.label,
        )
        answer: Any = await self._hooks.emit("session_before_tree", payload)
        if answer is None:
            return NavigationOverride()
        return NavigationOverride(
            is_cancelled=answer.cancel,
            summary=answer.summary.summary if answer.summary else None,
            details=answer.summary.details if answer.summary else None,
            usage=answer.summary.usage if answer.summary else None,
            instructions=answer.custom_instructions,
            replaces_instructions=answer.replace_instructions,
            label=answer.label,
        )

    async def after_navigation(self, move: NavigationRequest, summary: BranchSummaryEntry | None) -> None:
        if "session_tree" not in self._handlers:
            return
        told = p.SessionTree(
            new_leaf_id=self._binding.session.state.leaf_id,
            old_leaf_id=move.old_leaf_id,
            summary=summary.summary if summary else None,
            entry=summary,
            from_extension=summary is not None and bool(summary.from_hook),
        )
        await self._hooks.emit("session_tree", told)


def _command_name(text: str) -> str:
    return text[1:].split(" ", 1)[0].split("\n", 1)[0]
