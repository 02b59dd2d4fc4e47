"""Draws transcript blocks as leaves (units of layout): each kind of block in each state and extent.

Also tells what must be known of a block without drawing it: its approximate height and its text."""

from itertools import accumulate
from typing import NamedTuple, assert_never

from tools.amounts import format_seconds
from tools.results import (
    Block as CardPart,
)
from tools.results import (
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ImageBlock,
    ListBlock,
    MapBlock,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
)
from widgets.diffstat import split_diffstat
from widgets.key_labels import key_spans
from widgets.transcript.blocks import (
    Block,
    CardBlock,
    CardState,
    CustomBlock,
    CustomKind,
    NoteBlock,
    NoteKind,
    PageRow,
    Prose,
    ReplyBlock,
    ReplyState,
    ShownFailure,
    Thought,
    TurnBlock,
    UserBlock,
)
from widgets.transcript.expansion import Extent
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves import card_leaves as cards
from widgets.transcript.leaves.headline import make_headline
from widgets.transcript.leaves.leaf import (
    MAX_PROSE_CELLS,
    CentredLine,
    CentredRow,
    CentredText,
    Leaf,
    LongText,
    OneLine,
)
from widgets.transcript.leaves.picture_leaf import MAX_IMAGE_ROWS, PictureLeaf
from widgets.transcript.leaves.safe_text import cells, clean
from widgets.transcript.leaves.turn_leaf import draw_turn, turn_text
from widgets.transcript.markdown.markdown_stream import parse_bounded

GUTTER = "  "
CUT_OFF_MARK = "✂ "
SIDE_BAR = "│ "
"""The line before each row of an opened card."""
STATE_GLYPHS = {
    CardState.PENDING: "○",
    CardState.ASKED: "?",
    CardState.RUNNING: "●",
    CardState.DONE: "✓",
    CardState.FAILED: "✗",
    CardState.ABORTED: "⊘",
    CardState.SKIPPED: "–",
}
_PILL_STYLES = {
    CardState.FAILED: "state-failed+b|pill-failed",
    CardState.ABORTED: "state-aborted+b|pill-aborted",
}
"""The styles of the words for how a call ended."""
_STATE_WORDS = {CardState.ABORTED: "stopped"}
"""The words for states whose name is another one."""
_WAITING_GLYPH = "‖"
CUSTOM_GLYPHS = {
    CustomKind.FILE_MAP: "≡",
    CustomKind.READ_RECOVERY: "↻",
    CustomKind.JOB: "◆",
    CustomKind.COMMAND: "!",
    CustomKind.CELL: "$",
    CustomKind.DIAGNOSTICS: "▲",
    CustomKind.GOAL: "◎",
    CustomKind.COMPACTION: "⊟",
    CustomKind.BRANCH_SUMMARY: "├",
    CustomKind.EXTENSION: "▪",
    CustomKind.HUNK: "±",
}
NOTE_GLYPHS = {NoteKind.INFO: "·", NoteKind.SUCCESS: "✓", NoteKind.WARNING: "▲", NoteKind.ERROR: "✗"}


def can_expand(block: Block) -> bool:
    match block:
        case ReplyBlock():
            return any(isinstance(part, Thought) for part in block.parts)
        case CardBlock() | CustomBlock():
            return bool(block.card.blocks)
        case UserBlock():
            return _fold_long_prompt(block.text, Extent.CLOSED) is not None
        case NoteBlock() | TurnBlock():
            return False
        case _:
            assert_never(block)


def shows_lines(block: Block, extent: Extent) -> bool:
    """Returns whether the card of a tool call shows more than its header at this extent: content, or the reason of a
    failure."""
    if isinstance(block, CardBlock) and block.note:
        return True
    if not isinstance(block, CardBlock | CustomBlock) or not block.card.blocks:
        return False
    if isinstance(block, CustomBlock):
        return bool(extent) or block.preview_lines > 0
    return bool(extent) or (block.state is CardState.FAILED and bool(cards.failure_reason(block.card)))


