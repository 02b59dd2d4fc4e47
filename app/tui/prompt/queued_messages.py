"""The queued messages as rows above the editor: edit, move, switch and take back."""

from collections.abc import Sequence

import msgspec

from app.agent.queues import QueuedMessage, QueueName
from app.engine.session import Session
from app.tui.page_protocols import ShowMessage
from app.tui.prompt.attachments import attachment_of, draft_with, images_in, join_drafts
from app.values.content import text_of
from widgets.editor.prompt import PromptEditor
from widgets.status.queue import Kind, QueuedRow, QueueView

_NAMES: tuple[tuple[QueueName, Kind], ...] = (("steering", "steer"), ("follow_up", "followUp"))


class QueuedMessages(msgspec.Struct, frozen=True):
    """Moves messages between the session's queues and the editor."""

    session: Session
    view: QueueView
    editor: PromptEditor
    say: ShowMessage

    def focus(self) -> None:
        if self.view.rows:
            self.view.focus()
        else:
            self.say("No messages are queued.")

    def show(self) -> None:
        self.view.show(
            [
                QueuedRow(
                    id=message.id,
                    kind=kind,
                    text=text_of(message.content),
                    image_count=len(images_in(message.content)),
                )
                for name, kind in _NAMES
                for message in self.session.queues.waiting(name)
            ]
        )

    def take_back(self) -> None:
        """Moves all queued messages with their images into the editor, before its text."""
        messages = [message for name, _ in _NAMES for message in self.session.queues.waiting(name)]
        self.session.queues.clear()
        self._into_editor(messages)

    def edit(self, message_id: str) -> None:
        message = self.session.queues.remove(message_id)
        if message is not None:
            self._into_editor([message])
            self.editor.focus()

    def _into_editor(self, messages: Sequence[QueuedMessage]) -> None:
        if not messages:
            return
        drafts = [
            draft_with(text_of(message.content), [attachment_of(one) for one in images_in(message.content)])
            for message in messages
        ]
        own = self.editor.model.draft()
        self.editor.restore(join_drafts([*drafts, own] if not own.is_empty else drafts))

    def move(self, message_id: str, delta: int) -> None:
        name, index = self._place(message_id)
        if name is None:
            return
        messages: list[QueuedMessage] = list(self.session.queues.waiting(name))
        target = index + delta
        if 0 <= target < len(messages):
            messages[index], messages[target] = messages[target], messages[index]
            self.session.queues.replace(name, tuple(messages))

    def _place(self, message_id: str) -> tuple[QueueName | None, int]:
        for name, _ in _NAMES:
            for index, message in enumerate(self.session.queues.waiting(name)):
                if message.id == message_id:
                    return name, index
        return None, 0
