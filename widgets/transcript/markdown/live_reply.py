"""A model's reply while it is received: deltas are collected and parsed once per frame."""

from typing import Literal

from tools.lazy_patterns import lazy_regex
from widgets.transcript.leaves.block_leaves import BLOCK_GUTTER, draw_reply_end, draw_thinking_label
from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.markdown.markdown_stream import MarkdownStream
from widgets.transcript.transcript_blocks import (
    FailureToShow,
    ReplyBlock,
    ReplyProse,
    ReplyState,
    ReplyThinking,
)

ReplyPartKind = Literal["thinking", "prose"]
MAX_SENTENCE_CHARS = 600
_SENTENCE_END = lazy_regex(r"[.!?:;](?=\s)|\n")
MAX_CHARS_PER_FRAME = 24_000
"""Characters processed per frame; the rest waits for the next one."""


class _StreamedPart:
    def __init__(self, sort: ReplyPartKind, now: float) -> None:
        self.kind: ReplyPartKind = sort
        self.started_at = now
        self.seconds: float | None = None
        self.texts: list[str] = []
        self.read_count = 0
        """The number of texts already passed to the stream."""
        self.last_sentence = ""
        """The last complete sentence, shown next to a thought that is closed."""
        self._tail = ""
        self.stream = MarkdownStream("thinking" if sort == "thinking" else "text", BLOCK_GUTTER)

    def parse_new_texts(self) -> None:
        for text in self.texts[self.read_count :]:
            self.stream.feed(text)
        self.read_count = len(self.texts)

    def add_text(self, text: str) -> None:
        self.texts.append(text)
        if self.kind == "thinking":
            self._tail = (self._tail + text)[-MAX_SENTENCE_CHARS:]
            begin = 0
            for found in _SENTENCE_END.finditer(self._tail):
                if said := " ".join(self._tail[begin : found.end()].split()).strip("*#_ "):
                    self.last_sentence = said
                begin = found.end()
            self._tail = self._tail[begin:]

    def finish_part(self, now: float) -> None:
        self.seconds = now - self.started_at

    @property
    def text(self) -> str:
        return "".join(self.texts)


