"""Detects new syntax errors of an edit in code that the language's grammar could parse before.

Many valid files have errors according to their grammar, so only errors that an edit adds count, as a warning.
One tree is parsed at a time: errors are cached by text, trees are not."""

from __future__ import annotations

import bisect
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import msgspec

from tools.text_sanitizing import escape_controls

if TYPE_CHECKING:
    from tree_sitter import Tree

    from tools.edits.dialects.old_text_matching import TextEdit

MAX_SYNTAX_CHECKED_BYTES: Final = 512 * 1024
_SYNTAX_PARSE_TIMEOUT: Final = 0.15
_MAX_CACHED_CHECKS: Final = 64
_MAX_SYNTAX_ERRORS: Final = 400
_MAX_QUOTED_SOURCE_CHARS: Final = 40

_CHECKED_LANGUAGES_NAMED_AS_GRAMMAR: Final = """
python javascript typescript tsx go rust c cpp java kotlin scala csharp swift ruby php lua perl
r julia ocaml ocaml_interface elixir erlang clojure elm zig dart bash powershell css scss json toml hcl proto graphql
solidity verilog vhdl fortran cmake"""
_CHECKING_GRAMMAR_BY_LANGUAGE: Final = {
    name: name for name in _CHECKED_LANGUAGES_NAMED_AS_GRAMMAR.split()
} | {
    "jsx": "javascript",
    "cuda": "cuda",
}
"""The grammar that checks the syntax, by language; includes only grammars that detect a lost bracket, and so none
of prose or markup."""
_GRAMMARS_WITH_BACKTICK_STRINGS: Final = frozenset({"javascript", "typescript", "tsx", "bash"})


def find_syntax_checking_grammar(language: str) -> str:
    """Returns the name of the grammar that checks a language's syntax; empty if none would detect anything."""
    return _CHECKING_GRAMMAR_BY_LANGUAGE.get(language, "")


class SyntaxErrorSpan(msgspec.Struct, frozen=True, gc=False):
    """A place of a source that its grammar cannot parse, in bytes."""

    start_byte: int
    end_byte: int
    """The end of the place as a byte offset in the source."""
    message: str


class NewSyntaxError(msgspec.Struct, frozen=True, kw_only=True):
    """A syntax error that an edit caused."""

    line: int
    """The line of the syntax error in the new text, counted from 1."""
    message: str
    is_first: bool = True
    """Whether the file had no syntax errors before the edit."""


