"""Defines file maps and their symbols, and finds a symbol by name. The other modules here build maps."""

import msgspec


class Symbol(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A named range of lines in a file, such as a class or function (counted from 1, both ends included). Thousands are
    stored: without field names, in this order."""

    name: str
    kind: str
    start_line: int
    end_line: int
    parent: int | None = None
    """The index of the owner symbol in the same map, -1 for none. The owner may come later in the file (Go methods)."""
    signature: str = ""
    """The declaration up to its body on one line, in the file's language; for data: type and count."""
    modifiers: tuple[str, ...] = ()
    """Words such as `exported`, `async`, `static`, and decorators as `@name`."""
    doc: str = ""
    """The first line of the symbol's comment or docstring."""
    decorator_line: int | None = None
    """The first line of the symbol's decorators, if it is above `start_line`."""

    @property
    def is_exported(self) -> bool:
        return "exported" in self.modifiers


_ONE_LINE_SYMBOL_KINDS = frozenset(
    ("field", "variable", "constant", "property", "import", "key", "attribute", "element", "member", "value")
)


def is_one_line_member(symbol: Symbol) -> bool:
    """Returns whether a symbol is a one-line field or variable, which is the last to get room in a map."""
    return symbol.start_line == symbol.end_line and symbol.kind in _ONE_LINE_SYMBOL_KINDS


class FileMap(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    language: str
    parser: str
    """The method that found the symbols: `tree-sitter`, `line scanner`, `universal-ctags` or `heuristic`."""
    total_lines: int
    total_bytes: int
    elapsed_ms: float
    symbols: tuple[Symbol, ...] = ()
    """The symbols in the order of the file."""
    imports: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the reader, such as `changed while mapping`."""


_SYMBOL_OWNER_SEPARATORS = ("::", "#", ":", "->", "/")


def find_symbols_named(file_map: FileMap, name: str) -> list[Symbol]:
    """Returns the symbols of a file map that `name` can mean: `parse`, or with its owner, `Parser.parse`. The whole
    name wins over its last part, exact case over any case; all overloads are returned. The kind may precede the name:
    `class Parser`."""
    found = _find_symbols_named(file_map, name)
    kind, separator, rest = name.strip().replace(" ", ".", 1).partition(".")
    if found or not separator:
        return found
    return [symbol for symbol in _find_symbols_named(file_map, rest) if symbol.kind == kind]


def _find_symbols_named(file_map: FileMap, name: str) -> list[Symbol]:
    whole, wanted = name.strip(), _split_qualified_name(name)
    if not wanted:
        return []
    return _find_symbols_matching(file_map, whole, wanted) or _find_symbols_matching(
        file_map, whole.casefold(), [part.casefold() for part in wanted], fold=True
    )


def _find_symbols_matching(
    file_map: FileMap, whole: str, wanted: list[str], *, fold: bool = False
) -> list[Symbol]:
    def plain(text: str) -> str:
        return text.casefold() if fold else text

    exact = [symbol for symbol in file_map.symbols if plain(symbol.name) == whole]
    return exact or [
        symbol
        for symbol in file_map.symbols
        if wanted[-1] in plain(symbol.name)
        and _matches_path_end(wanted, [plain(part) for part in _owner_path(file_map, symbol)])
    ]


def qualified_symbol_name(file_map: FileMap, symbol: Symbol) -> str:
    """Returns the name of a symbol prefixed with those of its owners, such as `Parser.parse`."""
    return ".".join(_owner_path(file_map, symbol))


def _owner_path(file_map: FileMap, symbol: Symbol) -> list[str]:
    parts = _split_qualified_name(symbol.name)
    parent, seen = symbol.parent, 0
    while parent is not None and seen < 64:
        above = file_map.symbols[parent]
        parts = _split_qualified_name(above.name) + parts
        parent, seen = above.parent, seen + 1
    return parts


def _matches_path_end(wanted: list[str], path: list[str]) -> bool:
    """Returns whether a symbol's path of owner names ends with the last wanted part and has the others before it, in
    order."""
    if not path or path[-1] != wanted[-1]:
        return False
    rest = iter(path[:-1])
    return all(part in rest for part in wanted[:-1])


def _split_qualified_name(name: str) -> list[str]:
    for separator in _SYMBOL_OWNER_SEPARATORS:
        name = name.replace(separator, ".")
    return [part.strip() for part in name.split(".") if part.strip()]
