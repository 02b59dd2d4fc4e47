"""Splits words and names into parts for search: `smoothSeries` becomes smooth, series, and itself.

The same functions split sources, names, questions and commit messages; a change here invalidates every index
(`index_store.REPOSITORY_INDEX_VERSION`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

_IDENTIFIER_RUN_PATTERN = re.compile(r"\w+")
_ASCII_SEPARATORS_TO_SPACES = {code: " " for code in range(128) if not re.match(r"\w", chr(code))}
_CAMEL_CASE_PART_PATTERN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SCRIPTS_WITHOUT_SPACES = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Matches text of scripts without spaces between words, such as Chinese, where two characters mean as much as a
word."""
_SPACELESS_SCRIPT_PATTERN = re.compile(
    rf"[{_SCRIPTS_WITHOUT_SPACES}]+|[^\W\d_{_SCRIPTS_WITHOUT_SPACES}]*[^\W\d_a-zA-Z{_SCRIPTS_WITHOUT_SPACES}][^\W\d_{_SCRIPTS_WITHOUT_SPACES}]*|{_CAMEL_CASE_PART_PATTERN.pattern}"
)
_MIN_WORD_PART_CHARS = 2
_MAX_WORD_PART_CHARS = 32
"""The maximum length of a word part; longer ones are data. A whole name may have twice that length."""
MAX_COUNT_PER_WORD_PART = 6
"""The maximum number of times that a word is counted in one file."""

_STOP_WORD_TEXT = """
about add added after all also and any are as at be been before being but by bug can cannot change changed changes
could did do does doesn don each error fail failed fails file files fix fixed fixes for from get had has
have how if implement in into is issue it its just let make makes more must new no not now of off old on one only or
other our out over please problem re remove removed return same set should show since so some such support than that the
their them then there these they this through to too up update updated use used uses using ve very was way we
were what when where which while who why will with within without work works would wrong you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
"""Common words of questions and commits that identify no place."""


@lru_cache(maxsize=131_072)
def _split_identifier(run: str) -> tuple[str, ...]:
    """Splits a run of letters, digits and `_` into stemmed parts; if there are several, the whole is one of them."""
    if run.isascii() and run.isalpha() and run.islower():
        return (stem_word(run),) if _MIN_WORD_PART_CHARS <= len(run) <= _MAX_WORD_PART_CHARS else ()
    parts = (_CAMEL_CASE_PART_PATTERN if run.isascii() else _SPACELESS_SCRIPT_PATTERN).findall(run)
    found: list[str] = []
    for part in parts:
        if part[0] >= "\u0e00" and re.match(f"[{_SCRIPTS_WITHOUT_SPACES}]", part):
            found += (part[at : at + 2] for at in range(max(1, min(len(part), _MAX_WORD_PART_CHARS) - 1)))
        elif _MIN_WORD_PART_CHARS <= len(part) <= _MAX_WORD_PART_CHARS:
            found.append(stem_word(part.lower()))
    if len(parts) > 1 and len(run) <= 2 * _MAX_WORD_PART_CHARS:
        found.append(run.replace("_", "").lower())
    return tuple(found)


def split_into_word_parts(text: str) -> list[str]:
    """Splits a text into word parts for the search, each as often as it occurs."""
    return [part for run in _IDENTIFIER_RUN_PATTERN.findall(text) for part in _split_identifier(run)]


def find_identifiers(text: str) -> list[str]:
    """Returns the runs of letters, digits and `_` in a text, in order."""
    if text.isascii():  # five times as fast
        return text.translate(_ASCII_SEPARATORS_TO_SPACES).split()
    return _IDENTIFIER_RUN_PATTERN.findall(text)


def count_word_parts(text: str) -> dict[str, int]:
    """Counts the word parts of a text, each up to the limit."""
    return count_word_parts_of_identifiers(find_identifiers(text))


def count_word_parts_of_identifiers(runs: Iterable[str]) -> dict[str, int]:
    """Counts the word parts of runs, each up to the limit. Each distinct run is split once."""
    found: dict[str, int] = {}
    get, split = found.get, _split_identifier
    for run, count in Counter(runs).items():
        for part in split(run):
            found[part] = get(part, 0) + count
    return {
        part: count if count < MAX_COUNT_PER_WORD_PART else MAX_COUNT_PER_WORD_PART
        for part, count in found.items()
    }


def find_question_words(text: str) -> dict[str, str]:
    """Returns the meaningful word parts of a question, each once and in order, with the original word."""
    found: dict[str, str] = {}
    for run in _IDENTIFIER_RUN_PATTERN.findall(text):
        if run.lower() not in _STOP_WORDS:
            for part in _split_identifier(run):
                if part not in _STEMMED_STOP_WORDS:
                    found.setdefault(part, run)
    return found


def count_word_emphasis(text: str) -> Counter[str]:
    """Counts how often a question has each word part, at most three times, and once more if it is in the first of
    several lines, which states the subject."""
    first, feed, _ = text.strip().partition("\n")
    said = Counter({part: min(count, 3) for part, count in count_word_parts(text).items()})
    if feed:
        said.update(find_question_words(first).keys())
    return said


@lru_cache(maxsize=65_536)
def stem_word(word: str) -> str:
    """Returns a word without the ending of a plural or a verb form. Words of other scripts stay unchanged."""
    if len(word) < 5 or not word.isascii():
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    if word[-1] not in "sgdrn":  # no ending has another last letter
        return _normalise_word_stem(word)
    for ending, instead, shortest in _STEM_BY_SUFFIX:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            return _normalise_word_stem(word[: -len(ending)] + instead)
    return _normalise_word_stem(word)


_STEM_BY_SUFFIX = (
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


def _normalise_word_stem(word: str) -> str:
    """Normalises the stem of a word: `runn` of `running` to `run`, `cache` of `caching` and `cached`."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