def draw_block(block: Block, extent: Extent, *, is_whole: bool = False) -> list[Leaf]:
    match block:
        case UserBlock():
            return draw_user(block, extent, is_whole=is_whole)
        case ReplyBlock():
            return draw_reply(block, is_open=bool(extent))
        case CardBlock():
            return draw_card(block, extent, is_whole=is_whole)
        case CustomBlock():
            return draw_custom(block, extent, is_whole=is_whole)
        case NoteBlock():
            return draw_note(block)
        case TurnBlock():
            return [draw_turn(block, f"{_turn_glyph(block)} ")]
        case _:
            assert_never(block)


def _turn_glyph(block: TurnBlock) -> str:
    if block.state is CardState.DONE and (block.doubt or block.waiting):
        return NOTE_GLYPHS[NoteKind.WARNING] if block.doubt else _WAITING_GLYPH
    return STATE_GLYPHS[block.state]


def with_side_bar(leaves: list[Leaf]) -> list[Leaf]:
    """Adds a line at the left of all rows of an opened card's body, including blank rows."""
    out: list[Leaf] = []
    for leaf in leaves:
        if leaf.blank:
            out.append(Leaf("", first=SIDE_BAR, rest=SIDE_BAR, prefix_key="rule"))
            leaf.blank = 0
        leaf.first = SIDE_BAR + leaf.first
        leaf.rest = SIDE_BAR + leaf.rest
        leaf.prefix_key = "rule" if leaf.prefix_key == "dim" else leaf.prefix_key
        out.append(leaf)
    return out


class _FoldedPrompt(NamedTuple):
    """The shown parts of a long prompt without its middle. The end is kept, because the question about a pasted text
    often is there."""

    head: str
    left_out: str
    """Says how much is missing."""
    tail: str


_MAX_PROMPT = cards.TextLimit(40, 8_000)
"""A longer prompt is folded: longer than what people write, so that it is mostly a paste."""
_PROMPT_HEAD = cards.TextLimit(8, 1_600)
_PROMPT_TAIL = cards.TextLimit(2, 400)


def _fold_long_prompt(text: str, extent: Extent) -> _FoldedPrompt | None:
    """Returns the shown parts of a long prompt, whose middle is left out; None if all of it is shown."""
    text = text.rstrip("\n")
    most = head = cards.OPEN_CARD_LIMIT
    if extent <= Extent.PREVIEW:
        most, head = _MAX_PROMPT, _PROMPT_HEAD
    if extent is Extent.WHOLE or (len(text) <= most.characters and text.count("\n") < most.lines):
        return None
    shown = "\n".join(text[: head.characters].split("\n")[: head.lines])
    rest = text[len(shown) :].removeprefix("\n")
    end = "\n".join(rest[-_PROMPT_TAIL.characters :].split("\n")[-_PROMPT_TAIL.lines :])
    middle = rest[: len(rest) - len(end)]
    if not middle:
        return None
    count, unit = middle.count("\n"), "line"
    if not count:
        count, unit = len(middle), "character"
    return _FoldedPrompt(shown, f"… {count:,} more {unit}{'' if count == 1 else 's'}", end)


def draw_user(block: UserBlock, extent: Extent, *, is_whole: bool = False) -> list[Leaf]:
    is_open = extent > Extent.PREVIEW and not is_whole and can_expand(block)
    head, below = block.text, list[Leaf]()
    if not is_whole and (fold := _fold_long_prompt(block.text, extent)) is not None:
        link = "full" if is_open else "toggle"
        head = fold.head
        below = [Leaf(fold.left_out, key="user-note", fill="user", link=link), *_prompt_leaves(fold.tail)]
    line, _, rest = head.partition("\n") if is_open else (head, "", "")
    leaves = [*_prompt_leaves(line), *(_prompt_leaves(rest) if rest else []), *below]
    leaves[0].link = "toggle" if is_open else ""
    leaves += [PictureLeaf(image, key="user-note", fill="user", is_large=is_whole) for image in block.images]
    for leaf in leaves:
        leaf.first = leaf.rest = GUTTER
        leaf.prefix_key = "user-mark"
    leaves[0].first = "› "
    return leaves


