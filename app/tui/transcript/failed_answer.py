"""Tracks the last failed answer of the model: the actions below it, and the message while it is retried."""

from collections.abc import Callable

from app.tui.transcript import message_blocks
from app.tui.transcript.renderers import EntryRenderers
from app.values.events import AutoRetryEnd, AutoRetryStart
from app.values.messages import AssistantMessage
from tools.number_formatting import count_with_noun, format_elapsed
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript

_MIN_REPORTED_RETRY_DELAY_MS = 1000
AddNote = Callable[[str, AppNoteKind], str]


class FailedAnswerTracker:
    """Tracks the last failed answer of the model and shows its retries in the transcript."""

    def __init__(self, transcript: Transcript, renderers: EntryRenderers, note: AddNote) -> None:
        """Creates the tracker. `note` adds a message of bayou and returns its block id."""
        self._transcript, self._renderers, self._note = transcript, renderers, note
        self._message: AssistantMessage | None = None
        """The last answer, if it ended in an error."""
        self._awaiting_retry: AssistantMessage | None = None
        """The failed answer that waits for its automatic retry."""
        self._is_waiting = False
        self._notice_id: str | None = None
        """The id of the block with the message about the retry."""

    def set_last_answer(self, last: AssistantMessage | None) -> None:
        self._message = last if last is not None and last.stop_reason == "error" else None

    def reset(self) -> None:
        """Forgets the failed answer and its retries before the transcript is rebuilt from the log."""
        self._message = self._awaiting_retry = self._notice_id = None

    def note_answer_start(self) -> None:
        self._awaiting_retry, self._is_waiting = None, False
        self._remove_retry_key(is_tried_again=True)

    def note_prompt_start(self) -> None:
        self._remove_retry_key(is_tried_again=False)

    def update_retry(self, event: AutoRetryStart | AutoRetryEnd) -> None:
        """Shows in the transcript that a failed request is retried. After a success the traces of failed attempts go, a
        failure is reported once, and a cancelled wait shows the error again."""
        self._remove_notice()
        was_waiting, self._is_waiting = self._is_waiting, isinstance(event, AutoRetryStart)
        if isinstance(event, AutoRetryStart):
            self._awaiting_retry = self._message
            self._remove_retry_key(is_tried_again=True)
            self._notice_id = self._note(self._retry_text(event), AppNoteKind.WARNING)
        elif was_waiting:
            self._show_error_again()
        elif not event.success:
            retries = count_with_noun(event.attempt, "retry", "retries")
            self._append_to_error(f"{retries} failed.")

    def _retry_text(self, event: AutoRetryStart) -> str:
        """Returns a message that says why the request failed and when it is sent again; the line above the editor
        counts down, with keys."""
        failed = self._awaiting_retry
        what = message_blocks.message_as_sentence(event.error_message)
        if failed is not None and failed.error_message == event.error_message:
            what = message_blocks.failure_sentence(failed)
        wait = (
            f" after {format_elapsed(round(event.delay_ms / 1000))}"
            if event.delay_ms >= _MIN_REPORTED_RETRY_DELAY_MS
            else ""
        )
        return f"{what.rstrip('.')}. Retrying: {event.attempt} of {event.max_attempts}{wait}."

    def _append_to_error(self, words: str) -> None:
        """Adds words to the error message below the failed answer; shows a separate message if there is none."""
        last = self._message
        block = message_blocks.model_reply_block(last.id, last, self._renderers) if last is not None else None
        if block is None:
            self._notice_id = self._note(words, AppNoteKind.ERROR)
        else:
            self._transcript.add(message_blocks.append_error_text(block, words))

    def _show_error_again(self) -> None:
        message, self._awaiting_retry = self._awaiting_retry, None
        block = (
            message_blocks.model_reply_block(message.id, message, self._renderers)
            if message is not None
            else None
        )
        if block is not None:
            self._message = message
            self._transcript.add(block)

    def _remove_notice(self) -> None:
        if self._notice_id is not None:
            self._transcript.remove_block(self._notice_id)
            self._notice_id = None

    def _remove_retry_key(self, *, is_tried_again: bool) -> None:
        """Removes the retry key from the answer, because only the last answer offers it."""
        message, self._message = self._message, None
        if message is None:
            return
        if is_tried_again:
            self._remove_notice()
        self._notice_id = None  # a retried one is removed above
        block = message_blocks.model_reply_block(message.id, message, self._renderers)
        shown = (
            message_blocks.answer_without_actions(
                block, because=message_blocks.RETRIED_ANSWER_TEXT if is_tried_again else ""
            )
            if block is not None
            else None
        )
        if shown is None:
            self._transcript.remove_block(message.id)
        else:
            self._transcript.add(shown)
