"""Judges git: verbs that only read, verbs that lose work, and verbs that contact another machine."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from app.permits.command_findings import (
    READS_ONLY_FINDING,
    RiskFinding,
    contained_risk_finding,
    forbidden_risk_finding,
    network_risk_finding,
)
from app.permits.programs.network_programs import host_and_port_of_address
from app.permits.programs.program_calls import (
    UNKNOWN_OPTION_FINDING,
    ProgramCall,
    ProgramTable,
    build_program_table,
    judge_read_only_call,
)
from app.permits.programs.program_options import (
    KnownCommandOptions,
    ParsedCommandOptions,
    parse_known_options,
    parse_program_options,
)
from app.permits.shell_words import UNKNOWN_TEXT_MARK, WILDCARD_MARK_PATTERN, ShellWord, parse_word_set

_GIT_GLOBAL_OPTIONS: Final = parse_known_options("C= c= P p no-pager no-optional-locks literal-pathspecs")
_HARMLESS_GIT_CONFIG_KEYS: Final = re.compile(
    r"user\.(name|email|signingkey)|color\..*|core\.(autocrlf|eol|filemode|ignorecase|quotepath|safecrlf|longpaths|abbrev|"
    r"precomposeunicode|symlinks)|commit\.(gpgsign|verbose)|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|"
    r"init\.defaultbranch|merge\.(ff|conflictstyle)|rebase\.(autostash|autosquash)|fetch\.prune|branch\.[^.]+\.(merge|remote|"
    r"rebase|description)|log\..*|status\..*|diff\.(algorithm|renames|colormoved|noprefix|mnemonicprefix|context)|gc\.auto|"
    r"advice\..*|column\..*|format\.pretty|blame\..*|grep\..*|rerere\..*|tag\.sort|index\..*|safe\.directory|help\.autocorrect",
    re.IGNORECASE,
)
_GIT_DIFF_OPTIONS: Final = (
    "p u s patch no-patch U= unified= raw stat numstat shortstat dirstat summary name-only name-status "
    "color no-color "
    "color-words color-moved word-diff word-diff-regex= no-renames M C D R B find-renames "
    "find-copies diff-filter= S= G= "
    "pickaxe-all pickaxe-regex a text b w ignore-space-at-eol ignore-space-change ignore-all-space "
    "ignore-blank-lines "
    "function-context W exit-code quiet q check full-index binary abbrev inter-hunk-context= "
    "patience histogram minimal "
    "diff-algorithm= z no-prefix relative src-prefix= dst-prefix= no-ext-diff no-textconv cached staged "
    "merge-base stat-width= compact-summary ignore-submodules t r m root no-commit-id pretty= format= v "
)
_GIT_LOG_OPTION_NAMES: Final = (
    _GIT_DIFF_OPTIONS
    + "oneline graph decorate no-decorate decorate-refs= all branches tags remotes n= max-count= skip= since= "
    "after= until= before= author= committer= grep= invert-grep E F P i all-match regexp-ignore-case "
    "extended-regexp "
    "fixed-strings perl-regexp merges no-merges first-parent c cc reverse follow L= date= relative-date "
    "abbrev-commit "
    "no-abbrev-commit parents children left-right cherry-pick cherry-mark left-only right-only boundary "
    "topo-order "
    "date-order author-date-order full-history simplify-merges simplify-by-decoration ancestry-path "
    "reflog walk-reflogs "
    "g notes show-notes source no-notes count objects not 0 1 2 3 4 5 6 7 8 9"
)
_GIT_LIST_OPTIONS: Final = (
    "a r v l list all remotes show-current contains= no-contains= merged= no-merged= points-at= sort= "
    "format= column "
    "color n ignore-case i"
)
GIT_READING_VERBS: Final[dict[str, KnownCommandOptions]] = {
    verb: parse_known_options(options)
    for verbs, options in (
        ("log show", _GIT_LOG_OPTION_NAMES),
        ("rev-list", _GIT_LOG_OPTION_NAMES),
        ("diff", _GIT_DIFF_OPTIONS + "no-index"),
        ("diff-tree diff-index diff-files", _GIT_DIFF_OPTIONS),
        (
            "status",
            "s short b branch porcelain long u untracked-files ignored v z ahead-behind no-ahead-behind "
            "renames "
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
            "rev-parse describe merge-base name-rev ls-tree check-ignore check-attr show-ref cherry "
            "count-objects",
            "*",
        ),
        ("for-each-ref", "sort= format= count= contains= merged= points-at= s no-color"),
        ("ls-files", "* x= X=:read exclude= exclude-from=:read"),
        (
            "grep",
            "n i l L c v w E F P G e= A= B= C= h H o q r p W I a line-number files-with-matches name-only "
            "count "
            "word-regexp ignore-case cached untracked max-depth= and or not heading break function-context "
            "show-function color text f=:read threads= fixed-strings extended-regexp perl-regexp",
        ),
    )
    for verb in verbs.split()
}
_GIT_CONTENT_PRINTING_VERBS: Final = parse_word_set(
    "diff diff-tree diff-index diff-files log show grep cat-file stash"
)
_GIT_FILE_READING_OPTIONS: Final = parse_known_options("contents=:read")
_GIT_DIFF_FILE_READING_OPTIONS: Final = parse_known_options(
    "F=:read file=:read t=:read template=:read pathspec-from-file=:read add-file=:read m= b= c= C="
)
_GIT_VERBS_READING_NO_OPERANDS: Final = parse_word_set(
    "add rm restore checkout switch reset commit stash clean update-index sparse-checkout worktree submodule lfs "
    "branch tag merge rebase cherry-pick revert fetch pull push clone init remote config"
)
"""Git verbs that change the index, files or references and show no content of the files that they name."""
_GIT_NETWORK_VERBS: Final = parse_word_set(
    "fetch pull push submodule ls-remote fetch-pack send-pack svn p4 archive-remote"
)


class GitCall:
    """One git call: the repository it works in, its verb and the words behind it."""

    def __init__(self, call: ProgramCall) -> None:
        taken = parse_program_options(call.words, _GIT_GLOBAL_OPTIONS, stops_early=True)
        self.call = call
        self.verb = taken.operands[0].text if taken.operands else ""
        self.words = taken.operands[1:]
        self.folders = taken.option_values("C")
        self.findings = [] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]
        for value in taken.option_values("c"):
            if not value.is_literal or not _HARMLESS_GIT_CONFIG_KEYS.fullmatch(value.text.partition("=")[0]):
                self.findings.append(contained_risk_finding("its git configuration may run other programs"))

    def parse_program_options(self, options: str) -> ParsedCommandOptions:
        return parse_program_options(self.words, parse_known_options(options))

    @property
    def is_own_repository(self) -> bool:
        """Whether the call works in the repository of the workspace or of an added folder; another repository's
        configuration may run programs."""
        place = self.call.place
        for folder in self.call.scope.possible_folders:
            root = place.root_containing(folder)
            if root is None:
                return False
            while folder != root:
                if (
                    WILDCARD_MARK_PATTERN.search(folder)
                    or place.path_exists(f"{folder}/.git")
                    or place.path_exists(f"{folder}/HEAD")
                ):
                    return False
                folder = folder.rpartition("/")[0]
        return True

    @property
    def may_run_configured_programs(self) -> bool:
        """Whether git's folder or configuration may make git start programs, reach hosts or read other files."""
        return any(map(self.call.place.is_git_redirected, self.call.ground.possible_workspace_roots))

    @property
    def may_print_secrets(self) -> bool:
        """Whether git tracks secret files that the sandbox does not hide. Without a sandbox,
        `app.permits.plain_commands` judges that."""
        place = self.call.place
        return (
            place.has_sandbox
            and not place.hides_secrets
            and any(map(place.repository_tracks_secrets, self.call.ground.possible_workspace_roots))
        )

    def record_lost_files(self, paths: Sequence[ShellWord], *, takes_ignored: bool = False) -> None:
        for word in paths or [ShellWord(".")]:
            self.call.removals += self.call.ground.removed_files(word.text, takes_ignored=takes_ignored)


