"""Outlines text in an unknown language: lines that look like definitions or headings, nested by indentation."""

import re

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.source_lines import iterate_source_lines

_DEFINITION_LINE_PATTERN = re.compile(
    rb"(?P<indent>[ \t]*)"
    rb"(?P<before>(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|virtual|override|"
    rb"inline|extern|pub(?:\([^)]*\))?|unsafe|sealed|open|local|global|declare|const|partial|data|pure|recursive|"
    rb"elemental|impure|module)[ \t]+)*)"
    rb"(?P<word>class|interface|struct|enum|union|trait|impl|protocol|extension|namespace|module|package|object|record|"
    rb"type|typedef|function|func|fun|fn|def|defp|defmodule|defun|defmacro|sub|proc|procedure|method|macro|subroutine|"
    rb"program|contract|library|entity|architecture|component|service|message|rule|task|job|stage|target|section|"
    rb"division|template|theorem|lemma|definition|inductive|instance|unit)"
    rb"[ \t]+(?P<name>[A-Za-z_$][\w$.:!?*'-]*)(?P<rest>[^\n]{0,160})",
    re.I,
)
_ASSIGNED_FUNCTION_PATTERN = re.compile(
    rb"(?P<indent>[ \t]*)(?:(?:export|const|let|var|local)[ \t]+)*(?P<name>[A-Za-z_$][\w$.]*)[ \t]*(?:=|:=|:)[ \t]*"
    rb"(?:async[ \t]+)?(?:function\b|fn\b|\([^)\n]*\)[ \t]*(?:=>|->)|\\\w)"
)
_BRACED_DEFINITION_PATTERN = re.compile(
    rb"(?P<indent>[ \t]*)(?:[A-Za-z_][\w<>,:*&\[\]? \t]*[ \t*&])?(?P<name>[A-Za-z_~][\w:~]*)[ \t]*"
    rb"\((?P<arguments>[^;{}\n]*)\)"
    rb"[ \t]*(?:const|override|noexcept|throws[ \w.,]*)?[ \t]*\{[ \t]*$"
)
_PARAMETER_LIST_PATTERN = re.compile(rb"\s*(?:[A-Za-z_$@&*.][^()\"'`]*)?")
"""Matches the parameter list of a declaration; parentheses that contain a string, a number or a call do not match,
because they belong to a call."""
_HEADING_LINE_PATTERN = re.compile(rb"(?P<mark>#{1,6}|={2,6}|\*{1,6})[ \t]+(?P<name>\S[^\n]{0,100})$")
_CAPITALS_HEADING_PATTERN = re.compile(rb"(?:\d+(?:\.\d+)*\.?[ \t]+)?[A-Z][A-Z0-9 ,/&()-]{5,70}:?$")
_NUMBERED_HEADING_PATTERN = re.compile(
    rb"(?:chapter|section|part|appendix)[ \t]+[\dIVXA-Z]+\b.{0,80}$|\d+(?:\.\d+){0,3}\.?[ \t]+[A-Z].{3,80}$",
    re.I,
)
_LABEL_LINE_PATTERN = re.compile(rb"(?P<name>[A-Za-z_][\w -]{1,50}):[ \t]*$")
_WORDS_THAT_DEFINE_NOTHING = frozenset(
    b"if for while switch catch return else do elif unless until foreach with and or not".split()
)
_SYMBOL_KIND_BY_KEYWORD = {"func": "function", "fun": "function", "fn": "function", "def": "function",
          "defp": "function",
          "defun": "function", "sub": "function", "proc": "function", "subroutine": "function",
          "procedure": "procedure", "defmodule": "module", "defmacro": "macro", "typedef": "type"}  # fmt: skip
_INDENTATION_TAB_WIDTH = 8
_MAX_SCANNED_LINE_BYTES = 2000
_MAX_HEURISTIC_SYMBOLS = 20_000


