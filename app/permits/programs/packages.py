"""Package managers: what they ask the network for, what they run, what they publish."""

import re
from collections.abc import Callable

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Judge, Table, answers_help, asks_for_help, table
from app.permits.letters import Finding
from app.permits.options import MAY_BE_OPTION, row, take
from app.permits.programs.verbs import (
    GRAVE,
    PLAIN_VERBS,
    READ,
    named_script,
    nobody_knows,
    verbs,
    words_of,
)
from app.permits.words import Word, literal, names

_NPM_NETWORK = names(
    "i install link ln in ins inst add ci cit clean-install it install-test install-ci-test update up "
    "upgrade udpate audit outdated view info show v search s se find whoami ping fund login adduser "
    "logout dedupe ddp docs repo bugs profile doctor create "
    "dlx exec x import diff stars fetch self-update upgrade-interactive global un uninstall remove rm r "
    "unlink prune"
)
_NPM_READ = names("ls list la ll root prefix bin help why explain query licenses")
_NPM_GRAVE = names("publish unpublish deprecate owner access dist-tag team token star unstar hook org")
_NPM_SCRIPTS = names("rebuild rb restart shrinkwrap version edit cache set-script sbom completion it tst")
_NPM_RUN = frozenset(["run", "run-script", "rum", "urn"])
_NPM_VALUED = names(
    "-C --prefix --cwd --dir -w --workspace --filter -F --registry --network-timeout --network-concurrency --mutex "
    "--cache-folder --modules-folder --loglevel"
)


def _npm(call: Call) -> list[Finding]:
    if asks_for_help(call) or [word.text for word in call.words] == ["-v"]:
        return [SAYS_WHAT_IT_IS]
    words = words_of(call, valued=_NPM_VALUED)
    verb = words[0].text if words else ""
    rest = words[1:]
    if words and not words[0].is_literal:
        return [Finding("U", f"what {call.name} does, only the run will tell")]
    if verb in _NPM_RUN:
        return [named_script(rest[0] if rest else None, call.name) if rest else READ]
    if verb in _NPM_GRAVE:
        return [Finding("F", f"{call.name} {verb} acts on others")]
    if verb in _NPM_READ:
        return [READ]
    if verb == "pack":
        places = take(call.words, row("o= out= filename= f= pack-destination=")).values(
            "o", "out", "filename", "pack-destination"
        )
        return [Finding("X", f"{call.name} packs"), *(call.ground.write(word) for word in places)]
    if verb in ("config", "c", "set", "get"):
        reads = verb == "get" or (rest and rest[0].text in ("get", "list", "ls"))
        return [READ if reads else Finding("F", "changes settings outside the workspace")]
    if verb == "init" and not rest and {word.text for word in call.words[1:]} & {"-y", "--yes"}:
        return [Finding("E", "writes a package.json")]
    if verb in ("exec", "x", "dlx"):
        return _run_package(call, rest)
    if verb in _NPM_NETWORK:
        return [Finding("N", f"{call.name} {verb} uses the network and may run scripts of packages")]
    if not verb:
        return [Finding("N", f"{call.name} installs packages")] if call.name == "yarn" else [READ]
    if call.name == "npm":
        sends = next((word.text for word in rest if word.text in _NPM_GRAVE), None)
        if sends is not None:
            return [Finding("F", f"npm {verb} {sends} acts on others")]
        runs = verb in PLAIN_VERBS or verb in _NPM_SCRIPTS
        return [Finding("X", f"npm {verb} runs scripts") if runs else nobody_knows("npm", verb)]
    return [
        named_script(words[0], call.name),
        *(named_script(word, verb) for word in rest if GRAVE.fullmatch(word.text)),
    ]


@answers_help
def _package_runner(call: Call) -> list[Finding]:
    """`npx` and kin."""
    return _run_package(call, words_of(call, valued=names("-p --package -c --call --cwd")))


def _run_package(call: Call, words: list[Word]) -> list[Finding]:
    """From the project if it is there, else from the network."""
    if any(word.text in ("-c", "--call") for word in call.words):
        return [Finding("N", f"{call.name} runs a command with packages of the network")]
    if not words or not words[0].is_literal:
        return [Finding("U", f"what {call.name} runs, only the run will tell")]
    name = re.sub(r"(?<=.)@[^/]*$", "", words[0].text)
    at = next((number for number, word in enumerate(call.words) if word is words[0]), len(call.words))
    call.run([literal(name.rsplit("/", 1)[-1]), *call.words[at + 1 :]], is_of_project=True)
    if name != words[0].text or "/" in name:
        return [Finding("N", f"{call.name} fetches {words[0].text} and runs it")]
    if call.name == "pnpm" and "dlx" not in (word.text for word in call.words):
        return [Finding("X", f"runs {name} of the project")]  # `pnpm exec` fetches nothing
    is_there = any(
        call.place.exists(f"{folder}/node_modules/.bin/{name}")
        for folder in {*call.scope.folders, call.place.workspace}
    )
    if is_there or any(word.text in ("--no-install", "--no", "--offline") for word in call.words):
        return [Finding("X", f"runs {name} of the project")]
    return [Finding("N", f"{call.name} may fetch {name} and runs it")]


