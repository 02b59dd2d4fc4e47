"""The history of sent prompts, newest last, and the position of the user who browses it. The application saves the
prompts."""

from collections.abc import Iterable

from widgets.editor.prompt_chips import UnsentPrompt

MAX_HISTORY_PROMPTS = 1000


class PromptHistory:
    """The prompts that were sent, and which of them is shown.

    Going back keeps the unsent prompt; going forward past the newest returns it."""

    def __init__(self, entries: Iterable[UnsentPrompt] = (), size: int = MAX_HISTORY_PROMPTS) -> None:
        self.max_prompts = size
        """The maximum number of prompts."""
        self.replace(entries)

    def replace(self, entries: Iterable[UnsentPrompt]) -> None:
        """Replaces all prompts of the history by others, newest last, and ends browsing."""
        self.entries: list[UnsentPrompt] = []
        self._unsent_prompt = UnsentPrompt()
        self._position: int | None = None
        for entry in entries:
            self.add_prompt(entry)

    @property
    def is_browsing(self) -> bool:
        return self._position is not None

    def add_prompt(self, entry: UnsentPrompt) -> None:
        """Adds a sent prompt as the newest; blank prompts and repetitions of the newest are left out."""
        self._position = None
        if entry.is_empty or (self.entries and self.entries[-1].text == entry.text):
            return
        self.entries.append(entry)
        del self.entries[: max(0, len(self.entries) - self.max_prompts)]

    def older_prompt(self, draft: UnsentPrompt) -> UnsentPrompt | None:
        """Returns the next older prompt, None at the oldest; `draft` is the editor's current content, which is kept for
        the way back."""
        if self._position is None:
            if not self.entries:
                return None
            self._unsent_prompt = draft
            self._position = len(self.entries)
        if self._position == 0:
            return None
        self._position -= 1
        return self.entries[self._position]

    def newer_prompt(self) -> UnsentPrompt | None:
        """Returns the next newer prompt of the history, or after the newest one the unsent prompt that was kept; None
        if the user does not browse it."""
        if self._position is None:
            return None
        self._position += 1
        if self._position < len(self.entries):
            return self.entries[self._position]
        self._position = None
        return self._unsent_prompt

    def end_browsing(self) -> None:
        """Ends browsing the history, because the shown prompt was edited and is now the unsent prompt."""
        self._position = None