def _prompt_leaves(text: str) -> list[Leaf]:
    pieces = _split_long_text(clean(text).rstrip("\n"))
    kind = Leaf if len(pieces) == 1 else LongText
    leaves = [kind(piece, key="user", fill="user") for piece in pieces]
    for leaf in leaves:
        leaf.measure = MAX_PROSE_CELLS
    return leaves


_MAX_PIECE_CHARS = 20_000


def _split_long_text(text: str) -> list[str]:
    """Splits a long text into parts of bounded size, at line ends if possible."""
    parts: list[str] = []
    at = 0
    while len(text) - at > _MAX_PIECE_CHARS:
        cut = text.find("\n", at + _MAX_PIECE_CHARS, at + 3 * _MAX_PIECE_CHARS)
        cut = cut if cut >= 0 else at + _MAX_PIECE_CHARS
        parts.append(text[at:cut])
        at = cut + 1 if text[cut] == "\n" else cut
    return [*parts, text[at:]]


def draw_thinking_label(seconds: float | None, *, is_live: bool, is_open: bool, said: str = "") -> Leaf:
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
    return OneLine(parts, flexible=2, link="toggle")


def draw_reply(block: ReplyBlock, *, is_open: bool) -> list[Leaf]:
    leaves: list[Leaf] = []
    for part in block.parts:
        if not part.text.strip():
            continue
        if isinstance(part, Prose):
            drawn = parse_bounded(clean(part.text), gutter=GUTTER)
        else:
            drawn = [draw_thinking_label(part.seconds, is_live=False, is_open=is_open)]
            if is_open:
                drawn += parse_bounded(clean(part.text), "thinking", GUTTER)
        if leaves and drawn:
            drawn[0].blank = 1
        leaves.extend(drawn)
    return leaves + draw_reply_end(block.state, block.failure, has_text=bool(leaves))


def draw_reply_end(state: ReplyState, failure: ShownFailure | None, *, has_text: bool) -> list[Leaf]:
    """Draws the lines below a model's reply that ended early: stopped, cut off, replaced or failed; nothing below a
    complete one."""
    blank = int(has_text)
    match state:
        case ReplyState.ABORTED:
            return [Leaf("⊘ Stopped", key="state-aborted", blank=blank), *_failure_leaves(failure)]
        case ReplyState.REPLACED:
            leaves = _failure_leaves(failure, "state-skipped", f"{STATE_GLYPHS[CardState.SKIPPED]} ")
        case ReplyState.TRUNCATED:
            failure = failure or ShownFailure(message="The answer reached the model's output limit.")
            leaves = _failure_leaves(failure, "note-warning", CUT_OFF_MARK)
        case ReplyState.ERROR:
            failure = failure or ShownFailure(message="The request failed.")
            leaves = _failure_leaves(failure, f"note-error|{_REQUEST_GROUND}", ground=_REQUEST_GROUND)
        case _:
            return []
    if leaves:
        leaves[0].blank = blank
    return leaves


def _next_step_leaves(text: str) -> list[Leaf]:
    return [_notice_leaf(text, "hint", "  → ", "    ")] if text else []


def _notice_leaf(text: str, key: str, first: str, rest: str, prefix_key: str = "dim") -> Leaf:
    """Draws a text of bayou itself as a leaf, with the keys and diff counts in it in their colours."""
    pieces = split_diffstat(clean(text))
    plain = "".join(piece.text for piece in pieces)
    runs = [(start, end, "accent") for start, end in key_spans(plain)]
    ends = list(accumulate(len(piece.text) for piece in pieces))
    runs += [(end - len(text), end, kind) for (text, kind), end in zip(pieces, ends, strict=True) if kind]
    leaf = Leaf(plain, sorted(runs), key=key, first=first, rest=rest, prefix_key=prefix_key)
    leaf.measure = MAX_PROSE_CELLS
    return leaf


_REQUEST_GROUND = "pill-failed"
"""The ground below the reason of a failed request: that of a failed call's state."""


