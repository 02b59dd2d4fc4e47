"""From words to wishes: steps that follow one another, each with wishes that can be done at once."""

import re
from collections.abc import Iterator

from app.providers.offline.arguments import wishes_of
from app.providers.offline.forms import FORMS
from app.providers.offline.quotes import Quotes, starts_quoted
from app.providers.offline.remarks import remark_on
from app.providers.offline.wishes import EditFile, Help, RunCommand, RunPython, Unclear, Wish, WriteFile

_WORD_TO_VERB = {word: form.verb for form in FORMS for word in form.words}


_END_OF_WORD = r"(?![\w/-]|\.\w)"
"""`list.py` is a name, `list.` the end of a sentence."""


def _any_of(words: list[str]) -> str:
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word) + (_END_OF_WORD if word[-1].isalnum() else "") for word in ordered)


_VERB_WORDS = [
    word for word in _WORD_TO_VERB if word not in ("in", "todo", "todos", "to-do", "to-dos")
]  # too common words to begin a clause in mid-sentence
_VERBS = _any_of(_VERB_WORDS)
_VERBS_BUT_REPLACE = _any_of([word for word in _VERB_WORDS if word != "replace"])
_VERB = re.compile(rf"({_any_of(list(_WORD_TO_VERB))})", re.IGNORECASE)
_JOINT = r"(?:\s*[,;]\s*(?:and\s+|also\s+)?|\s+and\s+(?:also\s+)?|\s*&&?\s*)(?:please\s+)?"
_NEXT = re.compile(rf"{_JOINT}(?={_VERBS})", re.IGNORECASE)
_NEXT_AFTER_EDIT = re.compile(rf"{_JOINT}(?={_VERBS_BUT_REPLACE})", re.IGNORECASE)
_THEN = re.compile(rf"[,;.]?\s+(?:and\s+)?(?:then|after that)[,:]?\s+(?={_VERBS})", re.IGNORECASE)
_COURTESY = re.compile(
    r"^(?:(?:please|now|then|also|ok|okay|first|hey|hi|hello|could you|can you|would you|will you|i want you to|"
    r"i'd like you to|let's|let us|go ahead and)\b[,!:]?\s+|\d[.)]\s+)+",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:[\s,]*\b(?:please|thanks|thank you|for me)\b)*(?:(?<=[\w\ue001*/])[.!?]+)?\s*$", re.IGNORECASE
)
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening|day)|yo)\b[\s\w]{0,12}[.!?]*", re.IGNORECASE)
_HELP = re.compile(
    r"(?:\?|help|/help|what (?:can|do) you (?:do|understand)|who are you|what are you)\W*", re.I
)
_TEXT_BELOW = re.compile(":[ \t]*\n\\s*(?=\ue000)")
_PATH = re.compile(r"[~.\w/-]*(?:/|\.\w+)[\w./-]*")
_COMMAND = re.compile(
    r"(?:cat|dir|find|grep|ls|tree)\s(?=.*(?:(?<=\s)--?[a-z]|\s(?:\||>>?|&&)\s))", re.IGNORECASE
)
"""Verbs that are names of programs too, with options or a pipe: those are for the shell."""


def steps_of(text: str) -> list[list[Wish]]:
    """Wishes to be granted one group after the other. Each group has at least one."""
    quotes = Quotes()
    steps: list[list[Wish]] = []
    group: list[Wish] = []
    for line in _TEXT_BELOW.sub(": ", quotes.put_aside(text)).splitlines():
        parts = _THEN.split(line)
        for number, part in enumerate(parts):
            if group and (number or isinstance(group[-1], RunCommand | RunPython)):
                steps.append(group)
                group = []
            for wish in _wishes(part, quotes):
                if group and _must_wait(wish, group[-1]):
                    steps.append(group)
                    group = []
                group.append(wish)
    if group:
        steps.append(group)
    return steps or [[Unclear(text="")]]


def _must_wait(wish: Wish, before: Wish) -> bool:
    """Whatever follows a change may be about it; changes of different files do not disturb each other."""
    if not isinstance(before, EditFile | WriteFile):
        return False
    return not isinstance(wish, EditFile | WriteFile) or wish.path == before.path


def _wishes(text: str, quotes: Quotes) -> Iterator[Wish]:
    rest = text.strip()
    if not rest:
        return
    if _HELP.fullmatch(rest):
        yield Help()
        return
    if _GREETING.fullmatch(rest):
        yield Help(is_greeting=True)
        return
    rest = _COURTESY.sub("", rest)
    if _COMMAND.match(rest):
        yield RunCommand(command=quotes.put_back_quoted(rest))
        return
    while rest:
        verb = _VERB.match(rest)
        if verb is None:
            yield _without_verb(rest, quotes)
            return
        argument, rest = _argument(_WORD_TO_VERB[verb[1].lower()], verb, rest)
        yield from wishes_of(_WORD_TO_VERB[verb[1].lower()], verb[1].lower(), argument, quotes)


def _argument(verb: str, match: "re.Match[str]", text: str) -> tuple[str, str]:
    """What belongs to the verb, and what comes after it."""
    body = text[match.end() :].lstrip(":")
    if verb in ("write", "python") or (verb == "run" and not starts_quoted(body)):
        return body.strip(), ""  # a command or a text may contain any word
    following = (_NEXT_AFTER_EDIT if verb == "edit" else _NEXT).search(body)
    if following is None:
        return (body if verb == "edit" else _THANKS.sub("", body)).strip(), ""
    return body[: following.start()].strip(), body[following.end() :]


def _without_verb(text: str, quotes: Quotes) -> Wish:
    """A lone path is meant to be read; anything else is not understood."""
    word = quotes.put_back(_THANKS.sub("", text)).strip()
    if _PATH.fullmatch(word):
        return next(iter(wishes_of("read", "read", word, quotes)))
    return remark_on(quotes.put_back_quoted(text).strip())
