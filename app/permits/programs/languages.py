"""Interpreters, compilers, test runners and build tools: programs that run what somebody wrote."""

import re
from collections.abc import Sequence

from app.permits.calls import (
    SAYS_WHAT_IT_IS,
    Call,
    Judge,
    Table,
    Usual,
    always,
    answers_help,
    asks_for_help,
    runs_file,
    table,
)
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.programs.by_file import beyond_running
from app.permits.programs.packages import PIP
from app.permits.programs.verbs import named_script, words_of
from app.permits.words import Word, literal

_VERSION = frozenset({"--version", "-V", "-VV", "-v", "--help", "-h", "version"})


def _interpreter(valued: str, code: str) -> Judge:
    """`code`: options that are followed by a program."""
    known = row(valued)

    def judge(call: Call) -> list[Finding]:
        if call.words and all(word.text in _VERSION for word in call.words):
            return [SAYS_WHAT_IT_IS]
        taken = take(call.words, known, stops_early=True)
        if taken.has(*code.split()):
            for value in taken.values(*code.split()):
                if not value.is_literal:
                    return [_unknown_code(call, value.source)]
            return [Finding("X", f"runs {call.name} code")]
        operands = taken.operands
        if operands and operands[0].text != "-":
            found = runs_file(call, operands[0], f"runs {operands[0].text}")
            more = beyond_running(call, operands[0], operands[1:])
            if more:
                return more
            if found.letter == "U" and not call.ground.was(call.scope.written, operands[0]):
                return [Finding("X", f"runs {call.name} code")]  # whichever file it is
            return [found]
        if not taken.is_sure:
            return [Finding("U", f"what {call.name} runs, only the run will tell")]
        if call.is_fed_by_network:
            return [Finding("F", "runs what the network gives")]
        if call.feed is not None and call.feed.text is None:
            return [Finding("U", "runs what it is fed with")]
        return [Finding("X", f"runs {call.name} code")]

    return judge


def _unknown_code(call: Call, source: str) -> Finding:
    if re.search(r"[$`].*\b(curl|wget)\b", source, re.DOTALL):
        return Finding("F", "runs what the network gives")
    return Finding("X", f"runs {call.name} code that only the run will tell")


_PYTHON = _interpreter("c= m= W= X= Q= check-hash-based-pycs=", "c")


def _python(call: Call) -> list[Finding]:
    taken = take(call.words, row("c= m= W= X= Q="), stops_early=True)
    modules = taken.values("m")
    if modules and not taken.has("c"):
        name = modules[0].text
        if not modules[0].is_literal:
            return [Finding("U", "which module runs, only the run will tell")]
        if name == "pip":
            found = PIP(call.with_words("pip", taken.operands))
            # A folder of the project may be the module that is meant.
            return [one if one.letter != "R" else Finding("X", "runs a module of Python") for one in found]
        if name in ("venv", "virtualenv"):
            return _environment(call, taken.operands)
        if name == "twine" and taken.operands and taken.operands[0].text == "upload":
            return [Finding("F", "publishes")]
        return [Finding("X", f"runs the module {name}")]
    words = [word.text for word in taken.operands]
    if words and words[0].endswith("setup.py") and {"upload", "register", "upload_docs"} & set(words[1:]):
        return [Finding("F", "publishes")]
    return _PYTHON(call)


def _environment(call: Call, words: Sequence[Word]) -> list[Finding]:
    """A virtual environment of Python is made."""
    places = [call.ground.write(word) for word in words if not word.text.startswith("-")]
    return [Finding("X", "makes an environment"), *(one for one in places if one.letter in "UF")]


def _make(call: Call) -> list[Finding]:
    if asks_for_help(call) or [word.text for word in call.words] == ["-v"]:
        return [SAYS_WHAT_IT_IS]
    taken = take(call.words, row("f= C= I= o= W= j l file= makefile= directory= jobs"))
    targets = [word for word in taken.operands if "=" not in word.text and not word.text.isdigit()]
    found = [named_script(word, call.name) for word in targets] or [Finding("X", f"{call.name} runs recipes")]
    for word in taken.values("f", "file", "makefile"):
        found.append(runs_file(call, word, f"{call.name} runs recipes"))
    return found


@answers_help
def _scripts(call: Call) -> list[Finding]:
    """Tools whose words name tasks."""
    return [named_script(word, call.name) for word in words_of(call)] or [
        Finding("X", f"{call.name} runs tasks")
    ]


def _bazel(call: Call) -> list[Finding]:
    """`bazel run @rules_go//go -- mod tidy`: a target that has the name of a program is taken for it."""
    words = words_of(call)
    ends = next((at for at, word in enumerate(call.words) if word.text == "--"), None)
    if len(words) > 1 and words[0].text == "run" and ends is not None:
        name = re.split(r"[/:]", words[1].text)[-1]
        call.run([literal(name), *call.words[ends + 1 :]], call.feed, is_of_project=True)
    return [Finding("X", "bazel builds and runs"), *_scripts(call)]


def _deno(call: Call) -> list[Finding]:
    words = words_of(call)
    verb = words[0].text if words else ""
    if verb in ("add", "install", "cache", "upgrade", "outdated", "update", "jupyter"):
        return [Finding("N", f"deno {verb} uses the network")]
    return _scripts(call)


