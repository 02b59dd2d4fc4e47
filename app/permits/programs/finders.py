"""Programs that find files and do something with each: find, fd, xargs, parallel."""

import re
from collections.abc import Sequence

from app.permits.calls import Call, Feed, Table, answers_help, table, written
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.words import DEEP, ONE, STAR, TORN, UNKNOWN, WILD, Word, literal, names
from tools.protected.later import VCS

_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FILES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_WITH_VALUE = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin "
    "-atime -amin -ctime -cmin -newer -anewer -cnewer -user -group -uid -gid -perm -maxdepth "
    "-mindepth -depth- -fstype -links -inum -samefile -lname -ilname -printf -regextype -used "
    "-context -newermt -D -files0-from"
)


class _Search:
    """One `find`: where it begins, what its tests let through, what it does."""

    def __init__(self, call: Call) -> None:
        self.roots: list[Word] = []
        self.names: list[Word] = []
        self.actions: list[tuple[str, list[Word]]] = []
        self.is_negated = False
        self.is_sure = True
        words = list(call.words)
        while words and not (
            (words[0].text.startswith("-") and len(words[0].text) > 2) or words[0].text in ("!", "(")
        ):
            word = words.pop(0)
            if word.text in ("-H", "-L", "-P"):
                continue
            self.roots.append(word)
        self.is_sure = not any(word.text.startswith(UNKNOWN) or word.may_split for word in self.roots)
        self._tests(words)

    def _tests(self, words: "list[Word]") -> None:
        at = 0
        while at < len(words):
            text = words[at].text
            at += 1
            if text in _ACTIONS:
                end = next((i for i in range(at, len(words)) if words[i].text in (";", "+")), len(words))
                self.actions.append((text, words[at:end]))
                at = end + 1
            elif text in _FILES or text == "-files0-from":
                self.actions.append((text, words[at : at + 1]))
                at += 2 if text == "-fprintf" else 1
            elif text == "-delete":
                self.actions.append((text, []))
            elif text in ("!", "-not", "-o", "-or", ","):
                self.is_negated = True
            elif text in ("-name", "-iname", "-path", "-ipath", "-wholename"):
                self.names += words[at : at + 1]
                at += 1
            elif text in _WITH_VALUE:
                at += 1
            elif UNKNOWN in text:
                self.is_sure = False

    def is_narrow(self) -> bool:
        """Its names cannot be the folder itself, one above, or a project's history."""
        if self.is_negated:
            return False
        return any(_is_narrow(name.text) for name in self.names)

    def found(self) -> "list[str]":
        """What stands for `{}`."""
        roots = [word.text.rstrip("/") or "/" for word in self.roots] or ["."]
        names = [] if self.is_negated else [name.text for name in self.names if "/" not in name.text]
        if not names:
            return [f"{root}/{DEEP}" for root in roots]
        return [f"{root}/{DEEP}/{as_glob(names[0])}" for root in roots]


def as_glob(text: str) -> str:
    """A quoted pattern that a program itself expands."""
    return re.sub(r"\[[^\]]*\]", ONE, text).replace("*", STAR).replace("?", ONE)


def _is_narrow(text: str) -> bool:
    glob = as_glob(text.rsplit("/", 1)[-1])
    if UNKNOWN in glob or not WILD.sub("", glob).strip("."):
        return False
    from app.permits.words import pattern_of  # noqa: PLC0415  (only for removals by a pattern)

    form = pattern_of(glob)
    return not any(form.fullmatch(name) for name in (*VCS, ".", ".."))


@answers_help
def _find(call: Call) -> list[Finding]:
    search = _Search(call)
    found = [Finding("R", "lists names")]
    if not search.is_sure:
        found.append(Finding("U", "a word that only the run will tell may be an action"))
    for action, words in search.actions:
        if action == "-delete":
            found += _deleted(call, search)
        elif action in _FILES:
            found += [written(call, word) for word in words]
        elif action == "-files0-from":
            found += [call.ground.read(word) for word in words]
        else:
            found += _each(call, search, words)
    if not search.actions:
        is_exact = any(word.text == "-print0" for word in call.words)
        call.output = Feed(names=tuple(search.found()), is_exact=is_exact)
    return found


def _deleted(call: Call, search: _Search) -> list[Finding]:
    roots = search.roots or [literal(".")]
    narrow = search.is_narrow()
    found: list[Finding] = []
    for root in roots:
        if root.is_unknown or root.may_split:
            found.append(Finding("F", "removes recursively what only the run will tell"))
        elif not narrow:
            found.append(call.ground.remove(root, deeply=True))
        else:
            found.append(call.ground.remove(Word(f"{root.text}/{DEEP}"), deeply=False))
    return found


def _each(call: Call, search: _Search, words: Sequence[Word]) -> list[Finding]:
    """`-exec`: the command with what was found for `{}`."""
    removes = words and words[0].text.rsplit("/", 1)[-1] == "rm"
    if removes and _is_recursive(words):
        return _deleted(call, search)
    names = search.found()
    inner: list[Word] = []
    found: list[Finding] = []
    for word in words:
        if word.text == "{}":
            inner += [Word(name, source="{}") for name in names]
        elif "{}" in word.text and _is_script(words, word):
            inner.append(_with_names(word, "{}"))
            found.append(_NAMES_AS_CODE)
        elif "{}" in word.text:
            inner.append(Word(word.text.replace("{}", UNKNOWN), word.may_split, word.source))
        else:
            inner.append(word)
    call.run(inner)
    return found


