"""Outlines CSV and TSV files: the number of rows, and the columns with their types."""

import csv
import re

from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import format_count_with_noun, iterate_source_lines

_MAX_CSV_ROWS_SAMPLED = 200
_MAX_CSV_COLUMN_TITLE_CHARS = 64
_MAX_LINES_OF_CSV_CELL = 40
"""The maximum number of lines in a quoted cell; in a longer one, the quote is taken as an ordinary character, such
as for inches."""
_MAX_CSV_COLUMNS = 500
_INTEGER_PATTERN = re.compile(r"[-+]?\d{1,18}$")
_DECIMAL_PATTERN = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$")
_DATE_PATTERN = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$|\d\d?[/.]\d\d?[/.]\d{2,4}$")
_BOOLEAN_PATTERN = re.compile(r"(?:true|false|yes|no)\Z", re.I)
_CSV_COLUMN_TYPE_PATTERNS = {
    "integer": _INTEGER_PATTERN,
    "number": _DECIMAL_PATTERN,
    "date": _DATE_PATTERN,
    "boolean": _BOOLEAN_PATTERN,
}


def _guess_column_type(values: list[str]) -> str:
    """Returns one word for the type of a CSV column, judged by sampled cells."""
    present = [value.strip() for value in values if value.strip()]
    if not present:
        return "empty"
    return next(
        (kind for kind, form in _CSV_COLUMN_TYPE_PATTERNS.items() if all(map(form.match, present))), "text"
    )


def _scan_delimited_table(source: bytes, watch: MapDeadline, delimiter: str) -> ScannedOutline:
    head = source[: 256 * 1024]
    if len(source) > len(head):
        head = head[: head.rfind(b"\n") + 1] or head
    text = head.decode("utf-8", "replace").replace("\0", "")
    if delimiter == ",":
        first = text.split("\n", 1)[0]
        delimiter = max((",", ";", "\t", "|"), key=first.count)
    rows = _parse_quoted_rows(text, delimiter)
    has_quotes = rows is not None
    if rows is None:
        lines = text.splitlines()[: _MAX_CSV_ROWS_SAMPLED + 1]
        rows = [line.split(delimiter)[:_MAX_CSV_COLUMNS] for line in lines if line.strip()]
    if not rows:
        return ScannedOutline([])
    count = _count_csv_records(source, watch, delimiter if has_quotes else None)
    head_row, has_header = rows[0], _has_header_row(rows)
    sample = rows[1:] if has_header else rows
    found = OutlineBuilder()
    size = f"{format_count_with_noun(count - has_header, 'row')} × {format_count_with_noun(len(head_row), 'column')}"
    found.open_symbol(
        0, size, "table", 0, 0, f"delimiter {delimiter!r}" + ("" if has_header else ", no header")
    )
    for number, name in enumerate(head_row):
        values = [row[number] for row in sample if number < len(row)]
        example = next((value.strip() for value in values if value.strip()), "")
        shown = " ".join(name.split())[:100] if has_header and name.strip() else f"column {number + 1}"
        said = _guess_column_type(values) + (f", such as {example[:40]}" if example else "")
        found.add_leaf_symbol(shown, "column", 0, number + 1, said)
    found.close_symbols(0, source.count(b"\n") - source.endswith(b"\n"))
    return ScannedOutline(found.symbols)


def _parse_quoted_rows(text: str, delimiter: str) -> list[list[str]] | None:
    """Parses the first rows of a CSV file with quoted cells; None if the quotes are only characters."""
    rows: list[list[str]] = []
    try:
        for record in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
            if any(cell.count("\n") > _MAX_LINES_OF_CSV_CELL for cell in record):
                return None
            if record:
                rows.append(record[:_MAX_CSV_COLUMNS])
            if len(rows) > _MAX_CSV_ROWS_SAMPLED:
                break
    except csv.Error:
        return None
    return rows


def _has_header_row(rows: list[list[str]]) -> bool:
    """Returns whether the first row of a table is a header: distinct short words without numbers."""
    first = rows[0]
    if any(_DECIMAL_PATTERN.match(cell.strip()) or len(cell) > _MAX_CSV_COLUMN_TITLE_CHARS for cell in first):
        return False
    return len(set(first)) == len(first) and any(cell.strip() for cell in first)


def _count_csv_records(source: bytes, watch: MapDeadline, delimiter: str | None) -> int:
    """Counts the records of a CSV file: lines outside of quotes; a quote opens only at the beginning of a cell."""
    if delimiter is None or b'"' not in source:
        return sum(1 for _, _, line in iterate_source_lines(source, watch) if line.strip())
    count, is_open, inner = 0, False, delimiter.encode() + b'"'
    for _, _, line in iterate_source_lines(source, watch):
        if not is_open:
            count += bool(line.strip())
            is_open = (line.startswith(b'"') or inner in line) and line.count(b'"') % 2 == 1
        elif line.count(b'"') % 2:
            is_open = False
    return count


def outline_csv(source: bytes, watch: MapDeadline) -> ScannedOutline:
    return _scan_delimited_table(source, watch, ",")


def outline_tsv(source: bytes, watch: MapDeadline) -> ScannedOutline:
    return _scan_delimited_table(source, watch, "\t")
