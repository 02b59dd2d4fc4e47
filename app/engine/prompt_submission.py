"""Sends prompts and messages to the model: they start a run, wait in a queue, or go with the next request."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import msgspec

from app.agent.message_queues import AsideMessage, MessageQueues, QueueName
from app.engine.agent_runner import AgentRunner
from app.engine.context.context_parts import CompactionAndSummaryParts
from app.engine.core.delivery import DeliverAs
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.prompt_intake import PromptInput, SessionRequestRefused
from app.engine.core.prompt_outcomes import PromptOutcomes
from app.engine.core.session_options import SessionOptions
from app.engine.mcp.session_servers import McpServers
from app.engine.models.model_selection import SessionModelSwitcher
from app.engine.preconditions import SessionPreconditions
from app.engine.repository.first_prompt_hint import FirstPromptHint
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.settings_watch import SettingsWatch
from app.sessions.errors import SessionWriteError
from app.values.content import Image, text_of
from app.values.messages import AssistantMessage, CustomMessage, Message, UserMessage, user_message
from tools.files.images import decode_base64_image, prepare_image_for_model

PromptDisposition = Literal["started", "queued", "handled"]


class PromptSubmission(msgspec.Struct, eq=False, kw_only=True):
    """Accepts the prompts and messages of one session."""

    queues: MessageQueues
    outcomes: PromptOutcomes
    hooks: Hooks
    runner: AgentRunner
    context: CompactionAndSummaryParts
    preconditions: SessionPreconditions
    models: SessionModelSwitcher
    masking: SessionSecretMask
    event_bus: EventBus
    settings_watch: SettingsWatch
    servers: McpServers
    first_question_hint: FirstPromptHint
    options: SessionOptions
    _last_masked_prompt: PromptInput | None = None
    """The last prompt in which a secret was masked, in its unmasked form, so that it can be sent again."""
    _is_closed: bool = False
    _delayed_start: asyncio.Task[None] | None = None
    _masking_lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """A lock that keeps prompts in order while threads search files for secrets."""

    async def prompt(self, words: PromptInput, *, expand: bool) -> PromptDisposition:
        _require_prompt_content(words)
        is_running = self.runner.is_running
        if (
            is_running
            and words.queue_while_running is None
            and not self.hooks.is_extension_command(words.text)
        ):
            raise SessionRequestRefused(
                "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') "
                "to queue the message."
            )
        if not is_running:
            self.settings_watch.reload_if_changed()  # before extensions are asked about the run that this prompt begins
        taken = await self._preprocess_prompt(words, expand=expand)
        if taken is None:
            self.outcomes.publish_handled_prompt(words.request_id)
            return "handled"
        message = await self._masked_user_message(taken)
        if self.runner.is_running:
            return self._queue_messages(words, [message])
        if self.context.compactor.running_task.is_running:
            raise SessionRequestRefused(
                "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
            )
        self.preconditions.require_model()
        if self.servers.may_have_servers:
            await self.servers.decide_exposure_before_prompt()
        is_first_told = self.options.effective_settings.settings.repository_maps.first_question != "off"
        asides = await self.first_question_hint.hint_messages(taken.text) if is_first_told else ()
        companions = [
            *(
                self.masking.mask_message(one, "an extension")
                for one in await self.hooks.messages_before_prompt(taken)
            ),
            *(self.masking.mask_message(one, "the map") for one in asides),
        ]
        if self.runner.is_running:  # something else started while extensions were asked
            return self._queue_messages(words, [*companions, message])
        self._start_run([*self.queues.take_for_next_prompt(), *companions, message])
        self._track_outcome(words, message)
        return "started"

    async def _preprocess_prompt(self, words: PromptInput, *, expand: bool = True) -> PromptInput | None:
        """Checks a prompt's images, expands the prompt and passes it to hooks; returns None if a command or an
        extension has handled it."""
        words = await self._with_sendable_images(words)
        taken = await self._expand(words, expand=expand)
        has_other_images = taken is not None and taken.images != words.images
        return await self._with_sendable_images(taken) if taken is not None and has_other_images else taken

    async def _with_sendable_images(self, words: PromptInput) -> PromptInput:
        """Returns a prompt with its images as they are sent, scaled down if they are large. Raises
        `SessionRequestRefused` for one that providers reject: it would make every later request of the session fail."""
        if not words.images:
            return words
        resizes = self.options.effective_settings.settings.images.auto_resize
        images = await asyncio.to_thread(_sendable_images, words.images, resizes=resizes)
        return msgspec.structs.replace(words, images=images)

    async def _expand(self, words: PromptInput, *, expand: bool) -> PromptInput | None:
        if expand and words.text.startswith("/") and await self.hooks.run_extension_command(words.text):
            return None
        if expand and words.text.split(maxsplit=1)[:1] == ["/mcp"]:
            self.event_bus.notify(await self._run_mcp_command(words.text.removeprefix("/mcp")))
            return None
        changed = await self.hooks.change_prompt(words)
        if changed is None or not expand:
            return changed
        expanded = msgspec.structs.replace(changed, text=await self.hooks.expand_prompt(changed.text))
        return await self.servers.expand_prompt(expanded) if ":" in expanded.text else expanded

    async def _run_mcp_command(self, text: str) -> str:
        """Runs `/mcp` where no page opens: in print mode and over RPC."""
        from app.engine.mcp.mcp_commands import run_mcp_command  # noqa: PLC0415  (few say that)

        return await run_mcp_command(self.servers, text)

    def _queue_messages(self, words: PromptInput, messages: Sequence[Message]) -> PromptDisposition:
        for message in messages:
            self.queues.add_message(
                "follow_up" if words.queue_while_running == "follow_up" else "steering",
                message,  # pyright: ignore[reportArgumentType]  (a person's or an extension's)
            )
        self._track_outcome(words, messages[-1])
        return "queued"

    async def queue(self, queue: QueueName, words: PromptInput) -> PromptDisposition:
        _require_prompt_content(words)
        if self.hooks.is_extension_command(words.text):
            raise SessionRequestRefused(
                f'Extension command "{words.text.split()[0]}" cannot be queued. '
                "Use prompt() or execute the command when not streaming."
            )
        taken = await self._preprocess_prompt(words)
        if taken is None:
            self.outcomes.publish_handled_prompt(words.request_id)
            return "handled"
        message = await self._masked_user_message(taken)
        self.queues.add_message(queue, message)
        self._track_outcome(words, message)
        return "queued"

    def _track_outcome(self, words: PromptInput, message: Message) -> None:
        if words.request_id is not None:
            self.outcomes.track_prompt(words, message)

    async def _masked_user_message(self, words: PromptInput) -> UserMessage:
        """Returns the user's message, with secrets masked unless they are to be sent."""
        said = user_message(words.text, words.images)
        if words.is_sent_unmasked or self.masking.mask() is None:
            return said
        async with self._masking_lock:
            await asyncio.to_thread(self.masking.search_files, words.text)
        masked = self.masking.mask_message(said, "your prompt")
        if masked.content == said.content:
            return said
        self._last_masked_prompt = words
        marks = self.masking.placeholders_in(text_of(masked.content))
        count = f"{len(marks)} secret{'s' if len(marks) > 1 else ''}"
        self.event_bus.warn(
            f"{count} in your prompt masked: {', '.join(marks)}. /unmask sends it anyway, /secrets marks false alarms."
        )
        return masked

    async def resend_unmasked(self) -> PromptDisposition:
        """Sends the last masked prompt again, unmasked."""
        if self._last_masked_prompt is None:
            raise SessionRequestRefused(
                "No prompt of this session was masked, so there is nothing to unmask."
            )
        words = msgspec.structs.replace(
            self._last_masked_prompt,
            is_sent_unmasked=True,
            queue_while_running=self._last_masked_prompt.queue_while_running or "steer",
        )
        done = await self.prompt(words, expand=False)
        self._last_masked_prompt = None
        return done

    def resume(self) -> None:
        self.preconditions.require_idle("Continuing")
        self.preconditions.require_model()
        self._start_run([])

    async def retry_failed_answer(self, failed: AssistantMessage | None) -> bool:
        if failed is None or failed.stop_reason not in ("error", "aborted"):
            return False
        await self.runner.drop_failed_answer(failed)
        self.resume()
        return True

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs,
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        message = self.masking.mask_message(message, message.custom_type)
        if deliver_as == "next_turn":
            self.queues.hold_for_next_prompt(message)
            return message.id
        if self.runner.is_running and deliver_as == "aside":
            self.queues.add_aside(AsideMessage(message=message, call_id=call_id))
        elif self.runner.is_running:
            self.queues.add_message("steering" if deliver_as == "steer" else "follow_up", message)
        elif trigger and not self._is_closed:
            self.preconditions.require_model()
            if self.context.is_summarising:  # the running summary does not include this message
                self.queues.add_message("steering" if deliver_as == "steer" else "follow_up", message)
                self._delayed_start = asyncio.ensure_future(self._start_after_summary())
            else:
                self._start_run([message])
        else:
            await self.runner.record_custom_message(message)
        return message.id

    async def _start_after_summary(self) -> None:
        await self.context.wait_for_summary()
        if not self.runner.is_running:
            waiting = self.queues.take_next("steering") or self.queues.take_next("follow_up")
            if waiting:
                self._start_run(list(waiting))

    def close(self) -> None:
        """Prevents further runs, also of prompts that still wait for an MCP server."""
        self._is_closed = True
        if self._delayed_start is not None:
            self._delayed_start.cancel()

    def _start_run(self, messages: Sequence[Message]) -> None:
        if self._is_closed:
            raise SessionRequestRefused("The session is closing; no further prompts are accepted.")
        self.context.compactor.allow_overflow_recovery()
        try:
            self.models.record_thinking_level()
        except SessionWriteError:
            pass  # the run reports it, with advice
        self.runner.start_run(messages)


def _sendable_images(images: Sequence[Image], *, resizes: bool) -> tuple[Image, ...]:
    sendable: list[Image] = []
    for number, image in enumerate(images, 1):
        found = decode_base64_image(image.data)
        ready = prepare_image_for_model(*found, resizes=resizes) if found is not None else None
        problem = "it is no PNG, JPEG, GIF, WebP or BMP image in Base64" if ready is None else ready.problem
        if ready is None or problem:
            which = f"Image {number} of {len(images)}" if len(images) > 1 else "The image"
            raise SessionRequestRefused(
                f"{which} in the prompt cannot be sent: {problem}. Replace or remove it, then send the prompt again."
            )
        sendable.append(Image(data=ready.data, mime_type=ready.info.mime_type))
    return tuple(sendable)


def _require_prompt_content(words: PromptInput) -> None:
    if not words.text.strip() and not words.images:
        raise SessionRequestRefused("The message is empty, so nothing was sent.")
