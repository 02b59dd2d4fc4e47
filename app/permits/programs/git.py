"""Judges git: verbs that only read, verbs that lose work, and verbs that contact another machine."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from app.permits.command_findings import SAFE, Finding, contained, forbidden, network
from app.permits.programs.calls import UNKNOWN_OPTION, ProgramCall, ProgramTable, program_table, read_options
from app.permits.programs.network_programs import host_of
from app.permits.programs.options import OptionRow, ParsedOptions, option_row, parse_options
from app.permits.shell_words import UNKNOWN, WILDCARD, Word, word_set

_GLOBAL: Final = option_row("C= c= P p no-pager no-optional-locks literal-pathspecs")
_HARMLESS_KEYS: Final = re.compile(
    r"user\.(name|email|signingkey)|color\..*|core\.(autocrlf|eol|filemode|ignorecase|quotepath|safecrlf|longpaths|abbrev|"
    r"precomposeunicode|symlinks)|commit\.(gpgsign|verbose)|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|"
    r"init\.defaultbranch|merge\.(ff|conflictstyle)|rebase\.(autostash|autosquash)|fetch\.prune|branch\.[^.]+\.(merge|remote|"
    r"rebase|description)|log\..*|status\..*|diff\.(algorithm|renames|colormoved|noprefix|mnemonicprefix|context)|gc\.auto|"
    r"advice\..*|column\..*|format\.pretty|blame\..*|grep\..*|rerere\..*|tag\.sort|index\..*|safe\.directory|help\.autocorrect",
    re.IGNORECASE,
)
_DIFF: Final = (
    "p u s patch no-patch U= unified= raw stat numstat shortstat dirstat summary name-only name-status color no-color "
    "color-words color-moved word-diff word-diff-regex= no-renames M C D R B find-renames "
    "find-copies diff-filter= S= G= "
    "pickaxe-all pickaxe-regex a text b w ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines "
    "function-context W exit-code quiet q check full-index binary abbrev inter-hunk-context= "
    "patience histogram minimal "
    "diff-algorithm= z no-prefix relative src-prefix= dst-prefix= no-ext-diff no-textconv cached staged "
    "merge-base stat-width= compact-summary ignore-submodules t r m root no-commit-id pretty= format= v "
)
_LOG: Final = (
    _DIFF
    + "oneline graph decorate no-decorate decorate-refs= all branches tags remotes n= max-count= skip= since= "
    "after= until= before= author= committer= grep= invert-grep E F P i all-match regexp-ignore-case extended-regexp "
    "fixed-strings perl-regexp merges no-merges first-parent c cc reverse follow L= date= relative-date abbrev-commit "
    "no-abbrev-commit parents children left-right cherry-pick cherry-mark left-only right-only boundary topo-order "
    "date-order author-date-order full-history simplify-merges simplify-by-decoration ancestry-path "
    "reflog walk-reflogs "
    "g notes show-notes source no-notes count objects not 0 1 2 3 4 5 6 7 8 9"
)
_LIST: Final = (
    "a r v l list all remotes show-current contains= no-contains= merged= no-merged= points-at= sort= format= column "
    "color n ignore-case i"
)
_READS: Final[dict[str, OptionRow]] = {
    verb: option_row(options)
    for verbs, options in (
        ("log show", _LOG),
        ("rev-list", _LOG),
        ("diff", _DIFF + "no-index"),
        ("diff-tree diff-index diff-files", _DIFF),
        (
            "status",
            "s short b branch porcelain long u untracked-files ignored v z ahead-behind no-ahead-behind renames "
            "no-renames show-stash ignore-submodules",
        ),
        (
            "blame",
            "L= w M C s e f n p l t c porcelain line-porcelain root date= since= abbrev= show-email",
        ),
        (
            "shortlog",
            "s n e c numbered summary email group= w all since= until= no-merges author= grep= format=",
        ),
        ("cat-file", "p t s e batch batch-check"),
        (
            "rev-parse describe merge-base name-rev ls-tree check-ignore check-attr show-ref cherry count-objects",
            "*",
        ),
        ("for-each-ref", "sort= format= count= contains= merged= points-at= s no-color"),
        ("ls-files", "* x= X=:read exclude= exclude-from=:read"),
        (
            "grep",
            "n i l L c v w E F P G e= A= B= C= h H o q r p W I a line-number files-with-matches name-only count "
            "word-regexp ignore-case cached untracked max-depth= and or not heading break function-context "
            "show-function color text f=:read threads= fixed-strings extended-regexp perl-regexp",
        ),
    )
    for verb in verbs.split()
}
_NETWORK: Final = word_set(
    "clone fetch pull push submodule ls-remote fetch-pack send-pack svn p4 archive-remote"
)


class GitCall:
    """One git call: the repository it works in, its verb and the words behind it."""

    def __init__(self, call: ProgramCall) -> None:
        taken = parse_options(call.words, _GLOBAL, stops_early=True)
        self.call = call
        self.verb = taken.operands[0].text if taken.operands else ""
        self.words = taken.operands[1:]
        self.folders = taken.values("C")
        self.findings = [] if taken.is_certain else [UNKNOWN_OPTION]
        for value in taken.values("c"):
            if not value.is_literal or not _HARMLESS_KEYS.fullmatch(value.text.partition("=")[0]):
                self.findings.append(contained("its configuration may run other programs"))

    def parse_options(self, options: str) -> ParsedOptions:
        return parse_options(self.words, option_row(options))

    @property
    def is_own_repository(self) -> bool:
        """Whether the call works in the repository of the workspace or of an added folder; the configuration of another
        one may run programs."""
        place = self.call.place
        for folder in self.call.scope.folders:
            root = place.root_of(folder)
            if root is None:
                return False
            while folder != root:
                if (
                    WILDCARD.search(folder)
                    or place.exists(f"{folder}/.git")
                    or place.exists(f"{folder}/HEAD")
                ):
                    return False
                folder = folder.rpartition("/")[0]
        return True

    @property
    def may_start_programs(self) -> bool:
        """Whether the configuration of the call's own repository names programs."""
        place = self.call.place
        roots = {place.root_of(folder) or place.workspace for folder in self.call.scope.folders}
        return any(map(place.git_runs_programs, roots or {place.workspace}))

    def record_lost_files(self, paths: Sequence[Word], *, takes_ignored: bool = False) -> None:
        for word in paths or [Word(".")]:
            self.call.removals += self.call.ground.removal(word.text, takes_ignored=takes_ignored)


