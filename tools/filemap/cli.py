"""A map as one line of JSON, as `bayou map --json` prints it."""

from typing import Any

import msgspec

from tools.filemap.symbols import FileMap, Symbol


def map_json_line(file_map: FileMap) -> str:
    """One object without a line break: path, language, parser, totalLines, totalBytes, elapsedMs, symbols, and more."""
    line: dict[str, Any] = {
        "path": file_map.path,
        "language": file_map.language,
        "parser": file_map.parser,
        "totalLines": file_map.total_lines,
        "totalBytes": file_map.total_bytes,
        "elapsedMs": file_map.elapsed_ms,
        "symbols": [_symbol(symbol) for symbol in file_map.symbols],
        "imports": list(file_map.imports),
        "notes": list(file_map.notes),
    }
    return msgspec.json.encode(line).decode("utf-8")


def _symbol(symbol: Symbol) -> dict[str, Any]:
    return {
        "name": symbol.name,
        "kind": symbol.kind,
        "startLine": symbol.start_line,
        "endLine": symbol.end_line,
        "parent": symbol.parent,
        "signature": symbol.signature,
        "modifiers": list(symbol.modifiers),
        "exported": symbol.is_exported,
        "doc": symbol.doc,
        "leadLine": symbol.lead_line,
    }
