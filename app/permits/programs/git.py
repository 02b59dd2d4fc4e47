"""Git: its commands, what their options change, and configuration that starts programs."""

import re

from app.permits.calls import Call, Feed, Judge, Table, Usual, table, written
from app.permits.letters import Finding
from app.permits.options import Taken, row, take
from app.permits.words import UNKNOWN, WILD, Word, literal

_GLOBAL = "C=:folder c=:config git-dir=:X work-tree=:place exec-path:X namespace= config-env=:X p paginate no-pager bare super-prefix="
_COMMIT_HOOKS = frozenset({"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
                           "pre-rebase", "post-rewrite", "post-checkout", "applypatch-msg", "pre-applypatch",
                           "post-applypatch", "reference-transaction"})  # fmt: skip
_CHECKOUT_HOOKS = frozenset({"post-checkout", "reference-transaction"})
_HARMLESS_KEYS = re.compile(
    r"(user\.(name|email|signingkey)|color\..*|core\.(autocrlf|eol|filemode|ignorecase|quotepath|safecrlf|longpaths|abbrev|"
    r"precomposeunicode|symlinks)|commit\.(gpgsign|verbose)|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|"
    r"init\.defaultbranch|merge\.(ff|conflictstyle)|rebase\.(autostash|autosquash)|fetch\.prune|branch\.[^.]+\.(merge|remote|rebase|"
    r"description)|log\..*|status\..*|diff\.(algorithm|renames|colormoved|noprefix|mnemonicprefix|context)|gc\.auto|"
    r"advice\..*|column\..*|format\.pretty|blame\..*|grep\..*|rerere\..*|tag\.sort|stash\..*|index\..*|feature\..*|"
    r"extensions\..*|remote\.[^.]+\.(fetch|prune)|lfs\..*|safe\.directory|help\.autocorrect)",
    re.IGNORECASE,
)
_DIFF = (
    "output=:write ext-diff:X textconv O= S= G= U= L= n= M C l= unified= stat= format= pretty= since= until= after= before= "
    "author= committer= grep= max-count= skip= diff-filter= inter-hunk-context= word-diff-regex= src-prefix= dst-prefix= "
    "line-prefix= contents=:read date= color= abbrev= decorate-refs= relative= s e= sort= contains= merged= no-merged= points-at= "
    "f= exec=:X remote=:N upload-pack=:X"
)


class _Git:
    """One call of git: where, with which configuration, which command."""

    def __init__(self, call: Call) -> None:
        taken = take(call.words, row(_GLOBAL), stops_early=True)
        self.call = call
        self.command = taken.operands[0] if taken.operands else None
        self.words = taken.operands[1:]
        self.findings: list[Finding] = []
        self.is_elsewhere = taken.has("C")
        for name, value, role in taken.options:
            if role == "X":
                self.findings.append(Finding("X", f"--{name} may run other programs"))
            elif role == "config" and value is not None:
                self.findings += _config_value(value)
            elif role == "place" and value is not None:
                self.findings.append(Finding("X", "another work tree"))
                if call.ground.is_outside(value):
                    self.findings.append(Finding("F", "works in a place outside the workspace"))
        if not taken.is_sure:
            self.findings.append(Finding("U", "a word that only the run will tell may be an option"))

    def hooks(self, among: frozenset[str], without: frozenset[str] = frozenset()) -> list[Finding]:
        """Those that would run; of another repository nobody knows them."""
        enabled = (self.call.place.hooks & among) - without
        if enabled:
            return [Finding("X", f"runs the hook {min(enabled)}")]
        if self.is_elsewhere and self.call.ground.is_outside(self._folder()):
            return [Finding("X", "runs the hooks of another repository")]
        return []

    def _folder(self) -> Word:
        return take(self.call.words, row(_GLOBAL), stops_early=True).values("C")[-1]


