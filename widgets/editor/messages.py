"""What the editor tells the application."""

from textual.message import Message

from widgets.editor.chips import Attachment, Draft


class _Sent(Message):
    """`text` is the real text, pastes in full; `draft` is what stood in the editor, to be given back by `restore`."""

    def __init__(self, text: str, attachments: tuple[Attachment, ...], draft: Draft) -> None:
        super().__init__()
        self.text = text
        self.attachments = attachments
        self.draft = draft


class Submitted(_Sent):
    """Enter: send it, or steer the agent with it."""


class FollowUp(_Sent):
    """Alt+Enter while the agent works: send it when the agent is done."""


class Changed(Message):
    """Another text. `text` shows chips as single characters; `draft` is to be saved."""

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self.draft = draft

    @property
    def text(self) -> str:
        return self.draft.text


class ExternalEditorRequested(Message):
    """Edit the real text elsewhere, then give it back with `set_text`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ClipboardRequested(Message):
    """Read the clipboard, then call `paste` or `attach`."""


class HistoryRequested(Message):
    """Let an older prompt be chosen from `entries` (newest first), then call `restore`."""

    def __init__(self, entries: tuple[Draft, ...]) -> None:
        super().__init__()
        self.entries = entries