def _failure_leaves(
    failure: ShownFailure | None, key: str = "note-error", mark: str = "✗ ", *, ground: str = ""
) -> list[Leaf]:
    if failure is None:
        return []
    leaves = [Leaf(clean(failure.message), key=key, first=mark, rest=GUTTER, prefix_key=key, fill=ground)]
    if failure.detail:
        leaves.append(Leaf(clean(failure.detail), key="dim", first=GUTTER, rest=GUTTER))
    for leaf in leaves:
        leaf.measure = MAX_PROSE_CELLS
    leaves += _next_step_leaves(failure.next_step)
    if failure.retry_key:
        pressed = f"↻ {failure.retry_key}"
        runs = [(0, len(pressed), "accent")]
        leaves += [Leaf(f"{pressed} retry", runs, key="hint", first=GUTTER, rest=GUTTER, link="retry")]
    return leaves


def draw_explored(card: Card) -> list[Leaf]:
    """Draws the single row that stands for a folded burst of reading and searching calls."""
    return [make_headline(("◇", "look"), card, [(card.summary, "summary")], Extent.CLOSED)]


def draw_card(block: CardBlock, extent: Extent, *, is_whole: bool) -> list[Leaf]:
    state, card = block.state, block.card
    key = f"state-{state}"
    reason = cards.failure_reason(card) if state is CardState.FAILED and extent <= Extent.PREVIEW else ""
    is_told = state in (CardState.DONE, CardState.RUNNING, CardState.ASKED) or block.note
    word = "" if is_told else _STATE_WORDS.get(state, str(state))
    if state is CardState.FAILED and (reason or extent or card.summary not in ("", CardState.FAILED)):
        word = ""  # the reason says that it failed
    if block.note and state is CardState.ABORTED:
        word = "denied"
    summary = "" if card.summary in (state, CardState.FAILED) else card.summary
    doubt = card.doubt if state is CardState.DONE else ""
    is_failed = state is CardState.FAILED
    ending = ""
    if is_failed and summary.startswith("exit "):
        ending, _, summary = summary.partition(" · ")
    figures = [
        (word, _PILL_STYLES.get(state, key)),
        (doubt, "note-warning"),
        (ending, _PILL_STYLES[CardState.FAILED]),
        (summary, key if is_failed else "summary"),
        (block.timing, "summary"),
    ]
    is_at_work = state is CardState.RUNNING and bool(block.timing)
    mark = (NOTE_GLYPHS[NoteKind.WARNING], "note-warning") if doubt else (STATE_GLYPHS[state], key)
    top = make_headline(mark, card, figures, extent, is_at_work=is_at_work)
    if reason:
        return [top, *with_side_bar([Leaf(clean(reason), key="output")])]
    return [
        top,
        *(with_side_bar([Leaf(clean(block.note), key="text")]) if block.note else ()),
        *_leaves_of_open_card(card, extent, is_running=state is CardState.RUNNING, is_whole=is_whole),
    ]


def _leaves_of_open_card(card: Card, extent: Extent, *, is_running: bool, is_whole: bool) -> list[Leaf]:
    match extent:
        case Extent.CLOSED:
            return []
        case Extent.RESULT:
            return with_side_bar([OneLine([(clean(line), "output")], flexible=0) for line in card.last_lines])
        case Extent.PREVIEW:
            return with_side_bar(cards.draw_preview(card))
        case Extent.ALL | Extent.WHOLE:
            is_searched = extent is Extent.WHOLE
            return with_side_bar(
                cards.draw_body(card, is_running=is_running, is_whole=is_whole, is_searched=is_searched)
            )
        case _:
            assert_never(extent)


