"""From a source to its symbols by its grammar: what need not be parsed left out, what went wrong tried again."""

from typing import NamedTuple

from tools.filemap.bodies import without_bodies
from tools.filemap.drafts import with_routes
from tools.filemap.language import FoundSymbol, Language
from tools.filemap.members import with_members
from tools.filemap.parsing import parse
from tools.filemap.pieces import SourcePiece, pieces_of
from tools.filemap.plan import plan_of
from tools.filemap.walking import Walk
from tools.filemap.watch import Deadline


class Outline(NamedTuple):
    drafts: list[FoundSymbol]
    imports: list[str]
    has_errors: bool


def outline(language: Language, source: bytes, watch: Deadline) -> Outline:
    """The symbols of a source text. Raises `Overtime` or `Cancelled`."""
    whole = source
    if language.bodies is not None:
        source = without_bodies(source, language.bodies, watch)
    rest, blocks = source, []
    if language.members is not None:
        rest, blocks = language.members(source, watch)
    found = _parsed(language, rest, watch)
    if blocks and (found.has_errors or not with_members(found.drafts, blocks)):
        # Not all is as plain as it seemed.
        rest, found = source, _parsed(language, source, watch)
    if language.finish is not None:
        found = found._replace(drafts=language.finish(found.drafts, rest))
    if language.routes is not None:
        found = found._replace(drafts=with_routes(found.drafts, rest, whole, language.routes(whole)))
    return found


def _parsed(language: Language, source: bytes, watch: Deadline) -> Outline:
    prepared = language.prepare(source, watch) if language.prepare is not None else source
    made = _InPieces(language, source, prepared, watch)
    made.run()
    drafts = made.drafts
    if made.has_errors and language.recover is not None:
        drafts = language.recover(drafts, prepared)
    return Outline(drafts, made.imports, made.has_errors)


class _InPieces:
    """The symbols of all pieces of a source, as if it had been parsed as a whole."""

    def __init__(self, language: Language, source: bytes, prepared: bytes, watch: Deadline) -> None:
        self.drafts: list[FoundSymbol] = []
        self.imports: list[str] = []
        self.has_errors = False
        self._language, self._plan = language, plan_of(language.name)
        self._source, self._prepared, self._watch = source, prepared, watch
        self._containers: dict[tuple[int, str], int] = {}
        """Symbols whose head is said again, by where they begin."""

    def run(self) -> None:
        whole = SourcePiece(0, len(self._source), 0, (), ())
        if self._language.pieces is None:
            pieces = [whole]
        else:
            pieces = pieces_of(self._prepared, self._language.pieces, self._watch)
        first = 0
        while first < len(pieces):
            last, piece = first, pieces[first]
            walk, has_errors = self._walked(piece)
            if has_errors and last + 1 < len(pieces):
                # Perhaps the cut is in the middle of something.
                last, piece = first + 1, piece.joined(pieces[first + 1])
                walk, has_errors = self._walked(piece)
            if has_errors and len(pieces) > 1:
                # The errors are the text's own: what they reach to can be told in the whole alone.
                pieces, first = [whole], 0
                self.drafts.clear()
                self.imports.clear()
                continue
            self._add(piece, walk)
            self.has_errors = self.has_errors or has_errors
            first = last + 1

    def _walked(self, piece: SourcePiece) -> tuple[Walk, bool]:
        prefix = piece.prefix(self._source)
        foot = b"}" * len(piece.after) + b"\n" if piece.after and not self._is_indented else b""
        source = b"".join((prefix, self._source[piece.start : piece.end], foot))
        prepared = source
        if self._prepared is not self._source:
            prepared = b"".join((prefix, self._prepared[piece.start : piece.end], foot))
        walk = Walk(self._plan, source, self._watch, self.imports)
        tree = parse(self._plan.grammar, prepared, self._watch)
        walk.run(tree)
        has_errors = tree.root_node.has_error
        simplify = self._language.simplify
        if simplify is not None and tree.root_node.is_error:
            del tree
            again = Walk(self._plan, source, self._watch, self.imports)
            again.run(parse(self._plan.grammar, simplify(prepared, self._watch), self._watch))
            if len(again.drafts) > len(walk.drafts):
                walk = again
        return walk, has_errors

    @property
    def _is_indented(self) -> bool:
        return self._language.pieces is not None and self._language.pieces.is_indented

    def _add(self, piece: SourcePiece, walk: Walk) -> None:
        """Takes the symbols of a piece over, at the places that they have in the whole."""
        drafts = self.drafts
        if not piece.start and not piece.after:
            self.drafts = drafts + walk.drafts if drafts else walk.drafts
            return
        length = len(piece.prefix(self._source))
        bytes_, rows = piece.start - length, piece.row - (1 if length else 0)
        place: list[int] = []
        for draft in walk.drafts:
            if draft.parent >= 0:
                draft.parent = place[draft.parent]
            draft.end_row += rows
            known = self._said_before(draft, piece) if draft.start < length else None
            if known is not None:
                drafts[known].end_row = max(drafts[known].end_row, draft.end_row)
                place.append(known)
                continue
            draft.start += bytes_
            draft.start_row += rows
            if draft.lead_row >= 0:
                draft.lead_row += rows
            if piece.after and any(head.start <= draft.start < head.end for head in piece.after):
                self._containers[draft.start, draft.name] = len(drafts)
            place.append(len(drafts))
            drafts.append(draft)

    def _said_before(self, draft: FoundSymbol, piece: SourcePiece) -> int | None:
        """Which symbol it is whose head stands before the piece once more."""
        at = draft.start
        for head in piece.before:
            if at < head.end - head.start:
                return self._containers.get((head.start + at, draft.name))
            at -= head.end - head.start
        return None
