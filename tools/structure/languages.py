"""The languages in which code is searched by its structure, and what a piece of each needs around it to be read."""

from pathlib import PurePath
from typing import Final, NamedTuple

from tools.filemap.detection import detect_language

_SAME_NAMES: Final = """bash c cpp csharp css elixir go haskell hcl html java javascript json kotlin lua php python ruby
rust scala solidity swift tsx typescript yaml"""
LANGUAGE_NAMES: Final = {name: name for name in _SAME_NAMES.split()} | {"jsx": "jsx", "cuda": "cpp"}
"""By the language of a file."""
_ALIASES: Final = {
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


class Context(NamedTuple):
    """What makes a whole source of a piece."""

    before: str
    after: str


_JAVA_BODY: Final = "class C { void f() {\n"
_MEMBERS: Final = Context("class C {\n", "\n}\n")
_LIKE_JAVA: Final = (Context(_JAVA_BODY, ";\n} }\n"), Context(_JAVA_BODY, "\n} }\n"), _MEMBERS)
_LIKE_C: Final = (Context("void f() {\n", ";\n}\n"), Context("void f() {\n", "\n}\n"))
_CONTEXTS: Final = {
    "go": (Context("package p\nfunc f() {\n", "\n}\n"),),
    "java": _LIKE_JAVA,
    "csharp": _LIKE_JAVA,
    "c": _LIKE_C,
    "cpp": _LIKE_C,
    "rust": (Context("fn f() {\n", ";\n}\n"), Context("fn f() {\n", "\n}\n")),
    "solidity": (
        Context("contract C { function f() public {\n", ";\n} }\n"),
        Context("contract C {\n", "\n}\n"),
    ),
    "php": (Context("<?php\n", ";\n"), Context("<?php\n", "\n")),
}
_INDENTATION_LANGUAGES: Final = frozenset({"python", "haskell", "yaml", "elixir"})


def contexts_of(language: str) -> tuple[Context, ...]:
    """In the order in which they are tried; without any, a piece is read as it is."""
    return _CONTEXTS.get(language, ())


def is_indentation_based(language: str) -> bool:
    """Where a block ends is told by its indentation."""
    return language in _INDENTATION_LANGUAGES


def language_named(word: str) -> str | None:
    """The language that a model means."""
    plain = word.strip().casefold()
    return LANGUAGE_NAMES.get(_ALIASES.get(plain, plain))


def language_of_file(path: str) -> str | None:
    return LANGUAGE_NAMES.get(detect_language(PurePath(path), b"") or "")
