"""One call of git: where it works, with which configuration, and which hooks it would run."""

import re
from collections.abc import Callable

from app.permits.calls import Call, judge_options
from app.permits.letters import Finding, Letter
from app.permits.options import MAY_BE_OPTION, Taken, row, take
from app.permits.words import WILD, Word, names

GLOBAL = (
    "C=:folder c=:config git-dir=:X work-tree=:place exec-path:X namespace= config-env=:X p paginate "
    "no-pager bare super-prefix="
)
COMMIT_HOOKS = names(
    "pre-commit prepare-commit-msg commit-msg post-commit pre-merge-commit post-merge pre-rebase "
    "post-rewrite post-checkout applypatch-msg pre-applypatch post-applypatch reference-transaction"
)
CHECKOUT_HOOKS = frozenset({"post-checkout", "reference-transaction"})
HARMLESS_KEYS = re.compile(
    r"(user\.(name|email|signingkey)|color\..*|core\.(autocrlf|eol|filemode|ignorecase|quotepath|safecrlf|longpaths|abbrev|"
    r"precomposeunicode|symlinks)|commit\.(gpgsign|verbose)|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|"
    r"init\.defaultbranch|merge\.(ff|conflictstyle)|rebase\.(autostash|autosquash)|fetch\.prune|branch\.[^.]+\.(merge|remote|rebase|"
    r"description)|log\..*|status\..*|diff\.(algorithm|renames|colormoved|noprefix|mnemonicprefix|context)|gc\.auto|"
    r"advice\..*|column\..*|format\.pretty|blame\..*|grep\..*|rerere\..*|tag\.sort|stash\..*|index\..*|feature\..*|"
    r"extensions\..*|remote\.[^.]+\.(fetch|prune|tagopt)|lfs\..*|safe\.directory|help\.autocorrect)",
    re.IGNORECASE,
)
_DIFF = (
    "output=:write ext-diff:X textconv S= G= L= n= since= until= after= before= "
    "author= committer= grep= max-count= skip= contents=:read date= s "
    "exec=:X remote=:N upload-pack=:X p u patch"
)


SHOWING = frozenset({"diff", "blame", "annotate", "show", "log", "whatchanged"})
"""What prints the content of files that it is given."""


class GitCall:
    """One call of git: where, with which configuration, which command."""

    def __init__(self, call: Call) -> None:
        taken = take(call.words, row(GLOBAL), stops_early=True)
        self.call = call
        self.command = taken.operands[0] if taken.operands else None
        self.words = taken.operands[1:]
        self.findings: list[Finding] = []
        self.folders = taken.values("C")
        """One after the other, where it works."""
        for name, value, role in taken.options:
            if role == "X":
                self.findings.append(Finding("X", f"--{name} may run other programs"))
            elif role == "config" and value is not None:
                self.findings += config_value(value)
            elif role == "place" and value is not None:
                self.findings.append(Finding("X", "another work tree"))
                if call.ground.is_outside(value):
                    self.findings.append(Finding("F", "works in a place outside the workspace"))
        self.findings += taken.doubt

    def hooks(self, among: frozenset[str], without: frozenset[str] = frozenset()) -> list[Finding]:
        """Those that would run; of another repository nobody knows them."""
        enabled = (self.call.place.hooks & among) - without
        if enabled:
            return [Finding("X", f"runs the hook {min(enabled)}")]
        if self.folders and self.call.ground.is_outside(self.folders[-1]):
            return [Finding("X", "runs the hooks of another repository")]
        return []


def config_value(value: Word) -> list[Finding]:
    key = value.text.partition("=")[0]
    if value.is_literal and HARMLESS_KEYS.fullmatch(key):
        return []
    return [Finding("X", f"-c {key if value.is_literal else '…'} may run other programs")]


GitJudge = Callable[[GitCall], list[Finding]]


def reads(options: str = "") -> GitJudge:
    known = row(_DIFF + " " + options)

    def judge(git: GitCall) -> list[Finding]:
        taken = take(git.words, known)
        found = [Finding("R", "only reads"), *roles(git, taken)]
        if not taken.is_sure and any(WILD.search(w.text[:1]) for w in git.words):
            found.append(MAY_BE_OPTION)
        shows = (
            git.command is not None
            and git.command.text in SHOWING
            and (git.command.text != "log" or taken.has("p", "u", "patch", "S", "G"))
        )
        for word in taken.operands:
            if ":" in word.text:
                found += _content(git, word.text.rpartition(":")[2])
            elif shows:
                found += _content(git, word.text)
        if taken.has("no-index"):
            found += [git.call.ground.read(word, deeply=True) for word in taken.operands]
        return found

    return judge


def _content(git: GitCall, path: str) -> list[Finding]:
    found = git.call.ground.read(Word(path))
    return [found] if found.letter == "F" and path else []


def roles(git: GitCall, taken: Taken) -> list[Finding]:
    return judge_options(git.call, taken)


def changes(why: str, *, hooks: frozenset[str] = frozenset(), options: str = "") -> GitJudge:
    """Within the repository and its work tree."""
    known = row(options)

    def judge(git: GitCall) -> list[Finding]:
        taken = take(git.words, known)
        found = [Finding("E", why), *roles(git, taken), *git.hooks(hooks)]
        if not taken.is_sure and any(role for _, role in (*known.short.values(), *known.long.values())):
            found.append(MAY_BE_OPTION)
        return found

    return judge


def always(letter: Letter, why: str) -> GitJudge:
    return lambda git: [Finding(letter, why)]


looks = always("R", "only reads")
"""What tells names and numbers, and has no option that does more."""
