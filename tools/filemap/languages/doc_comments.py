"""Finds documentation of symbols that the walk over the syntax tree misses, in the text, after the symbols are
known."""

import re
from bisect import bisect_right

from tools.filemap.language_description import FoundSymbol
from tools.filemap.one_line_text import first_doc_comment_line

_ELIXIR_DOC_PATTERN = re.compile(
    rb'^[ \t]*@(module|type)?doc[ \t]+(?:~[sS])?(?:"""[^\n]*\n\s*|")([^\n]*)', re.M
)
_LINE_COMMENT_MARK = b"#"
_ELIXIR_DOCUMENTED_KINDS = frozenset({"function", "macro", "type", "callback"})


def attach_comments_to_first_declarations(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Attaches the comment above the first declaration in a body to that declaration; the grammar attaches it to the
    enclosing node."""
    for draft in drafts:
        if draft.doc or draft.parent < 0:
            continue
        first = b""
        end = source.rfind(b"\n", 0, draft.start)
        while end > 0:
            start = source.rfind(b"\n", 0, end) + 1
            line = source[start:end].strip()
            if not line.startswith(_LINE_COMMENT_MARK):
                break
            first = line if len(line) > 1 else first
            end = start - 1
        if first:
            draft.doc = first_doc_comment_line(first.decode("utf-8", "replace"))
    return drafts


def attach_elixir_docs(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Attaches Elixir's documentation to its symbols: `@moduledoc` to the module, `@doc` to the next definition."""
    if b"doc" not in source:
        return drafts
    order = sorted(range(len(drafts)), key=lambda index: drafts[index].start)
    starts = [drafts[index].start for index in order]
    for match in _ELIXIR_DOC_PATTERN.finditer(source):
        said = first_doc_comment_line(match[2].decode("utf-8", "replace"))
        at = bisect_right(starts, match.start())
        if match[1] == b"module":
            owner = next(
                (drafts[index] for index in reversed(order[:at]) if drafts[index].kind == "module"), None
            )
        else:
            owner = next(
                (
                    drafts[index]
                    for index in order[at : at + 4]
                    if drafts[index].kind in _ELIXIR_DOCUMENTED_KINDS
                ),
                None,
            )
        if owner is not None:
            owner.doc = said
    return drafts