_STEMMED_STOP_WORDS = frozenset(map(stem_word, _STOP_WORDS))

_CODE_NAME_IN_QUESTION_PATTERN = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::|#|->)(?:[^\W\d]|\$)[\w$]*)*")
_BACKQUOTED_TEXT_PATTERN = re.compile(r"`([^`\n]{1,120})`")
_INNER_CAPITAL_PATTERN = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")


def find_code_names(text: str) -> list[str]:
    """Returns the words of a question that look like code names: quoted, with `_` or inner capitals, or dotted; the
    whole and its last part."""
    found: dict[str, None] = {}
    quoted = (
        name
        for part in _BACKQUOTED_TEXT_PATTERN.findall(text)
        for name in _CODE_NAME_IN_QUESTION_PATTERN.findall(part)
    )
    for name in (*quoted, *filter(_looks_like_identifier, _CODE_NAME_IN_QUESTION_PATTERN.findall(text))):
        found[name] = None
        last = re.split(r"\.|::|#|->", name)[-1]
        if len(last) > _MIN_WORD_PART_CHARS:
            found[last] = None
    return list(found)


def find_capitalised_words(text: str) -> Iterator[str]:
    """Yields the capitalised words of a question that may be type names: not only the first word of a sentence."""
    return (match[0] for match in re.finditer(r"\b[A-Z][a-zA-Z0-9]{2,}\b", text))


def _looks_like_identifier(name: str) -> bool:
    has_sign = "_" in name.strip("_") or name.startswith("_") or "::" in name
    return len(name) >= 4 and (has_sign or _INNER_CAPITAL_PATTERN.search(name) is not None)


def repeat_words_by_count(counts: Iterable[tuple[str, int]]) -> str:
    """Returns a text for the full-text index that repeats each word part as often as counted."""
    return " ".join(part if count == 1 else " ".join([part] * count) for part, count in counts)
