"""Cards of staged changes: their keys while they wait, and their outcome."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.tui.page_protocols import KeyLabel
from app.values.events import AgentSettled, AgentStart, Event
from app.values.pending import PendingChanged, PendingOutcome
from tools.arguments import text_detail
from widgets.transcript.blocks import CardBlock
from widgets.transcript.view import Transcript

_STAGED = ", staged"


class StagedCards:
    """Updates the cards of staged changes."""

    def __init__(self, transcript: Transcript, key_label: KeyLabel) -> None:
        self._transcript = transcript
        self._key_told = key_label
        self._blocks: dict[str, str] = {}
        """The blocks of unresolved staged changes, by the change's id."""

    def made(self, block_id: str, details: Mapping[str, Any] | None) -> None:
        """Remembers the block of a call that staged changes."""
        if id := text_detail(details, "pending"):
            self._blocks[id] = block_id

    def note(self, event: Event) -> None:
        if isinstance(event, PendingChanged) and event.resolved is not None:
            self._tell(self._blocks.pop(event.resolved.id, ""), _became(event.resolved))
        elif isinstance(event, AgentSettled | AgentStart):
            keys = self._keys() if isinstance(event, AgentSettled) else ""
            for block_id in self._blocks.values():
                self._tell(block_id, f"{_STAGED}{keys}")

    def _keys(self) -> str:
        """Returns the current keys that apply or discard; the approval bar handles them."""
        once = self._key_told("app.approval.once", "alt+a")
        deny = self._key_told("app.approval.deny", "alt+x")
        told = [f"{key} {does}" for key, does in ((once, "applies"), (deny, "discards")) if key]
        return f": {', '.join(told)}" if told else ""

    def _tell(self, block_id: str, words: str) -> None:
        block = self._transcript.block(block_id) if block_id else None
        if isinstance(block, CardBlock):
            summary = block.card.summary.partition(_STAGED)[0] + words
            card = msgspec.structs.replace(block.card, summary=summary)
            self._transcript.add(msgspec.structs.replace(block, card=card))


def _became(outcome: PendingOutcome) -> str:
    if not outcome.is_done:
        return ", not applied"
    return ", applied" if outcome.action == "apply" else ", discarded"
