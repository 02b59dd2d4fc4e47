"""Words and names as the parts that a search compares: `smoothSeries` is smooth and series, `keys` is key.

The same function splits sources, names and questions; what is changed here makes every index anew (`store.VERSION`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PARTS_OF_OTHERS = re.compile(r"[^\W\d_]*[^\W\d_a-zA-Z][^\W\d_]*|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORTEST = 3
_LONGEST = 32
"""Longer runs of letters are data."""
MOST_OF_A_WORD = 6
"""A word that stands more often in a file counts no more."""

_WORDS_OF_COMMITS = """
about add added after all also and any are been before being but bug can cannot change changed changes
could did does doesn don each error fail failed fails file files fix fixed fixes for from get had has
have how implement into issue its just let make makes more must new not now off old one only other our
out over please problem remove removed return same set should show since some such support than that the
their them then there these they this through too update updated use used uses using very was way were
what when where which while who why will with within without work works would wrong you your
"""
_SAYS_NOTHING = frozenset(_WORDS_OF_COMMITS.split())
"""Words of questions and commits that stand for no place."""


def parts_of(text: str) -> list[str]:
    """Each part as often as it stands there."""
    return [stem(part.lower()) for part in _split(text) if _is_word(part)]


def _split(text: str) -> list[str]:
    return (_PARTS if text.isascii() else _PARTS_OF_OTHERS).findall(text)


def _is_word(part: str) -> bool:
    """In scripts without blanks one sign says as much as a word."""
    return _SHORTEST <= len(part) <= _LONGEST or (not part.isascii() and len(part) <= _LONGEST)


def counted(text: str) -> dict[str, int]:
    """Parts with how often they stand there, up to the limit."""
    found: dict[str, int] = {}
    if text.isascii():
        # Runs of letters, of which a source has few different ones: each is taken apart once.
        for run, count in Counter(text.encode("ascii").translate(_ONLY_LETTERS).split()).items():
            for part in _stems(run):
                found[part] = found.get(part, 0) + count
    else:
        for part, count in Counter(_split(text)).items():
            if _is_word(part):
                stemmed = stem(part.lower())
                found[stemmed] = found.get(stemmed, 0) + count
    return {part: count if count < MOST_OF_A_WORD else MOST_OF_A_WORD for part, count in found.items()}


def distinct_parts(text: str) -> set[str]:
    """Of a name or a line; for whole sources `counted` is faster."""
    return {stem(part.lower()) for part in _split(text) if _is_word(part)}


_ONLY_LETTERS = bytes(sign if chr(sign).isalpha() and sign < 128 else 32 for sign in range(256))


@lru_cache(maxsize=16_384)
def _stems(run: bytes) -> tuple[str, ...]:
    return tuple(stem(part.lower()) for part in _PARTS.findall(run.decode("ascii")) if _is_word(part))


def question_words(text: str) -> dict[str, str]:
    """Parts that say something, each once, in the order of the question; with the word as it stands there."""
    found: dict[str, str] = {}
    for part in _split(text):
        word = part.lower()
        if _is_word(part) and word not in _SAYS_NOTHING:
            found.setdefault(stem(word), word)
    return found


def emphasis(text: str) -> dict[str, int]:
    """How often each part of `question_words` is to be asked for: as often as it is said, but no more than three times,
    and once more where it stands in the first of several lines, which says what the rest is about."""
    first, feed, _ = text.strip().partition("\n")
    said = Counter(stem(part.lower()) for part in _split(text) if _is_word(part))
    headed = question_words(first) if feed else {}
    return {part: min(said[part], _MOST_SAID) + (part in headed) for part in question_words(text)}


_MOST_SAID = 3


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Without the ending that makes a plural or a form of a verb. Words of other scripts stay as they are."""
    if len(word) < 5 or not word.isascii():
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    for ending, instead, shortest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            return _single(word[: -len(ending)] + instead)
    return _single(word)


_ENDINGS = (
    ("izations", "ize", 3),
    ("ization", "ize", 3),
    ("ations", "ate", 3),
    ("ation", "ate", 3),
    ("ies", "y", 3),
    ("sses", "ss", 2),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ers", "", 4),
    ("ed", "", 3),
    ("er", "", 4),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("xes", "x", 2),
    ("ss", "ss", 2),
    ("us", "us", 2),
    ("s", "", 3),
)


def _single(word: str) -> str:
    """`runn` of `running`, `cache` of `caching` and `cached`: one way to end."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::|#|->)(?:[^\W\d]|\$)[\w$]*)*")
_QUOTED = re.compile(r"`([^`\n]{1,120})`")


def names_in(text: str) -> list[str]:
    """What looks like a name of code: quoted, with `_` or inner capitals, or dotted; the whole and its last part."""
    found: dict[str, None] = {}
    for quoted in _QUOTED.findall(text):
        for name in _NAME.findall(quoted):
            _add(found, name)
    for name in _NAME.findall(text):
        if _looks_made(name):
            _add(found, name)
    return list(found)


def capitalised_in(text: str) -> Iterator[str]:
    """Words that may be names of types, if there are such: not the first of a sentence only."""
    for match in re.finditer(r"\b[A-Z][a-zA-Z0-9]{2,}\b", text):
        yield match[0]


def _add(found: dict[str, None], name: str) -> None:
    found[name] = None
    last = re.split(r"\.|::|#|->", name)[-1]
    if len(last) >= _SHORTEST:
        found[last] = None


def _looks_made(name: str) -> bool:
    if len(name) < 4:
        return False
    has_inner_capital = re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]", name) is not None
    return "_" in name.strip("_") or name.startswith("_") or has_inner_capital or "::" in name


def repeated(counts: Iterable[tuple[str, int]]) -> str:
    """A text with each part so often: what a full-text index counts."""
    return " ".join(part if count == 1 else " ".join([part] * count) for part, count in counts)