def draw_custom(block: CustomBlock, extent: Extent, *, is_whole: bool) -> list[Leaf]:
    key = f"state-{block.state}" if block.state else f"note-{block.tone}" if block.tone else "accent"
    is_told = not block.state or block.state in (CardState.DONE, CardState.RUNNING)
    word = block.label or ("" if is_told or not block.state else _STATE_WORDS.get(block.state, block.state))
    card = block.card
    open_hint = block.open_hint if extent is Extent.CLOSED else ""
    figures = [(word, key), (card.summary, "summary"), (block.timing, "summary"), (open_hint, "summary")]
    top = make_headline((CUSTOM_GLYPHS[block.kind], key), card, figures, extent)
    if extent is Extent.CLOSED:
        return [top, *_closed_preview(block)]
    is_running = block.state is CardState.RUNNING
    return [top, *_leaves_of_open_card(card, extent, is_running=is_running, is_whole=is_whole)]


def _closed_preview(block: CustomBlock) -> list[Leaf]:
    """Draws what a closed custom block shows below its header: the first lines of an extension's text, a command's last
    lines of output, or a Python cell's output."""
    if not block.preview_lines:
        return []
    if block.kind is CustomKind.COMMAND:
        return with_side_bar(_output_tail(block))
    if block.kind is CustomKind.CELL:
        return with_side_bar(cards.draw_without_code(block.card, block.preview_lines))
    lines = raw_text(block).rstrip("\n").split("\n")
    shown = with_side_bar(cards.draw_output("\n".join(lines[: block.preview_lines])))
    left_out = len(lines) - block.preview_lines
    if left_out > 0:
        words = f"… {left_out:,} more {'line' if left_out == 1 else 'lines'}"
        shown.append(Leaf(words, key="hint", first=GUTTER, rest=GUTTER, link="toggle"))
    return shown


def _output_tail(block: CustomBlock) -> list[Leaf]:
    limit = cards.OPEN_CARD_LIMIT._replace(lines=block.preview_lines)
    parts = [part for part in block.card.blocks if isinstance(part, CommandBlock)]
    text = "\n".join(part.output for part in parts)
    is_cut = any(part.is_cut for part in parts)
    return cards.link_omissions_to_card(cards.draw_output(text, tail=True, limit=limit, is_cut=is_cut))


def draw_note(block: NoteBlock) -> list[Leaf]:
    key = f"note-{block.kind}"
    if block.is_centred:
        return _centred_note(block, key)
    text = _notice_leaf(block.text, key, f"{NOTE_GLYPHS[block.kind]} ", GUTTER, key)
    return [text, *_next_step_leaves(block.next_step)]


def _centred_note(block: NoteBlock, key: str) -> list[Leaf]:
    """Draws the first page of a new session in the middle: a drawing, a title, a text and rows."""
    leaves: list[Leaf] = [
        CentredLine([(line, "look" if "≈" in line else "accent")], is_alone=True) for line in block.art
    ]
    if block.tagline:
        leaves.append(CentredLine([(clean(block.tagline), key)], is_alone=True))
    if block.title:
        leaves.append(CentredLine([(clean(block.title), "text+b")]))
    if block.text:
        text = _notice_leaf(block.text, key, "", "")
        leaves.append(CentredText(text.plain, text.runs, key=key, blank=int(bool(leaves))))
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


def _page_row(row: PageRow, label_width: int, key: str) -> Leaf:
    """Draws a row of the first page of a new session; its text is cut where there is little room."""
    text, detail, label = clean(row.text), clean(row.detail), clean(row.label)
    match row.kind:
        case "tip":
            return CentredLine([(label.ljust(label_width + 2), "accent"), (text, key)], flexible=1)
        case "choice":
            gap = " " * (label_width - cells(f" {label} ") + 2)
            parts = [(f" {label} ", "accent+b|turn"), (gap, key), (text, "text"), (f"  {detail}", "summary")]
        case "fact":
            parts = [(label.ljust(label_width), key), ("  ", key), (text, "text"), (f"  {detail}", "accent")]
        case _:
            assert_never(row.kind)
    return CentredRow(parts, flexible=2)


