"""Draws transcript blocks as leaves (units of layout): each kind of block in each state and extent."""

from itertools import accumulate
from typing import assert_never

from tools.number_formatting import format_seconds
from tools.tool_result_values import (
    Card,
    CommandBlock,
)
from widgets.diffstat import split_diffstat
from widgets.key_labels import find_key_and_command_spans
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.leaves import card_leaves as cards
from widgets.transcript.leaves.block_texts import fold_long_prompt, raw_text
from widgets.transcript.leaves.card_header import make_card_header
from widgets.transcript.leaves.image_leaf import ImageLeaf
from widgets.transcript.leaves.layout_leaf import (
    MAX_PROSE_CELLS,
    CentredColumnRowLeaf,
    CentredLineLeaf,
    CentredTextLeaf,
    LayoutLeaf,
    LongTextLeaf,
    OneLineLeaf,
)
from widgets.transcript.leaves.safe_text import cells, clean
from widgets.transcript.leaves.turn_end_leaf import draw_turn_end
from widgets.transcript.markdown.markdown_stream import parse_bounded
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    AppNoteKind,
    Block,
    CardState,
    CustomBlock,
    CustomBlockKind,
    FailureToShow,
    FirstPageRow,
    ReplyBlock,
    ReplyProse,
    ReplyState,
    ReplyThinking,
    ToolCallBlock,
    TurnEndBlock,
    UserPromptBlock,
)

BLOCK_GUTTER = "  "
CUT_OFF_REPLY_MARK = "✂ "
CARD_SIDE_BAR = "│ "
"""The line before each row of an opened card."""
CARD_STATE_GLYPHS = {
    CardState.PENDING: "○",
    CardState.ASKED: "?",
    CardState.RUNNING: "●",
    CardState.DONE: "✓",
    CardState.FAILED: "✗",
    CardState.ABORTED: "⊘",
    CardState.SKIPPED: "–",
}
_CARD_STATE_PILL_STYLES = {
    CardState.FAILED: "state-failed+b|pill-failed",
    CardState.ABORTED: "state-aborted+b|pill-aborted",
}
"""The styles of the words for how a call ended."""
_CARD_STATE_WORDS = {CardState.ABORTED: "stopped"}
"""The words for states whose name is another one."""
_WAITING_CARD_GLYPH = "‖"
CUSTOM_BLOCK_GLYPHS = {
    CustomBlockKind.FILE_MAP: "≡",
    CustomBlockKind.READ_RECOVERY: "↻",
    CustomBlockKind.JOB: "◆",
    CustomBlockKind.COMMAND: "!",
    CustomBlockKind.CELL: "$",
    CustomBlockKind.DIAGNOSTICS: "▲",
    CustomBlockKind.GOAL: "◎",
    CustomBlockKind.COMPACTION: "⊟",
    CustomBlockKind.BRANCH_SUMMARY: "├",
    CustomBlockKind.EXTENSION: "▪",
    CustomBlockKind.HUNK: "±",
}
NOTE_BLOCK_GLYPHS = {
    AppNoteKind.INFO: "·",
    AppNoteKind.SUCCESS: "✓",
    AppNoteKind.WARNING: "▲",
    AppNoteKind.ERROR: "✗",
}


def can_expand(block: Block) -> bool:
    match block:
        case ReplyBlock():
            return any(isinstance(part, ReplyThinking) for part in block.parts)
        case ToolCallBlock() | CustomBlock():
            return bool(block.card.blocks)
        case UserPromptBlock():
            return fold_long_prompt(block.text, BlockExtent.CLOSED) is not None
        case AppNoteBlock() | TurnEndBlock():
            return False
        case _:
            assert_never(block)


def shows_card_content(block: Block, extent: BlockExtent) -> bool:
    """Returns whether a block shows more than one row at this extent and the few lines of a result below it: the
    content of a card, the reason of a failure, text."""
    if isinstance(block, ReplyBlock):
        is_thought = block.state is ReplyState.DONE and not any(
            isinstance(one, ReplyProse) for one in block.parts
        )
        return bool(extent) or not is_thought
    if not isinstance(block, ToolCallBlock | CustomBlock):
        return True
    if isinstance(block, CustomBlock):
        return bool(block.card.blocks) and (bool(extent) or block.preview_lines > 0)
    if extent <= BlockExtent.RESULT:
        return block.state is CardState.FAILED and bool(cards.card_failure_reason(block.card))
    return any(map(cards.has_rows, block.card.blocks))


