"""What people say to the guide that names no request it knows: what there is to say, or to offer, instead."""

import re
from typing import Final

from app.providers.offline.wishes import Help, Remark, Unclear, Wish

CONNECT: Final = (
    "`/login` connects a language model; so does a key such as `ANTHROPIC_API_KEY` in the environment. "
    "Then choose one with `/model`."
)
_WHO: Final = (
    f"I am bayou's offline guide: a small program, not a language model, and nobody is behind me. {CONNECT}"
)
_REMARKS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), answer)
    for pattern, answer in (
        (
            r"(?:many )?(?:thanks|thank you|thx|ty|great|cool|nice|perfect|good|well done)\b[\w\s]{0,16}",
            "You are welcome.",
        ),
        (
            r"(?:good)?bye|quit|exit|:?q!?|:wq|logout|see you",
            "Ctrl+D on an empty line ends bayou; `bayou -c` comes back to this conversation.",
        ),
        (r".*\b(?:log ?in|sign ?in|api[ -]?keys?|connect|credentials?)\b.*", CONNECT),
        (r"(?:are|who|what|which)\b.*\b(?:you|language model|llm|chatgpt|claude|gpt)\b.*", _WHO),
    )
)  # fmt: skip
_HOW_TO: Final = re.compile(
    r"how (?:do|can|should) (?:i|we|one) (?:use|start|begin|work with) (?:this|it|you|bayou)"
    r"|how does (?:this|it|bayou) work|what now|getting started|now what|manual|commands",
    re.IGNORECASE,
)
_FOR_A_MODEL: Final = re.compile(
    r"(?:fix|explain|refactor|implement|improve|review|debug|summari[sz]e|optimi[sz]e|simplify|clean|why|how|what|when"
    r"|who|add|build|make|test|translate|document|design|plan|check|analy[sz]e|convert|update|upgrade|delete|remove"
    r"|move|think|tell|describe|compare|suggest|port|migrate|write|create|generate|solve|is|are|does|do|should|did)\b",
    re.IGNORECASE,
)
"""Beginnings of what takes somebody who understands."""
_PROGRAMS: Final = re.compile(
    r"awk|bash|bun|bundle|cargo|cd|chmod|cmake|cp|curl|date|df|dig|docker|du|echo|env|gcc|gem|gh|git|go|"
    r"gradle|head|hostname|java|jq|just|kubectl|less|ln|make|mkdir|mv|mvn|node|npm|npx|nox|perl|pip|pnpm|"
    r"poetry|ps|pwd|pytest|python|python3|rake|rg|rm|rsync|ruby|ruff|rustc|sed|sh|sort|ssh|stat|sudo|tail|"
    r"tar|touch|tox|uname|uniq|uv|wc|which|whoami|xargs|yarn|zsh",
    re.IGNORECASE,
)
_STOP_WORDS: Final = re.compile(
    r"about|after|again|also|been|before|could|does|done|down|each|even|ever|every|fine|from|good|have|"
    r"here|into|just|like|made|make|many|more|most|much|must|need|only|other|over|please|same|some|such|"
    r"take|than|that|their|them|then|there|these|they|thing|things|this|those|very|want|well|were|what|"
    r"when|where|which|while|will|with|work|would|your",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[\w./-]+")
_PATH: Final = re.compile(r"(?=.*\w)(?:[\w.-]+/)*[\w-]+\.\w{1,8}|(?:\.{0,2}/)?[\w.-]+/[\w./-]*")


def remark_on(text: str) -> Wish:
    """What there is to say to words that ask for nothing; `Unclear` if there is nothing."""
    plain = text.strip().rstrip(".!? ")
    if _HOW_TO.fullmatch(plain):
        return Help()
    for pattern, answer in _REMARKS:
        if len(plain.split()) <= 10 and pattern.fullmatch(plain):
            return Remark(answer=answer)
    return Unclear(text=text)


def with_offers(text: str, shown: str, example: str) -> str:
    """The answer to `text`, which is not understood; `shown` is what of it is quoted."""
    if _FOR_A_MODEL.match(text):
        head = f"“{shown}” takes a language model, and I am none: a small program that knows a few plain requests."
        ways = f"\n\n{CONNECT}"
    else:
        head = f"I do not understand “{shown}”. I am a small program with a few plain requests, not a language model."
        ways = ""
    offers = [*_offers(text), "help"]
    lines = "\n".join(f"{number}. `{offer}`" for number, offer in enumerate(offers, 1))
    return f"{head}{ways}\n\nWhat I can do:\n\n{lines}\n\nSay a number, or something like `{example}`."


def _offers(text: str) -> list[str]:
    """Requests that may be meant."""
    if "`" in text or "\n" in text:
        return []
    words = _WORD.findall(text)
    if words and (_PROGRAMS.fullmatch(words[0]) or text.startswith("./")):
        return [f"run {text}"]
    paths = list(dict.fromkeys(path for word in words if _PATH.fullmatch(path := word.rstrip("."))))
    if paths:
        return [offer for path in paths[:2] for offer in (f"read {path}", f"map {path}")]
    telling = [word for word in words if word.isalnum() and len(word) > 3 and not _STOP_WORDS.fullmatch(word)]
    if not telling:
        return ["list"]
    longest = max(telling, key=len)
    return [f'grep "{longest}"', f'find "{longest}"']
