"""The messages that the prompt editor posts to the application."""

from textual.message import Message

from widgets.editor.prompt_chips import ImageAttachment, UnsentPrompt


class PromptSubmissionMessage(Message, namespace="prompt_editor"):
    """The base class of messages with a submitted prompt: its full `text` with all pastes, its images, and `draft`, the
    editor's content, which `restore` shows again."""

    def __init__(self, text: str, attachments: tuple[ImageAttachment, ...], draft: UnsentPrompt) -> None:
        super().__init__()
        self.text = text
        self.attachments = attachments
        self.draft = draft


class Submitted(PromptSubmissionMessage, namespace="prompt_editor"):
    """Message: Enter was pressed in the prompt editor. The application sends the prompt, or steers the running agent
    with it."""


class FollowUp(PromptSubmissionMessage, namespace="prompt_editor"):
    """Message: Alt+Enter was pressed while the agent works. The application sends the prompt when the agent is done."""


class Changed(Message, namespace="prompt_editor"):
    """Message: the prompt editor's text changed. In `text` each chip is one character; `draft` is what the application
    saves."""

    def __init__(self, draft: UnsentPrompt) -> None:
        super().__init__()
        self.draft = draft

    @property
    def text(self) -> str:
        return self.draft.text


class ExternalEditorRequested(Message, namespace="prompt_editor"):
    """Message: the user wants to edit the prompt in an external editor; the application passes the result to
    `set_text`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.edited_text = text


class ClipboardRequested(Message, namespace="prompt_editor"):
    """Message: the user pastes the clipboard; the application reads it and answers with `paste` or `attach`."""


class HistoryRequested(Message, namespace="prompt_editor"):
    """Message: the user wants to pick an older prompt from `entries` (newest first); the application passes the choice
    to `restore`."""

    def __init__(self, entries: tuple[UnsentPrompt, ...]) -> None:
        super().__init__()
        self.entries = entries