def _judge_git_call(call: ProgramCall) -> list[RiskFinding]:
    git = GitCall(call)
    if not git.verb:
        return [
            *git.findings,
            READS_ONLY_FINDING
            if [w.text for w in call.words] in (["--version"], ["--help"])
            else UNKNOWN_OPTION_FINDING,
        ]
    before = call.scope.possible_folders
    try:
        for folder in git.folders:
            call.scope.possible_folders = call.ground.folders_after_cd(folder)
        found = [*git.findings, *_judge_git_verb(git)]
        if not git.is_own_repository:
            found.append(contained_risk_finding("works in another repository"))
        elif not call.place.hides_secrets and git.may_run_configured_programs:
            found.append(
                contained_risk_finding("this repository can make git start programs or read other files")
            )
        elif git.verb in _GIT_CONTENT_PRINTING_VERBS and git.may_print_secrets:
            found.append(contained_risk_finding("may print a file with secrets that git tracks"))
    finally:
        call.scope.possible_folders = before
    return found


GIT_VERBS_KEEPING_FILES: Final = frozenset(GIT_READING_VERBS) | parse_word_set(
    "add commit reset stash push fetch pull tag branch update-index"
)
"""Git verbs that change no files of the work tree, or only to those of a commit."""


def _judge_git_verb(git: GitCall) -> list[RiskFinding]:
    known = GIT_READING_VERBS.get(git.verb)
    if known is not None:
        return [*_judge_reading_verb(git, known), *_judge_files_read(git, _GIT_FILE_READING_OPTIONS)]
    return [*_judge_changing_verb(git), *_judge_files_read(git, _GIT_DIFF_FILE_READING_OPTIONS)]


