"""The user's control of the queued messages above the editor: edit, move, switch and take back."""

from collections.abc import Sequence

import msgspec

from app.agent.message_queues import QueuedMessage, QueueName
from app.engine.session import Session
from app.tui.page_protocols import ShowMessage
from app.tui.prompt.attachments import (
    draft_with_images,
    join_unsent_prompts,
    make_image_attachment,
    message_images,
)
from app.values.content import text_of
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.queue import QueuedMessageKind, QueuedMessageRow, QueueView

_MESSAGE_KIND_BY_QUEUE: tuple[tuple[QueueName, QueuedMessageKind], ...] = (
    ("steering", "steer"),
    ("follow_up", "followUp"),
)


class QueuedMessageActions(msgspec.Struct, frozen=True):
    """Lets the user edit, move, switch and take back the session's queued messages."""

    session: Session
    view: QueueView
    editor: PromptEditor
    show_message: ShowMessage

    def focus_queue(self) -> None:
        if self.view.rows:
            self.view.focus()
        else:
            self.show_message("No messages are queued.")

    def show_queue(self) -> None:
        self.view.show(
            [
                QueuedMessageRow(
                    id=message.id,
                    kind=kind,
                    text=text_of(message.content),
                    image_count=len(message_images(message.content)),
                )
                for name, kind in _MESSAGE_KIND_BY_QUEUE
                for message in self.session.queues.queued_messages(name)
            ]
        )

    def move_queue_to_editor(self) -> None:
        """Moves all queued messages with their images into the editor, before its text."""
        messages = [
            message
            for name, _ in _MESSAGE_KIND_BY_QUEUE
            for message in self.session.queues.queued_messages(name)
        ]
        self.session.queues.take_all_user_messages()
        self._move_to_editor(messages)

    def edit_queued_message(self, message_id: str) -> None:
        message = self.session.queues.remove_message(message_id)
        if message is not None:
            self._move_to_editor([message])
            self.editor.focus()

    def _move_to_editor(self, messages: Sequence[QueuedMessage]) -> None:
        if not messages:
            return
        drafts = [
            draft_with_images(
                text_of(message.content),
                [make_image_attachment(one) for one in message_images(message.content)],
            )
            for message in messages
        ]
        own = self.editor.model.draft()
        self.editor.restore(join_unsent_prompts([*drafts, own] if not own.is_empty else drafts))

    def move_queued_message(self, message_id: str, delta: int) -> None:
        name, index = self._queue_position(message_id)
        if name is None:
            return
        messages: list[QueuedMessage] = list(self.session.queues.queued_messages(name))
        target = index + delta
        if 0 <= target < len(messages):
            messages[index], messages[target] = messages[target], messages[index]
            self.session.queues.replace_messages(name, tuple(messages))

    def _queue_position(self, message_id: str) -> tuple[QueueName | None, int]:
        for name, _ in _MESSAGE_KIND_BY_QUEUE:
            for index, message in enumerate(self.session.queues.queued_messages(name)):
                if message.id == message_id:
                    return name, index
        return None, 0
