"""The card of a summary while the model writes it: its text, its progress, and the branch that it summarises."""

from collections.abc import Callable

from app.engine.session import Session
from app.sessions.session_log import SessionLog
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry, MessageEntry
from app.values.messages import UserMessage
from tools.tool_result_values import Card, TextBlock
from widgets.transcript.transcript_blocks import CardState, CustomBlock, CustomBlockKind
from widgets.transcript.view import Transcript

_MAX_BRANCH_PROMPT_CHARS = 60
"""The maximum number of characters of a branch's first prompt in its name."""


def make_summarised_branch_namer(session: Session) -> Callable[[BranchSummaryEntry], str]:
    """Returns a function that names the branch that a summary is about."""
    return lambda summary: _branch_name(session.log, summary)


def _branch_name(log: SessionLog, summary: BranchSummaryEntry) -> str:
    """Returns the name of a branch that was left: its label, else its first own prompt; empty if it has none."""
    if summary.from_id not in log:
        return ""
    if label := log.label(summary.from_id):
        return label
    shared = log.common_ancestor(summary.from_id, summary.parent_id)
    path = log.path_to(summary.from_id)
    own = path[next((at + 1 for at, entry in enumerate(path) if entry.id == shared), 0) :]
    for entry in own:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            words = " ".join(text_of(entry.message.content).split())
            return (
                f"“{words if len(words) <= _MAX_BRANCH_PROMPT_CHARS else words[: _MAX_BRANCH_PROMPT_CHARS - 1] + '…'}”"
                if words
                else ""
            )
    return ""


class StreamedSummaryCard:
    """Shows the one summary that the model is writing in the transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._count = 0
        self._open = ""
        self._kind = CustomBlockKind.COMPACTION
        self._text = ""

    def show_card(self, kind: CustomBlockKind) -> None:
        self.remove_card()
        self._count += 1
        self._open, self._kind, self._text = f"summary{self._count}", kind, ""
        self._draw()

    def extend(self, delta: str, kind: CustomBlockKind) -> None:
        if not self._open:
            self.show_card(kind)
        self._text += delta
        self._draw()

    def remove_card(self) -> None:
        """Removes the card; later blocks show the finished summary."""
        if self._open:
            self._transcript.remove_block(self._open)
            self._open = ""

    def _draw(self) -> None:
        words = len(self._text.split())
        self._transcript.add(
            CustomBlock(
                id=self._open,
                kind=self._kind,
                state=CardState.RUNNING,
                card=Card(
                    title=str(self._kind),
                    subject="writing a summary",
                    summary=f"{words:,} words" if words else "",
                    blocks=(TextBlock(text=self._text, tail=True),),
                ),
            )
        )