_NAMES_AS_CODE = Finding("X", "names of files become part of a script")


def _is_script(words: Sequence[Word], word: Word) -> bool:
    """Whether this word is what a shell is given to run."""
    at = [one.text for one in words].index(word.text)
    return (
        words[0].text.rsplit("/", 1)[-1] in ("sh", "bash", "dash", "ash")
        and at > 0
        and "c" in words[at - 1].text
    )


def _with_names(word: Word, slot: str) -> Word:
    """The script with a variable that nobody knows where a name will stand."""
    return Word(word.text.replace(slot, "$__name"), word.may_split, word.source)


def _is_recursive(words: Sequence[Word]) -> bool:
    return take(words[1:], row("recursive")).has("r", "R", "recursive") or any(
        w.is_unknown for w in words[1:]
    )


def _fd(call: Call) -> list[Finding]:
    options = (
        "x= X= exec= exec-batch= e= extension= t= type= d= max-depth= E= exclude= c= "
        "color= S= size= "
        "base-directory= search-path= changed-within= changed-before= o= owner= j= threads= "
        "ignore-file=:read"
    )
    words = list(call.words)
    at = next(
        (i for i, word in enumerate(words) if word.text in ("-x", "-X", "--exec", "--exec-batch")), None
    )
    if at is None:
        joined = any(re.match(r"-\w*[xX]|--exec", word.text) for word in words)
        taken = take(words, row(options))
        roots = taken.operands[1:] or [literal(".")]
        call.output = Feed(names=tuple(f"{root.text}/{DEEP}" for root in roots))
        if joined or not taken.is_sure:
            return [Finding("U", "what it runs for each file, only the run will tell")]
        return [Finding("R", "lists names")]
    inner = [
        Word(f"./{DEEP}", source=word.source) if word.text.startswith("{") else word
        for word in words[at + 1 :]
    ]
    if inner == words[at + 1 :]:
        inner.append(Word(f"./{DEEP}", source="{}"))
    call.run(inner)
    return []


_XARGS = (
    "I= i n= L= l P= s= d= a=:read E= e 0 r t p x null delimiter= max-args= max-procs= replace "
    "max-lines arg-file=:read "
    "max-chars= eof no-run-if-empty verbose process-slot-var="
)


@answers_help
def _xargs(call: Call) -> list[Finding]:
    """The names it is fed with go to a command; what they are is known if the one before said so."""
    taken = take(call.words, row(_XARGS), stops_early=True)
    found = [call.ground.read(word) for word in taken.values("a", "arg-file")]
    command = taken.operands or [literal("echo")]
    names = _fed(call, is_exact=taken.has("0", "null", "d", "delimiter"), is_file=taken.has("a", "arg-file"))
    slot = taken.values("I", "replace")
    replaced = slot[0].text if slot else "{}" if taken.has("i", "I", "replace") else None
    inner: list[Word] = []
    for word in command:
        if replaced is not None and word.text == replaced:
            inner += names
        elif replaced and replaced in word.text and _is_script(command, word):
            inner.append(_with_names(word, replaced))
            found.append(_NAMES_AS_CODE)
        elif replaced and replaced in word.text:
            inner.append(Word(word.text.replace(replaced, UNKNOWN), word.may_split, word.source))
        else:
            inner.append(word)
    if replaced is None:
        inner += names
    # Names are filled in after the shell has read its line, so that a script among them is never told.
    feed = Feed(network=call.is_fed_by_network)
    call.run(inner, feed if call.is_fed_by_network else None)
    if call.is_fed_by_network:
        found.append(Finding("N", "its words come from the network"))
    return found


def _fed(call: Call, *, is_exact: bool, is_file: bool) -> "list[Word]":
    feed = None if is_file else call.feed
    if feed is not None and feed.text is not None and feed.names is None:
        return [literal(one) for one in feed.text.split()][:40] or [Word(UNKNOWN, True)]
    if feed is None or feed.names is None:
        return [Word(UNKNOWN, may_split=True, source="…")]
    if any(WILD.search(name) for name in feed.names) and not (is_exact or feed.is_exact):
        # A name with a blank in it becomes two, each of which may be anything.
        return [*(Word(name, source="…") for name in feed.names), Word(TORN, may_split=True, source="…")]
    return [Word(name, source="…") for name in feed.names]


def _parallel(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row(
            "j= jobs= a=:read arg-file=:read S= sshlogin= wd= workdir= joblog=:write "
            "results=:write C= d= n= N= "
            "colsep= delay= timeout= tagstring= I="
        ),
        stops_early=True,
    )
    command: list[Word] = []
    for word in taken.operands:
        if re.fullmatch(r":::+\+?", word.text):
            break
        command.append(word)
    found = [Finding("N", "runs on other machines")] if taken.has("S", "sshlogin") else []
    if not command:
        return [Finding("U", "runs what it is fed with")]
    unknown = Word(UNKNOWN, may_split=True, source="…")
    inner = [unknown if "{" in word.text else word for word in command]
    call.run(inner if unknown in inner else [*inner, unknown])
    return found


FINDERS: Table = table(
    ("find gfind", _find),
    ("fd fdfind", _fd),
    ("xargs gxargs", _xargs),
    ("parallel", _parallel),
    ("locate mlocate plocate", lambda call: [Finding("R", "lists names")]),
)
