"""The card of a summary that is being written: its text as it arrives, and how far it is."""

from app.tui.handed import KeyTold, stoppable
from tools.results import Card, TextBlock
from widgets.transcript.blocks import CardState, CustomBlock, CustomKind
from widgets.transcript.view import Transcript


class SummaryCard:
    """At most one is written at a time."""

    def __init__(self, transcript: Transcript, key_told: KeyTold) -> None:
        self._transcript = transcript
        self._key_told = key_told
        self._count = 0
        self._open = ""
        self._kind = CustomKind.COMPACTION
        self._text = ""

    def begin(self, kind: CustomKind) -> None:
        self.end()
        self._count += 1
        self._open, self._kind, self._text = f"summary{self._count}", kind, ""
        self._draw()

    def extend(self, delta: str, kind: CustomKind) -> None:
        if not self._open:
            self.begin(kind)
        self._text += delta
        self._draw()

    def end(self) -> None:
        """Nothing is left of it: what became of the summary is shown by what follows."""
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
                    subject=stoppable("a summary is being written", self._key_told),
                    summary=f"{words:,} words" if words else "",
                    blocks=(TextBlock(text=self._text, tail=True),),
                ),
            )
        )
