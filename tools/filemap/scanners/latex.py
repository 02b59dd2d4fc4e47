"""Finds the sections, environments and commands of LaTeX; in literate sources, the documented definitions."""

import re

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_LATEX_SECTION_LEVELS = {
    b"part": 0,
    b"chapter": 1,
    b"section": 2,
    b"subsection": 3,
    b"subsubsection": 4,
    b"paragraph": 5,
    b"subparagraph": 6,
}
_TEX_COMMAND_PATTERN = re.compile(
    rb"\\(?:(part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?\s*(?:\[[^\]]*\])?\s*\{"
    rb"|(?:(?:re|provide)?newcommand|DeclareRobustCommand|DeclareMathOperator"
    rb"|(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand)\*?\s*\{?\s*\\(?P<command>[A-Za-z@_:]+)"
    rb"|cs_(?:g?set|new)(?:_protected)?(?:_nopar)?:Np?[nex]\s*\\(?P<function>[\w@:]+)"
    rb"|(?:re)?newenvironment\*?\s*\{(?P<environment>[^}]+)\}"
    rb"|newtheorem\*?\s*\{(?P<theorem>[^}]+)\}"
    rb"|def\\(?P<def>[A-Za-z@]+)"
    rb"|begin\s*\{(?P<begin>figure|table|algorithm|theorem|lemma|proof|definition|abstract|lstlisting|document|"
    rb"equation|align|appendix|proposition|corollary)\*?\}"
    rb"|end\s*\{(?P<end>document)\}"
    rb"|label\s*\{(?P<label>[^}]*)\}"
    rb"|appendix\b(?P<appendix>))"
)


_LITERATE_LATEX_CODE_MARK = b"\\begin{macrocode}"
_LATEX_DOCUMENTATION_BEGIN_PATTERN = re.compile(
    rb"\\begin\s*\{(?P<what>macro|function|variable|environment|option|key)\}(?:\[[^\]]*\])?[\s%]*"
    rb"\{(?P<names>(?:[^{}]|\{[^{}]*\})*)\}"
)
"""Matches a LaTeX command that begins the documentation of a definition; names of the definition may follow on the
next lines."""
_LATEX_DOCUMENTATION_END_PATTERN = re.compile(
    rb"\\end\s*\{(?:macro|function|variable|environment|option|key)\}"
)
_SYMBOL_KIND_BY_DOC_ENVIRONMENT = {b"variable": "variable", b"option": "option", b"key": "option"}
_LATEX_NAME_SEPARATOR_PATTERN = re.compile(rb"(?:,|\s|^[ \t]*%+)+", re.M)
_LATEX_DOCUMENTATION_PREFIX_PATTERN = re.compile(rb"[ \t]*%+(?!<)[ \t]?")


def outline_latex(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Finds the sections of a LaTeX source with floats and theorems by label and new commands. In a literate source
    (`.dtx`) the text is in comments, and each documented definition is a symbol."""
    found = OutlineBuilder()
    documented = _DocumentedDefinitions(found, source) if _LITERATE_LATEX_CODE_MARK in source else None
    row, is_verbatim = 0, False
    for row, start, line in iterate_source_lines(source, watch):
        if b"\\" not in line:
            continue
        if b"{verbatim" in line:
            is_verbatim = b"\\begin" in line
        if is_verbatim:
            continue
        if documented is not None:
            remark = _LATEX_DOCUMENTATION_PREFIX_PATTERN.match(line)
            if remark is not None:
                start, line = start + remark.end(), line[remark.end() :]
                documented.read_line(row, start, line)
        text = re.sub(rb"(?<!\\)%.*", b"", line)
        for match in _TEX_COMMAND_PATTERN.finditer(text):
            if documented is not None and documented.is_documented(
                match["command"] or match["function"] or match["def"]
            ):
                continue
            if not _add_latex_symbol(found, match, text, row, start + match.start()) and documented is None:
                found.close_symbols(0, row - 1)
    found.close_symbols(0, row)
    _end_latex_environments(found, source)
    return ScannedOutline(found.symbols)


class _DocumentedDefinitions:
    """The LaTeX definitions in a literate source whose documentation has begun and not ended."""

    def __init__(self, found: OutlineBuilder, source: bytes) -> None:
        self._found = found
        self._source = source
        self._open_definitions: list[list[FoundSymbol]] = []

    def read_line(self, row: int, start: int, line: bytes) -> None:
        """Reads the next line of a literate LaTeX source; `line` has no comment mark."""
        at = line.find(b"\\begin")
        while at >= 0:
            match = _LATEX_DOCUMENTATION_BEGIN_PATTERN.match(self._source, start + at)
            if match is not None:
                kind = _SYMBOL_KIND_BY_DOC_ENVIRONMENT.get(match["what"], "macro")
                names = _LATEX_NAME_SEPARATOR_PATTERN.split(match["names"])
                leaves = [
                    self._found.add_leaf_symbol(decode_and_shorten_line(name), kind, row, start)
                    for name in names
                    if name
                ]
                self._open_definitions.append(leaves)
            at = line.find(b"\\begin", at + 1)
        for _ in _LATEX_DOCUMENTATION_END_PATTERN.finditer(line):
            for draft in self._open_definitions.pop() if self._open_definitions else ():
                draft.end_row = row

    def is_documented(self, name: bytes | None) -> bool:
        """Returns whether a LaTeX definition is listed already: within its documentation, or in the body of another."""
        return name is not None and bool(self._open_definitions)


def _add_latex_symbol(
    found: OutlineBuilder, match: re.Match[bytes], text: bytes, row: int, start: int
) -> bool:
    """Adds the symbol of a matched LaTeX command; returns False at the end of the document."""
    if match[1]:
        title = _read_latex_braces(text, match.end() - 1)
        found.open_symbol(
            _LATEX_SECTION_LEVELS[match[1]], title, "heading", row, start, f"\\{match[1].decode()}{{{title}}}"
        )
    elif match["label"]:
        draft = found.symbols[-1] if found.symbols else None
        if draft is not None and draft.kind == "environment" and not draft.doc and row - draft.start_row < 80:
            draft.doc = decode_and_shorten_line(match["label"])
    elif match["begin"]:
        if match["begin"] != b"document":
            found.add_leaf_symbol(decode_and_shorten_line(match["begin"]), "environment", row, start)
    elif match["end"]:
        return False
    elif command := match["command"] or match["function"] or match["def"]:
        found.add_leaf_symbol(f"\\{decode_and_shorten_line(command)}", "macro", row, start)
    elif match["environment"]:
        found.add_leaf_symbol(decode_and_shorten_line(match["environment"]), "macro", row, start)
    elif match["theorem"]:
        found.add_leaf_symbol(decode_and_shorten_line(match["theorem"]), "theorem", row, start)
    return True


def _read_latex_braces(text: bytes, at: int) -> str:
    """Returns the text in the LaTeX braces that open at a position, without commands."""
    depth = 0
    end = len(text)
    for position in range(at, len(text)):
        mark = text[position : position + 1]
        depth += (mark == b"{") - (mark == b"}")
        if depth == 0:
            end = position
            break
    inside = decode_and_shorten_line(text[at + 1 : end], 120)
    return " ".join(re.sub(r"\\[A-Za-z]+\*?|[{}$]", "", inside).split()) or inside or "(untitled)"


def _end_latex_environments(found: OutlineBuilder, source: bytes) -> None:
    for draft in found.symbols:
        if draft.kind == "environment":
            stop = source.find(b"\\end{" + draft.name.encode(), draft.start)
            if stop >= 0:
                draft.end_row = draft.start_row + source.count(b"\n", draft.start, stop)