def _config_value(value: Word) -> list[Finding]:
    key = value.text.partition("=")[0]
    if value.is_literal and _HARMLESS_KEYS.fullmatch(key):
        return []
    return [Finding("X", f"-c {key if value.is_literal else '…'} may run other programs")]


def _git(call: Call) -> list[Finding]:
    git = _Git(call)
    if git.command is None:
        return [*git.findings, Finding("R", "says what it is")]
    name = git.command.text
    before = call.scope.folders
    folders = take(call.words, row(_GLOBAL), stops_early=True).values("C")
    try:
        for folder in folders:
            call.scope.folders = call.ground.enter(folder)
        judge = COMMANDS.get(name)
        if judge is None:
            found = [Finding("X", f"git {name} is an alias or a program of its own")]
        else:
            found = judge(git)
    finally:
        call.scope.folders = before
    return [*git.findings, *found]


def _reads(options: str = "") -> "Judge":
    known = row(_DIFF + " " + options)

    def judge(git: _Git) -> list[Finding]:
        taken = take(git.words, known)
        found = [Finding("R", "only reads"), *_roles(git, taken)]
        if not taken.is_sure and any(WILD.search(w.text[:1]) for w in git.words):
            found.append(Finding("U", "a word that only the run will tell may be an option"))
        for word in taken.operands:
            if ":" in word.text:
                found += _content(git, word.text.rpartition(":")[2])
        if taken.has("no-index"):
            found += [git.call.ground.read(word, deeply=True) for word in taken.operands]
        return found

    return judge  # type: ignore[return-value]


def _content(git: _Git, path: str) -> list[Finding]:
    found = git.call.ground.read(Word(path))
    return [found] if found.letter == "F" and path else []


def _roles(git: _Git, taken: Taken) -> list[Finding]:
    from app.permits.calls import judge_options  # noqa: PLC0415  (shared by all commands below)

    return judge_options(git.call, taken)


def _files(git: _Git) -> list[Finding]:
    if not any(word.text.startswith("-") and word.text not in ("-z", "--") for word in git.words):
        patterns = tuple(_as_path(word.text) for word in git.words if word.text != "--")
        git.call.output = Feed(names=patterns or ("./\ue003",), is_exact=any(w.text == "-z" for w in git.words))
    elif not any(word.is_unknown for word in git.words):
        git.call.output = Feed(names=("./\ue003",))
    return [Finding("R", "lists names")]


def _as_path(text: str) -> str:
    from app.permits.programs.finders import as_glob  # noqa: PLC0415  (quoted patterns are git's own)

    return "./\ue003/" + as_glob(text) if "*" in text else text


def _grep(git: _Git) -> list[Finding]:
    known = row("O:X open-files-in-pager:X e= f=:read A= B= C= m= max-depth= threads= no-index l name-only files-with-matches L")
    taken = take(git.words, known)
    found = [Finding("R", "only reads"), *_roles(git, taken)]
    if taken.has("no-index", "untracked"):
        roots = taken.operands[0 if taken.has("e", "f") else 1 :] or [literal(".")]
        found += [git.call.ground.read(word, deeply=True) for word in roots]
    if taken.has("l", "name-only", "files-with-matches", "L"):
        git.call.output = Feed(names=("./\ue003",))
    return found


def _changes(why: str, *, hooks: frozenset[str] = frozenset(), options: str = "") -> "Judge":
    """Within the repository and its work tree."""
    known = row(options)

    def judge(git: _Git) -> list[Finding]:
        taken = take(git.words, known)
        found = [Finding("E", why), *_roles(git, taken), *git.hooks(hooks)]
        if not taken.is_sure and any(role for _, role in (*known.short.values(), *known.long.values())):
            found.append(Finding("U", "a word that only the run will tell may be an option"))
        return found

    return judge  # type: ignore[return-value]