def outline_heuristically(source: bytes, watch: MapDeadline) -> list[FoundSymbol]:
    """Finds the lines of a text that look like definitions or headings. At the time limit, it returns what was found
    until then."""
    found: list[tuple[int, FoundSymbol]] = []
    comments: set[int] = set()
    is_after_blank, is_code = True, False
    last_row = 0
    try:
        for row, start, line in iterate_source_lines(source, watch):
            text = line.rstrip()
            if text:
                last_row = row
                draft = (
                    _find_definition_in_line(text, row, start)
                    if len(text) <= _MAX_SCANNED_LINE_BYTES
                    else None
                )
                is_code = is_code or draft is not None
                if draft is None and is_after_blank and len(text) <= 120 and not text[:1].isspace():
                    draft = _find_heading_in_line(text, row, start)
                    if text.startswith(b"#"):
                        comments.add(row)
                if draft is not None and len(found) < _MAX_HEURISTIC_SYMBOLS:
                    found.append((_indent_columns(text), draft))
            is_after_blank = not text
    except FileMapTimeLimitReached:
        pass
    if is_code:  # then `#` begins a comment, not a heading
        found = [each for each in found if each[1].start_row not in comments]
    return _nest_symbols_by_indent(found, last_row)


def _indent_columns(text: bytes) -> int:
    before = text[: len(text) - len(text.lstrip())]
    return len(before) + before.count(b"\t") * (_INDENTATION_TAB_WIDTH - 1)


def _find_definition_in_line(text: bytes, row: int, start: int) -> FoundSymbol | None:
    match = _DEFINITION_LINE_PATTERN.match(text)
    if match is not None and not _is_prose(match):
        word = match["word"].decode().lower()
        return _make_found_symbol(match["name"], _SYMBOL_KIND_BY_KEYWORD.get(word, word), text, row, start)
    match = _ASSIGNED_FUNCTION_PATTERN.match(text)
    if match is None:
        match = _BRACED_DEFINITION_PATTERN.match(text)
        if match is not None and not _PARAMETER_LIST_PATTERN.fullmatch(match["arguments"]):
            return None
    if match is not None and match["name"].lower() not in _WORDS_THAT_DEFINE_NOTHING:
        return _make_found_symbol(match["name"], "function", text, row, start)
    return None


def _is_prose(match: re.Match[bytes]) -> bool:
    """Returns whether a line that looks like a definition is prose, such as `type of the value is …`."""
    rest = match["rest"].strip()
    return (
        bool(rest) and re.match(rb"[a-z]+(?: [\w,.'-]+){2,}", rest) is not None and rest[-1:] not in b"{:(="
    )


def _find_heading_in_line(text: bytes, row: int, start: int) -> FoundSymbol | None:
    match = _HEADING_LINE_PATTERN.match(text)
    if match is None and (_CAPITALS_HEADING_PATTERN.match(text) or _NUMBERED_HEADING_PATTERN.match(text)):
        return _make_found_symbol(text, "heading", text, row, start)
    match = match or _LABEL_LINE_PATTERN.match(text)
    return _make_found_symbol(match["name"], "heading", text, row, start) if match is not None else None


def _make_found_symbol(name: bytes, kind: str, text: bytes, row: int, start: int) -> FoundSymbol:
    signature = " ".join(text.decode("utf-8", "replace").split())[:120].rstrip(" {:")
    shown = name.decode("utf-8", "replace").strip().rstrip(":.!?*") or name.decode("utf-8", "replace")
    return FoundSymbol(name=shown, kind=kind, start=start, start_row=row, end_row=row, signature=signature)


def _nest_symbols_by_indent(found: list[tuple[int, FoundSymbol]], last_row: int) -> list[FoundSymbol]:
    """Sets the ends and parents of symbols by their indentation: each ends before the next one that is not indented
    deeper."""
    nested = OutlineBuilder()
    for indent, draft in found:
        nested.open_symbol(indent, draft.name, draft.kind, draft.start_row, draft.start, draft.signature)
    nested.close_symbols(0, last_row)
    return nested.symbols