def draw_block(block: Block, extent: BlockExtent, *, is_whole: bool = False) -> list[LayoutLeaf]:
    match block:
        case UserPromptBlock():
            return draw_user_prompt(block, extent, is_whole=is_whole)
        case ReplyBlock():
            return draw_reply_block(block, is_open=bool(extent))
        case ToolCallBlock():
            return draw_tool_card(block, extent, is_whole=is_whole)
        case CustomBlock():
            return draw_custom_block(block, extent, is_whole=is_whole)
        case AppNoteBlock():
            return draw_note_block(block)
        case TurnEndBlock():
            return draw_turn_end(block, f"{_turn_glyph(block)} ")
        case _:
            assert_never(block)


def _turn_glyph(block: TurnEndBlock) -> str:
    if block.state is CardState.DONE and (block.doubt or block.waiting):
        return NOTE_BLOCK_GLYPHS[AppNoteKind.WARNING] if block.doubt else _WAITING_CARD_GLYPH
    is_plain = block.state is CardState.DONE and not (block.files or block.warning)
    return " " if is_plain else CARD_STATE_GLYPHS[block.state]


def add_side_bar(leaves: list[LayoutLeaf]) -> list[LayoutLeaf]:
    """Adds a line at the left of all rows of an opened card's body, including blank rows."""
    out: list[LayoutLeaf] = []
    for leaf in leaves:
        if leaf.blank:
            out.append(LayoutLeaf("", first=CARD_SIDE_BAR, rest=CARD_SIDE_BAR, prefix_key="rule"))
            leaf.blank = 0
        leaf.first = CARD_SIDE_BAR + leaf.first
        leaf.rest = CARD_SIDE_BAR + leaf.rest
        leaf.prefix_key = "rule" if leaf.prefix_key == "dim" else leaf.prefix_key
        out.append(leaf)
    return out


def draw_user_prompt(
    block: UserPromptBlock, extent: BlockExtent, *, is_whole: bool = False
) -> list[LayoutLeaf]:
    is_open = extent > BlockExtent.PREVIEW and not is_whole and can_expand(block)
    head, below = block.text, list[LayoutLeaf]()
    if not is_whole and (fold := fold_long_prompt(block.text, extent)) is not None:
        link = "full" if is_open else "toggle"
        head = fold.head
        below = [
            LayoutLeaf(fold.left_out, key="user-note", fill="user", link=link),
            *_prompt_leaves(fold.tail),
        ]
    line, _, rest = head.partition("\n") if is_open else (head, "", "")
    leaves = [*_prompt_leaves(line), *(_prompt_leaves(rest) if rest else []), *below]
    leaves[0].link = "toggle" if is_open else ""
    leaves += [ImageLeaf(image, key="user-note", fill="user", is_large=is_whole) for image in block.images]
    for leaf in leaves:
        leaf.first = leaf.rest = BLOCK_GUTTER
        leaf.prefix_key = "user-mark"
    leaves[0].first = "› "
    return leaves


def _prompt_leaves(text: str) -> list[LayoutLeaf]:
    pieces = _split_long_text(clean(text).rstrip("\n"))
    kind = LayoutLeaf if len(pieces) == 1 else LongTextLeaf
    leaves = [kind(piece, key="user", fill="user") for piece in pieces]
    for leaf in leaves:
        leaf.measure = MAX_PROSE_CELLS
    return leaves


_MAX_PROMPT_LEAF_CHARS = 20_000


def _split_long_text(text: str) -> list[str]:
    """Splits a long text into parts of bounded size, at line ends if possible."""
    parts: list[str] = []
    at = 0
    while len(text) - at > _MAX_PROMPT_LEAF_CHARS:
        cut = text.find("\n", at + _MAX_PROMPT_LEAF_CHARS, at + 3 * _MAX_PROMPT_LEAF_CHARS)
        cut = cut if cut >= 0 else at + _MAX_PROMPT_LEAF_CHARS
        parts.append(text[at:cut])
        at = cut + 1 if text[cut] == "\n" else cut
    return [*parts, text[at:]]


