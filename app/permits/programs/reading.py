"""Programs that read files, or say something, and what among their options does more."""

from app.permits.calls import (
    Call,
    Feed,
    Table,
    Usual,
    always,
    answers_help,
    judge_options,
    judge_usual,
    table,
)
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.words import DEEP, UNKNOWN, WILD, Word

_GREP = "e= f=:read regexp= file=:read m= A= B= C= max-count= include= exclude= exclude-dir= context= r R recursive"
_RG = (
    "e= f=:read regexp= file=:read g= glob= iglob= t= T= type= type-not= A= B= C= m= j= M= max-count= "
    "pre=:X hostname-bin=:X ignore-file=:read sort= sortr= color= colors= r= replace= max-depth= d= E= files"
)

_AG = "A= B= C= m= pager=:X G= ignore= p=:read path-to-ignore=:read"


def _printing(call: Call) -> list[Finding]:
    """`echo` and `printf`: their words are text, and what comes out is known if they are."""
    words = list(call.words)
    if call.name == "printf":
        if words and words[0].text.startswith("-v"):
            name = words[0].text[2:] or (words[1].text if len(words) > 1 else UNKNOWN)
            return assigns(call, [Word(name)])
        return [Finding("R", "prints words")]
    while words and words[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        words.pop(0)
    if all(word.is_literal and not word.may_split for word in words):
        call.output = Feed(text=" ".join(word.text for word in words) + "\n")
    if not any(word.may_split for word in words):
        call.output = (call.output or Feed())._replace(names=tuple(word.text for word in words))
    return [Finding("R", "prints words")]


def assigns(call: Call, names: "list[Word]") -> list[Finding]:
    """Variables get values that only the run will tell."""
    from app.permits.variables import is_powerful  # noqa: PLC0415  (a table that only these commands need)

    found = [Finding("R", "only sets a variable")]
    for word in names:
        if "[" in word.text and ("$(" in word.text or "`" in word.text):
            found.append(Finding("U", "a subscript in it runs as code"))
        if not word.is_literal:
            found.append(Finding("U", "which variable is set, only the run will tell"))
        elif is_powerful(word.text):
            call.scope.runs_elsewhere = f"{word.text} was changed, so that programs may do something else"
            found.append(Finding("X", f"{word.text} changes what programs do"))
        call.scope.variables[word.text.partition("[")[0]] = UNKNOWN
    return found


def _read(call: Call) -> list[Finding]:
    taken = take(call.words, row("a= d= i= n= N= p= t= u= O= s= c= C="))
    return assigns(call, [*taken.operands, *taken.values("a")])


def _listing(call: Call) -> list[Finding]:
    """`ls`: names, which are no secrets."""
    plain = [word for word in call.words if not word.text.startswith("-")]
    call.output = Feed(names=tuple(word.text for word in plain) if plain else (DEEP,))
    return [Finding("R", "lists names")]


def _grep(call: Call) -> list[Finding]:
    is_rg = call.name in ("rg", "ag", "ack")
    options = _RG if call.name == "rg" else _AG if is_rg else _GREP
    taken = take(call.words, row(options))
    is_deep = is_rg or taken.has("r", "R", "recursive", "dereference-recursive") or call.name == "rgrep"
    lists = taken.has("files") and is_rg
    found = judge_usual(
        call,
        Usual(
            options=options,
            first="" if lists else "text",
            unless="e f regexp file",
            operands="list"
            if lists
            else "tree"
            if is_deep and not _reads_input(call, taken.operands)
            else "read",
        ),
    )
    if lists or taken.has("l", "L", "files-with-matches", "files-without-match"):
        roots = taken.operands[0 if lists or taken.has("e", "f", "regexp", "file") else 1 :]
        call.output = Feed(names=tuple(f"{word.text}/{DEEP}" for word in roots) or (DEEP,))
    return found


def _reads_input(call: Call, operands: "list[Word]") -> bool:
    """In a pipeline and without a folder it reads what it is fed with."""
    return call.feed is not None and len(operands) <= 1


@answers_help
def _environment(call: Call) -> list[Finding]:
    if call.place.hides_secrets or not call.place.secret_variables:
        return [Finding("R", "prints variables")]
    return [Finding("U", "prints variables, which may be secrets")]


_LESS = Usual(options="k=:X lesskey-file=:X lesskey-src=:X o=:write O=:write log-file=:write p= x=")


def _pager(call: Call) -> list[Finding]:
    """A word that begins with `+` is a command for it."""
    found = judge_usual(call, _LESS if call.name == "less" else Usual())
    if any(word.text.startswith("+") and not word.text[1:].isdigit() for word in call.words):
        found.append(Finding("X", f"{call.name} runs a command of its own"))
    return found


def _host_name(call: Call) -> list[Finding]:
    sets = any(
        not word.text.startswith("-") or word.text in ("-F", "-b", "--file", "--boot") for word in call.words
    )
    return [Finding("F", "names the machine") if sets else Finding("R", "says the machine's name")]


def _bat(call: Call) -> list[Finding]:
    found = judge_usual(call, _BAT)
    return (
        [*found, Finding("E", "changes its cache")]
        if [w.text for w in call.words[:1]] == ["cache"]
        else found
    )


def _where(call: Call) -> list[Finding]:
    folders = call.scope.folders
    if len(folders) == 1 and not call.words and not WILD.search(folders[0]):
        call.output = Feed(text=folders[0] + "\n")
    return [Finding("R", "says where it is")]


def _test(call: Call) -> list[Finding]:
    if any("$(" in word.text or "`" in word.text for word in call.words):
        return [Finding("U", "a subscript in it runs as code")]
    return [Finding("R", "only looks")]


def _jq(call: Call) -> list[Finding]:
    """Some of its options take a name and then a value."""
    words, found = list(call.words), []
    for name in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
        while any(word.text == name for word in words):
            at = next(i for i, word in enumerate(words) if word.text == name)
            if "file" in name:
                found += [call.ground.read(word) for word in words[at + 2 : at + 3]]
            del words[at : at + 3]
    taken = take(words, row("f=:read from-file=:read L=:X library-path=:X indent="))
    found += [Finding("R", "only reads"), *judge_options(call, taken)]
    if taken.has("args", "jsonargs"):
        return found
    return found + [
        call.ground.read(word) for word in taken.operands[0 if taken.has("f", "from-file") else 1 :]
    ]


_BAT = Usual(
    options="generate-config-file:F pager=:X l= language= r= line-range= theme= style= paging= color="
)
_TEXT = always("R", "only says something")
READING: Table = table(
    ("cat rev zcat bzcat xzcat zstdcat zless zmore sum tsort factor md5", Usual()),
    ("ptx", Usual(second="write", options="o= i= b= g= M= S= W= w= F=")),
    ("tac", Usual(options="s= separator=")),
    ("nl", Usual(options="b= d= f= h= i= l= n= s= v= w=")),
    ("head tail", Usual(options="c= n= lines= bytes= s= pid= sleep-interval=")),
    ("fold", Usual(options="w= width=")),
    ("fmt", Usual(options="w= g= p= width= goal=")),
    ("expand unexpand", Usual(options="t= tabs=")),
    ("pr", Usual(options="h= l= o= w= W= N=")),
    ("column", Usual(options="s= o= N= c= separator= output-separator= table-columns=")),
    ("strings", Usual(options="n= e= bytes= encoding= radix=")),
    ("hexdump hd", Usual(options="e= f=:read n= s=")),
    ("od", Usual(options="A= j= N= S= address-radix= skip-bytes= read-bytes=")),
    (
        "cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum",
        Usual(options="a= algorithm="),
    ),
    ("xmllint", Usual(options="output=:write o=:write xpath= schema=:read noout format")),
    ("colordiff", Usual()),
    ("look", Usual(first="text")),
    ("iconv", Usual(options="f= t= from-code= to-code= o=:write output=:write")),
    ("bat batcat", _bat),
    ("cut", Usual(options="d= f= c= b= output-delimiter= delimiter= fields= bytes= characters=")),
    ("paste", Usual(options="d= delimiters=")),
    ("join", Usual(options="t= o= e= a= v= j= 1= 2=")),
    ("comm", Usual(options="output-delimiter=")),
    ("cmp", Usual(options="n= bytes=")),
    ("tr", Usual(operands="text")),
    ("more most", _pager),
    ("less", _pager),
    ("wc", Usual(options="files0-from=:read")),
    (
        "du",
        Usual(
            options="files0-from=:read X=:read exclude-from=:read d= max-depth= B= t= exclude=",
            operands="list",
        ),
    ),
    ("grep egrep fgrep rgrep zgrep zegrep zfgrep rg ag ack", _grep),
    ("ls dir vdir exa eza lsd", _listing),
    (
        "basename dirname realpath readlink namei getfacl lsattr tty stat df ((",
        Usual(why="only looks", operands="list"),
    ),
    (
        "file",
        Usual(
            why="only looks",
            options="f=:read files-from=:read m=:read magic-file=:read C:E compile:E",
            operands="list",
        ),
    ),
    ("tree", Usual(why="only looks", options="o=:write fromfile:read", operands="list")),
    ("pwd", _where),
    ("test [ [[", _test),
    (
        "diff",
        Usual(
            options="r:R recursive:R x= X=:read exclude= exclude-from=:read U= C= W= I= from-file=:read "
            "to-file=:read",
            deep="r recursive",
        ),
    ),
    ("sdiff diff3", Usual(options="o=:write output=:write diff-program=:X merge-program=:X")),
    ("jq gojq jaq", _jq),
    (
        "yq",
        Usual(
            options="i:E inplace:E in-place:E f= p= o= input-format= output-format= from-file=:read s=:X "
            "split-exp=:X",
            first="text",
            unless="from-file",
        ),
    ),
    ("tokei cloc scc", Usual(operands="tree", options="report-file=:write out=:write config=:X")),
    ("base64 base32 basenc", Usual(options="w= wrap= o=:write output=:write i=:read input=:read")),
    ("echo printf", _printing),
    ("read mapfile readarray getopts", _read),
    (
        "true false : sleep seq cal uptime uname nproc whoami id groups users who w logname hostid yes "
        "expr free "
        "vmstat iostat lscpu lsblk lsusb lspci ps pgrep top htop pstree locale getconf clear tput stty reset "
        "numfmt "
        "wait jobs help hash times dirs shift break continue caller getent pidof "
        "sw_vers whatis apropos whereis which type ulimit umask set shopt",
        _TEXT,
    ),
    ("lsof fuser", Usual(why="only looks", operands="text", options="k:X kill:X")),
    ("hostname", _host_name),
    ("bc", Usual()),
    ("printenv", _environment),
    (
        "man info",
        Usual(
            why="shows a manual",
            operands="text",
            options="P=:X pager=:X H:X html:X C=:X config-file=:X M=:X manpath=:X X:X T:X o=:write output=:write",
        ),
    ),
    ("objdump nm readelf size ldd otool", Usual(options="j= M= plugin=:X")),
    (
        "journalctl",
        Usual(
            why="shows the journal",
            operands="text",
            options="cursor-file=:write setup-keys:F update-catalog:F rotate:F flush:F "
            "vacuum-size=:F vacuum-time=:F vacuum-files=:F u= n= S= U= "
            "p= o= since= until=",
        ),
    ),
)