_PIP_READS = (
    "list show freeze check inspect help debug config-list config-get config-debug cache-dir cache-list hash"
)
_SYSTEM_READS = names("list show policy depends rdepends info provides query repoquery madison showpkg stats")
_PACMAN_READS = re.compile(r"-[QTVF](?!.*y)\w*|-S[silgp]\w*|--(?:query|deptest|files|version)")
"""`-S` alone installs, with one of these behind it it looks."""


@answers_help
def system(call: Call) -> list[Finding]:
    """The system's own package managers."""
    first = call.words[0].text if call.words else ""
    if call.name in ("pacman", "yay", "paru"):
        looks = _PACMAN_READS.fullmatch(first) and not re.match(r"-S\w*[yucw]", first)
        return [READ if looks else Finding("F", f"{call.name} changes the system")]
    if (
        first in _SYSTEM_READS
        or first in ("--print-arch", "--print-architecture", "--print-foreign-architectures")
        or call.name in ("apt-cache", "dpkg-query", "apt-file", "rpmquery")
    ):
        return [READ]
    if call.name == "rpm" and re.match(r"-q|--query", first):
        return [READ]
    if first == "search":
        return [Finding("N", "asks the network")]
    if first == "run" and call.name in ("flatpak", "snap"):
        return [Finding("X", f"{call.name} runs a program")]
    if call.name == "dpkg" and re.fullmatch(
        r"-[lLsSpIc]|--(list|listfiles|status|search|print-architecture|info)", first
    ):
        return [READ]
    return [Finding("F", f"{call.name} changes the system")]


PIP = verbs(
    network="install download wheel uninstall index search lock",
    reads=_PIP_READS,
    grave="config-set config-unset config-edit",
    bare=READ,
)

_MIX = verbs(
    network="deps.get deps.update local.hex local.rebar archive.install escript.install hex.audit",
    grave="hex.publish hex.user",
    code="release",
    reads="help",
    grave_scripts=True,
)


def _mix(call: Call) -> list[Finding]:
    """`mix do a + b, c`: each task for itself."""
    if not call.words or call.words[0].text != "do":
        return _MIX(call)
    tasks: list[list[Word]] = [[]]
    for word in call.words[1:]:
        if word.text == "+":
            tasks.append([])
            continue
        ends = word.text.endswith(",")
        tasks[-1].append(literal(word.text[:-1]) if ends else word)
        if ends:
            tasks.append([])
    inner = (call.with_words(call.name, words) for words in tasks if words)
    return [one for task in inner for one in _MIX(task)] or [Finding("X", "mix runs tasks")]


_POETRY = verbs(
    network="install add update lock remove sync self search python",
    grave="publish",
    runs="run",
    code="source cache",
    reads="show env-info env-list check about list",
)
_COMPOSER = verbs(
    network="install update require remove create-project global outdated audit",
    reads="show licenses validate",
    edits="config",
    scripts="run-script run",
    grave_scripts=True,
)


def _keeps_settings(judge: Judge, *, is_outside: Callable[[set[str]], bool]) -> Judge:
    """`config KEY VALUE` of a tool; `is_outside`: by its words, whether it changes the person's own "
    "settings."""

    def with_settings(call: Call) -> list[Finding]:
        words = words_of(call)
        if words and words[0].text == "config":
            if len(words) > 1 and is_outside({word.text for word in call.words}):
                return [Finding("F", "changes settings outside the workspace")]
            if any(word.may_be_several for word in call.words):
                return [MAY_BE_OPTION]
        return judge(call)

    return with_settings


_COREPACK = verbs(network="prepare use up pack install", grave="enable disable")


def _corepack(call: Call) -> list[Finding]:
    """`corepack pnpm install`: the manager, in the version that the project wants."""
    if call.words and re.fullmatch(r"(?:npm|npx|pnpm|pnpx|yarn|yarnpkg)(?:@.*)?", call.words[0].text):
        call.run([literal(call.words[0].text.partition("@")[0]), *call.words[1:]], call.feed)
        return [Finding("X", "runs a package manager")]
    return _COREPACK(call)


