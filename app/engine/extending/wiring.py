"""Connecting loaded extensions with a session: its hooks ask them, its events reach them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.agent.ports import TurnOutcome
from app.compaction.cut import Preparation
from app.engine.brancher import Leaving, Opinion
from app.engine.commands.results import CommandInfo
from app.engine.compactor import Reason, Replacement
from app.engine.extending.host import SessionHost
from app.engine.extending.listing import extension_commands
from app.engine.intake import Intake, Words
from app.engine.intake import Leaving as Leave
from app.engine.session import Session
from app.engine.shell import ShellOpinion
from app.extensions import payloads as p
from app.extensions.bridge import Bridge
from app.extensions.catalogue import Catalogue
from app.extensions.runner import Extensions
from app.extensions.ui import SilentUi
from app.extensions.views import view_text
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry, CustomEntry
from app.values.events import CompactionEnd, CompactionResult, EntryAppended, Event, MessageEnd
from app.values.messages import CustomMessage
from tools.running.shell import SpawnPlan
from tools.running.usershell import UserCommandResult


class Wiring:
    """The hooks of one session, answered by its extensions."""

    def __init__(
        self,
        session: Session,
        extensions: Extensions,
        host: SessionHost,
        *,
        expand: Callable[[str], str],
        file_commands: Callable[[], Sequence[CommandInfo]] = lambda: (),
    ) -> None:
        self._session = session
        self._extensions = extensions
        self._host = host
        self._bridge = Bridge(extensions)
        self._prompt_of_run: str | None = None
        """What `before_agent_start` put in place of the system prompt, until the next run."""
        self._file_commands = file_commands
        self.catalogue = Catalogue(extensions)
        self._connect(expand)

    def _connect(self, expand: Callable[[str], str]) -> None:
        session, bridge = self._session, self._bridge
        self._extensions.bind(self._host)
        session.intake = Intake(
            run_command=self._run_command,
            is_command=self._is_command,
            consult=self._consult,
            expand=expand,
            companions=self._companions,
            may_leave=self._may_leave,
            may_fork=self._may_fork,
            ended=self._extensions.close,
            shown_text=self._shown_text,
            commands=lambda: [*extension_commands(self._extensions.loaded), *self._file_commands()],
        )
        self._usual_sections = session.turns.sections
        session.turns.sections = self._sections
        hooks = session.turns.hooks
        hooks.before_tool = bridge.before_tool
        hooks.after_tool = bridge.after_tool
        hooks.seal = bridge.seal
        hooks.after_turn = self._after_turn
        requests = session.requests.hooks
        requests.transform = bridge.transform
        requests.transform_whole = bridge.transform_whole
        requests.payload_listener = bridge.payload_listener
        requests.on_headers = bridge.on_headers
        requests.on_response = bridge.on_response
        requests.event_listener = bridge.event_listener
        session.steps.before_settle = self._before_settle
        session.shell.consult = self._before_shell
        session.toolbox.workspace.spawn_hook = self._before_spawn
        session.compactor.consult = self._before_compact
        session.brancher.consult = self._before_tree
        session.brancher.told = self._after_tree
        session.subscribe(self._hear)

    # Words

    def _is_command(self, text: str) -> bool:
        return text.startswith("/") and _name(text) in self.catalogue.commands()

    async def _run_command(self, text: str) -> bool:
        return await self.catalogue.run_command(_name(text), text.partition(" ")[2].strip())

    async def _consult(self, words: Words) -> Words | None:
        if not self._extensions.listens("input"):
            return words
        payload = p.Input(
            text=words.text, images=words.images, source=words.source, while_running=words.while_running
        )
        answer = await self._bridge.input(payload)
        if answer.action == "handled":
            return None
        return msgspec.structs.replace(words, text=payload.text, images=tuple(payload.images))

    async def _companions(self, words: Words) -> Sequence[CustomMessage]:
        self._prompt_of_run = None
        if not self._extensions.listens("before_agent_start"):
            return ()
        payload = p.BeforeAgentStart(
            prompt=words.text,
            images=words.images,
            system_prompt=self._host.system_prompt(),
            sections=self._host.prompt_sections,
        )
        answers = await self._bridge.before_agent_start(payload)
        self._prompt_of_run = answers.system_prompt
        return answers.messages

    def _sections(self) -> Mapping[str, str]:
        if self._prompt_of_run is None:
            return self._usual_sections()
        return {"preamble": self._prompt_of_run}

    # Going to other sessions

    async def _may_leave(self, reason: Leave, target: Path | None) -> bool:
        """Asks, unless it is a fork (asked about already), and says goodbye when nobody minds."""
        if reason != "fork":
            asked = p.SessionBeforeSwitch(reason=reason, target_session_file=target)
            answer = await self._extensions.emit("session_before_switch", asked)
            if answer is not None and answer.cancel:
                return False
        told = p.SessionShutdown(reason=reason, target_session_file=target)
        await self._extensions.emit("session_shutdown", told)
        return True

    async def _may_fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        asked = p.SessionBeforeFork(entry_id=entry_id, position=position)
        answer = await self._extensions.emit("session_before_fork", asked)
        return answer is None or not answer.cancel

    async def _before_shell(self, command: str, exclude: bool) -> ShellOpinion:
        if not self._extensions.listens("user_bash"):
            return ShellOpinion()
        answer = await self._bridge.user_bash(
            p.UserBash(command=command, exclude_from_context=exclude, cwd=self._session.cwd)
        )
        if answer.block:
            return ShellOpinion(refusal=answer.reason or "An extension blocked this command.")
        result = answer.result
        if result is None:
            return ShellOpinion(command=answer.command)
        return ShellOpinion(result=UserCommandResult(output=result.output, exit_code=result.exit_code))

    async def _before_spawn(self, plan: SpawnPlan) -> SpawnPlan:
        if not self._extensions.listens("spawn"):
            return plan
        payload = p.Spawn(command=plan.command, cwd=Path(plan.cwd), environment=dict(plan.environment))
        await self._extensions.emit("spawn", payload)
        return SpawnPlan(command=payload.command, cwd=str(payload.cwd), environment=payload.environment)

    # Turns

    async def _after_turn(self, outcome: TurnOutcome) -> bool:
        return await self._bridge.after_turn(outcome)

    async def _before_settle(self) -> bool:
        """True: one more turn is wanted."""
        self._host.wants_another_turn = False
        stays = await self._bridge.before_settle(self._session.conversation.last_assistant)
        return self._host.wants_another_turn and not stays

    async def _hear(self, event: Event) -> None:
        self._show(event)
        await self._extensions.hear(event)
        if isinstance(event, CompactionEnd) and event.result is None:
            await self._extensions.emit(
                "session_compact_failed",
                p.SessionCompactFailed(
                    reason=event.reason, error_message=event.error_message, aborted=event.aborted
                ),
            )

    def _show(self, event: Event) -> None:
        """Where there is no screen that draws for itself, the face is handed what renderers make."""
        ui = self._host.ui
        if not isinstance(ui, SilentUi):
            return
        match event:
            case MessageEnd(message=CustomMessage(display=True) as message):
                target_id, shown = message.id, self.catalogue.render_message(message, expanded=True)
            case EntryAppended(entry=CustomEntry() as entry):
                target_id = entry.id
                shown = self.catalogue.render_entry(entry.custom_type, entry.data, expanded=True)
            case _:
                return
        if shown is not None and shown.view is not None:
            ui.show_view(target_id, shown.view)

    def _shown_text(self, message: CustomMessage) -> str:
        shown = self.catalogue.render_message(message, expanded=True)
        return text_of(message.content) if shown is None or shown.view is None else view_text(shown.view)

    # Compaction and the tree

    async def _before_compact(
        self, preparation: Preparation, reason: Reason, instructions: str | None
    ) -> Replacement:
        if not self._extensions.listens("session_before_compact"):
            return Replacement()
        payload = p.SessionBeforeCompact(
            reason=reason,
            messages=preparation.discarded,
            kept=preparation.kept,
            first_kept_entry_id=preparation.first_kept_entry_id,
            tokens_before=preparation.tokens_before,
            previous_summary=preparation.previous_summary,
            custom_instructions=instructions,
            will_retry=reason == "overflow",
        )
        answer: Any = await self._extensions.emit("session_before_compact", payload)
        if answer is None:
            return Replacement()
        result = None
        if answer.compaction is not None:
            given = answer.compaction
            result = CompactionResult(
                summary=given.summary,
                first_kept_entry_id=given.first_kept_entry_id or preparation.first_kept_entry_id,
                tokens_before=preparation.tokens_before,
                details=given.details,
                usage=given.usage,
            )
        return Replacement(is_cancelled=answer.cancel, result=result, instructions=answer.custom_instructions)

    async def _before_tree(self, leaving: Leaving) -> Opinion:
        if not self._extensions.listens("session_before_tree"):
            return Opinion()
        payload = p.SessionBeforeTree(
            target_id=leaving.target_id,
            old_leaf_id=leaving.old_leaf_id,
            common_ancestor_id=leaving.common_ancestor_id,
            messages=leaving.messages,
            wants_summary=leaving.wish.summarise,
            custom_instructions=leaving.wish.instructions,
            replace_instructions=leaving.wish.replaces_instructions,
            label=leaving.wish.label,
        )
        answer: Any = await self._extensions.emit("session_before_tree", payload)
        if answer is None:
            return Opinion()
        return Opinion(
            is_cancelled=answer.cancel,
            summary=answer.summary.summary if answer.summary else None,
            details=answer.summary.details if answer.summary else None,
            usage=answer.summary.usage if answer.summary else None,
            instructions=answer.custom_instructions,
            replaces_instructions=answer.replace_instructions,
            label=answer.label,
        )

    async def _after_tree(self, leaving: Leaving, entry: BranchSummaryEntry | None) -> None:
        told = p.SessionTree(
            new_leaf_id=self._session.log.leaf_id,
            old_leaf_id=leaving.old_leaf_id,
            summary=entry.summary if entry else None,
            entry=entry,
            from_extension=entry is not None and bool(entry.from_hook),
        )
        await self._extensions.emit("session_tree", told)


def _name(text: str) -> str:
    return text[1:].split(" ", 1)[0].split("\n", 1)[0]
