"""Programs that only look, at files or at the machine.

One stands here only if none of its options runs, writes or sends anything that its row does not name.
"""

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Table, Usual, always, asks_for_help, table
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.words import names

_SAYS = always("R", "only says something")
_MACHINE = always("R", "only looks")


def _machine_name(call: Call) -> list[Finding]:
    """`arch -x86_64 command`: elsewhere than on Linux it runs one."""
    if not call.words or asks_for_help(call):
        return [SAYS_WHAT_IT_IS]
    taken = take(call.words, row("arch= d= e="), stops_early=True, single_dash=True)
    if taken.operands:
        call.run(taken.operands, call.feed)
    return [Finding("X", "runs a command for another machine")]


def _completions(call: Call) -> list[Finding]:
    """`-C` and `-F` name what bash runs to complete a word."""
    taken = take(call.words, row("C= F= A= G= W= P= S= X= o= f:E x:X m="))
    found = [Finding("R", "only looks")]
    for value in taken.values("C", "F", "x", "W"):
        found.append(Finding("X", "names a command that completes words"))
        call.script(value.text, None) if value.is_literal else None
    if call.name == "bind" and taken.has("x", "f"):
        found.append(Finding("X", "binds keys to commands"))
    return found


def _history(call: Call) -> list[Finding]:
    taken = take(call.words, row("d= a w r n c p s"))
    if not taken.has("a", "w", "r", "n", "s"):
        return [Finding("R", "lists commands of before")]
    return [
        *(call.ground.write(word) for word in taken.operands),
        Finding("X", "changes the list of commands of before"),
    ]


def _again(call: Call) -> list[Finding]:
    """`fc` without `-l` runs commands of before once more."""
    lists = any(word.text.startswith("-") and "l" in word.text for word in call.words[:1])
    return [
        Finding("R", "lists commands of before") if lists else Finding("U", "runs a command of before again")
    ]


def _cards(call: Call) -> list[Finding]:
    """Graphics cards: asked, or set."""
    taken = take(call.words, row("i= id= q query f=:write filename=:write d= l= lm= L x u format="))
    found = [call.ground.write(word) for word in taken.values("f", "filename")]
    asks = all(word.text in ("dmon", "pmon", "topo") for word in taken.operands) and all(
        option.name in _ASKED or option.name.startswith("query") for option in taken.options
    )
    return [*found, Finding("R", "only looks") if asks else Finding("F", "changes the machine")]


_ASKED = names("i id q f filename m d display l loop lm loop-ms L list-gpus x u format version help h")


def _date(call: Call) -> list[Finding]:
    taken = take(
        call.words, row("d= date= s= set= f=:read file=:read r= reference= I R u iso-8601 rfc-3339= j v=")
    )
    sets = taken.has("s", "set") or (
        not taken.has("j")
        and any(not word.text.startswith("+") for word in taken.operands if word.is_literal)
    )
    reads = [call.ground.read(word) for word in taken.values("f", "file")]
    return [*reads, Finding("F", "sets the clock") if sets else Finding("R", "says the time")]


LOOKING: Table = table(
    # At the machine
    (
        "lsb_release lsmem lsns lsfd lsipc lslocks lslogins lsscsi lsdev findmnt mountpoint pwdx mpstat "
        "slabtop acpi laptop-detect on_ac_power systemd-detect-virt virt-what kvm-ok ipcs routel runlevel "
        "getcap getsebool getenforce sestatus selinuxenabled systemd-cgls vm_stat fincore filefrag",
        _MACHINE,
    ),
    ("arch", _machine_name),
    ("compgen complete bind compopt", _completions),
    ("history", _history),
    ("fc", _again),
    ("nvidia-smi", _cards),
    ("date gdate", _date),
    ("uuidgen mcookie isosize errno getopt gettext", _SAYS),
    (
        "llvm-config pg_config python-config python3-config php-config xml2-config sdl2-config mysql_config "
        "curl-config gpg-error-config freetype-config libpng-config pcre2-config ncursesw6-config",
        _SAYS,
    ),
    ("pkg-config pkgconf", Usual(why="only says something", operands="text", options="log-file=:write")),
    # At files
    ("b3sum xxhsum xxh64sum xxh128sum", Usual(options="c= l= num-threads=")),
    (
        "hexyl",
        Usual(options="n= c= s= o= b= length= bytes= skip= block-size= display-offset= border= color="),
    ),
    ("shuf", Usual(options="o=:write output=:write random-source=:read n= head-count= i= input-range= e:R")),
    ("diffstat", Usual(options="d= D= e=:write f= k= l= n= N= o=:write p= q= r= s= S= t= T= u= w=")),
    ("colrm", Usual(operands="text")),
    ("col colcrt ul", Usual()),
    ("zipinfo", Usual(operands="read", options="x=")),
    ("pdfinfo pdffonts", Usual(options="f= l= enc= opw= upw=")),
    ("csvcut csvgrep csvlook csvstat csvsort", Usual(options="c= C= d= q= e= m= r= f=:read z= l u= p=")),
    ("zdiff zcmp bzdiff bzcmp xzdiff xzcmp lzcmp lzdiff", Usual(options="U= C= W= I= x= X=:read")),
    ("lzcat lz4cat", Usual()),
)
