"""An open session of a client: its open prompts, and the updates sent to the client."""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.assembly.assembled_session import AssembledSession
from app.assembly.extensions.extension_setup import ConnectedExtensions, connect_extensions
from app.assembly.options import Options
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session
from app.assembly.trust_prompt import RpcTrustPrompt
from app.engine.core.prompt_intake import MissingApiKey, RequestRefused
from app.engine.session import Session
from app.extensions.headless_ui import EventUi
from app.modes.acp.asking import Questions
from app.modes.acp.blocks import Words
from app.modes.acp.client import Client
from app.modes.acp.commands import available, begin_goal, own_command
from app.modes.acp.faults import AUTH_REQUIRED, failed, fault
from app.modes.acp.options import current_mode, modes_of, options_of, set_mode, set_option
from app.modes.acp.replay import replayed
from app.modes.acp.responses import Modes, PromptEnd, StopReason
from app.modes.acp.update_values import CommandsUpdate, ModeUpdate, Option, OptionsUpdate, Update
from app.modes.acp.updates import Updates
from app.modes.wire_events import JoinedEvents
from app.printing import print_problem
from app.resources.paths import Paths
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
_FIRST_UPDATES_AFTER = 0.05
"""Seconds between the answer that names a session and its first updates: some clients learn of a session only
after they have handled that answer."""
_ANSWER_SECONDS = 7 * 24 * 3600.0
"""Seconds that a question of an extension waits, long enough for an absent user."""
_REFUSALS = ("refusal", "content_filter", "SAFETY")
_NO_MODEL = (
    "No model is connected: the offline guide answers, which is no language model. To connect one, run "
    "`bayou auth login PROVIDER` in a terminal, or set a key such as ANTHROPIC_API_KEY for the editor."
)


