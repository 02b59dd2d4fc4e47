"""Which tools of which servers a few words mean. Local: no server is asked, none is started."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from tools.patterns import late

_WORDS = late(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_FIELDS = (("name", 4.0), ("server", 2.5), ("description", 1.5), ("parameters", 1.0))
_SHORT = 3


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    name: str
    description: str = ""
    parameters: str = ""
    """Their names and what is said of them."""


def ranked(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that have anything to do with it, the best first; those with exactly that name before all."""
    wanted = list(dict.fromkeys(_stems(query)))
    plain = query.strip().casefold()
    fields = [{field: Counter(_stems(getattr(one, field))) for field, _ in _FIELDS} for one in candidates]
    frequency = Counter(
        word for each in fields for word in {word for words in each.values() for word in words}
    )
    scored: list[tuple[float, int]] = []
    for number, each in enumerate(fields):
        score = _score(wanted, each, frequency, len(candidates))
        one = candidates[number]
        if plain and plain in (one.name.casefold(), f"{one.server} {one.name}".casefold()):
            score += 1_000
        elif plain and plain == one.server.casefold():
            score += 100
        if score > 0:
            scored.append((-score, number))
    return [candidates[number] for _, number in sorted(scored)]


def _score(wanted: list[str], fields: dict[str, Counter[str]], frequency: Counter[str], count: int) -> float:
    score, hits = 0.0, 0
    for word in wanted:
        best = 0.0
        for field, weight in _FIELDS:
            words = fields[field]
            if word in words:
                best = max(best, weight * (1 + 0.2 * math.log(words[word])))
            elif len(word) > _SHORT and any(
                known.startswith(word) or word.startswith(known) for known in words if len(known) > _SHORT
            ):
                best = max(best, weight * 0.5)
        if best:
            hits += 1
            score += best * math.log(1 + count / (1 + frequency.get(word, 0)) + 1)
    return score * (hits / len(wanted)) if wanted else 0.0


def _stems(text: str) -> list[str]:
    found = _WORDS.findall(text)
    return [_stem(word.casefold()) for word in found]


def _stem(word: str) -> str:
    """`issues`, `searching` and `deleted` are found by `issue`, `search` and `delete`."""
    if not word.isascii() or len(word) <= _SHORT + 1:
        return word
    return re.sub(r"(?:ies$)", "y", word) if word.endswith("ies") else re.sub(r"(?:ing|ed|es|s|e)$", "", word)
