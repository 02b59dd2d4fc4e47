"""What a map of a file holds: its symbols, and how one is found by name. Who makes them: the other modules here."""

import msgspec


class Symbol(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """Something in a file that has a name and a range of lines (counted from 1, both ends included).

    There are thousands, and they are kept: without the names of their fields, in this order."""

    name: str
    kind: str
    start_line: int
    end_line: int
    parent: int | None = None
    """Index of the symbol that this one belongs to, in the same map. It may come later in the file (Go methods)."""
    signature: str = ""
    """The declaration up to its body on one line, in the file's own language; for data: type and count."""
    modifiers: tuple[str, ...] = ()
    """Words such as `exported`, `async`, `static`, and decorators as `@name`."""
    doc: str = ""
    """First line of the comment or docstring that belongs to it."""
    lead_line: int | None = None
    """Where its decorators begin, when that is above `start_line`."""

    @property
    def is_exported(self) -> bool:
        return "exported" in self.modifiers


_MINOR_KINDS = frozenset(
    ("field", "variable", "constant", "property", "import", "key", "attribute", "element", "member", "value")
)


def is_minor(symbol: Symbol) -> bool:
    """One line for a field or a variable: the last to get room where not all have it."""
    return symbol.start_line == symbol.end_line and symbol.kind in _MINOR_KINDS


class FileMap(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    language: str
    parser: str
    """`tree-sitter`, `line scanner`, `universal-ctags` or `heuristic`."""
    total_lines: int
    total_bytes: int
    elapsed_ms: float
    symbols: tuple[Symbol, ...] = ()
    """In the order of the file."""
    imports: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know, such as `changed while mapping`."""


_SEPARATORS = ("::", "#", ":", "->", "/")


def find_symbol(file_map: FileMap, name: str) -> list[Symbol]:
    """The symbols that `name` can mean: `parse`, or with what it belongs to, `Parser.parse`.

    The whole name wins over its last part, exact case over any case; overloads are all returned. The kind may stand
    before the name, as a map shows it: `class Parser`, `data.aws_region.here`.
    """
    found = _symbols_named(file_map, name)
    kind, separator, rest = name.strip().replace(" ", ".", 1).partition(".")
    if found or not separator:
        return found
    return [symbol for symbol in _symbols_named(file_map, rest) if symbol.kind == kind]


def _symbols_named(file_map: FileMap, name: str) -> list[Symbol]:
    whole, wanted = name.strip(), _name_parts(name)
    if not wanted:
        return []
    return _matching(file_map, whole, wanted) or _matching(
        file_map, whole.casefold(), [part.casefold() for part in wanted], fold=True
    )


def _matching(file_map: FileMap, whole: str, wanted: list[str], *, fold: bool = False) -> list[Symbol]:
    def plain(text: str) -> str:
        return text.casefold() if fold else text

    exact = [symbol for symbol in file_map.symbols if plain(symbol.name) == whole]
    return exact or [
        symbol
        for symbol in file_map.symbols
        if wanted[-1] in plain(symbol.name)
        and _ends_path(wanted, [plain(part) for part in _path_parts(file_map, symbol)])
    ]


def qualified_name(file_map: FileMap, symbol: Symbol) -> str:
    """Its name behind those of what it belongs to."""
    return ".".join(_path_parts(file_map, symbol))


def _path_parts(file_map: FileMap, symbol: Symbol) -> list[str]:
    parts = _name_parts(symbol.name)
    parent, seen = symbol.parent, 0
    while parent is not None and seen < 64:
        above = file_map.symbols[parent]
        parts = _name_parts(above.name) + parts
        parent, seen = above.parent, seen + 1
    return parts


def _ends_path(wanted: list[str], path: list[str]) -> bool:
    """Whether the path ends with the last wanted part and has the others before it, in order."""
    if not path or path[-1] != wanted[-1]:
        return False
    rest = iter(path[:-1])
    return all(part in rest for part in wanted[:-1])


def _name_parts(name: str) -> list[str]:
    for separator in _SEPARATORS:
        name = name.replace(separator, ".")
    return [part.strip() for part in name.split(".") if part.strip()]