class SyntaxCheckCache:
    """Checks the syntax of edited files, and caches the errors of checked texts for a session."""

    def __init__(self) -> None:
        self._cached_flaws: OrderedDict[tuple[str, bytes], tuple[SyntaxErrorSpan, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def check_file(self, path: str, text: str) -> FileSyntaxCheck:
        """Returns the syntax check for a file with this name and text."""
        from tools.filemap.language_detection import detect_language  # noqa: PLC0415  (a table of patterns, at the first edit)

        head = text[:2000].encode("utf-8", "replace")
        language = detect_language(PurePath(path), head) or ""
        return FileSyntaxCheck(self, find_syntax_checking_grammar(language))

    def find_syntax_errors(self, grammar: str, source: bytes) -> tuple[SyntaxErrorSpan, ...]:
        """Returns the places of a source that its grammar cannot parse. Raises `FileMapTimeLimitReached`."""
        key = (grammar, hashlib.blake2b(source, digest_size=16).digest())
        with self._lock:
            known = self._cached_flaws.get(key)
            if known is not None:
                self._cached_flaws.move_to_end(key)
                return known
        found = _collect_flaws(_parse_for_check(grammar, source), source)
        with self._lock:
            self._cached_flaws[key] = found
            while len(self._cached_flaws) > _MAX_CACHED_CHECKS:
                self._cached_flaws.popitem(last=False)
        return found


class FileSyntaxCheck:
    """The syntax check of one file; for a language without a grammar it finds nothing."""

    def __init__(self, checks: SyntaxCheckCache, grammar: str) -> None:
        self._checks = checks
        self._grammar = grammar

    @property
    def is_known(self) -> bool:
        return bool(self._grammar)

    @property
    def accepts_code_fences(self) -> bool:
        """Whether the grammar takes a code fence (```) for code, a string or a command, so that a fence left in an
        edit is no syntax error."""
        return self._grammar in _GRAMMARS_WITH_BACKTICK_STRINGS

    def find_new_syntax_errors(
        self, text: str, spans: Sequence[TextEdit]
    ) -> tuple[NewSyntaxError, ...] | None:
        """Returns the syntax errors that these edits cause in `text`; None if it was not checked."""
        from tools.filemap.map_deadline import FileMapTimeLimitReached  # noqa: PLC0415  (parsers, at the first edit)

        if not self._grammar:
            return None
        # Loaded with the first edit.
        from tools.edits.editable_text import replace_text_spans  # noqa: PLC0415
        from tools.edits.python_syntax import find_new_python_error  # noqa: PLC0415

        made = replace_text_spans(text, spans)
        after = made.encode("utf-8", "surrogatepass")
        if len(after) > MAX_SYNTAX_CHECKED_BYTES:
            return None
        had_flaws = False
        try:
            now = self._checks.find_syntax_errors(self._grammar, after)
            if now:
                before = text.encode("utf-8", "surrogatepass")
                then = (
                    self._checks.find_syntax_errors(self._grammar, before)
                    if len(before) <= MAX_SYNTAX_CHECKED_BYTES
                    else None
                )
                if then is None:
                    return None
                had_flaws = bool(then)
                now = _find_added_flaws(then, now, _compute_byte_shifts(text, spans))
        except (FileMapTimeLimitReached, LookupError, OSError):
            return None
        if now:
            return tuple(_make_new_flaw(flaw, after, is_first=not had_flaws) for flaw in now)
        if self._grammar == "python" and (found := find_new_python_error(text, made, spans)):
            return (NewSyntaxError(line=found[0], message=found[1]),)
        return ()


def _parse_for_check(grammar: str, source: bytes) -> Tree:
    from tools.filemap.map_deadline import MapDeadline  # noqa: PLC0415  (the same)
    from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar, parse_source_with_grammar  # noqa: PLC0415  (parsers, at the first edit)

    return parse_source_with_grammar(
        load_tree_sitter_grammar(grammar), source, MapDeadline(_SYNTAX_PARSE_TIMEOUT)
    )


def _collect_flaws(tree: Tree, source: bytes) -> tuple[SyntaxErrorSpan, ...]:
    """Collects the unparsable places of a syntax tree, from the nodes that contain errors."""
    found: list[SyntaxErrorSpan] = []
    waiting = [tree.root_node] if tree.root_node.has_error else []
    while waiting and len(found) < _MAX_SYNTAX_ERRORS:
        node = waiting.pop()
        if node.is_missing:
            found.append(
                SyntaxErrorSpan(node.start_byte, node.end_byte, f"missing {_quote_source(node.type)}")
            )
        elif node.is_error and node.parent is not None:
            found.append(
                SyntaxErrorSpan(
                    node.start_byte,
                    node.end_byte,
                    f"unexpected {_describe_syntax_error(source, node.start_byte)}",
                )
            )
        else:
            children = [
                child for child in node.children if child.has_error or child.is_error or child.is_missing
            ]
            waiting.extend(reversed(children))
            if not children:
                found.append(
                    SyntaxErrorSpan(node.start_byte, node.end_byte, "what stands here cannot be read")
                )
    return tuple(found)


def _describe_syntax_error(source: bytes, start: int) -> str:
    words = source[start : start + 4 * _MAX_QUOTED_SOURCE_CHARS].decode("utf-8", "replace").split(maxsplit=1)
    return _quote_source(words[0][:_MAX_QUOTED_SOURCE_CHARS]) if words else "end of the file"


def _quote_source(text: str) -> str:
    return f'"{escape_controls(text)}"'


def _compute_byte_shifts(text: str, spans: Sequence[TextEdit]) -> list[tuple[int, int, int]]:
    """Returns for each edit the start and end of the bytes it replaced, and by how many bytes its new text is
    longer."""
    if text.isascii():
        return [
            (span.start, span.end, len(_encode_utf8(span.new_text)) - (span.end - span.start))
            for span in spans
        ]
    out: list[tuple[int, int, int]] = []
    position = at = 0
    for span in spans:
        at += len(_encode_utf8(text[position : span.start]))
        length = len(_encode_utf8(text[span.start : span.end]))
        out.append((at, at + length, len(_encode_utf8(span.new_text)) - length))
        at, position = at + length, span.end
    return out


def _encode_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _find_added_flaws(
    then: Sequence[SyntaxErrorSpan], now: Sequence[SyntaxErrorSpan], shifts: Sequence[tuple[int, int, int]]
) -> tuple[SyntaxErrorSpan, ...]:
    """Returns the syntax flaws of the new text that no flaw of the old text explains. If there were some before, only
    an increase counts."""
    if not then:
        return tuple(now)
    if len(now) <= len(then):
        return ()
    moved = sorted(
        (_shift_position(flaw.start_byte, shifts), _shift_position(flaw.end_byte, shifts)) for flaw in then
    )
    starts = [start for start, _ in moved]
    furthest: list[int] = []
    for _, end in moved:
        furthest.append(max(end, furthest[-1] if furthest else 0))
    fresh: list[SyntaxErrorSpan] = []
    for flaw in now:
        index = bisect.bisect_right(starts, flaw.end_byte + 1) - 1
        if index < 0 or furthest[index] < flaw.start_byte - 1:
            fresh.append(flaw)
    return tuple(fresh)


def _shift_position(position: int, shifts: Sequence[tuple[int, int, int]]) -> int:
    by = 0
    for start, end, longer in shifts:
        if position >= end:
            by += longer
        elif position > start:
            return start + by
    return position + by


def _make_new_flaw(flaw: SyntaxErrorSpan, source: bytes, *, is_first: bool) -> NewSyntaxError:
    start = flaw.start_byte
    rest = source[start : flaw.end_byte or start]
    start += len(rest) - len(rest.lstrip())
    return NewSyntaxError(line=source.count(b"\n", 0, start) + 1, message=flaw.message, is_first=is_first)