@answers_help
def _editor(call: Call) -> list[Finding]:
    found = [Finding("X", "an editor can run anything")]
    return [*found, *(call.ground.read(word) for word in call.words if not word.text.startswith(("-", "+")))]


@answers_help
def _with_browsers(call: Call) -> list[Finding]:
    """Runners of tests that fetch the browsers they need."""
    words = words_of(call)
    verb = words[0].text if words else ""
    if verb == "install-deps" or (
        verb == "install" and any(word.text == "--with-deps" for word in call.words)
    ):
        return [Finding("F", f"{call.name} {verb} changes the system")]
    if verb == "install":
        return [Finding("N", f"{call.name} fetches browsers")]
    return [Finding("X", "runs tests")]


def _openssl(call: Call) -> list[Finding]:
    taken = take(call.words, row("in=:read inkey=:read out=:write"), single_dash=True)
    verb, *files = taken.operands or [literal("version")]
    found = [call.ground.read(value) for value in taken.values("in", "inkey")]
    if re.fullmatch(r"version|dgst|(sha|md)\d[\w-]*|list|ciphers", verb.text) and not taken.has(
        "sign", "out"
    ):
        return [*found, *(call.ground.read(word) for word in files), Finding("R", "only reads")]
    return [*found, Finding("X", "openssl can do much")]


def _precommit(call: Call) -> list[Finding]:
    words = words_of(call)
    verb = words[0].text if words else ""
    if verb in ("install", "uninstall", "install-hooks", "init-templatedir"):
        return [Finding("F", "changes what git runs later")]
    return [Finding("X", "runs checks of the project")]


_QUESTION = "r= require= e= eval= p= print= import= loader= experimental-loader= input-type= c= check= test"
_SAYS_OF_ITSELF = re.compile(r"-v|-dump(?:version|machine|fullversion)|--?print-[\w-]+(?:=.*)?")


def _compiler(call: Call) -> list[Finding]:
    """Compilers are asked about themselves."""
    words = [word.text for word in call.words]
    asks = words and all(_SAYS_OF_ITSELF.fullmatch(word) for word in words)
    if (
        asks_for_help(call)
        or asks
        or (call.name == "rustc" and (words[:1] == ["--print"] or words == ["-vV"]) and len(words) < 3)
    ):
        return [SAYS_WHAT_IT_IS]
    return [Finding("X", "compiles or builds")]


LANGUAGES: Table = table(
    (
        "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 "
        "pypy "
        "pypy3 ipython",
        _python,
    ),
    ("gcc g++ cc c++ clang clang++ rustc gfortran gcc-ar", _compiler),
    ("node nodejs", _interpreter(_QUESTION, "e eval p print")),
    ("deno", _deno),
    ("bazel bazelisk", _bazel),
    ("ruby jruby", _interpreter("e= r= I= C= E= K= F=", "e")),
    ("perl", _interpreter("e= E= I= M= m= i", "e E")),
    ("php", _interpreter("r= f= d= c= S= t= B= R= E= F=", "r B R E F")),
    ("lua luajit", _interpreter("e= l=", "e")),
    ("Rscript R", _interpreter("e=", "e")),
    ("julia", _interpreter("e= E= L= p= project=", "e E")),
    ("tclsh wish expect", _interpreter("c= f=", "c")),
    ("osascript", _interpreter("e= l=", "e")),
    (
        "scala groovy kotlin java elixir erl ghc runghc swift crystal nim zig racket guile sbcl clojure "
        "ocaml",
        _interpreter("e= cp= classpath= jar=", "e"),
    ),
    ("make gmake bmake", _make),
    ("rake grunt gulp just task invoke nox fab ant sbt buck nx turbo", _scripts),
    (
        "pytest py.test tox unittest nosetests jest vitest mocha ava karma rspec phpunit ctest",
        always("X", "runs tests"),
    ),
    ("playwright cypress", _with_browsers),
    (
        "cmake",
        Usual(letter="X", why="compiles or builds", operands="text", options="B=:write S= D= G= P= C="),
    ),
    (
        "javac tsc ninja configure autoconf automake ld as gofmt "
        "goimports vite webpack "
        "rollup esbuild parcel swc babel next nuxt astro vue-cli-service",
        always("X", "compiles or builds"),
    ),
    (
        "eslint prettier ruff black isort mypy pyright flake8 pylint bandit stylelint rubocop shfmt "
        "golangci-lint clippy biome",
        always("X", "checks or formats code"),
    ),
    ("shellcheck hadolint yamllint", Usual(options="e= i= s= f= o= P= W= C= rcfile=:read c=:read d=")),
    ("vi vim nvim view ex ed emacs nano pico code subl micro hx helix kak joe gedit", _editor),
    ("gdb lldb perf", always("X", "runs a program")),
    ("dc m4", always("X", "can run commands")),
    ("sqlite3 duckdb", always("X", "can change a database and run commands")),
    ("pre-commit lefthook", _precommit),
    (
        "direnv",
        lambda call: (
            [Finding("F", "lets a folder run code later")]
            if call.words and call.words[0].text in ("allow", "permit", "grant")
            else [Finding("X", "runs what a folder says")]
        ),
    ),
    ("virtualenv", lambda call: _environment(call, take(call.words, row("p= python=")).operands)),
    ("husky simple-git-hooks", lambda call: [Finding("F", "changes what git runs later")]),
    ("openssl", _openssl),
)