def _git(call: ProgramCall) -> list[Finding]:
    git = GitCall(call)
    if not git.verb:
        return [
            *git.findings,
            SAFE if [w.text for w in call.words] in (["--version"], ["--help"]) else UNKNOWN_OPTION,
        ]
    before = call.scope.folders
    try:
        for folder in git.folders:
            call.scope.folders = call.ground.enter(folder)
        found = [*git.findings, *_judged(git)]
        if not git.is_own_repository:
            found.append(contained("works in another repository"))
        elif not call.place.hides_secrets and git.may_start_programs:
            found.append(contained("this repository's git configuration names programs that git may start"))
    finally:
        call.scope.folders = before
    return found


def _judged(git: GitCall) -> list[Finding]:
    known = _READS.get(git.verb)
    if known is not None:
        return _reads(git, known)
    judge = _VERBS.get(git.verb)
    if judge is not None:
        return judge(git)
    if git.verb in _NETWORK:
        return _contacts_remote(git)
    return [contained(f"runs git {git.verb}")]


def _reads(git: GitCall, known: OptionRow) -> list[Finding]:
    taken = parse_options(git.words, known)
    found = [SAFE, *read_options(git.call, taken)]
    operands = taken.operands[1:] if git.verb == "grep" and not taken.has("e") else taken.operands
    for word in operands:
        found.append(git.call.ground.secret(Word(word.text.rpartition(":")[2], word.may_split)))
    if taken.has("no-index", "untracked"):
        found += [git.call.ground.read(word, deeply=True) for word in operands or [Word(".")]]
    return found


def _push(git: GitCall) -> list[Finding]:
    taken = git.parse_options(
        "f force force-with-lease force-if-includes d delete mirror prune o= push-option= receive-pack= exec= repo= u "
        "set-upstream tags all n dry-run"
    )
    found = _contacts_remote(git)
    forces = taken.has("f", "force", "force-with-lease", "force-if-includes")
    if forces or any(word.text.startswith("+") for word in taken.operands):
        found.append(forbidden("a forced push overwrites history for others"))
    removes = any(word.text.startswith(":") and len(word.text) > 1 for word in taken.operands)
    if removes or taken.has("d", "delete", "mirror", "prune"):
        found.append(forbidden("deletes branches on the server"))
    return found


def _contacts_remote(git: GitCall) -> list[Finding]:
    for word in git.words:
        at_host = re.match(r"(?:\w+@)?([\w.-]+\.[\w-]+):(?!//)", word.text)
        if at_host:
            git.call.hosts.append(f"{at_host[1].casefold()}:22")
        elif "://" in word.text and not word.text.startswith("file:"):
            host = host_of(word.text)
            git.call.hosts += [host] if host else []
    return [network(f"git {git.verb} connects to a remote")]


def _branch(git: GitCall) -> list[Finding]:
    taken = git.parse_options(
        _LIST + " D d delete f force m M move c C copy u= set-upstream-to= unset-upstream"
    )
    if taken.has("D") or (taken.has("d", "delete") and taken.has("f", "force")):
        return [forbidden("deletes a branch and its unmerged commits")]
    return _lists(git)


def _tag(git: GitCall) -> list[Finding]:
    if git.parse_options(_LIST + " d delete f force").has("d", "delete", "f", "force"):
        return [forbidden("deletes or moves a tag")]
    return _lists(git)