def draw_thinking_label(seconds: float | None, *, is_live: bool, is_open: bool, said: str = "") -> LayoutLeaf:
    """Draws the row above a model's thinking: whether it runs, or how long it took. `said`: the latest sentence of
    running thinking that is not shown."""
    if is_live:
        words = "Thinking…"
    elif seconds is None or seconds < 0.5:
        words = "Thought"
    else:
        words = f"Thought for {format_seconds(seconds)}"
    sign = "▾ " if is_open else "▸ "
    parts = [(sign, "thinking-label"), (words, "thinking-label"), (f"  {said}" if said else "", "dim")]
    return OneLineLeaf(parts, flexible=2, link="toggle")


def draw_reply_block(block: ReplyBlock, *, is_open: bool) -> list[LayoutLeaf]:
    leaves: list[LayoutLeaf] = []
    for part in block.parts:
        if not part.text.strip():
            continue
        if isinstance(part, ReplyProse):
            drawn = parse_bounded(clean(part.text), gutter=BLOCK_GUTTER)
        else:
            drawn = [draw_thinking_label(part.seconds, is_live=False, is_open=is_open)]
            if is_open:
                drawn += parse_bounded(clean(part.text), "thinking", BLOCK_GUTTER)
        if leaves and drawn:
            drawn[0].blank = 1
        leaves.extend(drawn)
    return leaves + draw_reply_end(block.state, block.failure, has_text=bool(leaves))


def draw_reply_end(state: ReplyState, failure: FailureToShow | None, *, has_text: bool) -> list[LayoutLeaf]:
    """Draws the lines below a model's reply that ended early: stopped, cut off, replaced or failed; nothing below a
    complete one."""
    blank = int(has_text)
    match state:
        case ReplyState.ABORTED:
            return [LayoutLeaf("⊘ Stopped", key="state-aborted", blank=blank), *_failure_leaves(failure)]
        case ReplyState.REPLACED:
            leaves = _failure_leaves(failure, "state-skipped", f"{CARD_STATE_GLYPHS[CardState.SKIPPED]} ")
        case ReplyState.TRUNCATED:
            failure = failure or FailureToShow(message="The answer reached the model's output limit.")
            leaves = _failure_leaves(failure, "note-warning", CUT_OFF_REPLY_MARK)
        case ReplyState.ERROR:
            failure = failure or FailureToShow(message="The request failed.")
            leaves = _failure_leaves(
                failure, f"note-error|{_RETRY_HINT_BACKGROUND}", ground=_RETRY_HINT_BACKGROUND
            )
        case _:
            return []
    if leaves:
        leaves[0].blank = blank
    return leaves


def _next_step_leaves(text: str) -> list[LayoutLeaf]:
    return [_notice_leaf(text, "hint", "  → ", "    ")] if text else []


def _notice_leaf(text: str, key: str, first: str, rest: str, prefix_key: str = "dim") -> LayoutLeaf:
    """Draws a text of bayou itself as a leaf, with the keys and diff counts in it in their colours."""
    pieces = split_diffstat(clean(text))
    plain = "".join(piece.text for piece in pieces)
    runs = [(start, end, "accent") for start, end in find_key_and_command_spans(plain)]
    ends = list(accumulate(len(piece.text) for piece in pieces))
    runs += [(end - len(text), end, kind) for (text, kind), end in zip(pieces, ends, strict=True) if kind]
    leaf = LayoutLeaf(plain, sorted(runs), key=key, first=first, rest=rest, prefix_key=prefix_key)
    leaf.measure = MAX_PROSE_CELLS
    return leaf


_RETRY_HINT_BACKGROUND = "pill-failed"
"""The ground below the reason of a failed request: that of a failed call's state."""


def _failure_leaves(
    failure: FailureToShow | None, key: str = "note-error", mark: str = "✗ ", *, ground: str = ""
) -> list[LayoutLeaf]:
    if failure is None:
        return []
    leaves = [
        LayoutLeaf(
            clean(failure.message), key=key, first=mark, rest=BLOCK_GUTTER, prefix_key=key, fill=ground
        )
    ]
    if failure.detail:
        leaves.append(LayoutLeaf(clean(failure.detail), key="dim", first=BLOCK_GUTTER, rest=BLOCK_GUTTER))
    for leaf in leaves:
        leaf.measure = MAX_PROSE_CELLS
    leaves += _next_step_leaves(failure.next_step)
    if failure.retry_key:
        pressed = f"↻ {failure.retry_key}"
        runs = [(0, len(pressed), "accent")]
        leaves += [
            LayoutLeaf(
                f"{pressed} retry", runs, key="hint", first=BLOCK_GUTTER, rest=BLOCK_GUTTER, link="retry"
            )
        ]
    return leaves


