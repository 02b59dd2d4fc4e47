"""An open session of a client: its open prompts, and the updates sent to the client."""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import ConnectedExtensions, connect_extensions
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.assembly.trust_prompt import RpcTrustPrompt
from app.engine.core.prompt_intake import MissingApiKey, SessionRequestRefused
from app.engine.session import Session
from app.extensions.headless_ui import EventPublishingUi
from app.modes.acp.acp_session_options import (
    acp_session_modes,
    current_acp_mode,
    session_options,
    set_mode,
    set_option,
)
from app.modes.acp.client import AcpClient
from app.modes.acp.client_questions import ClientQuestions
from app.modes.acp.content_blocks import PromptContent
from app.modes.acp.replay import replay_updates
from app.modes.acp.request_errors import AUTH_REQUIRED, make_internal_error, make_request_error
from app.modes.acp.request_results import AcpSessionModes, PromptRequestResult, StopReason
from app.modes.acp.slash_commands import (
    find_builtin_slash_command,
    offered_slash_commands,
    start_goal_from_prompt,
)
from app.modes.acp.update_messages import (
    SessionConfigOption,
    SessionModeUpdate,
    SessionOptionsUpdate,
    SlashCommandsUpdate,
    Update,
)
from app.modes.acp.updates import AcpUpdateSender
from app.modes.wire_events import DeltaJoiner
from app.printing import print_problem
from app.resources.paths import BayouPaths
from app.values.events import (
    AgentSettled,
    AgentStart,
    Event,
    McpServersChange,
    ModelChanged,
    Notice,
    PlanModeChanged,
    PromptResult,
    SessionReplaced,
    ThinkingLevelChanged,
)
from app.values.user_errors import UserError
from app.values.wire import new_id

Delivery = Literal["follow_up", "steer"]
_FIRST_UPDATES_DELAY_SECONDS = 0.05
"""Seconds between the answer that names a session and its first updates: some clients learn of a session only
after they have handled that answer."""
_USER_ANSWER_TIMEOUT_SECONDS = 7 * 24 * 3600.0
"""Seconds that a question of an extension waits, long enough for an absent user."""
_REFUSAL_STOP_REASONS = ("refusal", "content_filter", "SAFETY")
_NO_MODEL_TEXT = (
    "No model is connected: answers come from the offline guide, which is not a language model. To connect "
    "a model, run "
    "`bayou auth login PROVIDER` in a terminal, or set a key such as ANTHROPIC_API_KEY for the editor."
)