class LivingSession:
    """A session with its extensions, its questions and its open prompts."""

    def __init__(self, assembled: AssembledSession, paths: Paths, client: Client) -> None:
        self._assembled = assembled
        self._paths = paths
        self._client = client
        self.session: Session = assembled.session
        self.id = assembled.session.state.session_id
        self._outcomes: dict[str, asyncio.Future[PromptResult]] = {}
        """The open prompts."""
        self._taking: set[asyncio.Task[Any]] = set()
        """Prompts that are being read, and running commands."""
        self._cancels = 0
        self._has_settled = True
        """Whether no run is active, or the last one is about to end."""
        self._held: list[Update] | None = []
        """Updates held back until the client knows the session; None afterwards."""
        self._releasing: asyncio.TimerHandle | None = None
        self._shown: tuple[str, list[Option]] | None = None
        """The mode and the options that the client knows."""
        self._extended: ConnectedExtensions | None = None
        self._updates = Updates(
            self.session,
            self.send,
            is_own=self.session.outcomes.is_awaited,
            has_terminals=client.abilities.has_terminals,
        )
        self._questions = Questions(self.session, self.id, client)
        self._joined = JoinedEvents(self._on_event)
        self._leave = self.session.subscribe(self._joined.tell, pace=client.connection.room)
        assembled.effective_settings.subscribe(lambda before: self._send_options())

    @classmethod
    async def begin(
        cls, options: Options, paths: Paths, client: Client, servers: Mapping[str, dict[str, Any]]
    ) -> "LivingSession":
        """Opens the session. Raises `UserError` with the reason."""
        assembled = assemble_session(options, paths, asks="person")
        living = cls(assembled, paths, client)
        try:
            living.bring(servers)
            await living._extend(options)
        except BaseException:
            await living.close()
            raise
        for problem in assembled.problems:
            print_problem(problem)
        return living

    @property
    def is_guide(self) -> bool:
        """Whether the offline guide answers only because no other model can."""
        model, settings = self.session.model, self._assembled.effective_settings.settings
        return model is not None and model.api == "offline" and settings.model.default_model is None

    @property
    def cwd(self) -> Path:
        return self.session.cwd

    def bring(self, servers: Mapping[str, dict[str, Any]]) -> None:
        """Adds the client's MCP servers to those of the files."""
        for name, entry in servers.items():
            self.session.mcp.bring(name, entry, origin="client")

    def add_folders(self, folders: Sequence[str]) -> None:
        """Adds the folders that the client names, except those that the session has. Raises `UserError`."""
        for folder in folders:
            if Path(os.path.realpath(folder)) not in self.session.folders.all:
                self.session.folders.add(folder)

    async def _extend(self, options: Options) -> None:
        ui = EventUi(self.session.events.publish_now, mode="acp", answer_seconds=_ANSWER_SECONDS)
        extended = await connect_extensions(
            self._assembled, options, self._paths, mode="acp", ui=ui, shutdown=lambda: None
        )
        self._extended = extended

    # Updates to the client

    def send(self, update: Update) -> None:
        if self._held is not None:
            self._held.append(update)
        else:
            self._client.update(self.id, update)

    def replay(self) -> None:
        """Shows the stored conversation before the request for it is answered."""
        for update in replayed(self.session):
            self._client.update(self.id, update)

    def introduce(self) -> None:
        """Sends commands, usage and problems, shortly after the answer that names the session."""
        self._releasing = asyncio.get_running_loop().call_later(_FIRST_UPDATES_AFTER, self.release)

    def release(self) -> None:
        """Sends the held updates; later ones are sent at once."""
        held, self._held = self._held, None
        if held is None:
            return
        self._send_commands()
        self._updates.tell_usage()
        for update in held:
            self.send(update)
        for problem in self._assembled.problems:
            self._on_event(Notice(level="warning", text=problem))
        if self._extended is not None:
            RpcTrustPrompt(self._assembled, self._paths, self._extended.trust).begin()

    def modes(self) -> Modes:
        return modes_of(self.session)

    def set_mode(self, mode: str) -> None:
        set_mode(self.session, mode)

    async def set_option(self, option: str, value: object) -> None:
        await set_option(self.session, option, value)

    def options(self) -> list[Option]:
        """Returns the options as the client is about to show them."""
        found = options_of(self.session)
        self._shown = current_mode(self.session), found
        return found

    def _send_options(self) -> None:
        """Sends the options if they have changed."""
        if self._shown is None:
            return
        mode_before, before = self._shown
        now = self.options()
        mode, _ = self._shown
        if now != before:
            self.send(OptionsUpdate(config_options=now))
        if mode != mode_before:
            self.send(ModeUpdate(current_mode_id=mode))

    def _send_commands(self) -> None:
        self.send(CommandsUpdate(available_commands=available(self.session)))

    def _on_event(self, event: Event) -> None:
        self._questions.note(event)
        self._updates.tell(event)
        if isinstance(event, AgentStart | AgentSettled):
            self._has_settled = isinstance(event, AgentSettled)
        if isinstance(event, PromptResult):
            outcome = self._outcomes.get(event.id)
            if outcome is not None and not outcome.done():
                outcome.set_result(event)
        elif isinstance(event, ModelChanged | ThinkingLevelChanged | PlanModeChanged | SessionReplaced):
            self._send_options()
        elif isinstance(event, McpServersChange) and self._held is None:
            self._send_commands()

    # Prompts

    async def prompt(self, words: Words, asked: object) -> PromptEnd:
        """Runs one prompt, and returns its outcome. `asked`: whether the client wants it queued behind a run
        (`follow_up`), or to join it (`steer`); else the setting `acp.queue` decides."""
        cancels = self._cancels
        self.release()
        if self._has_settled:  # the run may still be ending, and would deliver nothing any more
            await self.session.wait_until_idle()
            if self._cancels != cancels:
                return _response("cancelled")
        delivery = self._delivery(asked)
        if self.is_guide and not self.session.log.entries:
            self._updates.say(f"{_NO_MODEL}\n\n")
        key = new_id()
        self._outcomes[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._outcome(words, delivery, key, cancels)
        except MissingApiKey as problem:
            raise fault(AUTH_REQUIRED, str(problem), _how_to_sign_in(problem.provider)) from None
        except RequestRefused as problem:
            raise failed(str(problem)) from None
        finally:
            del self._outcomes[key]

    async def _outcome(self, words: Words, delivery: Delivery, key: str, cancels: int) -> PromptEnd:
        try:
            prompt = await begin_goal(self.session, words.text)
        except UserError as problem:
            self._updates.say(str(problem))
            return _response("end_turn")
        own = own_command(words.text) if prompt is None else None
        words = words if prompt is None else Words(text=prompt, images=words.images)
        work = self._carry_out(*own) if own is not None else self._submit(words, delivery, key)
        taking = asyncio.ensure_future(work)
        self._taking.add(taking)
        self._updates.are_notes_answers = True
        try:
            await asyncio.wait({taking})
        finally:
            self._taking.discard(taking)
            self._updates.are_notes_answers = False
        if taking.cancelled():
            return _response("cancelled")
        taking.result()
        if own is not None:
            return _response("end_turn")
        if self._cancels != cancels:  # the prompt was accepted in spite of it
            await self.session.abort()
        return self._answer_to(await self._outcomes[key])

    def _delivery(self, asked: object) -> Delivery:
        """Raises a `RequestError` if prompts during a run are refused."""
        if not self._outcomes:
            # A run that began by itself: the person means what it does now.
            return "steer" if self.session.is_running else "follow_up"
        if asked in ("steer", "follow_up"):
            return "steer" if asked == "steer" else "follow_up"
        self.session.settings.look()
        match self._assembled.effective_settings.settings.acp.queue:
            case "refuse":
                raise failed(
                    "A prompt is running in this session",
                    "Wait for its end or stop it. The setting acp.queue says that prompts do not wait.",
                )
            case "steer":
                return "steer"
            case "followUp":
                return "follow_up"

    async def _submit(self, words: Words, delivery: Delivery, key: str) -> None:
        await self.session.prompt(
            words.text, words.images, while_running=delivery, source="rpc", request_id=key
        )

    async def _carry_out(self, command: Any, words: str) -> None:
        try:
            self._updates.say(await command.run(self.session, words))
        except UserError as problem:
            self._updates.say(str(problem))

    def _answer_to(self, result: PromptResult) -> PromptEnd:
        """Returns how a prompt ended. Raises a `RequestError` for a failed one, so that no client shows an empty
        turn as a success."""
        self._joined.flush()
        if result.status == "aborted":
            return _response("cancelled")
        if result.status == "error" and result.error is not None:
            if self.session.budget.has_refused:
                return _response("max_turn_requests")
            if result.error.kind == "auth":
                provider = result.error.provider or "the provider"
                raise fault(AUTH_REQUIRED, result.error.message, _how_to_sign_in(provider))
            raise failed(result.error.message)
        answer = self.session.last_answer
        if answer is not None and result.agent_invoked and answer.raw_stop_reason in _REFUSALS:
            return _response("refusal")
        return _response("max_tokens" if result.stop_reason == "length" else "end_turn")

    def cancel(self) -> Coroutine[Any, Any, None]:
        """Stops the run and drops queued messages, since the client has their text."""
        self._cancels += 1
        for taking in tuple(self._taking):
            taking.cancel()
        self.session.queues.clear()
        self._questions.dismiss()
        return self.session.abort()

    async def close(self) -> None:
        """Ends the session; open prompts are answered as cancelled, and no further updates are sent."""
        if self._releasing is not None:
            self._releasing.cancel()
        for taking in tuple(self._taking):
            taking.cancel()
        self._questions.dismiss()
        await close_session(self.session)
        self._leave()
        for outcome in self._outcomes.values():
            if not outcome.done():
                outcome.set_result(PromptResult(id="", agent_invoked=False, status="aborted"))


def _response(reason: StopReason) -> PromptEnd:
    return PromptEnd(stop_reason=reason)


def _how_to_sign_in(provider: str) -> str:
    return f"Run `bayou auth login {provider}` in a terminal, or set the provider's key for the editor."