def draw_folded_burst(card: Card) -> list[LayoutLeaf]:
    """Draws the single row that stands for a folded burst of reading and searching calls."""
    return [make_card_header(("◇", "look"), card, [(card.summary, "summary")], BlockExtent.CLOSED)]


def draw_tool_card(block: ToolCallBlock, extent: BlockExtent, *, is_whole: bool) -> list[LayoutLeaf]:
    state, card = block.state, block.card
    key = f"state-{state}"
    reason = (
        cards.card_failure_reason(card) if state is CardState.FAILED and extent <= BlockExtent.PREVIEW else ""
    )
    is_told = state in (CardState.DONE, CardState.RUNNING, CardState.ASKED)
    word = block.word or ("" if is_told else _CARD_STATE_WORDS.get(state, str(state)))
    if state is CardState.FAILED and (reason or extent or card.summary not in ("", CardState.FAILED)):
        word = ""  # the reason says that it failed
    summary = "" if card.summary in (state, CardState.FAILED) else card.summary
    doubt = card.doubt if state is CardState.DONE else ""
    is_failed = state is CardState.FAILED
    ending = ""
    if is_failed and summary.startswith("exit "):
        ending, _, summary = summary.partition(" · ")
    figures = [
        (word, _CARD_STATE_PILL_STYLES.get(state, key)),
        (doubt, "note-warning"),
        (ending, _CARD_STATE_PILL_STYLES[CardState.FAILED]),
        (summary, key if is_failed else "summary"),
    ]
    is_at_work = state is CardState.RUNNING and bool(block.timing)
    mark = (
        (NOTE_BLOCK_GLYPHS[AppNoteKind.WARNING], "note-warning") if doubt else (CARD_STATE_GLYPHS[state], key)
    )
    top = make_card_header(mark, card, figures, extent, timing=block.timing, is_at_work=is_at_work)
    if reason:
        return [top, *add_side_bar([LayoutLeaf(clean(reason), key="output")])]
    return [
        top,
        *(add_side_bar([LayoutLeaf(clean(block.note), key="text")]) if block.note else ()),
        *_leaves_of_open_card(card, extent, is_running=state is CardState.RUNNING, is_whole=is_whole),
    ]


def _leaves_of_open_card(
    card: Card, extent: BlockExtent, *, is_running: bool, is_whole: bool
) -> list[LayoutLeaf]:
    match extent:
        case BlockExtent.CLOSED:
            return []
        case BlockExtent.RESULT:
            return add_side_bar(
                [OneLineLeaf([(clean(line), "output")], flexible=0) for line in card.last_lines]
            )
        case BlockExtent.PREVIEW:
            return add_side_bar(cards.draw_card_preview(card))
        case BlockExtent.ALL | BlockExtent.WHOLE:
            is_searched = extent is BlockExtent.WHOLE
            return add_side_bar(
                cards.draw_card_body(card, is_running=is_running, is_whole=is_whole, is_searched=is_searched)
            )
        case _:
            assert_never(extent)


def draw_custom_block(block: CustomBlock, extent: BlockExtent, *, is_whole: bool) -> list[LayoutLeaf]:
    key = f"state-{block.state}" if block.state else f"note-{block.tone}" if block.tone else "accent"
    is_told = not block.state or block.state in (CardState.DONE, CardState.RUNNING)
    word = block.label or (
        "" if is_told or not block.state else _CARD_STATE_WORDS.get(block.state, block.state)
    )
    card = block.card
    open_hint = block.open_hint if extent is BlockExtent.CLOSED else ""
    figures = [(word, key), (card.summary, "summary"), (open_hint, "summary")]
    top = make_card_header((CUSTOM_BLOCK_GLYPHS[block.kind], key), card, figures, extent, timing=block.timing)
    if extent is BlockExtent.CLOSED:
        return [top, *_closed_preview(block)]
    is_running = block.state is CardState.RUNNING
    return [top, *_leaves_of_open_card(card, extent, is_running=is_running, is_whole=is_whole)]


