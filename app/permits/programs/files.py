"""Programs that make, copy, move and remove files."""

import re

from app.permits.calls import (
    SAYS_WHAT_IT_IS,
    Call,
    Table,
    Usual,
    answers_help,
    asks_for_help,
    fetched,
    judge_options,
    table,
    written,
)
from app.permits.letters import Finding
from app.permits.options import MAY_BE_OPTION, Taken, row, take
from app.permits.paths import file_name
from app.permits.words import UNKNOWN, Word, literal

_COPY = "t= target-directory= S= suffix= m= mode= o= g= owner= group= r R a recursive archive T"


def _from_to(call: Call) -> tuple[Taken, list[Word], Word | None]:
    """Options, what is taken and where to: the folder that is named, or the last of several."""
    taken = take(call.words, row(_COPY))
    named, operands = taken.values("t", "target-directory"), taken.operands
    if named:
        return taken, operands, named[0]
    return (taken, operands, None) if len(operands) < 2 else (taken, operands[:-1], operands[-1])


def _written_into(call: Call, sources: "list[Word]", target: Word) -> list[Finding]:
    """The target, and each source's name in it if it is a folder."""
    found = [written(call, target)]
    if not target.is_unknown:
        for source in sources:
            name = file_name(source.text)
            if name and name not in (".", ".."):
                found.append(call.ground.write(Word(f"{target.text.rstrip('/')}/{name}")))
                inner = frozenset(call.ground.forms(f"{target.text.rstrip('/')}/{name}"))
                call.scope.written |= inner
    return found


@answers_help
def _copy(call: Call) -> list[Finding]:
    taken, sources, target = _from_to(call)
    if call.name == "install" and taken.has("d", "directory"):
        return [written(call, word) for word in taken.operands] or [Finding("U", "lacks its words")]
    deeply = taken.has("r", "R", "a", "recursive", "archive")
    found = [call.ground.read(word, deeply=deeply) for word in sources]
    if not taken.is_sure or any(word.may_split for word in taken.operands[-1:]):
        found.append(Finding("U", "which file is written, only the run will tell"))
    if target is None:
        return [*found, Finding("U", "lacks its words")]
    found += _written_into(call, sources, target)
    if any(call.ground.was(call.scope.fetched, word) for word in sources):
        found.append(fetched(call, target))
    return found


@answers_help
def _move(call: Call) -> list[Finding]:
    taken, sources, target = _from_to(call)
    found = [call.ground.remove(word, moves=True) for word in sources]
    if not taken.is_sure:
        found.append(Finding("U", "what is moved, only the run will tell"))
    if target is None:
        return [*found, Finding("U", "lacks its words")]
    if any(call.ground.was(call.scope.fetched, word) for word in sources):
        found.append(fetched(call, target))
    return [*found, *_written_into(call, sources, target)]


def _link(call: Call) -> list[Finding]:
    taken, sources, target = _from_to(call)
    is_soft = taken.has("s", "symbolic")
    found = [Finding("E", "makes a link")]
    if target is None:
        target = literal(file_name(sources[0].text)) if sources else Word(UNKNOWN)
    found += _written_into(call, sources, target)
    if not is_soft:
        found += [call.ground.read(word) for word in sources]
        found += [
            Finding("F", "gives another name to what is outside")
            for word in sources
            if call.ground.is_outside(word)
        ]
    made = {*call.ground.forms(target.text)}
    for source in sources:
        made |= {*call.ground.forms(f"{target.text.rstrip('/')}/{file_name(source.text)}")}
    call.scope.links |= made - {call.place.workspace}
    if not taken.is_sure:
        found.append(Finding("U", "what is linked, only the run will tell"))
    return found


@answers_help
def _remove(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row("interactive recursive force dir verbose one-file-system preserve-root no-preserve-root"),
    )
    deeply = taken.has("r", "R", "recursive")
    if not deeply and not taken.is_sure and any(w.may_split for w in call.words):
        return [Finding("U", "what is removed, only the run will tell")]
    found = [call.ground.remove(word, deeply=deeply) for word in taken.operands]
    return found or [Finding("U", "what is removed, only the run will tell")]


@answers_help
def _make_folder(call: Call) -> list[Finding]:
    taken = take(call.words, row("m= mode="))
    found = [call.ground.write(word) for word in taken.operands]
    return found or [Finding("U", "lacks its words")]


def _temporary(call: Call) -> list[Finding]:
    """`mktemp`: a name that nobody knows, below a place that everybody does."""
    taken = take(call.words, row("p= suffix= tmpdir t= V"))
    folders = taken.values("p", "tmpdir")
    folder = folders[0].text if folders else call.place.temporary[0]
    form = taken.operands[0].text if taken.operands else "tmp.XXXXXXXXXX"
    if taken.operands and not folders and not taken.has("t", "tmpdir"):
        folder = "."
    path = form if form.startswith("/") else f"{folder}/{form}"
    from app.permits.calls import Feed  # noqa: PLC0415  (only this one says a path)

    if UNKNOWN not in path:
        call.output = Feed(text=re.sub("X{3,}", "mktemp", path))
    return [call.ground.write(Word(path))]