def _lists(git: GitCall) -> list[Finding]:
    taken = git.parse_options(_LIST)
    names_one = taken.operands and not taken.has("list", *("l",) * (git.verb == "tag"))
    return (
        [SAFE]
        if taken.is_certain and not names_one
        else [contained(f"git {git.verb} changes branches or tags")]
    )


def _stash(git: GitCall) -> list[Finding]:
    verb = git.words[0].text if git.words else "push"
    if verb in ("drop", "clear"):
        return [forbidden("deletes stashed changes")]
    if verb in ("list", "show"):
        taken = parse_options(git.words[1:], option_row(_LOG))
        return [SAFE] if taken.is_certain else [UNKNOWN_OPTION]
    return [contained("stashes or restores changes")]


def _remote(git: GitCall) -> list[Finding]:
    words = [word.text for word in git.words if word.text not in ("-v", "--verbose")]
    if not words or (words[0] == "get-url" and len(words) == 2 and not words[1].startswith(("-", UNKNOWN))):
        return [SAFE]
    if words[0] in ("update", "show", "prune") or {"-f", "--auto", "-a"} & set(words[1:]):
        return _contacts_remote(git)
    return [contained("changes the configured remotes")]


def _config(git: GitCall) -> list[Finding]:
    taken = git.parse_options(
        "get get-all get-regexp l list global system local worktree show-origin show-scope name-only z type="
    )
    words = taken.operands
    verb = words[0].text if words else ""
    reads = verb in ("list", "get") or taken.has("get", "get-all", "get-regexp", "l", "list")
    if taken.is_certain and (reads or (len(words) == 1 and verb not in ("edit", "set", "unset"))):
        return [SAFE]
    every = git.parse_options("f= file= e edit global system unset unset-all add replace-all")
    key = next((word.text for word in words if word.text not in ("set", "unset", "add")), "")
    if every.has("e", "edit", "global", "system", "f", "file") or not _HARMLESS_KEYS.fullmatch(key):
        return [
            forbidden(f"{key or 'this configuration'} can start programs at a later time, or redirect git")
        ]
    return [contained(f"sets the git option {key}")]


def _clean(git: GitCall) -> list[Finding]:
    taken = git.parse_options("e= exclude= n dry-run f force d x X i interactive q quiet")
    if not taken.has("n", "dry-run"):
        git.record_lost_files(taken.operands, takes_ignored=taken.has("x", "X"))
    return [contained("deletes untracked files")]


def _reset(git: GitCall) -> list[Finding]:
    if any(word.text in ("--hard", "--merge", "--keep") for word in git.words):
        git.record_lost_files([])
    return [contained("changes files or the index")]


def _checkout(git: GitCall) -> list[Finding]:
    taken = git.parse_options("b= B= c= C= orphan= f force discard-changes staged S source= s=")
    at = next((place for place, word in enumerate(git.words) if word.text == "--"), None)
    if git.verb == "restore" and not taken.has("staged", "S"):
        git.record_lost_files(taken.operands)
    elif at is not None:
        git.record_lost_files(git.words[at + 1 :])
    elif taken.has("f", "force", "discard-changes") or any(word.text == "." for word in taken.operands):
        git.record_lost_files([])
    return [contained("checks out files or a branch")]


def _reflog(git: GitCall) -> list[Finding]:
    verb = git.words[0].text if git.words else ""
    if verb in ("expire", "delete", "drop"):
        return [forbidden("deletes history that cannot be restored")]
    return _reads(git, option_row(_LOG))


def _gc(git: GitCall) -> list[Finding]:
    if git.verb == "prune" or any(word.text.startswith("--pru") or word.is_unknown for word in git.words):
        return [forbidden("deletes objects that cannot be restored")]
    return [contained("packs objects")]


def _update_ref(git: GitCall) -> list[Finding]:
    if any(word.text.startswith(("-d", "--del", "--stdin")) or word.is_unknown for word in git.words):
        return [forbidden("deletes references")]
    return [contained("moves a branch")]


def _always(found: Finding) -> Callable[[GitCall], list[Finding]]:
    return lambda git: [found]


_VERBS: Final[dict[str, Callable[[GitCall], list[Finding]]]] = {
    verb: judge
    for verbs, judge in (
        ("push", _push),
        ("branch", _branch),
        ("tag", _tag),
        ("stash", _stash),
        ("remote", _remote),
        ("config", _config),
        ("clean", _clean),
        ("reset", _reset),
        ("checkout switch restore", _checkout),
        ("reflog", _reflog),
        ("gc prune", _gc),
        ("update-ref", _update_ref),
        ("filter-branch filter-repo", _always(forbidden("rewrites history"))),
        ("credential credential-store credential-cache", _always(forbidden("prints passwords"))),
        ("send-email imap-send", _always(forbidden("sends a message to other people"))),
    )
    for verb in verbs.split()
}
GIT: ProgramTable = program_table(("git", _git))