class AcpSession:
    """A session with its extensions, its questions and its open prompts."""

    def __init__(self, assembled: AssembledSession, paths: BayouPaths, client: AcpClient) -> None:
        self._assembled = assembled
        self._paths = paths
        self._client = client
        self.session: Session = assembled.session
        self.id = assembled.session.state.session_id
        self._outcomes: dict[str, asyncio.Future[PromptResult]] = {}
        """The open prompts."""
        self._prompt_tasks: set[asyncio.Task[Any]] = set()
        """Prompts that are being read, and running commands."""
        self._cancels = 0
        self._has_settled = True
        """Whether no run is active, or the last one is about to end."""
        self._held_updates: list[Update] | None = []
        """Updates held back until the client knows the session; None afterwards."""
        self._release_task: asyncio.TimerHandle | None = None
        self._shown: tuple[str, list[SessionConfigOption]] | None = None
        """The mode and the options that the client knows."""
        self._extended: ConnectedExtensions | None = None
        self._updates = AcpUpdateSender(
            self.session,
            self.send_update,
            is_own=self.session.outcomes.is_outcome_awaited,
            has_terminals=client.abilities.has_terminals,
        )
        self._questions = ClientQuestions(self.session, self.id, client)
        self._joined = DeltaJoiner(self._on_event)
        self._unsubscribe = self.session.subscribe(
            self._joined.handle_event, pace=client.connection.wait_for_output_space
        )
        assembled.effective_settings.subscribe(lambda before: self._send_options())

    @classmethod
    async def open_session(
        cls,
        options: CommandLineOptions,
        paths: BayouPaths,
        client: AcpClient,
        servers: Mapping[str, dict[str, Any]],
    ) -> "AcpSession":
        """Opens the session. Raises `UserError` with the reason."""
        assembled = assemble_session(options, paths, asks="person")
        living = cls(assembled, paths, client)
        try:
            living.add_mcp_servers(servers)
            await living._connect_extensions(options)
        except BaseException:
            await living.close()
            raise
        for problem in assembled.problems:
            print_problem(problem)
        return living

    @property
    def uses_offline_guide(self) -> bool:
        """Whether the offline guide answers only because no other model can."""
        model, settings = self.session.model, self._assembled.effective_settings.settings
        return model is not None and model.api == "offline" and settings.model.default_model is None

    @property
    def cwd(self) -> Path:
        return self.session.cwd

    def add_mcp_servers(self, servers: Mapping[str, dict[str, Any]]) -> None:
        """Adds the client's MCP servers to those of the files."""
        for name, entry in servers.items():
            self.session.mcp.set_added_server(name, entry, origin="client")

    def add_folders(self, folders: Sequence[str]) -> None:
        """Adds the folders that the client names, except those that the session has. Raises `UserError`."""
        for folder in folders:
            if Path(os.path.realpath(folder)) not in self.session.folders.all_folders:
                self.session.folders.add_folder(folder)

    async def _connect_extensions(self, options: CommandLineOptions) -> None:
        ui = EventPublishingUi(
            self.session.events.publish_now, mode="acp", answer_seconds=_USER_ANSWER_TIMEOUT_SECONDS
        )
        extended = await connect_extensions(
            self._assembled, options, self._paths, mode="acp", ui=ui, shutdown=lambda: None
        )
        self._extended = extended

    # Updates to the client

    def send_update(self, update: Update) -> None:
        if self._held_updates is not None:
            self._held_updates.append(update)
        else:
            self._client.update(self.id, update)

    def replay_stored_conversation(self) -> None:
        """Shows the stored conversation before the request for it is answered."""
        for update in replay_updates(self.session):
            self._client.update(self.id, update)

    def send_initial_session_updates(self) -> None:
        """Sends commands, usage and problems, shortly after the answer that names the session."""
        self._release_task = asyncio.get_running_loop().call_later(
            _FIRST_UPDATES_DELAY_SECONDS, self.send_held_updates
        )

    def send_held_updates(self) -> None:
        """Sends the held updates; later ones are sent at once."""
        held, self._held_updates = self._held_updates, None
        if held is None:
            return
        self._send_commands()
        self._updates.send_usage()
        for update in held:
            self.send_update(update)
        for problem in self._assembled.problems:
            self._on_event(Notice(level="warning", text=problem))
        if self._extended is not None:
            RpcTrustPrompt(self._assembled, self._paths, self._extended.trust).ask_in_background()

    def modes(self) -> AcpSessionModes:
        return acp_session_modes(self.session)

    def set_mode(self, mode: str) -> None:
        set_mode(self.session, mode)

    async def set_option(self, option: str, value: object) -> None:
        await set_option(self.session, option, value)

    def options(self) -> list[SessionConfigOption]:
        """Returns the options as the client is about to show them."""
        found = session_options(self.session)
        self._shown = current_acp_mode(self.session), found
        return found

    def _send_options(self) -> None:
        """Sends the options if they have changed."""
        if self._shown is None:
            return
        mode_before, before = self._shown
        now = self.options()
        mode, _ = self._shown
        if now != before:
            self.send_update(SessionOptionsUpdate(config_options=now))
        if mode != mode_before:
            self.send_update(SessionModeUpdate(current_mode_id=mode))

    def _send_commands(self) -> None:
        self.send_update(SlashCommandsUpdate(available_commands=offered_slash_commands(self.session)))

    def _on_event(self, event: Event) -> None:
        self._questions.handle_event(event)
        self._updates.handle_event(event)
        if isinstance(event, AgentStart | AgentSettled):
            self._has_settled = isinstance(event, AgentSettled)
        if isinstance(event, PromptResult):
            outcome = self._outcomes.get(event.id)
            if outcome is not None and not outcome.done():
                outcome.set_result(event)
        elif isinstance(event, ModelChanged | ThinkingLevelChanged | PlanModeChanged | SessionReplaced):
            self._send_options()
        elif isinstance(event, McpServersChange) and self._held_updates is None:
            self._send_commands()

    # Prompts

    async def run_prompt(self, words: PromptContent, asked: object) -> PromptRequestResult:
        """Runs one prompt, and returns its outcome. `asked`: whether the client wants it queued behind a run
        (`follow_up`), or to join it (`steer`); else the setting `acp.queue` decides."""
        cancels = self._cancels
        self.send_held_updates()
        if self._has_settled:  # the run may still be ending, and would deliver nothing any more
            await self.session.wait_until_idle()
            if self._cancels != cancels:
                return _end_with_reason("cancelled")
        delivery = self._delivery_mode(asked)
        if self.uses_offline_guide and not self.session.log.entries:
            self._updates.send_bayou_message(f"{_NO_MODEL_TEXT}\n\n")
        key = new_id()
        self._outcomes[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._prompt_outcome(words, delivery, key, cancels)
        except MissingApiKey as problem:
            raise make_request_error(AUTH_REQUIRED, str(problem), _sign_in_hint(problem.provider)) from None
        except SessionRequestRefused as problem:
            raise make_internal_error(str(problem)) from None
        finally:
            del self._outcomes[key]

    async def _prompt_outcome(
        self, words: PromptContent, delivery: Delivery, key: str, cancels: int
    ) -> PromptRequestResult:
        try:
            prompt = await start_goal_from_prompt(self.session, words.text)
        except UserError as problem:
            self._updates.send_bayou_message(str(problem))
            return _end_with_reason("end_turn")
        own = find_builtin_slash_command(words.text) if prompt is None else None
        words = words if prompt is None else PromptContent(text=prompt, images=words.images)
        work = self._run_own_command(*own) if own is not None else self._submit_prompt(words, delivery, key)
        taking = asyncio.ensure_future(work)
        self._prompt_tasks.add(taking)
        self._updates.are_notes_answers = True
        try:
            await asyncio.wait({taking})
        finally:
            self._prompt_tasks.discard(taking)
            self._updates.are_notes_answers = False
        if taking.cancelled():
            return _end_with_reason("cancelled")
        taking.result()
        if own is not None:
            return _end_with_reason("end_turn")
        if self._cancels != cancels:  # the prompt was accepted in spite of it
            await self.session.abort()
        return self._prompt_end(await self._outcomes[key])

    def _delivery_mode(self, asked: object) -> Delivery:
        """Returns how a prompt during a run is delivered. Raises an `AcpRequestError` if such prompts are refused."""
        if not self._outcomes:
            # A run that began by itself: the person means what it does now.
            return "steer" if self.session.is_running else "follow_up"
        if asked in ("steer", "follow_up"):
            return "steer" if asked == "steer" else "follow_up"
        self.session.settings.reload_if_changed()
        match self._assembled.effective_settings.settings.acp.queue:
            case "refuse":
                raise make_internal_error(
                    "A prompt is running in this session",
                    "Wait until it ends, or cancel it. To queue prompts instead, set acp.queue to followUp.",
                )
            case "steer":
                return "steer"
            case "followUp":
                return "follow_up"

    async def _submit_prompt(self, words: PromptContent, delivery: Delivery, key: str) -> None:
        await self.session.prompt(
            words.text, words.images, while_running=delivery, source="rpc", request_id=key
        )

    async def _run_own_command(self, command: Any, words: str) -> None:
        try:
            self._updates.send_bayou_message(await command.run(self.session, words))
        except UserError as problem:
            self._updates.send_bayou_message(str(problem))

    def _prompt_end(self, result: PromptResult) -> PromptRequestResult:
        """Returns how a prompt ended. Raises an `AcpRequestError` for a failed one, so that no client shows an empty
        turn as a success."""
        self._joined.flush()
        if result.status == "aborted":
            return _end_with_reason("cancelled")
        if result.status == "error" and result.error is not None:
            if self.session.budget.has_refused_request:
                return _end_with_reason("max_turn_requests")
            if result.error.kind == "auth":
                provider = result.error.provider or "the provider"
                raise make_request_error(AUTH_REQUIRED, result.error.message, _sign_in_hint(provider))
            raise make_internal_error(result.error.message)
        answer = self.session.last_answer
        if answer is not None and result.agent_invoked and answer.raw_stop_reason in _REFUSAL_STOP_REASONS:
            return _end_with_reason("refusal")
        return _end_with_reason("max_tokens" if result.stop_reason == "length" else "end_turn")

    def cancel(self) -> Coroutine[Any, Any, None]:
        """Stops the run and drops queued messages, since the client has their text."""
        self._cancels += 1
        for taking in tuple(self._prompt_tasks):
            taking.cancel()
        self.session.queues.take_all_user_messages()
        self._questions.withdraw_all_questions()
        return self.session.abort()

    async def close(self) -> None:
        """Ends the session; open prompts are answered as cancelled, and no further updates are sent."""
        if self._release_task is not None:
            self._release_task.cancel()
        for taking in tuple(self._prompt_tasks):
            taking.cancel()
        self._questions.withdraw_all_questions()
        await close_session(self.session)
        self._unsubscribe()
        for outcome in self._outcomes.values():
            if not outcome.done():
                outcome.set_result(PromptResult(id="", agent_invoked=False, status="aborted"))


def _end_with_reason(reason: StopReason) -> PromptRequestResult:
    return PromptRequestResult(stop_reason=reason)


def _sign_in_hint(provider: str) -> str:
    return f"Run `bayou auth login {provider}` in a terminal, or set the provider's key for the editor."
