"""Draws blocks as leaves: each kind of block in each state and extent.

Also answers what a block must know without being drawn: its approximate height and its text."""

from itertools import accumulate
from typing import NamedTuple, assert_never

from tools.amounts import duration
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
    Prose,
    ReplyBlock,
    ReplyState,
    ShownFailure,
    Thought,
    UserBlock,
)
from widgets.transcript.expansion import Extent
from widgets.transcript.leaves import ansi
from widgets.transcript.leaves import card_leaves as cards
from widgets.transcript.leaves.headline import headline
from widgets.transcript.leaves.leaf import Leaf, LongText, OneLine
from widgets.transcript.leaves.picture_leaf import MAX_ROWS, PictureLeaf
from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.markdown.markdown_stream import parse_bounded

GUTTER = "  "
LIMIT_MARK = "✂ "
BAR = "│ "
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
NOTE_GLYPHS = {NoteKind.INFO: "i", NoteKind.SUCCESS: "✓", NoteKind.WARNING: "▲", NoteKind.ERROR: "✗"}


def can_expand(block: Block) -> bool:
    match block:
        case ReplyBlock():
            return any(isinstance(part, Thought) for part in block.parts)
        case CardBlock() | CustomBlock():
            return bool(block.card.blocks)
        case UserBlock():
            return _fold(block.text, Extent.CLOSED) is not None
        case NoteBlock():
            return False
        case _:
            assert_never(block)


def shows_lines(block: Block, extent: Extent) -> bool:
    """Returns whether a card shows more than its header: content, or the reason of a failure."""
    if not isinstance(block, CardBlock | CustomBlock) or not block.card.blocks:
        return False
    if isinstance(block, CustomBlock):
        return bool(extent) or block.peek > 0
    return bool(extent) or (block.state is CardState.FAILED and bool(cards.reason(block.card)))


def draw(block: Block, extent: Extent, *, is_whole: bool = False) -> list[Leaf]:
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
        case _:
            assert_never(block)


def barred(leaves: list[Leaf]) -> list[Leaf]:
    """Draws a line down the side of a card's body, including blank rows."""
    out: list[Leaf] = []
    for leaf in leaves:
        if leaf.blank:
            out.append(Leaf("", first=BAR, rest=BAR, prefix_key="rule"))
            leaf.blank = 0
        leaf.first = BAR + leaf.first
        leaf.rest = BAR + leaf.rest
        leaf.prefix_key = "rule" if leaf.prefix_key == "dim" else leaf.prefix_key
        out.append(leaf)
    return out


class _Fold(NamedTuple):
    """A long prompt without its middle: the end stays, where the question about a paste often is."""

    head: str
    left_out: str
    """Says how much is missing."""
    tail: str


_LONG_PROMPT = cards.Limit(40, 8_000)
"""A longer prompt is folded: longer than what people write, so that it is mostly a paste."""
_HEAD_OF_PROMPT = cards.Limit(8, 1_600)
_TAIL_OF_PROMPT = cards.Limit(2, 400)


def _fold(text: str, extent: Extent) -> _Fold | None:
    """Leaves out the middle of a long prompt; None if all of it is shown."""
    text = text.rstrip("\n")
    most = head = cards.IN_PLACE
    if extent <= Extent.PREVIEW:
        most, head = _LONG_PROMPT, _HEAD_OF_PROMPT
    if extent is Extent.WHOLE or (len(text) <= most.characters and text.count("\n") < most.lines):
        return None
    shown = "\n".join(text[: head.characters].split("\n")[: head.lines])
    rest = text[len(shown) :].removeprefix("\n")
    end = "\n".join(rest[-_TAIL_OF_PROMPT.characters :].split("\n")[-_TAIL_OF_PROMPT.lines :])
    middle = rest[: len(rest) - len(end)]
    if not middle:
        return None
    count, unit = middle.count("\n"), "line"
    if not count:
        count, unit = len(middle), "character"
    return _Fold(shown, f"… {count:,} more {unit}{'' if count == 1 else 's'}", end)