def _commit(git: _Git) -> list[Finding]:
    taken = take(git.words, row("m= F=:read message= file=:read C= c= reuse-message= reedit-message= fixup= squash= author= date= t=:read "
                                "template=:read S gpg-sign pathspec-from-file=:read no-edit amend n no-verify"))  # fmt: skip
    skipped = frozenset({"pre-commit", "commit-msg"}) if taken.has("n", "no-verify") else frozenset()
    found = [Finding("E", "commits"), *_roles(git, taken), *git.hooks(_COMMIT_HOOKS - {"pre-rebase", "post-merge"}, skipped)]
    said = taken.has("m", "F", "message", "file", "C", "reuse-message", "no-edit", "fixup", "dry-run", "amend-")
    if not said:
        found.append(Finding("X", "opens an editor"))
    if taken.has("S", "gpg-sign"):
        found.append(Finding("X", "signs with a program of its own"))
    return found


def _push(git: _Git) -> list[Finding]:
    taken = take(git.words, row("f force force-with-lease force-if-includes d delete mirror prune o= push-option= receive-pack=:X exec=:X "
                                "repo= u set-upstream tags all n dry-run"))  # fmt: skip
    found = [Finding("N", "pushes"), *_roles(git, taken)]
    if git.call.place.hooks & {"pre-push"} and not taken.has("no-verify"):
        found.append(Finding("N", "pushes and runs the hook pre-push"))
    if taken.has("f", "force", "force-with-lease", "force-if-includes"):
        found.append(Finding("F", "a forced push overwrites history for others"))
    if taken.has("d", "delete", "mirror", "prune"):
        found.append(Finding("F", "removes branches for others"))
    for word in taken.operands:
        if word.text.startswith("+"):
            found.append(Finding("F", "a forced push overwrites history for others"))
        elif word.text.startswith(":") and len(word.text) > 1:
            found.append(Finding("F", "removes branches for others"))
        elif word.text.startswith(UNKNOWN) or word.may_split:
            found.append(Finding("U", "what is pushed, only the run will tell"))
    return found


def _branch(git: _Git) -> list[Finding]:
    taken = take(git.words, row("u= set-upstream-to= contains= no-contains= merged no-merged points-at= sort= format= column color D d delete f "
                                "force m M move c C copy a all r remotes v list l show-current unset-upstream edit-description:X"))  # fmt: skip
    if taken.has("D") or (taken.has("d", "delete") and taken.has("f", "force")):
        return [Finding("F", "removes a branch with what only it holds")]
    lists = taken.has("a", "r", "v", "l", "list", "all", "remotes", "show-current", "contains", "no-contains", "merged", "no-merged",
                      "points-at", "vv")  # fmt: skip
    changes = taken.has("d", "delete", "m", "M", "move", "c", "C", "copy", "u", "set-upstream-to", "f", "force", "unset-upstream")
    if not changes and (lists or not taken.operands):
        return [Finding("R", "lists branches")]
    return [Finding("E", "changes branches"), *_roles(git, taken)]


def _tag(git: _Git) -> list[Finding]:
    taken = take(git.words, row("l= list n contains= merged points-at= sort= format= d delete m= F=:read a s u= f force v verify e"))
    if taken.has("d", "delete"):
        return [Finding("F", "removes a tag")]
    if taken.has("l", "list", "contains", "n", "v", "points-at", "merged") or not taken.operands:
        return [Finding("R", "lists tags")]
    if taken.has("a", "s") and not taken.has("m", "F"):
        return [Finding("X", "opens an editor")]
    return [Finding("E", "makes a tag")]


def _stash(git: _Git) -> list[Finding]:
    verb = git.words[0].text if git.words else "push"
    if verb in ("list", "show"):
        return _reads()(git)  # type: ignore[arg-type]
    if verb in ("drop", "clear"):
        return [Finding("F", "throws away what was put aside")]
    if verb.startswith("-") or verb in ("push", "pop", "apply", "save", "branch", "create", "store"):
        return [Finding("E", "puts changes aside or back")]
    return [Finding("U", "what this stash does, only the run will tell")]


