"""Lists the languages that support structural search, and the surrounding code that a snippet of each needs to be
parsed."""

from pathlib import PurePath
from typing import Final, NamedTuple

from tools.filemap.language_detection import detect_language

_LANGUAGES_NAMED_AS_IN_AST_GREP: Final = """
bash c cpp csharp css elixir go haskell hcl html java javascript json kotlin lua php python ruby
rust scala solidity swift tsx typescript yaml"""
AST_GREP_NAME_BY_LANGUAGE: Final = {name: name for name in _LANGUAGES_NAMED_AS_IN_AST_GREP.split()} | {
    "jsx": "jsx",
    "cuda": "cpp",
}
"""Maps the language of a file to ast-grep's name of that language."""
_LANGUAGE_BY_ALIAS: Final = {
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


class SnippetContext(NamedTuple):
    """The code before and after a snippet that makes it a complete source of its language."""

    before: str
    after: str


_JAVA_METHOD_START: Final = "class C { void f() {\n"
_CLASS_MEMBER_SNIPPET_CONTEXT: Final = SnippetContext("class C {\n", "\n}\n")
_JAVA_SNIPPET_CONTEXTS: Final = (
    SnippetContext(_JAVA_METHOD_START, ";\n} }\n"),
    SnippetContext(_JAVA_METHOD_START, "\n} }\n"),
    _CLASS_MEMBER_SNIPPET_CONTEXT,
)
_C_SNIPPET_CONTEXTS: Final = (
    SnippetContext("void f() {\n", ";\n}\n"),
    SnippetContext("void f() {\n", "\n}\n"),
)
_SNIPPET_CONTEXTS_BY_LANGUAGE: Final = {
    "go": (SnippetContext("package p\nfunc f() {\n", "\n}\n"),),
    "java": _JAVA_SNIPPET_CONTEXTS,
    "csharp": _JAVA_SNIPPET_CONTEXTS,
    "c": _C_SNIPPET_CONTEXTS,
    "cpp": _C_SNIPPET_CONTEXTS,
    "rust": (SnippetContext("fn f() {\n", ";\n}\n"), SnippetContext("fn f() {\n", "\n}\n")),
    "solidity": (
        SnippetContext("contract C { function f() public {\n", ";\n} }\n"),
        SnippetContext("contract C {\n", "\n}\n"),
    ),
    "php": (SnippetContext("<?php\n", ";\n"), SnippetContext("<?php\n", "\n")),
}
_INDENTATION_LANGUAGES: Final = frozenset({"python", "haskell", "yaml", "elixir"})


def snippet_contexts_of(language: str) -> tuple[SnippetContext, ...]:
    """Returns the contexts (code before and after) in which snippets of a language are parsed, in the order to try;
    empty if the language parses snippets as they are."""
    return _SNIPPET_CONTEXTS_BY_LANGUAGE.get(language, ())


def is_indentation_based(language: str) -> bool:
    """Returns whether indentation ends a block in the language."""
    return language in _INDENTATION_LANGUAGES


def search_language_named(word: str) -> str | None:
    """Returns the language of structural search that a model means by a word."""
    plain = word.strip().casefold()
    return AST_GREP_NAME_BY_LANGUAGE.get(_LANGUAGE_BY_ALIAS.get(plain, plain))


def search_language_of_file(path: str) -> str | None:
    return AST_GREP_NAME_BY_LANGUAGE.get(detect_language(PurePath(path), b"") or "")
