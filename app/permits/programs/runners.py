"""Programs that run what their words say: over again, elsewhere, with other limits, or several at once."""

import re

from app.permits.calls import Call, Judge, Table, answers_help, table
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.programs.verbs import named_script, words_of
from app.permits.programs.wrapping import judge_known_part, wrapper
from app.permits.variables import judge_variable
from app.permits.words import WILD, Word

_RUNS = Finding("X", "runs a command in a way of its own")
_NETWORK = Finding("N", "leads a command through the network")
_RIGHTS = Finding("F", "runs with other rights")


def _with_variables(call: Call) -> list[Finding]:
    """`cross-env A=b command`: assignments, then the command."""
    words = list(call.words)
    found = [Finding("R", "sets variables for a command")]
    while words and re.match(r"[A-Za-z_]\w*=", words[0].text):
        name, _, value = words.pop(0).text.partition("=")
        found += judge_variable(name, value, call.scope.copy(), is_kept=False)
    if words and words[0].text.startswith("-"):
        return [*found, Finding("X", "runs a command")]
    if call.name == "cross-env-shell" and words:
        if not all(word.is_literal for word in words):
            judge_known_part(call, words)
            return [*found, Finding("U", "what it runs, only the run will tell")]
        call.script(" ".join(word.text for word in words), None)
        return found
    if words:
        call.run(words, call.feed)
    return found


def _as_script(call: Call, words: list[Word]) -> list[Finding]:
    for word in words:
        if not word.is_literal or word.may_split:
            judge_known_part(call, [word])
            return [Finding("U", "what it runs, only the run will tell")]
        call.script(word.text, None)
    return []


_VALUED = {
    "hyperfine": (
        "w= warmup= m= min-runs= M= max-runs= r= runs= s= setup= p= prepare= C= conclude= c= cleanup= L= "
        "parameter-list= "
        "P= parameter-scan= D= parameter-step-size= S= shell= u= time-unit= n= command-name= "
        "export-json=:write "
        "export-csv=:write export-markdown=:write export-asciidoc=:write export-orgmode=:write style= sort= "
        "output=:write "
        "input=:read"
    ),
    "concurrently": (
        "n= names= c= prefix-colors= p= prefix= m= max-processes= s= success= l= prefix-length= "
        "restart-tries= "
        "restart-after= default-input-target= t= timestamp-format= teardown= P="
    ),
}
_SCRIPTS_OF_OPTIONS = {"hyperfine": ("s", "setup", "p", "prepare", "C", "conclude", "c", "cleanup")}
_OF_A_PROJECT = re.compile(r"(?:npm|yarn|pnpm|bun|node):(.+)")


@answers_help
def _several(call: Call) -> list[Finding]:
    """Each word is a command line."""
    taken = take(call.words, row(_VALUED.get(call.name, "")))
    inner = [*taken.values(*_SCRIPTS_OF_OPTIONS.get(call.name, ())), *taken.operands]
    found = [
        _RUNS,
        *(
            call.ground.write(option.value)
            for option in taken.options
            if option.role == "write" and option.value
        ),
    ]
    for word in inner:
        named = _OF_A_PROJECT.fullmatch(word.text)
        if named:
            found.append(named_script(Word(_no_pattern(named[1])), call.name))
            continue
        found += _as_script(call, [word])
    return found


def _watches(options: str, commands: str = "x exec") -> Judge:
    """Runs its operands when files change, or the text of an option."""
    known = row(options)

    @answers_help
    def judge(call: Call) -> list[Finding]:
        taken = take(call.words, known, stops_early=True)
        found = [_RUNS, *_as_script(call, taken.values(*commands.split()))]
        if taken.operands and not taken.values(*commands.split()):
            call.run(taken.operands)
        return found

    return judge


@answers_help
def _scripts_of_the_project(call: Call) -> list[Finding]:
    """`npm-run-all clean build:*`: names of scripts."""
    words = words_of(call, valued=frozenset({"--max-parallel", "--npm-path"}))
    return [
        _RUNS,
        *(named_script(Word(_no_pattern(word.text.split(" ")[0])), call.name) for word in words if word.text),
    ]