PACKAGES: Table = table(
    ("npm pnpm yarn bun cnpm jlpm", _npm),
    ("npx bunx pnpx", _package_runner),
    ("pip pip3", PIP),
    ("pipx", verbs(network="install run upgrade upgrade-all inject", reads="list environment")),
    (
        "uv",
        verbs(
            network="sync add lock pip remove python tool self cache",
            grave="publish",
            runs="run",
            edits="init",
            reads="version help tree pip-list pip-show pip-freeze pip-tree pip-check python-list tool-list",
            valued="--directory --project",
        ),
    ),
    ("uvx", _package_runner),
    (
        "poetry",
        _keeps_settings(_POETRY, is_outside=lambda words: not words & {"--list", "--local"}),
    ),
    ("pdm rye", _POETRY),
    (
        "pixi",
        verbs(
            network="install add update lock remove sync self-update global exec search upgrade",
            grave="publish upload auth",
            runs="run",
            reads="list tree info",
        ),
    ),
    (
        "hatch",
        verbs(
            network="env-create self python",
            grave="publish",
            runs="run",
            code="fmt cache",
            reads="status project dep",
        ),
    ),
    ("pipenv", verbs(network="install update lock sync uninstall", runs="run", reads="graph")),
    (
        "conda mamba micromamba",
        verbs(
            network="install create update remove uninstall env upgrade search repoquery notices self-update",
            grave="init config upload",
            reads="list info env-list config-list",
        ),
    ),
    (
        "bundle bundler",
        _keeps_settings(
            verbs(
                network="install update add outdated lock package cache",
                runs="exec",
                reads="list show info",
                edits="init config",
                code="binstubs gem platform open viz doctor pristine plugin",
                bare=Finding("N", "bundle installs packages"),
            ),
            is_outside=lambda words: "--global" in words,
        ),
    ),
    (
        "gem",
        verbs(
            network="install update fetch search outdated uninstall exec specification sources",
            grave="push yank owner signin signout",
            reads="list env environment which contents",
        ),
    ),
    (
        "composer",
        _keeps_settings(_COMPOSER, is_outside=lambda words: bool(words & {"-g", "--global"})),
    ),
    (
        "dotnet",
        verbs(
            network="restore add tool workload package new-install nuget-add nuget-locals sdk",
            grave="nuget-push nuget-delete",
            code="publish msbuild vstest sln solution reference remove dev-certs user-secrets store fsi ef",
            reads="--info --list-sdks --list-runtimes",
        ),
    ),
    (
        "meson",
        verbs(network="wrap subprojects", code="setup configure install introspect rewrite devenv env2mfile"),
    ),
    ("nuget", verbs(network="install restore", grave="push")),
    ("mix", _mix),
    (
        "rebar3",
        verbs(
            network="get-deps deps upgrade update local pkgs plugins search",
            grave="hex publish",
            code="ct eunit dialyzer xref as do release tar cover edoc escriptize lock unlock path relup",
        ),
    ),
    (
        "brew",
        verbs(
            network="install upgrade update tap untap fetch search bundle uninstall autoremove "
            "cleanup reinstall unlink link update-reset",
            code="shellenv audit style edit tests commands log linkage missing --repository --cellar --cache",
            grave="services bump-formula-pr bump-cask-pr",
            reads="list info config doctor deps uses leaves --prefix outdated",
        ),
    ),
    ("corepack", _corepack),
    (
        "svn",
        verbs(
            network="checkout co update up commit ci switch sw import export log ls list cat blame praise "
            "annotate "
            "copy cp merge lock unlock relocate",
            code="add delete rm revert resolve mkdir cleanup propset changelist patch",
            reads="info status st stat diff di proplist pl propget pg",
        ),
    ),
    (
        "hg brz bzr",
        verbs(
            network="clone pull push fetch incoming outgoing branch checkout co identify",
            code="add commit ci update up merge revert rm remove mv move cp copy summary sum addremove shelve unshelve "
            "bookmark bookmarks phase graft rebase backout bisect tag tags branches resolve bundle",
            reads="status st log diff cat annotate blame info parents heads root files manifest",
        ),
    ),
    ("twine", verbs(grave="upload register", reads="check")),
    (
        "flutter dart",
        verbs(
            network="pub get upgrade precache channel downgrade",
            grave="pub-publish",
            code="pub-run pub-deps fix compile drive gen-l10n symbolize attach devices emulators logs config "
            "screenshot",
            reads="doctor --version",
        ),
    ),
    (
        "apt apt-get aptitude yum dnf zypper pacman apk emerge snap flatpak dpkg rpm apt-cache dpkg-query "
        "port "
        "pkg yay paru "
        "cave eopkg apt-key add-apt-repository apt-mark softwareupdate chocolatey choco winget xbps-install "
        "xbps-remove pkgin pkg_add pkg_delete slackpkg swupd urpmi tdnf microdnf rpm-ostree opkg tlmgr guix "
        "installer",
        system,
    ),
)
