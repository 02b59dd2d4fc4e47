"""Declarations that lines alone tell whole, taken by their text: fields of structs and interfaces, plain functions.

A grammar makes ten nodes of such a line, and a generated source has thousands of them. A block counts only when all of
its lines are of that sort; then they are taken out, as the bodies of functions are, and the grammar sees the rest.
"""

import re
from collections.abc import Iterator

from tools.filemap.bodies import WhatIsLeft
from tools.filemap.language import Block, FoundSymbol, Members
from tools.filemap.scanners.lines import RowCount
from tools.filemap.watch import Deadline
from tools.filemap.wording import doc_line

_CHECK_EVERY = 64
_LONGEST = 512 * 1024
_LONGEST_DOC = 300


class _Code:
    """Whether a place is code: not within a comment of several lines or a text between backticks."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._counted = 0
        self._is_quoted = self._is_remark = False

    def is_at(self, at: int) -> bool:
        source, counted = self._source, self._counted
        if source.count(b"`", counted, at) % 2:
            self._is_quoted = not self._is_quoted
        opened, closed = source.rfind(b"/*", counted, at), source.rfind(b"*/", counted, at)
        if opened >= 0 or closed >= 0:
            self._is_remark = opened > closed
        self._counted = at
        return not (self._is_quoted or self._is_remark)


def without_members(source: bytes, members: Members, watch: Deadline) -> tuple[bytes, list[Block]]:
    """The source without such declarations, and these. Raises `Overtime` or `Cancelled`."""
    if source.count(b"`") % 2:
        return source, []
    left, rows, code = WhatIsLeft(source), RowCount(source), _Code(source)
    blocks: list[Block] = []
    for number, head in enumerate(_heads(source, members)):
        if number % _CHECK_EVERY == 0:
            watch.check()
        block = _block(head, members, left, rows) if code.is_at(head.start()) else None
        if block is not None:
            blocks.append(block)
    return left.text(), blocks


def _heads(source: bytes, members: Members) -> Iterator[re.Match[bytes]]:
    places: list[int] = []
    for word in members.words:
        at = source.find(word)
        while at >= 0:
            places.append(at + word.startswith(b"\n"))
            at = source.find(word, at + len(word))
    if len(members.words) > 1:
        places.sort()
    until = 0
    for at in places:
        if at >= until:
            head = members.head.match(source, source.rfind(b"\n", 0, at) + 1)
            if head is not None:
                until = head.end()
                yield head


def _block(head: re.Match[bytes], members: Members, left: WhatIsLeft, rows: RowCount) -> Block | None:
    source, start, indent = left.source, head.end(), head["indent"]
    end = source.find(b"\n" + indent + b"}", start - 1, start + _LONGEST) + 1
    if end <= 0 or head.start() < left.begin:
        return None
    body = source[start:end]
    if members.whole is not None and not indent and source.startswith(b"}\n", end):
        owner = members.whole(head)
        if owner is not None:
            return _whole(owner, head, body, members, left, rows)
    row = rows.at(start)
    drafts = _members(body, start - left.gone, row, members)
    if not drafts:
        return None
    left.take(start, end)
    return Block(drafts, members.owners, row - 1)


def _whole(
    owner: FoundSymbol,
    head: re.Match[bytes],
    body: bytes,
    members: Members,
    left: WhatIsLeft,
    rows: RowCount,
) -> Block | None:
    """The declaration with its members, its comment and its end; None when there is more to it than that."""
    begin, comment = _comment_above(left.source, head.start())
    is_empty = not body or body.isspace()
    if begin < 0 or is_empty == (owner.node_type in members.owners):
        return None
    first_row, place = rows.at(begin), begin - left.gone
    owner.start_row = first_row + left.source.count(b"\n", begin, head.start())
    owner.start = place + owner.start_row - first_row
    owner.end_row = owner.start_row + 1 + body.count(b"\n")
    drafts = [owner]
    if not is_empty:
        drafts += _members(body, owner.start + 1, owner.start_row + 1, members)
        if len(drafts) == 1:
            return None
    if comment:
        owner.doc = doc_line(comment[:_LONGEST_DOC].decode("utf-8", "replace"))
    left.take(begin, head.end() + len(body) + 1)
    return Block(drafts)


def _comment_above(source: bytes, at: int) -> tuple[int, bytes]:
    """Where the lines of comment directly above begin, and the first of them; -1: a comment of another sort."""
    first = b""
    while at > 0:
        line = source.rfind(b"\n", 0, at - 1) + 1
        text = source[line : at - 1]
        if not text.startswith(b"//"):
            return (-1 if text.endswith(b"*/") or b"//" in text else at), first
        first, at = text, line
    return at, first


def _members(body: bytes, start: int, row: int, members: Members) -> list[FoundSymbol]:
    """What the lines define; nothing when one of them is of another sort."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return []
    found: list[FoundSymbol] = []
    until = counted = 0
    start -= row
    count, make = text.count, members.make
    for line in members.line.finditer(text):
        if line.start() != until:
            return []
        until = line.end()
        at = line.start("said")
        if at >= 0:
            row += count("\n", counted, at)
            counted = at
            doc = line["doc"]
            found.append(make(line, start + row, row, doc_line(doc[:_LONGEST_DOC]) if doc else ""))
    return found if until == len(text) else []


def with_members(drafts: list[FoundSymbol], blocks: list[Block]) -> bool:
    """Adds the members to what they belong to; whether all of that was found."""
    wanted = {block.row: block.owners for block in blocks}
    place = {
        draft.start_row: index
        for index, draft in enumerate(drafts)
        if draft.node_type in wanted.get(draft.start_row, ())
    }
    if any(block.row >= 0 and block.row not in place for block in blocks):
        return False
    for block in blocks:
        if block.row < 0 and block.owners:
            _put_inside(drafts, block)
        else:
            owner = place[block.row] if block.row >= 0 else len(drafts)
            if block.row < 0:
                drafts.append(block.drafts.pop(0))
            for draft in block.drafts:
                draft.parent = owner
        drafts += block.drafts
    return True


def _put_inside(drafts: list[FoundSymbol], block: Block) -> None:
    """Each belongs to the innermost owner around it."""
    owners = sorted(
        (index for index, draft in enumerate(drafts) if draft.node_type in block.owners),
        key=lambda index: (drafts[index].start_row, -drafts[index].end_row),
    )
    open_: list[int] = []
    following = 0
    for draft in block.drafts:
        while following < len(owners) and drafts[owners[following]].start_row < draft.start_row:
            _close(drafts, open_, drafts[owners[following]].start_row)
            open_.append(owners[following])
            following += 1
        _close(drafts, open_, draft.start_row)
        draft.parent = open_[-1] if open_ else -1


def _close(drafts: list[FoundSymbol], open_: list[int], row: int) -> None:
    while open_ and drafts[open_[-1]].end_row < row:
        open_.pop()
