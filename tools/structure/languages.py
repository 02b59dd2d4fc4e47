"""The languages in which code is searched by its structure, and what a piece of each needs around it to be read."""

from pathlib import PurePath
from typing import Final, NamedTuple

from tools.filemap.detection import language_of

_SAME: Final = """bash c cpp csharp css elixir go haskell hcl html java javascript json kotlin lua php python ruby rust
scala solidity swift tsx typescript yaml"""
NAMES: Final = {name: name for name in _SAME.split()} | {"jsx": "jsx", "cuda": "cpp"}
"""By the language of a file."""
_SPOKEN: Final = {
    "ts": "typescript",
    "js": "javascript",
    "py": "python",
    "rs": "rust",
    "c++": "cpp",
    "cs": "csharp",
    "c#": "csharp",
    "sh": "bash",
    "rb": "ruby",
    "kt": "kotlin",
    "yml": "yaml",
    "golang": "go",
}


class Around(NamedTuple):
    """What makes a whole source of a piece."""

    before: str
    after: str


_JAVA_BODY: Final = "class C { void f() {\n"
_MEMBERS: Final = Around("class C {\n", "\n}\n")
_LIKE_JAVA: Final = (Around(_JAVA_BODY, ";\n} }\n"), Around(_JAVA_BODY, "\n} }\n"), _MEMBERS)
_LIKE_C: Final = (Around("void f() {\n", ";\n}\n"), Around("void f() {\n", "\n}\n"))
_BODIES: Final = {
    "go": (Around("package p\nfunc f() {\n", "\n}\n"),),
    "java": _LIKE_JAVA,
    "csharp": _LIKE_JAVA,
    "c": _LIKE_C,
    "cpp": _LIKE_C,
    "rust": (Around("fn f() {\n", ";\n}\n"), Around("fn f() {\n", "\n}\n")),
    "solidity": (
        Around("contract C { function f() public {\n", ";\n} }\n"),
        Around("contract C {\n", "\n}\n"),
    ),
    "php": (Around("<?php\n", ";\n"), Around("<?php\n", "\n")),
}
_BY_INDENTATION: Final = frozenset({"python", "haskell", "yaml", "elixir"})


def around(language: str) -> tuple[Around, ...]:
    """In the order in which they are tried; without any, a piece is read as it is."""
    return _BODIES.get(language, ())


def is_indented(language: str) -> bool:
    """Where a block ends is told by its indentation."""
    return language in _BY_INDENTATION


def named(word: str) -> str | None:
    """The language that a model means."""
    plain = word.strip().casefold()
    return NAMES.get(_SPOKEN.get(plain, plain))


def of_file(path: str) -> str | None:
    return NAMES.get(language_of(PurePath(path), b"") or "")
