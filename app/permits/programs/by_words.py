"""What the words of a command say, whatever program it is: the verbs and options of tools for others, and addresses."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from app.permits.letters import Finding
from app.permits.words import Word, names

_FOR_OTHERS = re.compile(r"(?:\w+[-:])?(?:publish|unpublish|deploy)(?:[A-Z]\w*|[:_-].*)?")
_GRAVE_NAME = re.compile(
    r"(?!before|after|pre|post|check|test|dry)(?:.*[_-])?(?:deploy|publish|unpublish|destroy)(?:er)?(?:[_-].*)?"
    r"|Publish-\w+|(?:New|Set|Start|Stop|Restart|Remove|Suspend|Resume)-Service|Set-ExecutionPolicy"
)
_SENDING_NAME = re.compile(
    r"(?:^|[_-])(?:upload|uploader|downloader|fetcher|login)$"
    r"|^(?:Install|Update|Save|Find)-(?:Module|Script|Package\w*)$"
)
_ASKS_ELSEWHERE = names(
    "install upgrade update login logout signin signup clone push pull fetch download upload cloud sync "
    "remote linkcheck "
    "self-update self-upgrade selfupdate selfupgrade whoami subscribe"
)
_SENDS_WHAT = re.compile(r"(?:push|upload|pull|download)[:_-].*|\w+[:_-](?:fetch|upload|download)")
_ASKS_IN_A_GROUP = names(
    "install upgrade login logout clone push pull fetch download upload sync search self-update selfupdate"
)
_STARTERS = frozenset({"exec", "x", "dlx"})
_NO_GROUP = names("help test tests lint check build new generate gen g add explain bench doc docs -")
_PLAIN = re.compile(r"[a-z][A-Za-z0-9:_-]*")
_SENDS = re.compile(r"--?(?!no-|skip-|force-|dry-)(?:[\w-]+-)?(?:publish|deploy|push|auto-?merge)(?:=(.*))?")
_IS_NOT = frozenset({"false", "no", "never", "none", "0", "off"})
_GIVEN_AWAY = re.compile(
    r"--(?:upload|login|sync|remote|registry|registry-url|api-?key|api-?token|access-?token|auth-?token|token)(?:=.*)?"
)
_FOR_NEWER = re.compile(
    r"--(?:only-)?(?:dependencies|deps)(?:-only)?|--dependencies-only|--upgrade(?:-package)?(?:=.*)?"
    r"|--refresh-dependencies|--update-snapshots"
)
"""Options of what builds, for which it has to ask where its parts come from."""
_ADDRESS = re.compile(
    r"(?:https?|ftps?|sftp|git|ssh|wss?|s3|gs|gcs|azure?|oci|docker|rsync|smb|nfs|grpcs?|amqps?|mqtts?|nats|rediss?|"
    r"mongodb(?:\+srv)?|postgres(?:ql)?|mysql|kafka|ldaps?|b2|swift|webdavs?|ipfs|imaps?|smtps?)"
    r"(?:\+\w+)?://(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#\s]*)|magnet:|(?:git@|\w+@[\w-]+(?:\.[\w-]+)+:)"
)
_HOST = re.compile(
    r"(?:[a-z0-9-]+\.)+[a-z]{2,}:\d{2,5}(?:/.*)?|(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\S*)?",
    re.IGNORECASE,
)
_HERE = frozenset({"", "localhost", "127.0.0.1", "0.0.0.0", "[::1]"})
_TOLD_ABOUT_ITSELF = re.compile(
    r"-.*(?:base|site|home|canonical|public|root|repo|doc|cors|origin)", re.IGNORECASE
)
"""Options whose address is only written down."""


def words_say(name: str, words: Sequence[Word]) -> list[Finding]:
    """What its words say everywhere, whatever program it is."""
    plain = [word.text for word in words if _PLAIN.fullmatch(word.text)][:6]
    if plain[:1] and plain[0] in _STARTERS:
        plain = plain[2:]  # what it starts, and then what that is told
    verb, then = (*plain, "", "")[:2]
    is_group = _PLAIN.fullmatch(verb) is not None and verb not in _NO_GROUP
    if _FOR_OTHERS.fullmatch(verb) or (is_group and _FOR_OTHERS.fullmatch(then)):
        return [Finding("F", f"{name} {verb} acts on others")]
    if _GRAVE_NAME.fullmatch(name):
        return [Finding("F", f"a program that is named {name} acts on others")]
    for word, value in zip_longest(words, words[1:]):
        sends = _SENDS.fullmatch(word.text)
        if sends and (sends[1] or (value.text if value else "")) not in _IS_NOT:
            return [Finding("F", f"{name} is told to {word.text.strip('-')}")]
    if (
        verb in _ASKS_ELSEWHERE
        or _SENDS_WHAT.fullmatch(verb)
        or (is_group and any(one in _ASKS_IN_A_GROUP for one in plain[1:]))
    ):
        return [Finding("N", f"{name} {verb} may use the network")]
    if _SENDING_NAME.search(name):
        return [Finding("N", f"a program that is named {name} may use the network")]
    asks = next((word.text for word in words if _GIVEN_AWAY.fullmatch(word.text)), None)
    if asks is not None:
        return [Finding("N", f"{name} is given {asks.partition('=')[0]}")]
    address = address_in(words)
    return [Finding("N", f"{name} is given {address}")] if address is not None else []


def fetches(name: str, words: Sequence[Word]) -> list[Finding]:
    """What the words of a program say that builds, or gets its parts from elsewhere."""
    asks = next((word.text for word in words if _FOR_NEWER.fullmatch(word.text)), None) or address_in(words)
    return [Finding("N", f"{name} is given {asks}")] if asks else []


def address_in(words: Sequence[Word]) -> str | None:
    before = ""
    for word in words:
        option, equals, value = word.text.partition("=") if word.text.startswith("-") else ("", "", word.text)
        named_by = option if equals else before
        before = word.text
        if named_by.startswith("-") and _TOLD_ABOUT_ITSELF.match(named_by):
            continue
        found = _ADDRESS.match(value) or _ADDRESS.match(value.partition("=")[2])
        if found and (found[1] is None or found[1] not in _HERE):
            return value
        if _HOST.fullmatch(value):
            return value
    return None