def draw_user(block: UserBlock, extent: Extent, *, is_whole: bool = False) -> list[Leaf]:
    is_open = extent > Extent.PREVIEW and not is_whole and can_expand(block)
    head, below = block.text, list[Leaf]()
    if not is_whole and (fold := _fold(block.text, extent)) is not None:
        link = "full" if is_open else "toggle"
        head = fold.head
        below = [Leaf(fold.left_out, key="user-note", fill="user", link=link), *_prompt(fold.tail)]
    line, _, rest = head.partition("\n") if is_open else (head, "", "")
    leaves = [*_prompt(line), *(_prompt(rest) if rest else []), *below]
    leaves[0].link = "toggle" if is_open else ""
    leaves += [PictureLeaf(image, key="user-note", fill="user", is_large=is_whole) for image in block.images]
    for leaf in leaves:
        leaf.first = leaf.rest = GUTTER
        leaf.prefix_key = "user-mark"
    leaves[0].first = "› "
    return leaves


def _prompt(text: str) -> list[Leaf]:
    pieces = _pieces_of(clean(text).rstrip("\n"))
    kind = Leaf if len(pieces) == 1 else LongText
    return [kind(piece, key="user", fill="user") for piece in pieces]


_PIECE_CHARS = 20_000


def _pieces_of(text: str) -> list[str]:
    """Splits a long text into parts of bounded size, at line ends if possible."""
    parts: list[str] = []
    at = 0
    while len(text) - at > _PIECE_CHARS:
        cut = text.find("\n", at + _PIECE_CHARS, at + 3 * _PIECE_CHARS)
        cut = cut if cut >= 0 else at + _PIECE_CHARS
        parts.append(text[at:cut])
        at = cut + 1 if text[cut] == "\n" else cut
    return [*parts, text[at:]]


def thinking_label(seconds: float | None, *, is_live: bool, is_open: bool, said: str = "") -> Leaf:
    """Draws the label of a thought. `said`: the latest sentence of a running thought that is not shown."""
    if is_live:
        words = "Thinking…"
    elif seconds is None or seconds < 0.5:
        words = "Thought"
    else:
        words = f"Thought for {duration(seconds)}"
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
            drawn = [thinking_label(part.seconds, is_live=False, is_open=is_open)]
            if is_open:
                drawn += parse_bounded(clean(part.text), "thinking", GUTTER)
        if leaves and drawn:
            drawn[0].blank = 1
        leaves.extend(drawn)
    return leaves + reply_end(block.state, block.failure, has_text=bool(leaves))


def reply_end(state: ReplyState, failure: ShownFailure | None, *, has_text: bool) -> list[Leaf]:
    """Draws the message below a reply that did not end well."""
    blank = int(has_text)
    match state:
        case ReplyState.ABORTED:
            return [Leaf("⊘ aborted", key="state-aborted", blank=blank), *_failure(failure)]
        case ReplyState.TRUNCATED:
            failure = failure or ShownFailure(message="The answer reached the model's output limit.")
            leaves = _failure(failure, "note-warning", LIMIT_MARK)
        case ReplyState.ERROR:
            leaves = _failure(failure or ShownFailure(message="The request failed."))
        case _:
            return []
    leaves[0].blank = blank
    return leaves


def _next_step(text: str) -> list[Leaf]:
    return [_notice_leaf(text, "hint", "  → ", "    ")] if text else []


def _notice_leaf(text: str, key: str, first: str, rest: str, prefix_key: str = "dim") -> Leaf:
    """Draws a message of bayou, with keys and diff counts in their colours."""
    pieces = split_diffstat(clean(text))
    plain = "".join(piece.text for piece in pieces)
    runs = [(start, end, "accent") for start, end in key_spans(plain)]
    ends = list(accumulate(len(piece.text) for piece in pieces))
    runs += [(end - len(text), end, kind) for (text, kind), end in zip(pieces, ends, strict=True) if kind]
    return Leaf(plain, sorted(runs), key=key, first=first, rest=rest, prefix_key=prefix_key)


def _failure(failure: ShownFailure | None, key: str = "note-error", mark: str = "✗ ") -> list[Leaf]:
    if failure is None:
        return []
    leaves = [Leaf(clean(failure.message), key=key, first=mark, rest=GUTTER, prefix_key=key)]
    leaves += _next_step(failure.next_step)
    if failure.retry_key:
        pressed = f"↻ {failure.retry_key}"
        runs = [(0, len(pressed), "accent")]
        leaves += [Leaf(f"{pressed} tries again.", runs, key="hint", first=GUTTER, rest=GUTTER, link="retry")]
    return leaves


