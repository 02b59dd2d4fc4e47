"""What the editor tells the application."""

from textual.message import Message

from widgets.editor.chips import Attachment, UnsentPrompt


class Sent(Message, namespace="prompt_editor"):
    """`text` is the real text, pastes in full; `draft` is what stood in the editor, to be given back by `restore`."""

    def __init__(self, text: str, attachments: tuple[Attachment, ...], draft: UnsentPrompt) -> None:
        super().__init__()
        self.text = text
        self.attachments = attachments
        self.draft = draft


class Submitted(Sent, namespace="prompt_editor"):
    """Enter: send it, or steer the agent with it."""


class FollowUp(Sent, namespace="prompt_editor"):
    """Alt+Enter while the agent works: send it when the agent is done."""


class Changed(Message, namespace="prompt_editor"):
    """Another text. `text` shows chips as single characters; `draft` is to be saved."""

    def __init__(self, draft: UnsentPrompt) -> None:
        super().__init__()
        self.draft = draft

    @property
    def text(self) -> str:
        return self.draft.text


class ExternalEditorRequested(Message, namespace="prompt_editor"):
    """Edit the real text elsewhere, then give it back with `set_text`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ClipboardRequested(Message, namespace="prompt_editor"):
    """Read the clipboard, then call `paste` or `attach`."""


class HistoryRequested(Message, namespace="prompt_editor"):
    """Let an older prompt be chosen from `entries` (newest first), then call `restore`."""

    def __init__(self, entries: tuple[UnsentPrompt, ...]) -> None:
        super().__init__()
        self.entries = entries
