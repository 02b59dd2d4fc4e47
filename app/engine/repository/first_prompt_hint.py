"""Adds a hint to the first prompt of a conversation: files where the work may be. Off by default."""

import asyncio

from app.engine.core.conversation import Conversation
from app.engine.core.session_options import SessionOptions
from app.engine.repository.repository_maps import FOLDER_MAP_MESSAGE_TYPE
from app.values.entries import CustomMessageEntry, MessageEntry
from app.values.messages import CustomMessage, UserMessage
from tools.session_workspace import SessionWorkspace


class FirstPromptHint:
    def __init__(
        self, conversation: Conversation, workspace: SessionWorkspace, options: SessionOptions
    ) -> None:
        self._conversation = conversation
        self._workspace = workspace
        self._options = options

    async def hint_messages(self, prompt: str) -> tuple[CustomMessage, ...]:
        """Returns the hint about relevant files once on each branch, if enabled; nothing where the map is
        uncertain or not ready."""
        wishes = self._options.effective_settings.settings.repository_maps
        if not wishes.enabled or not self._is_first_prompt():
            return ()
        # Imports SQLite and parsers, which most sessions start without.
        from tools.repomap.likely_places import find_likely_files_for_question  # noqa: PLC0415

        text = await asyncio.to_thread(find_likely_files_for_question, self._workspace, prompt)
        if text is None:
            return ()
        return (
            CustomMessage(
                custom_type=FOLDER_MAP_MESSAGE_TYPE,
                content=text,
                details={"folder": "", "isFirstQuestion": True},
            ),
        )

    def _is_first_prompt(self) -> bool:
        return not any(
            (isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage))
            or (isinstance(entry, CustomMessageEntry) and entry.custom_type == FOLDER_MAP_MESSAGE_TYPE)
            for entry in self._conversation.log.path_to()
        )