def _remote(git: _Git) -> list[Finding]:
    words = [word for word in git.words if word.text not in ("-v", "--verbose")]
    verb = words[0].text if words else ""
    if verb in ("", "get-url"):
        return [Finding("R", "lists remotes")]
    if verb in ("add", "remove", "rm", "rename", "set-url", "set-head", "set-branches"):
        if any("ext::" in word.text for word in words):
            return [Finding("X", "a remote that runs a command")]
        return [Finding("N" if any(w.text in ("-f", "--auto", "-a") for w in words[1:]) else "E", "changes remotes")]
    return [Finding("N", "asks a remote")]


def _config(git: _Git) -> list[Finding]:
    taken = take(git.words, row("f=:read file=:read get get-all get-regexp l list global system local worktree show-origin show-scope "
                                "type= default= unset unset-all add replace-all e edit name-only z null remove-section rename-section "
                                "get-urlmatch get-color get-colorbool blob= includes"))  # fmt: skip
    words = taken.operands
    verb = words[0].text if words else ""
    if verb in ("list", "get") or taken.has("get", "get-all", "get-regexp", "l", "list", "get-urlmatch", "get-color", "get-colorbool"):
        return [Finding("R", "reads configuration"), *_roles(git, taken)]
    if taken.has("e", "edit") or verb == "edit":
        return [Finding("F", "edits what git runs later")]
    removes = taken.has("unset", "unset-all", "remove-section", "rename-section") or verb in ("set", "unset", "remove-section", "rename-section")
    if len(words) <= 1 and not removes:
        return [Finding("R", "reads configuration")]
    if taken.has("global", "system"):
        return [Finding("F", "changes git's configuration outside the workspace")]
    if taken.has("f", "file"):
        return [Finding("F", "changes a configuration of git")]
    key = words[1].text if verb in ("set", "unset") and len(words) > 1 else verb
    if _HARMLESS_KEYS.fullmatch(key):
        return [Finding("E", f"sets {key}")]
    return [Finding("F", f"{key or 'this key'} can start programs or lead elsewhere")]


def _clean(git: _Git) -> list[Finding]:
    taken = take(git.words, row("e= exclude= n dry-run f force d x X i interactive q quiet"))
    if taken.has("n", "dry-run"):
        return [Finding("R", "only says what it would remove")]
    if taken.has("x", "X"):
        return [Finding("F", "removes ignored files, which nothing holds")]
    if not taken.is_sure:
        return [Finding("U", "a word that only the run will tell may be an option")]
    return [Finding("E", "removes files that git does not know")]


def _clone(git: _Git) -> list[Finding]:
    known = row("b= branch= o= origin= c=:config config=:config u=:X upload-pack=:X template=:X depth= reference= j= jobs= filter= "
                "separate-git-dir= shallow-since= l local recurse-submodules")  # fmt: skip
    taken = take(git.words, known)
    found = [Finding("N", "clones")]
    found += [Finding("X", f"--{name} may run other programs") for name, _, role in taken.options if role == "X"]
    for value in taken.values("c", "config"):
        found += _config_value(value)
    if any("ext::" in word.text for word in taken.operands):
        found.append(Finding("X", "clones by a command"))
    targets = taken.operands[1:2] or [literal(re.sub(r"\.git$|/$", "", w.text).rsplit("/", 1)[-1] or ".") for w in taken.operands[:1]]
    return [*found, *(written(git.call, word) for word in targets)]


def _fetch(git: _Git) -> list[Finding]:
    taken = take(git.words, row("upload-pack=:X depth= j= jobs= o= server-option= refmap= f force receive-pack=:X exec=:X"))
    ext = [Finding("X", "a remote that runs a command")] if any("ext::" in w.text for w in git.words) else []
    return [Finding("N", "asks a remote"), *_roles(git, taken), *ext]