def raw_text(block: Block) -> str:
    """Returns a block's source text, as it is copied: Markdown, output, or a diff with its signs."""
    match block:
        case UserBlock():
            return block.text
        case NoteBlock():
            return _note_text(block)
        case TurnBlock():
            return turn_text(block)
        case ReplyBlock():
            return "\n\n".join(part.text for part in block.parts if isinstance(part, Prose))
        case CardBlock() | CustomBlock():
            note = block.note if isinstance(block, CardBlock) else ""
            return "\n".join(filter(None, (note, *map(_raw_part_text, block.card.blocks))))
        case _:
            assert_never(block)


def search_text(block: Block) -> str:
    """Returns all text of a block that a search covers, drawn or not, including thinking and the headers of cards."""
    if isinstance(block, ReplyBlock):
        return "\n".join(part.text for part in block.parts)
    text = raw_text(block)
    if isinstance(block, CardBlock | CustomBlock):
        card = block.card
        head = f"{card.title} {card.subject} {card.summary}"
        return f"{head}\n{text}" if text else head
    return text


def _note_text(block: NoteBlock) -> str:
    rows = ("  ".join(filter(None, (row.label, row.text, row.detail))) for row in block.rows)
    return "\n".join(filter(None, (block.title, block.text, *rows)))


def _raw_part_text(part: CardPart) -> str:
    match part:
        case TextBlock():
            return ansi_text.strip_ansi(part.text)
        case MarkdownBlock() | FileBlock() | MapBlock():
            return part.text
        case DiffBlock():
            return part.diff
        case CommandBlock():
            return f"$ {part.command}\n{ansi_text.strip_ansi(part.output)}"
        case ListBlock():
            return "\n".join(part.items)
        case TreeBlock():
            return "\n".join(line for root in part.roots for line in cards.tree_lines(root))
        case TableBlock():
            return "\n".join("\t".join(row) for row in (part.header, *part.rows))
        case ImageBlock():
            return ""
        case _:
            assert_never(part)


class TextSize(NamedTuple):
    """The number of lines and characters of a block, from which its height at any width is estimated."""

    lines: int
    characters: int
    """The number of characters in lines that may wrap; 0 if all lines are short."""


def estimate_size(block: Block, extent: Extent) -> TextSize:
    """Estimates how many lines and characters a block draws at an extent, without drawing it."""
    match block:
        case UserBlock():
            fold = _fold_long_prompt(block.text, extent)
            texts = [block.text] if fold is None else [*fold]
            return _sum_sizes(sum(map(_image_row_count, block.images)), texts)
        case TurnBlock():
            return _sum_sizes(1, [])
        case NoteBlock():
            return _sum_sizes(len(block.art) + 2 * block.is_centred, [_note_text(block)])
        case ReplyBlock():
            texts = [part.text for part in block.parts if extent or isinstance(part, Prose)]
            return _sum_sizes(2 * len(block.parts) - 1 - len(texts), texts)
        case CustomBlock(preview_lines=peek) if peek and not extent:
            return _sum_sizes(2, raw_text(block).split("\n", peek)[:peek])
        case CardBlock(card=card) if extent is Extent.RESULT:
            return _sum_sizes(1 + len(card.last_lines), [])
        case CardBlock() | CustomBlock():
            parts = block.card.blocks if extent else ()
            images = sum(_image_row_count(part) for part in parts if isinstance(part, ImageBlock))
            most = None if extent > Extent.PREVIEW else cards.PREVIEW_LIMIT.lines
            return _sum_sizes(
                1 + images,
                ["\n".join(_estimated_part_text(part).split("\n", most or -1)[:most]) for part in parts],
            )
        case _:
            assert_never(block)


def _image_row_count(image: ImageBlock) -> int:
    return 1 + (MAX_IMAGE_ROWS if image.data else 0)


def _estimated_part_text(part: CardPart) -> str:
    if isinstance(part, CommandBlock):
        return part.output
    return part.text if isinstance(part, TextBlock) else _raw_part_text(part)


def _sum_sizes(lines: int, texts: list[str]) -> TextSize:
    characters = 0
    for text in texts:
        count = text.count("\n") + 1
        lines += count
        if count <= 4 or len(text) > 50 * count:
            characters += len(text)
    return TextSize(max(1, lines), characters)
