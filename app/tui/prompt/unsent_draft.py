"""Saves the editor's text and the queue next to the session as they change, and restores them after a crash."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from app.agent.queues import QueueName
from app.engine.session import Session
from app.sessions import drafts as kept
from app.sessions.errors import SessionWriteError
from app.tui.prompt.attachments import attachment_of, draft_with, image_of, images_in
from app.values.content import Image, text_of
from app.values.messages import user_message
from widgets.editor.chips import Attachment, UnsentPrompt
from widgets.editor.images import image_file

DELAY_SECONDS = 0.2
LARGE = 1_000_000
DELAY_OF_LARGE = 3.0
"""A text of megabytes is not written five times a second."""


class UnsentDraft:
    """The draft of the session that is open now. `shown` tells the editor's real text and its images."""

    def __init__(self, session: Session, shown: Callable[[], tuple[str, tuple[Attachment, ...]]]) -> None:
        self._session = session
        self._shown = shown
        self._file = kept.DraftFile(session.state.file)
        self._timer: asyncio.TimerHandle | None = None
        self._on_their_way: list[kept.QueuedText] = []
        self._is_open = False
        """From `restore` to `close`: before, the file has what was left the last time."""

    @contextmanager
    def on_its_way(self, text: str, images: tuple[Image, ...] = (), how: str = "steer") -> Iterator[None]:
        """A prompt is unsent until the session has taken it, for which a server can be waited for. It stays unsent
        where that is cancelled, as bayou is being left then."""
        prompt = kept.QueuedText(text=text, images=images, deliver_as=how)
        self._on_their_way.append(prompt)
        is_left = False
        try:
            yield
        except asyncio.CancelledError:
            is_left = True
            raise
        finally:
            if not is_left:
                self._on_their_way.remove(prompt)
                self.save()

    def session_replaced(self) -> UnsentPrompt | None:
        """What is being written goes along; returns what had been left unsent in the session that is open now."""
        before, self._file = self._file, kept.DraftFile(self._session.state.file)
        if before.path == self._file.path:
            return None
        left = self.restore()
        before.discard()
        if left is None:
            self.save()
        return left

    def editor_changed(self, draft: UnsentPrompt) -> None:
        """Kept a moment later, so that fast typing does not wait for the disk; an empty editor at once."""
        if draft.is_empty:
            self.save()
        elif self._timer is None:
            size = len(draft.text) + sum(len(getattr(chip, "text", "")) for chip in draft.chips.values())
            delay = DELAY_OF_LARGE if size > LARGE else DELAY_SECONDS
            self._timer = asyncio.get_running_loop().call_later(delay, self.save)

    def close(self) -> None:
        """Keeps what is unsent now, for the next time: the end of the session empties its queues."""
        self.save()
        self._is_open = False

    def save(self) -> str | None:
        """Returns why the draft could not be kept, if it could not."""
        if not self._is_open:
            return None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        names: tuple[QueueName, ...] = ("steering", "follow_up")
        waiting = [
            kept.QueuedText(text=text_of(message.content), images=images_in(message.content), deliver_as=name)
            for name in names
            for message in self._session.queues.waiting(name)
        ]
        text, attachments = self._shown()
        draft = kept.SavedDraft(
            text=text,
            attachments=tuple(_kept(attachment) for attachment in attachments),
            waiting=(*waiting, *self._on_their_way),
            cwd=str(self._session.cwd),
        )
        try:
            self._file.save(draft)
        except SessionWriteError as problem:
            return str(problem)
        return None

    def restore(self) -> UnsentPrompt | None:
        """What was in the editor when bayou ended; messages that waited are in their queues again."""
        draft = self._file.load()
        self._is_open = True
        if draft is None:
            return None
        for waiting in draft.waiting:
            queue: QueueName = "follow_up" if waiting.deliver_as == "follow_up" else "steering"
            self._session.queues.add(queue, user_message(waiting.text, waiting.images))
        return _shown_again(msgspec.structs.replace(draft, waiting=()))

    def abandoned(self, folder: Path) -> list[UnsentPrompt]:
        """Drafts of sessions that ended before anything was sent, oldest first; their files go."""
        found: list[UnsentPrompt] = []
        for path, draft in kept.abandoned_drafts(folder):
            if path == self._file.path or draft.cwd != str(self._session.cwd):
                continue
            found.append(_shown_again(draft))
            path.unlink(missing_ok=True)
        return found[::-1]


def _kept(attachment: Attachment) -> kept.SavedAttachment:
    if attachment.path is not None:
        return kept.SavedAttachment(name=attachment.name, path=str(attachment.path))
    return kept.SavedAttachment(name=attachment.name, image=image_of(attachment.data, attachment.mime_type))


def _shown_again(draft: kept.SavedDraft) -> UnsentPrompt:
    """Images whose file is gone stay as the mark that they had in the text."""
    attachments: list[Attachment] = []
    for one in draft.attachments:
        if one.image is not None:
            attachments.append(attachment_of(one.image, one.name))
        elif one.path is not None and (found := image_file(Path(one.path))) is not None:
            attachments.append(found)
    waited = [one.text for one in draft.waiting]
    return draft_with("\n\n".join(filter(None, [draft.text, *waited])), attachments)
