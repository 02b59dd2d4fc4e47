"""LaTeX: sections, environments and commands; of literate sources what they document."""

import re

from tools.filemap.language import FoundSymbol
from tools.filemap.scanners.lines import source_lines, text_of
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Deadline

_TEX_LEVELS = {
    b"part": 0,
    b"chapter": 1,
    b"section": 2,
    b"subsection": 3,
    b"subsubsection": 4,
    b"paragraph": 5,
    b"subparagraph": 6,
}
_TEX = re.compile(
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


_LITERATE = b"\\begin{macrocode}"
_DOCUMENTED = re.compile(
    rb"\\begin\s*\{(?P<what>macro|function|variable|environment|option|key)\}(?:\[[^\]]*\])?[\s%]*"
    rb"\{(?P<names>(?:[^{}]|\{[^{}]*\})*)\}"
)
"""What documents a definition, and holds it; the names may stand on the lines below."""
_DOCUMENTED_END = re.compile(rb"\\end\s*\{(?:macro|function|variable|environment|option|key)\}")
_DOCUMENTED_KINDS = {b"variable": "variable", b"option": "option", b"key": "option"}
_BETWEEN_NAMES = re.compile(rb"(?:,|\s|^[ \t]*%+)+", re.M)
_DOCUMENTATION = re.compile(rb"[ \t]*%+(?!<)[ \t]?")


def scan_latex(source: bytes, watch: Deadline) -> Scanned:
    """Sections with what stands in them: floats and theorems by label, new commands.

    In a literate source (`.dtx`) the text stands in comments, and what documents a definition is its symbol.
    """
    found = Nesting()
    documented = _Documented(found, source) if _LITERATE in source else None
    row, is_verbatim = 0, False
    for row, start, line in source_lines(source, watch):
        if b"\\" not in line:
            continue
        if b"{verbatim" in line:
            is_verbatim = b"\\begin" in line
        if is_verbatim:
            continue
        if documented is not None:
            remark = _DOCUMENTATION.match(line)
            if remark is not None:
                start, line = start + remark.end(), line[remark.end() :]
                documented.line(row, start, line)
        text = re.sub(rb"(?<!\\)%.*", b"", line)
        for match in _TEX.finditer(text):
            if documented is not None and documented.has(
                match["command"] or match["function"] or match["def"]
            ):
                continue
            if not _tex_symbol(found, match, text, row, start + match.start()) and documented is None:
                found.close(0, row - 1)
    found.close(0, row)
    _fit_environments(found, source)
    return Scanned(found.drafts)


class _Documented:
    """The definitions whose documentation goes on."""

    def __init__(self, found: Nesting, source: bytes) -> None:
        self._found = found
        self._source = source
        self._open: list[list[FoundSymbol]] = []

    def line(self, row: int, start: int, line: bytes) -> None:
        """`line` without the mark of a comment."""
        at = line.find(b"\\begin")
        while at >= 0:
            match = _DOCUMENTED.match(self._source, start + at)
            if match is not None:
                kind = _DOCUMENTED_KINDS.get(match["what"], "macro")
                names = _BETWEEN_NAMES.split(match["names"])
                leaves = [self._found.leaf(text_of(name), kind, row, start) for name in names if name]
                self._open.append(leaves)
            at = line.find(b"\\begin", at + 1)
        for _ in _DOCUMENTED_END.finditer(line):
            for draft in self._open.pop() if self._open else ():
                draft.end_row = row

    def has(self, name: bytes | None) -> bool:
        """Whether a definition is told already: inside of its own documentation, and in the body of another."""
        return name is not None and bool(self._open)


def _tex_symbol(found: Nesting, match: re.Match[bytes], text: bytes, row: int, start: int) -> bool:
    """False at the end of the document."""
    if match[1]:
        title = _braced(text, match.end() - 1)
        found.open(_TEX_LEVELS[match[1]], title, "heading", row, start, f"\\{match[1].decode()}{{{title}}}")
    elif match["label"]:
        draft = found.drafts[-1] if found.drafts else None
        if draft is not None and draft.kind == "environment" and not draft.doc and row - draft.start_row < 80:
            draft.doc = text_of(match["label"])
    elif match["begin"]:
        if match["begin"] != b"document":
            found.leaf(text_of(match["begin"]), "environment", row, start)
    elif match["end"]:
        return False
    elif command := match["command"] or match["function"] or match["def"]:
        found.leaf(f"\\{text_of(command)}", "macro", row, start)
    elif match["environment"]:
        found.leaf(text_of(match["environment"]), "macro", row, start)
    elif match["theorem"]:
        found.leaf(text_of(match["theorem"]), "theorem", row, start)
    return True


def _braced(text: bytes, at: int) -> str:
    """What stands in the braces that open there, without commands."""
    depth = 0
    end = len(text)
    for position in range(at, len(text)):
        mark = text[position : position + 1]
        depth += (mark == b"{") - (mark == b"}")
        if depth == 0:
            end = position
            break
    inside = text_of(text[at + 1 : end], 120)
    return " ".join(re.sub(r"\\[A-Za-z]+\*?|[{}$]", "", inside).split()) or inside or "(untitled)"


def _fit_environments(found: Nesting, source: bytes) -> None:
    for draft in found.drafts:
        if draft.kind == "environment":
            stop = source.find(b"\\end{" + draft.name.encode(), draft.start)
            if stop >= 0:
                draft.end_row = draft.start_row + source.count(b"\n", draft.start, stop)
