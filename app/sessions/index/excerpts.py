"""Matches the words of a search query in a text and makes the excerpt that shows them. Pure. Words are split as
the database's tokenizer does: letters and digits, without case and diacritics; in scripts without spaces
every character is a word."""

import re
import unicodedata

import msgspec

from tools.lazy_patterns import lazy_regex

# Scripts without spaces between words; every character becomes a separate word.
_UNSPACED_SCRIPTS = lazy_regex(
    r"(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
_INSERTED_WORD_BREAK = "\u200b"
_QUERY_TERM_PATTERN = lazy_regex(r'"([^"]*)"?|(\S+)')
_QUERY_WORD_PATTERN = lazy_regex(r"[^\W_]+")
_EXCERPT_WORDS, _WORDS_BEFORE_MATCH = 16, 4
"""The length of an excerpt in words, and how many words precede the first match."""
_MAX_PLAIN_EXCERPT_CHARACTERS = 160


class SearchTerm(msgspec.Struct, frozen=True):
    """Consecutive words of a search query. The last one may be a prefix if `is_prefix`."""

    words: tuple[str, ...]
    is_prefix: bool


def insert_word_breaks(text: str) -> str:
    return _UNSPACED_SCRIPTS.sub(_INSERTED_WORD_BREAK, text)


def parse_search_query(query: str) -> list[SearchTerm]:
    """Splits a search query into terms: each word may be a prefix; "…" is a phrase."""
    found = ((phrase or word, bool(phrase)) for phrase, word in _QUERY_TERM_PATTERN.findall(query))
    terms = (
        SearchTerm(tuple(_fold_case(word) for word in _tokens(text)), not is_phrase)
        for text, is_phrase in found
    )
    return [term for term in terms if term.words]


def make_search_excerpt(text: str, terms: list[SearchTerm]) -> str | None:
    r"""Returns the words around the first match, matches between \\x01 and \\x02; None when a term is
    missing."""
    text = insert_word_breaks(unicodedata.normalize("NFC", text))
    spans = [match.span() for match in _QUERY_WORD_PATTERN.finditer(text)]
    words = [_fold_case(text[start:end]) for start, end in spans]
    marked: set[int] = set()
    first = len(words)
    for term in terms:
        places = _match_positions(term, words)
        if not places:
            return None
        first = min(first, places[0])
        marked.update(place + offset for place in places for offset in range(len(term.words)))
    begin = max(0, first - _WORDS_BEFORE_MATCH) if len(words) > _EXCERPT_WORDS else 0
    end = min(len(words), begin + _EXCERPT_WORDS)
    out = ["…"] if begin else []
    at = spans[begin][0] if begin else 0
    for number in range(begin, end):
        start, stop = spans[number]
        out += [text[at:start], f"\x01{text[start:stop]}\x02" if number in marked else text[start:stop]]
        at = stop
    out.append("…" if end < len(words) else text[at:])
    return "".join(out).replace(_INSERTED_WORD_BREAK, "")


def make_excerpt_without_sqlite_search(text: str, terms: list[SearchTerm]) -> str | None:
    """Makes the excerpt without SQLite's search module, in which case a term may match inside a word; None when a
    term is missing."""
    folded = insert_word_breaks(text).casefold()
    if not all(
        _INSERTED_WORD_BREAK.join(term.words) in folded or " ".join(term.words) in folded for term in terms
    ):
        return None
    return text[:_MAX_PLAIN_EXCERPT_CHARACTERS]


def _match_positions(term: SearchTerm, words: list[str]) -> list[int]:
    *whole, last = term.words
    found: list[int] = []
    for place in range(len(words) - len(whole)):
        end = words[place + len(whole)]
        if (end.startswith(last) if term.is_prefix else end == last) and words[
            place : place + len(whole)
        ] == whole:
            found.append(place)
    return found


def _tokens(text: str) -> list[str]:
    return _QUERY_WORD_PATTERN.findall(insert_word_breaks(unicodedata.normalize("NFC", text)))


def _fold_case(word: str) -> str:
    if word.isascii():
        return word.lower()
    bare = "".join(
        letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter)
    )
    return re.sub("ß", "ss", bare).casefold() if "ß" in bare else bare.casefold()