def draw_card(block: CardBlock, extent: Extent, *, is_whole: bool) -> list[Leaf]:
    state, card = block.state, block.card
    key = f"state-{state}"
    reason = cards.reason(card) if state is CardState.FAILED and extent <= Extent.PREVIEW else ""
    word = "" if state in (CardState.DONE, CardState.RUNNING, CardState.ASKED) else str(state)
    if state is CardState.FAILED and (reason or extent or card.summary not in ("", CardState.FAILED)):
        word = ""  # the reason says that it failed
    summary = "" if card.summary in (state, CardState.FAILED) else card.summary
    doubt = card.doubt if state is CardState.DONE else ""
    figures = [
        (word, key),
        (doubt, "note-warning"),
        (summary, key if state is CardState.FAILED else "summary"),
        (block.timing, "summary"),
    ]
    is_at_work = state is CardState.RUNNING and bool(block.timing)
    mark = (NOTE_GLYPHS[NoteKind.WARNING], "note-warning") if doubt else (STATE_GLYPHS[state], key)
    top = headline(mark, card, figures, extent, is_at_work=is_at_work)
    if reason:
        return [top, *barred([Leaf(clean(reason), key="output")])]
    return [top, *_opened(card, extent, is_running=state is CardState.RUNNING, is_whole=is_whole)]


def _opened(card: Card, extent: Extent, *, is_running: bool, is_whole: bool) -> list[Leaf]:
    match extent:
        case Extent.CLOSED:
            return []
        case Extent.RESULT:
            return barred([OneLine([(clean(line), "output")], flexible=0) for line in card.last_lines])
        case Extent.PREVIEW:
            return barred(cards.preview(card))
        case Extent.ALL | Extent.WHOLE:
            is_searched = extent is Extent.WHOLE
            return barred(cards.body(card, is_running=is_running, is_whole=is_whole, is_searched=is_searched))
        case _:
            assert_never(extent)


def draw_custom(block: CustomBlock, extent: Extent, *, is_whole: bool) -> list[Leaf]:
    key = f"state-{block.state}" if block.state else f"note-{block.tone}" if block.tone else "accent"
    is_told = not block.state or block.state in (CardState.DONE, CardState.RUNNING)
    word = block.label or ("" if is_told else str(block.state))
    card = block.card
    open_hint = block.open_hint if extent is Extent.CLOSED else ""
    figures = [(word, key), (card.summary, "summary"), (block.timing, "summary"), (open_hint, "summary")]
    top = headline((CUSTOM_GLYPHS[block.kind], key), card, figures, extent)
    if extent is Extent.CLOSED:
        return [top, *_first_lines(block)]
    is_running = block.state is CardState.RUNNING
    return [top, *_opened(card, extent, is_running=is_running, is_whole=is_whole)]


def _first_lines(block: CustomBlock) -> list[Leaf]:
    """Returns the first lines of an extension's block as plain text, or the last lines of a command's
    output."""
    if not block.peek:
        return []
    if block.kind is CustomKind.COMMAND:
        return barred(_end_of_output(block))
    if block.kind is CustomKind.CELL:
        return barred(cards.without_code(block.card, block.peek))
    lines = raw_text(block).rstrip("\n").split("\n")
    shown = barred(cards.output("\n".join(lines[: block.peek])))
    left_out = len(lines) - block.peek
    if left_out > 0:
        words = f"… {left_out:,} more {'line' if left_out == 1 else 'lines'}"
        shown.append(Leaf(words, key="hint", first=GUTTER, rest=GUTTER, link="toggle"))
    return shown


def _end_of_output(block: CustomBlock) -> list[Leaf]:
    limit = cards.IN_PLACE._replace(lines=block.peek)
    parts = [part for part in block.card.blocks if isinstance(part, CommandBlock)]
    text = "\n".join(part.output for part in parts)
    is_cut = any(part.is_cut for part in parts)
    return cards.opening(cards.output(text, tail=True, limit=limit, is_cut=is_cut))


def draw_note(block: NoteBlock) -> list[Leaf]:
    key = f"note-{block.kind}"
    glyph = f"{NOTE_GLYPHS[block.kind]} "
    text = _notice_leaf(block.text, key, glyph, GUTTER, key)
    if not block.title:
        return [text, *_next_step(block.next_step)]
    text.first = GUTTER
    glyph = f"{block.mark} " if block.mark else glyph
    title = Leaf(clean(block.title), key="accent+b", first=glyph, rest=GUTTER, prefix_key="accent")
    told = [text] if block.text else []
    return [title, *told, *_suggestion_rows(block, key), *_hints(block, key)]