class LiveReply:
    """The parts (thinking and text) of a model's reply that is being received, and their layout."""

    def __init__(self, block_id: str) -> None:
        self.block_id = block_id
        self._parts: list[_StreamedPart] = []
        self._waiting: list[tuple[ReplyPartKind, str]] = []
        self._leaves: list[LayoutLeaf] = []
        self._final_leaf_count = 0
        """The number of leaves at the start that are final."""
        self._part_index = 0
        """The index of the part that is being collected."""
        self._collected_leaf_count = 0
        """The number of final leaves collected from its stream."""
        self._generation = 0
        self._was_open = False
        self.epoch = 0
        """A number that changes when final leaves are replaced."""

    def append(self, sort: ReplyPartKind, delta: str) -> None:
        self._waiting.append((sort, delta))

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def add_waiting_deltas(self, now: float, most: int = MAX_CHARS_PER_FRAME) -> None:
        """Moves received deltas, at most `most` characters of them, to the parts of the reply that they belong to."""
        taken = 0
        index = 0
        joined: list[tuple[ReplyPartKind, list[str]]] = []
        while index < len(self._waiting) and taken < most:
            sort, delta = self._waiting[index]
            if len(delta) > most - taken + 1_000:
                self._waiting[index] = (sort, delta[most - taken :])
                delta = delta[: most - taken]
                index -= 1
            taken += len(delta)
            index += 1
            if not joined or joined[-1][0] != sort:
                joined.append((sort, []))
            joined[-1][1].append(delta)
            if taken >= most:
                break
        del self._waiting[:index]
        for sort, deltas in joined:
            self._add_delta(sort, "".join(deltas), now)

    def _add_delta(self, sort: ReplyPartKind, text: str, now: float) -> None:
        text = clean(text)
        if not self._parts or self._parts[-1].kind != sort:
            if not text.strip():
                return
            if self._parts:
                self._parts[-1].finish_part(now)
            self._parts.append(_StreamedPart(sort, now))
        self._parts[-1].add_text(text)

    def collect_leaves(self, *, is_open: bool) -> tuple[list[LayoutLeaf], int]:
        """Returns the reply's leaves (units of layout), and how many of them are final and unchanged since the last
        call."""
        if is_open != self._was_open:
            self._discard_leaves()
            self._was_open = is_open
        stable_before = self._final_leaf_count
        epoch = self.epoch
        del self._leaves[self._final_leaf_count :]
        while self._part_index < len(self._parts):
            part = self._parts[self._part_index]
            is_last = self._part_index == len(self._parts) - 1
            if part.kind == "prose" or is_open:
                part.parse_new_texts()
            if not is_last:
                part.stream.finish()
            if part.stream.generation != self._generation:
                self._discard_leaves()
                continue
            self._collect_part(part, is_last=is_last, is_open=is_open)
            if is_last:
                break
            self._part_index += 1
            self._collected_leaf_count = 0
            self._generation = self._parts[self._part_index].stream.generation
        return self._leaves, stable_before if epoch == self.epoch else 0

    def _collect_part(self, part: _StreamedPart, *, is_last: bool, is_open: bool) -> None:
        leaves = self._leaves
        if part.kind == "thinking":
            said = part.last_sentence if is_last and not is_open else ""
            label = draw_thinking_label(part.seconds, is_live=is_last, is_open=is_open, said=said)
            label.blank = int(bool(leaves))
            if not self._collected_leaf_count:
                leaves.append(label)
                if not is_last or part.stream.frozen:
                    self._final_leaf_count = len(leaves)
            if not is_open:
                self._final_leaf_count = len(leaves) - int(is_last)
                return
        fresh = part.stream.frozen[self._collected_leaf_count :]
        if fresh:
            self._set_gap_above(part, fresh[0])
            leaves.extend(fresh)
            self._collected_leaf_count += len(fresh)
            self._final_leaf_count = len(leaves)
        if is_last and part.stream.live:
            self._set_gap_above(part, part.stream.live[0])
            leaves.extend(part.stream.live)

    def _set_gap_above(self, part: _StreamedPart, leaf: LayoutLeaf) -> None:
        if not self._collected_leaf_count and self._leaves and part.kind == "prose":
            leaf.blank = 1

    def _discard_leaves(self) -> None:
        self.epoch += 1
        self._leaves = []
        self._final_leaf_count = self._part_index = self._collected_leaf_count = 0
        self._generation = self._parts[0].stream.generation if self._parts else 0

    def finish(self, now: float) -> None:
        """Processes all deltas of the reply that still wait, and ends its last part."""
        while self._waiting:
            self.add_waiting_deltas(now, 1 << 40)
        if self._parts and self._parts[-1].seconds is None:
            self._parts[-1].finish_part(now)

    def block(self, state: ReplyState, failure: FailureToShow | None = None) -> ReplyBlock:
        parts = tuple(
            ReplyThinking(text=part.text, seconds=part.seconds)
            if part.kind == "thinking"
            else ReplyProse(text=part.text)
            for part in self._parts
        )
        return ReplyBlock(id=self.block_id, parts=parts, state=state, failure=failure)

    @property
    def text(self) -> str:
        """The whole text of the reply received so far, for searching."""
        return "\n".join(part.text for part in self._parts)

    def final_leaves(
        self, state: ReplyState, failure: FailureToShow | None, *, is_open: bool
    ) -> list[LayoutLeaf]:
        """Returns the leaves of the finished reply with the lines that say how it ended; leaves that were final are the
        same objects as before."""
        for part in self._parts:
            if part.kind == "prose" or is_open:
                part.parse_new_texts()
            part.stream.finish()
        leaves, _ = self.collect_leaves(is_open=is_open)
        leaves = list(leaves)
        if self._parts and self._parts[-1].kind == "thinking":
            index = next(i for i in range(len(leaves) - 1, -1, -1) if leaves[i].link == "toggle")
            label = draw_thinking_label(self._parts[-1].seconds, is_live=False, is_open=is_open)
            label.blank = leaves[index].blank
            leaves[index] = label
        return leaves + draw_reply_end(state, failure, has_text=bool(leaves))