def _rights(call: Call) -> list[Finding]:
    taken = take(call.words, row("reference= R recursive from="), stops_early=False)
    words = [
        word
        for word in call.words
        if not re.fullmatch(r"--?(?:[A-Za-z]|[a-z-]{4,}).*", word.text)
        or re.fullmatch(r"-[rwxXst]+", word.text)  # a mode, which takes rights away
    ]
    mode, rest = (words[0] if words else Word(UNKNOWN)), words[1:]
    if taken.has("reference"):
        mode, rest = literal(""), words
    deeply = taken.has("R", "recursive")
    found = [call.ground.write(word) for word in rest] or [Finding("U", "lacks its words")]
    if call.name == "chmod" and (
        re.search(r"[ugoa]*[+=][rwxXt]*s", mode.text) or re.fullmatch(r"0?[2-7][0-7]{3}", mode.text)
    ):
        found.append(Finding("F", "lets a program run with another's rights"))
    if not mode.is_literal:
        found.append(Finding("U", "which rights, only the run will tell"))
    if deeply:
        found += [
            Finding("F", "changes rights of everything")
            for word in rest
            if call.ground.is_outside(word, surely=True)
        ]
        found += [
            Finding("U", "changes rights of what only the run will tell") for word in rest if word.is_unknown
        ]
    if call.name in ("chown", "chgrp") and not any(one.letter == "F" for one in found):
        found.append(Finding("E", "changes who owns it"))
    return found


def _dd(call: Call) -> list[Finding]:
    found: list[Finding] = [Finding("R", "only reads")]
    for word in call.words:
        name, _, value = word.text.partition("=")
        if name == "if":
            found.append(call.ground.read(Word(value)))
        elif name == "of":
            found.append(written(call, Word(value)))
        elif not word.is_literal:
            found.append(Finding("U", "a word that only the run will tell may name a file"))
    return found


@answers_help
def _tar(call: Call) -> list[Finding]:
    words = list(call.words)
    if words and re.fullmatch(r"[A-Za-z]+", words[0].text):
        words = _old_style(words)
    options = (
        "f= file= C= directory= I=:X use-compress-program=:X F=:X info-script=:X "
        "new-volume-script=:X "
        "checkpoint-action=:X to-command=:X rsh-command=:X rmt-command=:X T=:read files-from=:read X=:read "
        "exclude-from=:read "
        "exclude= strip-components= transform= P:U absolute-names:U g=:write listed-incremental=:write "
        "index-file=:write b= "
        "remove-files:E one-top-level newer= N= owner= group= mode= checkpoint x extract get t list c create "
        "r append u update"
    )
    taken = take(words, row(options))
    found = judge_options(call, taken)
    found += taken.doubt
    archives, folders = taken.values("f", "file"), taken.values("C", "directory")
    for archive in archives:
        if ":" in archive.text:
            found.append(Finding("N", "the archive is on another machine"))
    if taken.has("x", "extract", "get"):
        found += [call.ground.read(word) for word in archives if word.text != "-"]
        if taken.has("O", "to-stdout"):
            return [*found, Finding("R", "only reads")]
        found += [call.ground.write(word) for word in folders or [literal(".")]]
        if call.is_fed_by_network or any(call.ground.was(call.scope.fetched, word) for word in archives):
            below = folders[-1].text if folders else "."
            for member in taken.operands:
                call.scope.fetched |= frozenset(call.ground.forms(f"{below}/{member.text}"))
        return [*found, Finding("E", "unpacks files")]
    if taken.has("t", "list"):
        return [
            *found,
            *(call.ground.read(word) for word in archives if word.text != "-"),
            Finding("R", "lists an archive"),
        ]
    for folder in folders:
        found += [
            call.ground.read(Word(f"{folder.text}/{word.text}"), deeply=True) for word in taken.operands
        ]
    found += [call.ground.read(word, deeply=True) for word in taken.operands]
    found += [written(call, word) for word in archives if word.text != "-"]
    if taken.has("remove-files"):
        found += [call.ground.remove(word, deeply=True) for word in taken.operands]
    return [*found, Finding("R", "packs files")]


def _old_style(words: "list[Word]") -> "list[Word]":
    """`tar xzfC a.tgz out`: letters without a dash, their values behind them in the same order."""
    letters, rest = words[0].text, words[1:]
    out: list[Word] = []
    for letter in letters:
        out.append(literal(f"-{letter}"))
        if letter in "fCITXbFgN" and rest:
            out.append(rest.pop(0))
    return [*out, *rest]


