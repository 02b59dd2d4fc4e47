"""Lists the languages that support structural search, and the surrounding code that a snippet of each needs to be
parsed."""

from pathlib import PurePath
from typing import Final, NamedTuple

from tools.filemap.detection import detect_language

_SAME_NAMES: Final = """bash c cpp csharp css elixir go haskell hcl html java javascript json kotlin lua php python ruby
rust scala solidity swift tsx typescript yaml"""
LANGUAGE_NAMES: Final = {name: name for name in _SAME_NAMES.split()} | {"jsx": "jsx", "cuda": "cpp"}
"""ast-grep's language name by the language of a file."""
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
    """The code before and after a snippet that makes it a complete source of its language."""

    before: str
    after: str


_JAVA_BODY: Final = "class C { void f() {\n"
_MEMBERS: Final = Context("class C {\n", "\n}\n")
_JAVA_CONTEXTS: Final = (Context(_JAVA_BODY, ";\n} }\n"), Context(_JAVA_BODY, "\n} }\n"), _MEMBERS)
_C_CONTEXTS: Final = (Context("void f() {\n", ";\n}\n"), Context("void f() {\n", "\n}\n"))
_CONTEXTS: Final = {
    "go": (Context("package p\nfunc f() {\n", "\n}\n"),),
    "java": _JAVA_CONTEXTS,
    "csharp": _JAVA_CONTEXTS,
    "c": _C_CONTEXTS,
    "cpp": _C_CONTEXTS,
    "rust": (Context("fn f() {\n", ";\n}\n"), Context("fn f() {\n", "\n}\n")),
    "solidity": (
        Context("contract C { function f() public {\n", ";\n} }\n"),
        Context("contract C {\n", "\n}\n"),
    ),
    "php": (Context("<?php\n", ";\n"), Context("<?php\n", "\n")),
}
_INDENTATION_LANGUAGES: Final = frozenset({"python", "haskell", "yaml", "elixir"})


def contexts_of(language: str) -> tuple[Context, ...]:
    """Returns the surrounding codes of a language in the order in which they are tried; empty if a snippet is parsed as
    it is."""
    return _CONTEXTS.get(language, ())


def is_indentation_based(language: str) -> bool:
    """Returns whether indentation ends a block in the language."""
    return language in _INDENTATION_LANGUAGES


def language_named(word: str) -> str | None:
    """Returns the language of structural search that a model means by a word."""
    plain = word.strip().casefold()
    return LANGUAGE_NAMES.get(_ALIASES.get(plain, plain))


def language_of_file(path: str) -> str | None:
    return LANGUAGE_NAMES.get(detect_language(PurePath(path), b"") or "")
