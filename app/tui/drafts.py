"""The editor's text and the queue, kept beside the session as they change and given back after a crash."""

import asyncio

from app.agent.queues import QueueName
from app.engine.session import Session
from app.sessions.drafts import Attachment, Draft, DraftFile, Waiting
from app.sessions.errors import SessionWriteError
from app.values.content import Image, text_of
from app.values.messages import user_message

DELAY_SECONDS = 0.2


class Drafts:
    """The draft of the session that is open now."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._file = DraftFile(session.log.path)
        self._text = ""
        self._attachments: tuple[Attachment, ...] = ()
        self._timer: asyncio.TimerHandle | None = None

    def session_replaced(self) -> None:
        self._file = DraftFile(self._session.log.path)
        self.save()

    def editor_changed(self, text: str, images: tuple[Image, ...]) -> None:
        """Kept a moment later, so that fast typing does not wait for the disk; an empty editor at once."""
        self._text = text
        self._attachments = tuple(
            Attachment(name=f"image {number + 1}", image=image) for number, image in enumerate(images)
        )
        if not text:
            self.save()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self.save)

    def save(self) -> str | None:
        """Returns why the draft could not be kept, if it could not."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        queues = self._session.queues
        names: tuple[QueueName, ...] = ("steering", "follow_up")
        waiting = [
            Waiting(text=text_of(message.content), deliver_as=name)
            for name in names
            for message in queues.waiting(name)
        ]
        draft = Draft(
            text=self._text,
            attachments=self._attachments,
            waiting=tuple(waiting),
            cwd=str(self._session.cwd),
        )
        try:
            self._file.save(draft)
        except SessionWriteError as problem:
            return str(problem)
        return None

    def restore(self) -> str:
        """What was in the editor when bayou ended; messages that waited are in their queues again."""
        draft = self._file.load()
        if draft is None:
            return ""
        for waiting in draft.waiting:
            queue: QueueName = "follow_up" if waiting.deliver_as == "follow_up" else "steering"
            self._session.queues.add(queue, user_message(waiting.text, waiting.images))
        self._text = draft.text
        return draft.text