def _closed_preview(block: CustomBlock) -> list[LayoutLeaf]:
    """Draws what a closed custom block shows below its header: the first lines of an extension's text, a command's last
    lines of output, or a Python cell's output."""
    if not block.preview_lines:
        return []
    if block.kind is CustomBlockKind.COMMAND:
        return add_side_bar(_output_tail(block))
    if block.kind is CustomBlockKind.CELL:
        return add_side_bar(cards.draw_python_cell_results(block.card, block.preview_lines))
    lines = raw_text(block).rstrip("\n").split("\n")
    shown = add_side_bar(cards.draw_program_output("\n".join(lines[: block.preview_lines])))
    left_out = len(lines) - block.preview_lines
    if left_out > 0:
        words = f"… {left_out:,} more {'line' if left_out == 1 else 'lines'}"
        shown.append(LayoutLeaf(words, key="hint", first=BLOCK_GUTTER, rest=BLOCK_GUTTER, link="toggle"))
    return shown


def _output_tail(block: CustomBlock) -> list[LayoutLeaf]:
    limit = cards.OPEN_CARD_LIMIT._replace(lines=block.preview_lines)
    parts = [part for part in block.card.blocks if isinstance(part, CommandBlock)]
    text = "\n".join(part.output for part in parts)
    is_cut = any(part.is_cut for part in parts)
    return cards.link_omissions_to_card(
        cards.draw_program_output(text, tail=True, limit=limit, is_cut=is_cut)
    )


def draw_note_block(block: AppNoteBlock) -> list[LayoutLeaf]:
    key = f"note-{block.kind}"
    if block.is_centred:
        return _centred_note(block, key)
    text = _notice_leaf(block.text, key, f"{NOTE_BLOCK_GLYPHS[block.kind]} ", BLOCK_GUTTER, key)
    return [text, *_next_step_leaves(block.next_step)]


def _centred_note(block: AppNoteBlock, key: str) -> list[LayoutLeaf]:
    """Draws the first page of a new session in the middle: a drawing, a title, a text and rows."""
    leaves: list[LayoutLeaf] = [
        CentredLineLeaf([(line, "look" if "≈" in line else "accent")], is_alone=True) for line in block.art
    ]
    if block.tagline:
        leaves.append(CentredLineLeaf([(clean(block.tagline), key)], is_alone=True))
    if block.title:
        leaves.append(CentredLineLeaf([(clean(block.title), "text+b")]))
    if block.text:
        text = _notice_leaf(block.text, key, "", "")
        leaves.append(CentredTextLeaf(text.plain, text.runs, key=key, blank=int(bool(leaves))))
    is_compact = bool(block.art) and not block.tagline
    width = max((cells(row.label) for row in block.rows if row.kind != "choice"), default=0)
    for number, row in enumerate(block.rows):
        leaf = _page_row(row, block.label_cells or (3 if row.kind == "choice" else width), key)
        leaf.link = f"row {number}" if row.sends or row.action else ""
        is_first_tip = row.kind == "tip" and number > 0 and block.rows[number - 1].kind == "choice"
        begins_group = is_first_tip or (not number and bool(block.art or block.text))
        leaf.blank = int(begins_group and not is_compact)
        leaves.append(leaf)
    return leaves


def _page_row(row: FirstPageRow, label_width: int, key: str) -> LayoutLeaf:
    """Draws a row of the first page of a new session; its text is cut where there is little room."""
    text, detail, label = clean(row.text), clean(row.detail), clean(row.label)
    match row.kind:
        case "tip":
            return CentredLineLeaf([(label.ljust(label_width + 2), "accent"), (text, key)], flexible=1)
        case "choice":
            gap = " " * (label_width - cells(f" {label} ") + 2)
            parts = [(f" {label} ", "accent+b|turn"), (gap, key), (text, "text"), (f"  {detail}", "summary")]
        case "fact":
            parts = [(label.ljust(label_width), key), ("  ", key), (text, "text"), (f"  {detail}", "accent")]
        case _:
            assert_never(row.kind)
    return CentredColumnRowLeaf(parts, flexible=2)