def _judge_files_read(git: GitCall, options: KnownCommandOptions) -> list[RiskFinding]:
    """Judges the files that a git verb reads outside of the repository's data."""
    taken = parse_program_options(git.words, options)
    named = [
        option.value for option in taken.options if option.value_role == "read" and option.value is not None
    ]
    if git.verb not in GIT_READING_VERBS and git.verb not in _GIT_VERBS_READING_NO_OPERANDS:
        named += [ShellWord(word.text.rpartition(":")[2], word.may_split) for word in taken.operands]
    if git.call.feed is not None and any(word.text.startswith(("--stdin", "--batch")) for word in git.words):
        named += git.call.feed.words
    return [git.call.ground.judge_secret_path(word) for word in named]


def _judge_changing_verb(git: GitCall) -> list[RiskFinding]:
    judge = _JUDGE_BY_GIT_VERB.get(git.verb)
    if judge is not None:
        return judge(git)
    if git.verb == "clone":
        return _judge_clone(git)
    if git.verb in _GIT_NETWORK_VERBS:
        return _judge_fetch(git)
    return [contained_risk_finding(f"runs git {git.verb}")]


def _judge_reading_verb(git: GitCall, known: KnownCommandOptions) -> list[RiskFinding]:
    taken = parse_program_options(git.words, known)
    found = [READS_ONLY_FINDING, *judge_read_only_call(git.call, taken)]
    operands = taken.operands
    if (
        git.verb == "grep"
        and not taken.has_option("e")
        and not any(word.may_become_several_words for word in operands[:1])
    ):
        operands = operands[1:]
    for word in (*operands, *taken.option_values("L")):
        found.append(
            git.call.ground.judge_secret_path(ShellWord(word.text.rpartition(":")[2], word.may_split))
        )
    if taken.has_option("no-index", "untracked"):
        found += [git.call.ground.judge_read(word, deeply=True) for word in operands or [ShellWord(".")]]
    return found