def _submodule(git: _Git) -> list[Finding]:
    words = [word for word in git.words if word.text not in ("--quiet", "-q", "--recursive")]
    verb = words[0].text if words else "status"
    if verb in ("status", "summary"):
        return [Finding("R", "lists submodules")]
    if verb == "foreach":
        inner = words[1:]
        if any(not word.is_literal for word in inner):
            return [Finding("U", "what runs in each submodule, only the run will tell")]
        git.call.script(" ".join(word.text for word in inner), None)
        return [Finding("X", "runs a command in each submodule")]
    if verb in ("init", "deinit", "sync", "set-url", "set-branch", "absorbgitdirs"):
        return [Finding("E", "changes submodules")]
    return [Finding("N", "fetches submodules")]


def _rebase(git: _Git) -> list[Finding]:
    taken = take(git.words, row("x=:run exec=:run i interactive onto= s= X= strategy= continue abort skip quit edit-todo:X m"))
    found = [Finding("E", "rebases"), *git.hooks(_COMMIT_HOOKS)]
    if taken.has("x", "exec"):
        found.append(Finding("X", "runs a command for each commit"))
        for value in taken.values("x", "exec"):
            if value.is_literal:
                git.call.script(value.text, None)
    if taken.has("i", "interactive", "edit-todo"):
        found.append(Finding("X", "opens an editor"))
    return found


def _worktree(git: _Git) -> list[Finding]:
    verb = git.words[0].text if git.words else ""
    if verb == "list":
        return [Finding("R", "lists work trees")]
    operands = [word for word in take(git.words[1:], row("b= B= reason=")).operands]
    found = [Finding("E", "changes work trees"), *git.hooks(_CHECKOUT_HOOKS)]
    if verb == "add":
        return [*found, *(git.call.ground.write(word) for word in operands[:1])]
    if verb in ("remove", "move"):
        return [*found, *(git.call.ground.remove(word, deeply=True) for word in operands)]
    return found


def _reflog(git: _Git) -> list[Finding]:
    if git.words and git.words[0].text in ("expire", "delete"):
        return [Finding("F", "throws away history that nothing else holds")]
    return _reads()(git)  # type: ignore[arg-type]


def _gc(git: _Git) -> list[Finding]:
    if any(word.text.startswith(("--prune", "--pru")) or word.is_unknown for word in git.words):
        return [Finding("F", "throws away objects that nothing else holds")]
    return [Finding("E", "packs objects")]


def _update_ref(git: _Git) -> list[Finding]:
    if any(word.text.startswith(("-d", "--del", "--stdin")) or word.is_unknown for word in git.words):
        return [Finding("F", "removes what names history")]
    return [Finding("E", "moves a branch")]


def _bisect(git: _Git) -> list[Finding]:
    if git.words and git.words[0].text == "run":
        git.call.run(git.words[1:])
        return [Finding("X", "runs a command for each commit")]
    if git.words and git.words[0].text in ("log", "view", "visualize"):
        return [Finding("R", "only reads")]
    return [Finding("E", "checks out commits"), *git.hooks(_CHECKOUT_HOOKS)]


def _archive(git: _Git) -> list[Finding]:
    taken = take(git.words, row("o=:write output=:write format= prefix= remote=:N exec=:X"))
    found = [Finding("R", "packs files"), *_roles(git, taken)]
    if taken.has("remote"):
        found.append(Finding("N", "asks a remote"))
    if taken.has("exec"):
        found.append(Finding("X", "--exec runs other code"))
    return found


def _apply(git: _Git) -> list[Finding]:
    taken = take(git.words, row("check stat numstat summary apply p= C= directory= exclude= include= unsafe-paths:F"))
    reads = [git.call.ground.read(word) for word in taken.operands]
    if taken.has("check", "stat", "numstat", "summary") and not taken.has("apply"):
        return [*reads, Finding("R", "only tries")]
    return [*reads, *_roles(git, taken), Finding("E", "changes files as a patch says")]


def _hash_object(git: _Git) -> list[Finding]:
    taken = take(git.words, row("t= path= w stdin"))
    return [*(git.call.ground.read(word) for word in taken.operands), Finding("E" if taken.has("w") else "R", "makes an object")]


