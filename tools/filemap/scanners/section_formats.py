"""Outlines formats that consist of sections of lines: ini, properties, reStructuredText, assembly."""

import re

from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_INI_SECTION_PATTERN = re.compile(rb"\s*\[+\s*([^\]\r\n]+?)\s*\]+\s*(?:[#;].*)?$")
_INI_KEY_PATTERN = re.compile(rb"\s*(?:export\s+)?([\w.\-@/\\\"'$*%?]+(?: [\w.-]+)*)\s*[=:]")
_INI_KEY_WITHOUT_VALUE_PATTERN = re.compile(rb"[\w.-]+\s*$")


def outline_ini(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Finds the sections and keys of an ini file. Indented lines under a key continue it."""
    found = OutlineBuilder()
    row, has_key, was_continued = -1, False, False
    for row, start, line in iterate_source_lines(source, watch):
        text = line.strip()
        if was_continued:
            was_continued = text.endswith(b"\\")
            continue
        if not text or text[:1] in b"#;!":
            has_key = has_key and bool(text)
            continue
        section = _INI_SECTION_PATTERN.match(line) if text[:1] == b"[" else None
        if section is not None:
            found.open_symbol(
                0,
                decode_and_shorten_line(section[1], MAX_STORED_SYMBOL_NAME_CHARS),
                "section",
                row,
                start,
                decode_and_shorten_line(text),
            )
            has_key = False
            continue
        if has_key and line[:1] in b" \t":
            found.symbols[-1].end_row = row
            continue
        key = _INI_KEY_PATTERN.match(line) or _INI_KEY_WITHOUT_VALUE_PATTERN.match(text)
        if key is not None:
            name = decode_and_shorten_line(
                key[1] if key.re is _INI_KEY_PATTERN else text, MAX_STORED_SYMBOL_NAME_CHARS
            )
            found.add_leaf_symbol(name, "key", row, start)
            has_key = True
            was_continued = text.endswith(b"\\")
    found.close_symbols(0, row)
    return ScannedOutline(found.symbols)


_RST_ADORNMENT_PATTERN = re.compile(rb"([!-/:-@\[-`{-~])\1{2,}\s*$")
_RST_DIRECTIVE_PATTERN = re.compile(rb"\s*\.\. ((?:[\w-]+:)?[\w.+-]+)::\s*(.*)$")
_SHOWN_RST_DIRECTIVES = frozenset(
    b"function class method attribute data exception module automodule autoclass autofunction code-block figure table "
    b"toctree envvar option confval setting staticmethod classmethod decorator describe type macro struct".split()
)


def outline_rst(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Finds the sections of reStructuredText by their underlines (levels in order of first use) and API directives,
    without targets."""
    found = OutlineBuilder()
    levels: dict[bytes, int] = {}
    two: tuple[int, int, bytes] | None = None
    one: tuple[int, int, bytes] | None = None
    row = -1
    for row, start, line in iterate_source_lines(source, watch):
        text = line.rstrip()
        adornment = _RST_ADORNMENT_PATTERN.match(text) if text[:1] in _RST_ADORNMENT_MARKS else None
        if adornment is not None and one is not None and _is_rst_title(one[2], text):
            over = two if two is not None and two[2] == text else None
            level = levels.setdefault(adornment[1] + (b"^" if over else b""), len(levels))
            first = over or one
            title = _strip_rst_markup(decode_and_shorten_line(one[2]))
            found.open_symbol(level, title, "heading", first[0], first[1], title)
            two = one = None
            continue
        directive = _RST_DIRECTIVE_PATTERN.match(text) if b".. " in text[:40] else None
        if (
            directive is not None
            and directive[1].rsplit(b":", 1)[-1] in _SHOWN_RST_DIRECTIVES
            and directive[2]
        ):
            found.add_leaf_symbol(
                decode_and_shorten_line(directive[2], 120),
                decode_and_shorten_line(directive[1].rsplit(b":", 1)[-1]),
                row,
                start,
            )
        two, one = one, ((row, start, text) if text else None)
    found.close_symbols(0, row)
    return ScannedOutline(found.symbols)


_RST_ADORNMENT_MARKS = frozenset(bytes([mark]) for mark in b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


_RST_MARKUP_PATTERN = re.compile(
    r"``(?P<literal>[^`]+)``|(?::[\w:.+-]+:)?`(?P<text>[^`<]+?)(?:\s*<[^`]*>)?`_{0,2}|\*{1,2}(?P<strong>[^*\s][^*]*)\*{1,2}"
    r"|\b(?P<name>[A-Za-z0-9][\w.+-]*[A-Za-z0-9])_(?!\w)"
)


def _strip_rst_markup(title: str) -> str:
    """Removes the marks of literals, roles, links and emphasis from a reStructuredText title."""
    return _RST_MARKUP_PATTERN.sub(lambda match: match[match.lastgroup or 0], title)


def _is_rst_title(text: bytes, underline: bytes) -> bool:
    if text[:1] in b" \t" and not text.strip():
        return False
    width = len(text.decode("utf-8", "replace").rstrip())
    return not _RST_ADORNMENT_PATTERN.match(text) and len(underline) >= min(width, 4) and text[:3] != b".. "


_ASM_LABEL_PATTERN = re.compile(
    rb"\s*(?:([A-Za-z_.$?@][\w.$?@]*):|(?:global|globl|\.globa?l)\s+([\w.$@]+))(?!=)"
)
_ASM_MACRO_PATTERN = re.compile(
    rb"\s*(?:\.macro\s+([\w.$]+)|%i?macro\s+([\w.$]+)|([\w.$]+)\s+(?:macro|proc)\b)", re.I
)
_ASM_SECTION_PATTERN = re.compile(
    rb"\s*(?:\.?(?:section|segment)\s+([^\s,]+)|\.(text|data|bss|rodata)\s*$)", re.I
)


def outline_asm(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Finds the sections, labels and macros of an assembly source, without local labels (`.L1`, `1:`)."""
    found = OutlineBuilder()
    row = 0
    for row, start, line in iterate_source_lines(source, watch):
        section = _ASM_SECTION_PATTERN.match(line)
        if section is not None:
            found.open_symbol(
                0, decode_and_shorten_line(section[1] or b"." + section[2]), "section", row, start
            )
            continue
        macro = _ASM_MACRO_PATTERN.match(line)
        label = _ASM_LABEL_PATTERN.match(line) if macro is None else None
        if macro is not None:
            found.open_symbol(
                1,
                decode_and_shorten_line(macro[1] or macro[2] or macro[3]),
                "macro",
                row,
                start,
                decode_and_shorten_line(line, 120),
            )
        elif label is not None and label[1] and not label[1].startswith((b".L", b"..", b"L_", b".")):
            found.open_symbol(1, decode_and_shorten_line(label[1]), "label", row, start)
    found.close_symbols(0, row)
    return ScannedOutline(found.symbols)
