"""Short answers that only make sense after what was said before: `more`, `again`, `2`, `yes`, `it`."""

import re

import msgspec

from app.providers.offline.situation import Situation
from app.providers.offline.wishes import IT, EditFile, Incomplete, MapFile, ReadFile, SearchText, Wish

_MORE = re.compile(
    r"(?:more|continue|go on|next|next page|keep (?:going|reading)|and then)\W*", re.IGNORECASE
)
_AGAIN = re.compile(r"(?:again|once more|repeat|repeat that|try again|retry|do it again)\W*", re.IGNORECASE)
_YES = re.compile(r"(?:yes|y|yes please|sure|ok|okay|do it|please do|go ahead)\W*", re.IGNORECASE)
_NO = re.compile(r"(?:no|n|no thanks|nope|never mind|cancel)\W*", re.IGNORECASE)
_ALL = re.compile(r"(?:all|both|all of them|everything)\W*", re.IGNORECASE)
_NUMBERS = re.compile(r"(?:(?:number|no\.?|the|option)\s*)?\d(?:\s*(?:,|and|&|\s)\s*\d)*\W*", re.IGNORECASE)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_ORDINAL = re.compile(rf"(?:the\s+)?({'|'.join(_ORDINALS)})(?:\s+one)?\W*", re.IGNORECASE)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The request in full words, or what to answer when it cannot be put so."""

    request: str = ""
    answer: str = ""


def in_full(situation: Situation) -> Said:
    text = situation.request
    if _MORE.fullmatch(text):
        return _next_page(situation)
    if _AGAIN.fullmatch(text):
        return _previous(situation)
    if _NO.fullmatch(text):
        return Said(answer="Fine. What shall I do instead? `help` lists what I understand.")
    numbers = _chosen(text, len(situation.offers))
    if numbers is not None:
        return _offered(situation, numbers)
    return Said(request=text)


def resolve(wish: Wish, it: str | None) -> Wish:
    """Puts `it`, the file spoken of last, in the place of the word."""
    if isinstance(wish, SearchText) and wish.where == IT:
        asked = Incomplete(
            verb="grep", question="In which file? We have not spoken of one. Say: `grep PATTERN in FILE`"
        )
        return asked if it is None else msgspec.structs.replace(wish, where=it)
    if not isinstance(wish, ReadFile | MapFile | EditFile) or wish.path not in (IT, None):
        return wish
    if it is None:
        verb = type(wish).__name__.removesuffix("File").lower()
        return Incomplete(
            verb=verb, question=f"Which file do you mean? We have not spoken of one. Say: `{verb} FILE`"
        )
    return msgspec.structs.replace(wish, path=it)


def _next_page(situation: Situation) -> Said:
    if situation.continuation is None:
        return Said(answer="There is nothing to go on with: the last file was shown to its end.")
    path, line = situation.continuation
    return Said(request=f'read "{path}:{line}-"')


def _previous(situation: Situation) -> Said:
    for request in situation.earlier_requests:
        is_followup = any(
            form.fullmatch(request) for form in (_MORE, _AGAIN, _YES, _NO, _ALL, _NUMBERS, _ORDINAL)
        )
        if not is_followup:
            return Said(request=request)
    return Said(answer="There is nothing to repeat yet.")


def _chosen(text: str, count: int) -> list[int] | None:
    """The numbers of the offers that `text` picks; None if it picks none."""
    if _YES.fullmatch(text):
        return [1]
    if _ALL.fullmatch(text):
        return list(range(1, count + 1))
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal:
        return [_ORDINALS[ordinal[1].lower()]]
    return [int(digit) for digit in re.findall(r"\d", text)] if _NUMBERS.fullmatch(text) else None


def _offered(situation: Situation, numbers: list[int]) -> Said:
    offers = situation.offers
    if not offers:
        return Said(answer="I have not offered anything to choose from. `help` lists what I understand.")
    if not all(1 <= number <= len(offers) for number in numbers):
        return Said(answer=f"I offered {len(offers)}: say a number from 1 to {len(offers)}.")
    return Said(request="\n".join(offers[number - 1] for number in numbers))
