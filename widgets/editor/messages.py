"""The messages that the editor posts to the application."""

from textual.message import Message

from widgets.editor.chips import ImageAttachment, UnsentPrompt


class PromptMessage(Message, namespace="prompt_editor"):
    """Base of submitted prompts: `text` has pastes in full; `draft` is the editor's content, given back by
    `restore`."""

    def __init__(self, text: str, attachments: tuple[ImageAttachment, ...], draft: UnsentPrompt) -> None:
        super().__init__()
        self.text = text
        self.attachments = attachments
        self.draft = draft


class Submitted(PromptMessage, namespace="prompt_editor"):
    """Enter was pressed: send the text, or steer the running agent with it."""


class FollowUp(PromptMessage, namespace="prompt_editor"):
    """Alt+Enter was pressed while the agent works: send the text when the agent is done."""


class Changed(Message, namespace="prompt_editor"):
    """The text changed. `text` has chips as single characters; `draft` is what the application saves."""

    def __init__(self, draft: UnsentPrompt) -> None:
        super().__init__()
        self.draft = draft

    @property
    def text(self) -> str:
        return self.draft.text


class ExternalEditorRequested(Message, namespace="prompt_editor"):
    """Asks for editing in an external editor; the result is passed to `set_text`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.edited_text = text


class ClipboardRequested(Message, namespace="prompt_editor"):
    """Asks for the clipboard; the application answers with `paste` or `attach`."""


class HistoryRequested(Message, namespace="prompt_editor"):
    """Asks for a picker over `entries` (older prompts, newest first); the choice is passed to `restore`."""

    def __init__(self, entries: tuple[UnsentPrompt, ...]) -> None:
        super().__init__()
        self.entries = entries