def _suggestion_rows(block: NoteBlock, key: str) -> list[Leaf]:
    """Returns the suggested requests in aligned columns: number, request, description."""
    width = max((len(typed) for typed, _ in block.tries), default=0) + 3
    return [
        OneLine(
            [(f"{number}  ", "accent"), (f"{clean(typed):<{width}}", "text"), (clean(shows), key)],
            flexible=2,
            first=GUTTER,
            blank=int(number == 1),
        )
        for number, (typed, shows) in enumerate(block.tries, 1)
    ]


def _hints(block: NoteBlock, key: str) -> list[Leaf]:
    width = max((len(pressed) for pressed, _ in block.hints), default=0) + 2
    return [
        OneLine(
            [(f"{clean(pressed):<{width}}", "accent"), (clean(does), key)],
            flexible=1,
            first=GUTTER,
            blank=int(number == 0),
        )
        for number, (pressed, does) in enumerate(block.hints)
    ]


def raw_text(block: Block) -> str:
    """Returns the source text: Markdown, output, or a diff with its signs."""
    match block:
        case UserBlock():
            return block.text
        case NoteBlock():
            return _noted(block)
        case ReplyBlock():
            return "\n\n".join(part.text for part in block.parts if isinstance(part, Prose))
        case CardBlock() | CustomBlock():
            return "\n".join(filter(None, map(_raw_part, block.card.blocks)))
        case _:
            assert_never(block)


def search_text(block: Block) -> str:
    """Returns all searchable text of a block, drawn or not, including thoughts and card headers."""
    if isinstance(block, ReplyBlock):
        return "\n".join(part.text for part in block.parts)
    text = raw_text(block)
    if isinstance(block, CardBlock | CustomBlock):
        card = block.card
        head = f"{card.title} {card.subject} {card.summary}"
        return f"{head}\n{text}" if text else head
    return text


def _noted(block: NoteBlock) -> str:
    rows = (f"{typed}  {shows}" for typed, shows in (*block.tries, *block.hints))
    return "\n".join(filter(None, (block.title, block.text, *rows)))


def _raw_part(part: CardPart) -> str:
    match part:
        case TextBlock():
            return ansi.plain(part.text)
        case MarkdownBlock() | FileBlock() | MapBlock():
            return part.text
        case DiffBlock():
            return part.diff
        case CommandBlock():
            return f"$ {part.command}\n{ansi.plain(part.output)}"
        case ListBlock():
            return "\n".join(part.items)
        case TreeBlock():
            return "\n".join(line for root in part.roots for line in cards.tree_rows(root))
        case TableBlock():
            return "\n".join("\t".join(row) for row in (part.header, *part.rows))
        case ImageBlock():
            return ""
        case _:
            assert_never(part)


class Size(NamedTuple):
    """The numbers that determine a block's height at any width."""

    lines: int
    characters: int
    """The number of characters in lines that may wrap; 0 if all lines are short."""


def size(block: Block, extent: Extent) -> Size:
    """Estimates how much a block draws, without drawing it."""
    match block:
        case UserBlock():
            fold = _fold(block.text, extent)
            texts = [block.text] if fold is None else [*fold]
            return _sum(sum(map(_image_rows, block.images)), texts)
        case NoteBlock():
            return _sum(bool(block.tries) + bool(block.hints), [_noted(block)])
        case ReplyBlock():
            texts = [part.text for part in block.parts if extent or isinstance(part, Prose)]
            return _sum(2 * len(block.parts) - 1 - len(texts), texts)
        case CustomBlock(peek=peek) if peek and not extent:
            return _sum(2, raw_text(block).split("\n", peek)[:peek])
        case CardBlock(card=card) if extent is Extent.RESULT:
            return _sum(1 + len(card.last_lines), [])
        case CardBlock() | CustomBlock():
            parts = block.card.blocks if extent else ()
            images = sum(_image_rows(part) for part in parts if isinstance(part, ImageBlock))
            most = None if extent > Extent.PREVIEW else cards.PREVIEW.lines
            return _sum(
                1 + images, ["\n".join(_sized_part(part).split("\n", most or -1)[:most]) for part in parts]
            )
        case _:
            assert_never(block)


def _image_rows(image: ImageBlock) -> int:
    return 1 + (MAX_ROWS if image.data else 0)


def _sized_part(part: CardPart) -> str:
    if isinstance(part, CommandBlock):
        return part.output
    return part.text if isinstance(part, TextBlock) else _raw_part(part)


def _sum(lines: int, texts: list[str]) -> Size:
    characters = 0
    for text in texts:
        count = text.count("\n") + 1
        lines += count
        if count <= 4 or len(text) > 50 * count:
            characters += len(text)
    return Size(max(1, lines), characters)
