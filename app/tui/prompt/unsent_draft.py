"""Saves the editor's text and the queue next to the session as they change, and restores them after a crash."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from app.agent.message_queues import QueueName
from app.engine.session import Session
from app.sessions import drafts as kept
from app.sessions.errors import SessionWriteError
from app.tui.prompt.attachments import (
    draft_with_images,
    make_base64_image,
    make_image_attachment,
    message_images,
)
from app.values.content import Image, text_of
from app.values.messages import user_message
from widgets.editor.image_attachments import read_image_file
from widgets.editor.prompt_chips import ImageAttachment, UnsentPrompt

DRAFT_SAVE_DELAY_SECONDS = 0.2
LARGE_DRAFT_CHARS = 1_000_000
LARGE_DRAFT_SAVE_DELAY_SECONDS = 3.0
"""Seconds before a large text is saved, so that megabytes are not written at every change."""


class UnsentDraft:
    """Saves the editor's text and the queued messages of the current session on disk. `shown` returns the editor's full
    text and its images."""

    def __init__(
        self, session: Session, shown: Callable[[], tuple[str, tuple[ImageAttachment, ...]]]
    ) -> None:
        self._session = session
        self._read_editor = shown
        self._file = kept.DraftFile(session.state.file)
        self._timer: asyncio.TimerHandle | None = None
        self._unconfirmed_prompts: list[kept.DraftQueuedMessage] = []
        self._is_open = False
        """True from `restore` to `close`; before, the file still has the draft of the last run."""

    @contextmanager
    def keep_until_accepted(
        self, text: str, images: tuple[Image, ...] = (), how: str = "steer"
    ) -> Iterator[None]:
        """Saves a prompt as unsent until the session has accepted it. It stays unsent if the wait is
        cancelled, because bayou is closing then."""
        prompt = kept.DraftQueuedMessage(text=text, images=images, deliver_as=how)
        self._unconfirmed_prompts.append(prompt)
        is_left = False
        try:
            yield
        except asyncio.CancelledError:
            is_left = True
            raise
        finally:
            if not is_left:
                self._unconfirmed_prompts.remove(prompt)
                self.save()

    def move_to_new_session(self) -> UnsentPrompt | None:
        """Moves the current draft to the new session; returns the draft that was left unsent there."""
        before, self._file = self._file, kept.DraftFile(self._session.state.file)
        if before.path == self._file.path:
            return None
        left = self.restore()
        before.discard()
        if left is None:
            self.save()
        return left

    def editor_changed(self, draft: UnsentPrompt) -> None:
        """Saves the draft after a short delay, so that typing does not wait for the disk; an empty
        editor is saved at once."""
        if draft.is_empty:
            self.save()
        elif self._timer is None:
            size = len(draft.text) + sum(len(getattr(chip, "text", "")) for chip in draft.chips.values())
            delay = LARGE_DRAFT_SAVE_DELAY_SECONDS if size > LARGE_DRAFT_CHARS else DRAFT_SAVE_DELAY_SECONDS
            self._timer = asyncio.get_running_loop().call_later(delay, self.save)

    def close(self) -> None:
        """Saves the draft a last time, before the end of the session empties its queues."""
        self.save()
        self._is_open = False

    def save(self) -> str | None:
        """Saves the draft now; returns an error message, or None if that worked or is not due."""
        if not self._is_open:
            return None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        names: tuple[QueueName, ...] = ("steering", "follow_up")
        waiting = [
            kept.DraftQueuedMessage(
                text=text_of(message.content), images=message_images(message.content), deliver_as=name
            )
            for name in names
            for message in self._session.queues.queued_messages(name)
        ]
        text, attachments = self._read_editor()
        draft = kept.SavedDraft(
            text=text,
            attachments=tuple(_saved_attachment(attachment) for attachment in attachments),
            waiting=(*waiting, *self._unconfirmed_prompts),
            cwd=str(self._session.cwd),
        )
        try:
            self._file.save(draft)
        except SessionWriteError as problem:
            return str(problem)
        return None

    def restore(self) -> UnsentPrompt | None:
        """Loads what was saved when bayou ended: returns the draft, and queues the messages that waited then."""
        draft = self._file.load()
        self._is_open = True
        if draft is None:
            return None
        for waiting in draft.waiting:
            queue: QueueName = "follow_up" if waiting.deliver_as == "follow_up" else "steering"
            self._session.queues.add_message(queue, user_message(waiting.text, waiting.images))
        return _restored_prompt(msgspec.structs.replace(draft, waiting=()))

    def take_abandoned_drafts(self, folder: Path) -> list[UnsentPrompt]:
        """Returns drafts of sessions in which nothing was ever sent, oldest first, and deletes their
        files."""
        found: list[UnsentPrompt] = []
        for path, draft in kept.abandoned_drafts(folder):
            if path == self._file.path or draft.cwd != str(self._session.cwd):
                continue
            found.append(_restored_prompt(draft))
            path.unlink(missing_ok=True)
        return found[::-1]


def _saved_attachment(attachment: ImageAttachment) -> kept.DraftAttachment:
    if attachment.path is not None:
        return kept.DraftAttachment(name=attachment.name, path=str(attachment.path))
    return kept.DraftAttachment(
        name=attachment.name, image=make_base64_image(attachment.data, attachment.mime_type)
    )


def _restored_prompt(draft: kept.SavedDraft) -> UnsentPrompt:
    """Converts a saved draft to the editor's content; images whose file is gone remain as text marks."""
    attachments: list[ImageAttachment] = []
    for one in draft.attachments:
        if one.image is not None:
            attachments.append(make_image_attachment(one.image, one.name))
        elif one.path is not None and (found := read_image_file(Path(one.path))) is not None:
            attachments.append(found)
    waited = [one.text for one in draft.waiting]
    return draft_with_images("\n\n".join(filter(None, [draft.text, *waited])), attachments)