def _judge_push(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options(
        "f force force-with-lease force-if-includes d delete mirror prune o= push-option= receive-pack= "
        "exec= repo= u "
        "set-upstream tags all n dry-run"
    )
    found = _judge_fetch(git)
    forces = taken.has_option("f", "force", "force-with-lease", "force-if-includes")
    if forces or any(word.text.startswith("+") for word in taken.operands):
        found.append(forbidden_risk_finding("a forced push overwrites history for others"))
    removes = any(word.text.startswith(":") and len(word.text) > 1 for word in taken.operands)
    if removes or taken.has_option("d", "delete", "mirror", "prune"):
        found.append(forbidden_risk_finding("deletes branches on the server"))
    return found


_GIT_HOST_BEFORE_PATH: Final = re.compile(
    r"(?:[\w.-]+@([^\s:/@\[\]{}\ue000-\uf8ff]+|\[[^\]/]+\])"
    r"|(\[[^\]/]+\]|[^\s:/@\[\]{}\ue000-\uf8ff]+[.\u3002\uff0e\uff61][^\s:/@\[\]{}\ue000-\uf8ff]+)):(?!//)"
)
"""Matches an address as `scp` writes it; without a user the name must have a dot, because a branch may stand there."""


def _judge_fetch(git: GitCall) -> list[RiskFinding]:
    for word in git.words:
        at_host = _GIT_HOST_BEFORE_PATH.match(word.text)
        if at_host:
            git.call.hosts.append(f"{(at_host[1] or at_host[2]).casefold()}:22")
        elif "://" in word.text and not word.text.startswith("file:"):
            host = host_and_port_of_address(word.text)
            git.call.hosts += [host] if host else []
    return [network_risk_finding(f"git {git.verb} connects to a remote")]


def _judge_clone(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options(
        "b= branch= o= origin= u= upload-pack= c= config= depth= j= jobs= reference= template="
    )
    found = _judge_fetch(git)
    if not taken.operands:
        return found
    named = re.split("[:/]", taken.operands[0].text.rstrip("/"))[-1].removesuffix(".git")
    folder = taken.operands[1] if len(taken.operands) > 1 else ShellWord(named)
    written = git.call.ground.judge_write(folder)
    why = git.call.ground.folder_autorun_reason(folder)
    if why is not None:
        return [*found, written, contained_risk_finding(f"clones to {folder.text}: {why}")]
    is_inside = written.risk == "contained" and not (
        folder.is_unknown or git.call.ground.may_be_outside_workspace(folder)
    )
    return [*found, network_risk_finding(written.why) if is_inside else written]


def _judge_branch(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options(
        _GIT_LIST_OPTIONS + " D d delete f force m M move c C copy u= set-upstream-to= unset-upstream"
    )
    if taken.has_option("D") or (taken.has_option("d", "delete") and taken.has_option("f", "force")):
        return [forbidden_risk_finding("deletes a branch and its unmerged commits")]
    return _judge_listing(git)


def _judge_tag(git: GitCall) -> list[RiskFinding]:
    if git.parse_program_options(_GIT_LIST_OPTIONS + " d delete f force").has_option(
        "d", "delete", "f", "force"
    ):
        return [forbidden_risk_finding("deletes or moves a tag")]
    return _judge_listing(git)


def _judge_listing(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options(_GIT_LIST_OPTIONS)
    names_one = taken.operands and not taken.has_option("list", *("l",) * (git.verb == "tag"))
    return (
        [READS_ONLY_FINDING]
        if taken.are_all_known and not names_one
        else [contained_risk_finding(f"git {git.verb} changes branches or tags")]
    )


def _judge_stash(git: GitCall) -> list[RiskFinding]:
    verb = git.words[0].text if git.words else "push"
    if verb in ("drop", "clear"):
        return [forbidden_risk_finding("deletes stashed changes")]
    if verb in ("list", "show"):
        taken = parse_program_options(git.words[1:], parse_known_options(_GIT_LOG_OPTION_NAMES))
        return [READS_ONLY_FINDING] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]
    return [contained_risk_finding("stashes or restores changes")]


def _judge_remote(git: GitCall) -> list[RiskFinding]:
    words = [word.text for word in git.words if word.text not in ("-v", "--verbose")]
    if not words or (
        words[0] == "get-url" and len(words) == 2 and not words[1].startswith(("-", UNKNOWN_TEXT_MARK))
    ):
        return [READS_ONLY_FINDING]
    if words[0] in ("update", "show", "prune") or {"-f", "--auto", "-a"} & set(words[1:]):
        return _judge_fetch(git)
    return [contained_risk_finding("changes the configured remotes")]


def _judge_config(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options(
        "get get-all get-regexp l list global system local worktree show-origin show-scope name-only z type="
    )
    words = taken.operands
    verb = words[0].text if words else ""
    reads = verb in ("list", "get") or taken.has_option("get", "get-all", "get-regexp", "l", "list")
    is_one = len(words) == 1 and not words[0].may_become_several_words
    if taken.are_all_known and (reads or (is_one and verb not in ("edit", "set", "unset"))):
        return [READS_ONLY_FINDING]
    every = git.parse_program_options("f= file= e edit global system unset unset-all add replace-all")
    key = next((word.text for word in words if word.text not in ("set", "unset", "add")), "")
    if every.has_option(
        "e", "edit", "global", "system", "f", "file"
    ) or not _HARMLESS_GIT_CONFIG_KEYS.fullmatch(key):
        return [
            forbidden_risk_finding(
                f"{key or 'this configuration'} can start programs at a later time, or redirect git"
            )
        ]
    return [contained_risk_finding(f"sets the git option {key}")]


def _judge_clean(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options("e= exclude= n dry-run f force d x X i interactive q quiet")
    if not taken.has_option("n", "dry-run"):
        git.record_lost_files(taken.operands, takes_ignored=taken.has_option("x", "X"))
    return [contained_risk_finding("deletes untracked files")]


def _judge_reset(git: GitCall) -> list[RiskFinding]:
    if any(word.text in ("--hard", "--merge", "--keep") for word in git.words):
        git.record_lost_files([])
    return [contained_risk_finding("changes files or the index")]


def _judge_checkout(git: GitCall) -> list[RiskFinding]:
    taken = git.parse_program_options("b= B= c= C= orphan= f force discard-changes staged S source= s=")
    at = next((place for place, word in enumerate(git.words) if word.text == "--"), None)
    if git.verb == "restore" and not taken.has_option("staged", "S"):
        git.record_lost_files(taken.operands)
    elif at is not None:
        git.record_lost_files(git.words[at + 1 :])
    elif taken.has_option("f", "force", "discard-changes") or any(
        word.text == "." for word in taken.operands
    ):
        git.record_lost_files([])
    return [contained_risk_finding("checks out files or a branch")]


def _judge_reflog(git: GitCall) -> list[RiskFinding]:
    verb = git.words[0].text if git.words else ""
    if verb in ("expire", "delete", "drop"):
        return [forbidden_risk_finding("deletes history that cannot be restored")]
    return _judge_reading_verb(git, parse_known_options(_GIT_LOG_OPTION_NAMES))


def _judge_gc(git: GitCall) -> list[RiskFinding]:
    if git.verb == "prune" or any(word.text.startswith("--pru") or word.is_unknown for word in git.words):
        return [forbidden_risk_finding("deletes objects that cannot be restored")]
    return [contained_risk_finding("packs objects")]


def _judge_update_ref(git: GitCall) -> list[RiskFinding]:
    if any(word.text.startswith(("-d", "--del", "--stdin")) or word.is_unknown for word in git.words):
        return [forbidden_risk_finding("deletes references")]
    return [contained_risk_finding("moves a branch")]


def _always_judge(found: RiskFinding) -> Callable[[GitCall], list[RiskFinding]]:
    return lambda git: [found]


_JUDGE_BY_GIT_VERB: Final[dict[str, Callable[[GitCall], list[RiskFinding]]]] = {
    verb: judge
    for verbs, judge in (
        ("push", _judge_push),
        ("branch", _judge_branch),
        ("tag", _judge_tag),
        ("stash", _judge_stash),
        ("remote", _judge_remote),
        ("config", _judge_config),
        ("clean", _judge_clean),
        ("reset", _judge_reset),
        ("checkout switch restore", _judge_checkout),
        ("reflog", _judge_reflog),
        ("gc prune", _judge_gc),
        ("update-ref", _judge_update_ref),
        ("filter-branch filter-repo", _always_judge(forbidden_risk_finding("rewrites history"))),
        (
            "credential credential-store credential-cache",
            _always_judge(forbidden_risk_finding("prints passwords")),
        ),
        ("send-email imap-send", _always_judge(forbidden_risk_finding("sends a message to other people"))),
    )
    for verb in verbs.split()
}
GIT_PROGRAM_TABLE: ProgramTable = build_program_table(("git", _judge_git_call))