def _no_pattern(name: str) -> str:
    """`build:*` stands for scripts whose names begin so."""
    return WILD.sub("x", name)


@answers_help
def _on_many(call: Call) -> list[Finding]:
    """`mpirun -n 4 command`, on this machine or on those of a list."""
    options = (
        "n= np= c= f= H= host= hosts= hostfile= machinefile= ppn= N= x= genv= bind-to= map-by= wdir= mca= S="
    )
    taken = take(call.words, row(options), stops_early=True, single_dash=True)
    if taken.operands:
        call.run(taken.operands, call.feed)
    if taken.has("f", "H", "host", "hosts", "hostfile", "machinefile", "hostlist"):
        return [Finding("N", "runs on other machines")]
    return [_RUNS]


def _cached(call: Call) -> list[Finding]:
    """`ccache gcc …`, or what it keeps."""
    asks = {
        "-s",
        "-p",
        "-x",
        "--show-stats",
        "--show-config",
        "--print-stats",
        "--version",
        "--help",
        "-V",
        "-h",
    }
    words = [word.text for word in call.words]
    if words and all(word in asks for word in words):
        return [Finding("R", "says what it keeps")]
    if words and not words[0].startswith("-"):
        call.run(call.words, call.feed)
    return [_RUNS]


def _terminal(call: Call) -> list[Finding]:
    """`tmux new-session 'command'`, `screen -dm command`."""
    found = [Finding("X", f"{call.name} runs a command in a terminal of its own")]
    if call.words and call.words[0].text in ("ls", "list-sessions", "list-windows", "list-panes", "-V"):
        return [Finding("R", "only looks")] if len(call.words) == 1 else found
    for word in call.words:
        if " " in word.text or not word.is_literal:
            found += _as_script(call, [word])
    return found


@answers_help
def _script(call: Call) -> list[Finding]:
    """A command line behind `-c`, else a shell for a person."""
    taken = take(call.words, row("c= command= E= e I= O= B= T= t= m= q f a"))
    written = [call.ground.write(word) for word in taken.operands[:1]]
    return [_RUNS, *_as_script(call, taken.values("c", "command")), *written]


RUNNERS: Table = table(
    ("cross-env cross-env-shell", _with_variables),
    ("concurrently hyperfine", _several),
    ("npm-run-all npm-run-all2 run-s run-p", _scripts_of_the_project),
    ("ccache sccache", _cached),
    ("mpirun mpiexec mpiexec.hydra orterun horovodrun", _on_many),
    ("script", _script),
    ("tmux screen zellij byobu abduco dtach", _terminal),
    (
        "nodemon",
        _watches("x= exec= w= watch= e= ext= i= ignore= d= delay= C= c= config= s= signal= cwd= I="),
    ),
    (
        "watchexec",
        _watches("w= watch= e= exts= f= filter= i= ignore= s= signal= d= debounce= shell= E= env= N n r c p"),
    ),
    ("entr", _watches("a c d n p r s z x")),
    ("reflex gow chokidar onchange", _watches("r= regex= g= glob= R= G= s d= c= command=", "c command")),
    (
        "lima chronic ifne retry daemonize setarch linux32 linux64 i386 x86_64 pee tini dumb-init "
        "s6-setuidgid catatonit firejail bwrap schroot cgexec systemd-inhibit systemd-cat dbus-launch "
        "prime-run gamemoderun xvfb-run mangohud optirun primusrun pasuspender pw-jack wine distcc icecc "
        "intercept-build bear scan-build kde-inhibit xwfb-run cage rargs xe tqdm sem prlimit numactl runlim "
        "softlimit chpst envdir envuidgid setuidgid valgrind heaptrack rr samply uftrace",
        wrapper("n= e= s= p= f= w= i= b= cpunodebind= membind= server-args= server-num= a", also=_RUNS),
    ),
    ("sshpass", wrapper("p= f= d= e v")),
    ("logsave", wrapper("a s", operands=1, also=_RUNS)),
    ("torify torsocks proxychains proxychains4 tsocks oniux graftcp", wrapper("f= q", also=_NETWORK)),
    ("su-exec", wrapper("", operands=1, also=_RIGHTS)),
)
