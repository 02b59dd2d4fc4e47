"""Finds the names that a source declares by looking at its lines only, which is quick enough for thousands of
files.

The ranking needs only names. Kinds and lines come from the file map (`tools.filemap`), which takes three times as
long.
"""

import re
from collections.abc import Sequence
from itertools import compress

_DECLARATION_KEYWORD_TEXT = """
class interface struct enum union trait impl protocol extension namespace module object record type typedef typealias
func function fun fn def defp defmodule defmacro defun defn sub proc procedure macro macro_rules mod package define
instance newtype data library contract event modifier actor message service rpc
"""
_KEYWORDS_BEFORE_DECLARED_NAME = frozenset(_DECLARATION_KEYWORD_TEXT.split())
"""Keywords that precede a declared name in some language."""
_WORDS_AFTER_KEYWORD = {("go", "func"): 3, ("ruby", "def"): 2, ("elixir", "defmodule"): 3}
"""The number of words after a keyword that may belong to the declared name, as in `func (s *Server) Start` and `def
self.start`."""
_BRACE_LANGUAGE_TEXT = """
c cpp cuda objc objcpp java csharp javascript jsx typescript tsx vue svelte dart php solidity kotlin
"""
_BRACE_LANGUAGES = frozenset(_BRACE_LANGUAGE_TEXT.split())
_LANGUAGES_WITH_TYPE_BEFORE_NAME = frozenset(("c", "cpp", "cuda", "java", "csharp"))
_BRACED_FUNCTION_PATTERN = re.compile(
    r"""^(?=[^;\n=(]*+\([^;\n=]*+$)[ \t]*+(?:[\w<>,.*&:\[\]~?@$]++[ \t]++){0,7}[*&]*+(?P<name>[\w$~:]++)
    [ \t]*+\((?:[^;\n=]*[{,(]|[^;\n=]*\)(?:[ \t]+\w+){0,3})[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
"""Matches the head of a function in a language with braces. The quantifiers are possessive, so that no line takes
long; a semicolon, which most other lines have, ends the match at once."""
_ASSIGNED_NAME_PATTERN = re.compile(
    r"""^(?:export[ \t]+)?(?:const|let|var)[ \t]+([\w$]+)
    |^[ \t]*([\w$.]+)[ \t]*[:=][ \t]*(?:async\b[ \t]*)?(?:function\b|\([^()\n]*\)[ \t]*=>)""",
    re.MULTILINE | re.VERBOSE,
)
_DECLARATION_PATTERN_BY_LANGUAGE = {
    "haskell": re.compile(r"^[ \t]*([\w']+)(?:[ \t]*,[ \t]*[\w']+)*[ \t]*::", re.MULTILINE),
    "r": re.compile(r"^[ \t]*([\w.]+)[ \t]*(?:<-|=)[ \t]*function\b", re.MULTILINE),
    "bash": re.compile(r"^[ \t]*([\w-]+)[ \t]*\(\)", re.MULTILINE),
    "lua": re.compile(r"([\w.:]+)[ \t]*=[ \t]*function\b|function[ \t]+([\w.:]+)"),
    "ocaml": re.compile(r"\b(?:let|and|val)[ \t]+(?:rec[ \t]+)?(\w+)"),
    "markdown": re.compile(r"^#{1,6}[ \t]+(.{1,100})", re.MULTILINE),
    "python": re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=[^=]", re.MULTILINE),
}
_RESERVED_WORD_TEXT = """
if for while switch catch return else do elif unless until foreach with and or not new throw await case sizeof defined
assert synchronized using lock fixed super this
"""
_WORDS_THAT_DECLARE_NOTHING = frozenset(_RESERVED_WORD_TEXT.split())


def find_declared_names(language: str | None, text: str, words: Sequence[str]) -> list[str]:
    """Returns the names that a source text probably declares; `words` are all its words, in order."""
    found: list[str] = []
    for at in compress(range(len(words)), map(_KEYWORDS_BEFORE_DECLARED_NAME.__contains__, words)):
        found += words[at + 1 : at + 1 + _WORDS_AFTER_KEYWORD.get((language or "", words[at]), 1)]
    if language in _BRACE_LANGUAGES:
        found += (
            name for name in _BRACED_FUNCTION_PATTERN.findall(text) if name not in _WORDS_THAT_DECLARE_NOTHING
        )
        if language not in _LANGUAGES_WITH_TYPE_BEFORE_NAME:
            found += (one or other for one, other in _ASSIGNED_NAME_PATTERN.findall(text))
    pattern = _DECLARATION_PATTERN_BY_LANGUAGE.get(language or "")
    if pattern is not None:
        found += (match[match.lastindex or 0] for match in pattern.finditer(text))
    return found