def _checkout_index(git: _Git) -> list[Finding]:
    taken = take(git.words, row("prefix= stage= a f n u q"))
    return [Finding("E", "writes files"), *(git.call.ground.write(word) for word in taken.values("prefix"))]


def _init(git: _Git) -> list[Finding]:
    taken = take(git.words, row("b= initial-branch= template=:X separate-git-dir= bare q"))
    return [Finding("E", "makes a repository"), *_roles(git, taken), *(git.call.ground.write(w) for w in taken.operands)]


def _format_patch(git: _Git) -> list[Finding]:
    taken = take(git.words, row("o=:write output-directory=:write stdout n s k v= U= start-number= subject-prefix= to= cc= output=:write"))
    return [*_roles(git, taken), Finding("R" if taken.has("stdout") else "E", "writes patches")]


def _symbolic_ref(git: _Git) -> list[Finding]:
    taken = take(git.words, row("m= short q d delete"))
    if len(taken.operands) > 1 or taken.has("d", "delete"):
        return [Finding("E", "moves HEAD")]
    return [Finding("R", "only reads")]


def _always(letter: str, why: str) -> "Judge":
    return lambda git: [Finding(letter, why)]  # type: ignore[arg-type,return-value]


_ROWS = (
    ("status log show diff blame annotate rev-parse rev-list describe shortlog ls-tree cat-file merge-base check-ignore check-attr "
     "show-ref for-each-ref name-rev whatchanged cherry range-diff diff-tree diff-index diff-files count-objects fsck verify-commit "
     "verify-pack verify-tag var version help merge-tree patch-id show-branch interpret-trailers stripspace fmt-merge-msg "
     "column mailinfo get-tar-commit-id check-ref-format show-index", _reads()),
    ("ls-files", _files),
    ("grep", _grep),
    ("add rm mv restore reset read-tree update-index write-tree commit-tree notes replace sparse-checkout "
     "rerere pack-refs repack unpack-objects index-pack bundle fast-export mktag mktree stage maintenance",
     _changes("changes files or the index", options="pathspec-from-file=:read")),
    ("checkout switch", _changes("checks out", hooks=_CHECKOUT_HOOKS, options="b= B= c= C= orphan= conflict= pathspec-from-file=:read")),
    ("merge cherry-pick revert am", _changes("changes files and commits", hooks=_COMMIT_HOOKS, options="m= F=:read s= X= S:X e:X edit:X")),
    ("commit", _commit), ("push", _push), ("branch", _branch), ("tag", _tag), ("stash", _stash), ("remote", _remote),
    ("config", _config), ("clean", _clean), ("clone", _clone), ("submodule", _submodule), ("rebase", _rebase),
    ("worktree", _worktree), ("reflog", _reflog), ("gc", _gc), ("update-ref", _update_ref), ("bisect", _bisect),
    ("archive", _archive), ("apply", _apply), ("hash-object", _hash_object), ("checkout-index", _checkout_index),
    ("init", _init), ("format-patch", _format_patch), ("symbolic-ref", _symbolic_ref),
    ("fetch pull ls-remote lfs fetch-pack send-pack", _fetch),
    ("svn p4 daemon http-fetch remote-http", _always("N", "uses the network")),
    ("prune", _always("F", "throws away objects that nothing else holds")),
    ("filter-branch filter-repo", _always("F", "rewrites history")),
    ("credential credential-store credential-cache", _always("F", "says passwords")),
    ("send-email request-pull imap-send", _always("F", "writes to others")),
    ("difftool mergetool gui gitk instaweb citool web--browse", _always("X", "starts a program")),
)  # fmt: skip
COMMANDS: "dict[str, Judge]" = {name: judge for names, judge in _ROWS for name in names.split()}  # type: ignore[misc]

GIT: Table = table(("git", _git), ("tig gitui lazygit", Usual(letter="X", why="starts a program", operands="text")))

