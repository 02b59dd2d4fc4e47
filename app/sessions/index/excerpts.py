"""Words of a query in a text: whether it has them, and the part of it that shows them. Pure.

Words are what the database's tokenizer takes for words: letters and digits, without case and marks; in scripts
without spaces between words every character is one.
"""

import re
import unicodedata

import msgspec

from tools.patterns import late

# Scripts without spaces between words: every character is made a word of its own.
_UNSPACED_SCRIPTS = late(
    r"(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
_WORD_BREAK = "\u200b"
_QUERY = late(r'"([^"]*)"?|(\S+)')
_TOKEN = late(r"[^\W_]+")
_EXCERPT_WORDS, _WORDS_BEFORE_MATCH = 16, 4
"""Words of an excerpt, and how many of them stand before the first that was looked for."""
_PLAIN_EXCERPT_CHARACTERS = 160


class SearchTerm(msgspec.Struct, frozen=True):
    """Words that stand behind one another; of the last one, if it is `open`, only the beginning."""

    words: tuple[str, ...]
    is_open: bool


def with_word_breaks(text: str) -> str:
    return _UNSPACED_SCRIPTS.sub(_WORD_BREAK, text)


def parse_query(query: str) -> list[SearchTerm]:
    """Each word of a query may be the beginning of one; "…" is a phrase."""
    found = ((phrase or word, bool(phrase)) for phrase, word in _QUERY.findall(query))
    terms = (
        SearchTerm(tuple(_folded(word) for word in _tokens(text)), not is_phrase) for text, is_phrase in found
    )
    return [term for term in terms if term.words]


def excerpt(text: str, terms: list[SearchTerm]) -> str | None:
    """Some words around the first that was found, those that were between \\x01 and \\x02; None: it has not all."""
    text = with_word_breaks(unicodedata.normalize("NFC", text))
    spans = [match.span() for match in _TOKEN.finditer(text)]
    words = [_folded(text[start:end]) for start, end in spans]
    marked: set[int] = set()
    first = len(words)
    for term in terms:
        places = _places(term, words)
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
    return "".join(out).replace(_WORD_BREAK, "")


def plain_excerpt(text: str, terms: list[SearchTerm]) -> str | None:
    """Where the database has no words: a part of a word is found as well."""
    folded = with_word_breaks(text).casefold()
    if not all(_WORD_BREAK.join(term.words) in folded or " ".join(term.words) in folded for term in terms):
        return None
    return text[:_PLAIN_EXCERPT_CHARACTERS]


def _places(term: SearchTerm, words: list[str]) -> list[int]:
    *whole, last = term.words
    found: list[int] = []
    for place in range(len(words) - len(whole)):
        end = words[place + len(whole)]
        if (end.startswith(last) if term.is_open else end == last) and words[
            place : place + len(whole)
        ] == whole:
            found.append(place)
    return found


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(with_word_breaks(unicodedata.normalize("NFC", text)))


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    bare = "".join(
        letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter)
    )
    return re.sub("ß", "ss", bare).casefold() if "ß" in bare else bare.casefold()