def _zip(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row("x= i= b= T= TT=:X unzip-command=:X n= P= O=:write out=:write r recurse-paths m:E move:E"),
    )
    operands = taken.operands
    found = judge_options(call, taken)
    found += [written(call, word) for word in operands[:1]]
    return [
        *found,
        *(call.ground.read(word, deeply=taken.has("r", "recurse-paths")) for word in operands[1:]),
    ]


def _unzip(call: Call) -> list[Finding]:
    taken = take(call.words, row("d= x= P="))
    found = [call.ground.read(word) for word in taken.operands[:1]]
    if any(word.may_be_several for word in taken.operands):
        found.append(MAY_BE_OPTION)
    if taken.has("l", "v", "t", "p", "c", "Z", "z"):
        return [*found, Finding("R", "only reads")]
    found += [call.ground.write(word) for word in taken.values("d") or [literal(".")]]
    return [*found, Finding("E", "unpacks files")]


def _seven(call: Call) -> list[Finding]:
    """`7z a archive files`: its first word says what is done."""
    taken = take(call.words, row(""))
    if asks_for_help(call) or not taken.operands:
        return [SAYS_WHAT_IT_IS]
    verb, *operands = taken.operands
    archives, files = operands[:1], operands[1:]
    if any(word.may_be_several for word in operands):
        return [MAY_BE_OPTION]
    if verb.text in ("a", "u", "d", "rn"):
        return [
            *(written(call, word) for word in archives),
            *(call.ground.read(word, deeply=True) for word in files),
            Finding("E", "packs files"),
        ]
    found = [call.ground.read(word) for word in archives]
    if verb.text in ("l", "t", "i", "h"):
        return [*found, Finding("R", "only reads")]
    if verb.text not in ("x", "e"):
        return [*found, Finding("U", f"what {call.name} does, only the run will tell")]
    # Where to stands right behind its letter: `-oFOLDER`.
    places = [literal(word.text[2:]) for word in call.words if re.match("-o.", word.text)]
    return [
        *found,
        *(call.ground.write(word) for word in places or [literal(".")]),
        Finding("E", "unpacks files"),
    ]


def _compress(call: Call) -> list[Finding]:
    taken = take(call.words, row("S= suffix= T= o=:write r recursive c stdout to-stdout d k t l"))
    deeply = taken.has("r", "recursive")
    found = [call.ground.read(word, deeply=deeply) for word in taken.operands]
    if taken.has("c", "stdout", "to-stdout", "t", "l", "test", "list") or not taken.operands:
        return [*found, Finding("R", "only reads"), *judge_options(call, taken)]
    return [*found, *(call.ground.write(word) for word in taken.operands), *judge_options(call, taken)]


def _patch(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row(
            "p= i=:read input=:read d= directory= o=:write output=:write r=:write "
            "reject-file=:write strip= "
            "dry-run e:X ed:X"
        ),
    )
    found = judge_options(call, taken)
    if taken.has("dry-run"):
        return [*found, Finding("R", "only tries")]
    found += [call.ground.write(word) for word in (*taken.operands[:1], *taken.values("d", "directory"))]
    return [*found, Finding("E", "changes files as a patch says")]


FILES: Table = table(
    ("cp gcp install", _copy),
    ("mv gmv", _move),
    ("ln link", _link),
    ("rm grm unlink", _remove),
    ("rimraf del del-cli trash", Usual(operands="remove")),
    ("mkdirp", Usual(operands="write")),
    ("rmdir", Usual(operands="remove")),
    ("shred", Usual(operands="remove", options="n= s= random-source=:read")),
    ("mkdir", _make_folder),
    ("touch", Usual(operands="write", options="r=:read reference=:read d= t= date= time=")),
    ("mkfifo", Usual(operands="write", options="m= mode=")),
    (
        "truncate fallocate",
        Usual(operands="write", options="s= size= r=:read reference=:read l= o= length= offset="),
    ),
    ("chmod chown chgrp", _rights),
    ("xattr", Usual(letter="E", why="changes files", options="r s l x d= w= p=", operands="write")),
    (
        "setfacl chattr",
        Usual(letter="E", why="changes rights", operands="write", options="m= x= M=:read", first="text"),
    ),
    ("mktemp", _temporary),
    ("dd", _dd),
    ("tar bsdtar gtar", _tar),
    ("zip", _zip),
    ("unzip", _unzip),
    ("7z 7za 7zz 7zr", _seven),
    ("objcopy", Usual(operands="write", options="O= I= j= R= add-gnu-debuglink=:read")),
    (
        "strip",
        Usual(operands="write", options="o=:write R= K= N= j= remove-section= keep-symbol= strip-symbol="),
    ),
    ("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress", _compress),
    ("patch", _patch),
    ("dos2unix unix2dos", Usual(operands="write", options="n:U newfile:U c=")),
)
