"""Commands of git that change files, branches, history or what others see."""

import re

from app.permits.calls import fetched
from app.permits.letters import Finding, Letter
from app.permits.options import row, take
from app.permits.programs.git_calls import (
    CHECKOUT_HOOKS,
    COMMIT_HOOKS,
    HARMLESS_KEYS,
    GitCall,
    config_value,
    reads,
    roles,
)
from app.permits.words import UNKNOWN, literal


def judge_commit(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "m= F=:read message= file=:read C= c= reuse-message= reedit-message= fixup= "
            "squash= author= date= t=:read "
            "template=:read S gpg-sign pathspec-from-file=:read no-edit amend n "
            "no-verify"
        ),
    )
    skipped = frozenset({"pre-commit", "commit-msg"}) if taken.has("n", "no-verify") else frozenset()
    found = [
        Finding("E", "commits"),
        *roles(git, taken),
        *git.hooks(COMMIT_HOOKS - {"pre-rebase", "post-merge"}, skipped),
    ]
    said = taken.has(
        "m", "F", "message", "file", "C", "reuse-message", "no-edit", "fixup", "dry-run", "amend-"
    )
    if not said:
        found.append(Finding("X", "opens an editor"))
    if taken.has("S", "gpg-sign"):
        found.append(Finding("X", "signs with a program of its own"))
    return found


def judge_push(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "f force force-with-lease force-if-includes d delete mirror prune o= "
            "push-option= receive-pack=:X exec=:X "
            "repo= u set-upstream tags all n dry-run"
        ),
    )
    found = [Finding("N", "pushes"), *roles(git, taken)]
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


def judge_branch(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "u= set-upstream-to= contains= no-contains= merged no-merged points-at= sort= "
            "format= column color D d delete f "
            "force m M move c C copy a all r remotes v list l show-current unset-upstream "
            "edit-description:X"
        ),
    )
    if taken.has("D") or (taken.has("d", "delete") and taken.has("f", "force")):
        return [Finding("F", "removes a branch with what only it holds")]
    lists = taken.has(
        "a",
        "r",
        "v",
        "l",
        "list",
        "all",
        "remotes",
        "show-current",
        "contains",
        "no-contains",
        "merged",
        "no-merged",
        "points-at",
        "vv",
    )
    changes = taken.has(
        "d",
        "delete",
        "m",
        "M",
        "move",
        "c",
        "C",
        "copy",
        "u",
        "set-upstream-to",
        "f",
        "force",
        "unset-upstream",
    )
    if not changes and (lists or not taken.operands):
        return [Finding("R", "lists branches")]
    return [Finding("E", "changes branches"), *roles(git, taken), *taken.doubt]


def judge_tag(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "l= list n contains= merged points-at= sort= format= d delete m= F=:read a s u= f force v verify e"
        ),
    )
    if taken.has("d", "delete"):
        return [Finding("F", "removes a tag")]
    if taken.has("f", "force"):
        return [Finding("F", "moves a tag, and what it named is forgotten")]
    if taken.has("l", "list", "contains", "n", "v", "points-at", "merged") or not taken.operands:
        return [Finding("R", "lists tags")]
    if taken.has("a", "s") and not taken.has("m", "F"):
        return [Finding("X", "opens an editor")]
    if taken.has("s", "u"):
        return [Finding("X", "signs with a program of its own")]
    return [Finding("E", "makes a tag"), *taken.doubt]


def judge_subtree(git: GitCall) -> list[Finding]:
    words = {word.text for word in git.words}
    if words & {"pull", "push", "add", "fetch"}:
        return [Finding("N", "asks a remote")]
    return [Finding("E", "changes files and commits")]


def judge_stash(git: GitCall) -> list[Finding]:
    verb = git.words[0].text if git.words else "push"
    if verb in ("list", "show"):
        return reads()(git)
    if verb in ("drop", "clear"):
        return [Finding("F", "throws away what was put aside")]
    if verb.startswith("-") or verb in ("push", "pop", "apply", "save", "branch", "create", "store"):
        return [Finding("E", "puts changes aside or back")]
    return [Finding("U", "what this stash does, only the run will tell")]


def judge_remote(git: GitCall) -> list[Finding]:
    words = [word for word in git.words if word.text not in ("-v", "--verbose")]
    verb = words[0].text if words else ""
    if verb in ("", "get-url"):
        return [Finding("R", "lists remotes")]
    if verb in ("add", "remove", "rm", "rename", "set-url", "set-head", "set-branches"):
        if any("ext::" in word.text for word in words):
            return [Finding("X", "a remote that runs a command")]
        return [
            Finding(
                "N" if any(w.text in ("-f", "--auto", "-a") for w in words[1:]) else "E", "changes remotes"
            )
        ]
    return [Finding("N", "asks a remote")]


def judge_clean(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("e= exclude= n dry-run f force d x X i interactive q quiet"))
    if taken.has("n", "dry-run"):
        return [Finding("R", "only says what it would remove")]
    if taken.has("x", "X"):
        return [Finding("F", "removes ignored files, which nothing holds")]
    return taken.doubt or [Finding("E", "removes files that git does not know")]


def judge_clone(git: GitCall) -> list[Finding]:
    known = row(
        "b= branch= o= origin= c=:config config=:config u=:X upload-pack=:X template=:X depth= "
        "reference= j= jobs= filter= "
        "separate-git-dir= shallow-since= l local recurse-submodules"
    )
    taken = take(git.words, known)
    found = [Finding("N", "clones")]
    found += [
        Finding("X", f"--{name} may run other programs") for name, _, role in taken.options if role == "X"
    ]
    for value in taken.values("c", "config"):
        found += config_value(value)
    if any("ext::" in word.text for word in taken.operands):
        found.append(Finding("X", "clones by a command"))
    targets = taken.operands[1:2] or [
        literal(re.sub(r"\.git$|/$", "", w.text).rsplit("/", 1)[-1] or ".") for w in taken.operands[:1]
    ]
    return [*found, *(fetched(git.call, word) for word in targets)]


def judge_fetch(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row("upload-pack=:X depth= j= jobs= o= server-option= refmap= f force receive-pack=:X exec=:X"),
    )
    ext = [Finding("X", "a remote that runs a command")] if any("ext::" in w.text for w in git.words) else []
    found = [Finding("N", "asks a remote"), *roles(git, taken), *ext]
    if any(word.may_be_option for word in taken.operands):
        found.append(Finding("X", "a word that only the run will tell may be an option"))  # none does more
    return found


def judge_submodule(git: GitCall) -> list[Finding]:
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


def judge_rebase(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row("x=:run exec=:run i interactive onto= s= X= strategy= continue abort skip quit edit-todo:X m"),
    )
    found = [Finding("E", "rebases"), *git.hooks(COMMIT_HOOKS)]
    if taken.has("x", "exec"):
        found.append(Finding("X", "runs a command for each commit"))
        for value in taken.values("x", "exec"):
            if value.is_literal:
                git.call.script(value.text, None)
    if taken.has("i", "interactive", "edit-todo"):
        found.append(Finding("X", "opens an editor"))
    return found


def judge_worktree(git: GitCall) -> list[Finding]:
    verb = git.words[0].text if git.words else ""
    if verb == "list":
        return [Finding("R", "lists work trees")]
    operands = take(git.words[1:], row("b= B= reason=")).operands
    found = [Finding("E", "changes work trees"), *git.hooks(CHECKOUT_HOOKS)]
    if verb == "add":
        return [*found, *(git.call.ground.write(word) for word in operands[:1])]
    if verb in ("remove", "move"):
        return [*found, *(git.call.ground.remove(word, deeply=True) for word in operands)]
    return found


def judge_reflog(git: GitCall) -> list[Finding]:
    if git.words and git.words[0].text in ("expire", "delete"):
        return [Finding("F", "throws away history that nothing else holds")]
    return reads()(git)


def judge_gc(git: GitCall) -> list[Finding]:
    if any(word.text.startswith(("--prune", "--pru")) or word.is_unknown for word in git.words):
        return [Finding("F", "throws away objects that nothing else holds")]
    return [Finding("E", "packs objects")]


def judge_update_ref(git: GitCall) -> list[Finding]:
    if any(word.text.startswith(("-d", "--del", "--stdin")) or word.is_unknown for word in git.words):
        return [Finding("F", "removes what names history")]
    return [Finding("E", "moves a branch")]


def judge_bisect(git: GitCall) -> list[Finding]:
    if git.words and git.words[0].text == "run":
        git.call.run(git.words[1:])
        return [Finding("X", "runs a command for each commit")]
    if git.words and git.words[0].text in ("log", "view", "visualize"):
        return [Finding("R", "only reads")]
    return [Finding("E", "checks out commits"), *git.hooks(CHECKOUT_HOOKS)]


def judge_archive(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("o=:write output=:write format= prefix= remote=:N exec=:X"))
    return [Finding("R", "packs files"), *roles(git, taken)]


def judge_apply(git: GitCall) -> list[Finding]:
    taken = take(
        git.words, row("check stat numstat summary apply p= C= directory= exclude= include= unsafe-paths:F")
    )
    reads = [git.call.ground.read(word) for word in taken.operands]
    if taken.has("check", "stat", "numstat", "summary") and not taken.has("apply"):
        return [*reads, Finding("R", "only tries")]
    return [*reads, *roles(git, taken), Finding("E", "changes files as a patch says")]


def judge_hash_object(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("t= path= w stdin"))
    return [
        *(git.call.ground.read(word) for word in taken.operands),
        Finding("E" if taken.has("w") else "R", "makes an object"),
    ]


def judge_checkout_index(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("prefix= stage= a f n u q"))
    return [Finding("E", "writes files"), *(git.call.ground.write(word) for word in taken.values("prefix"))]


def judge_init(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("b= initial-branch= template=:X separate-git-dir= bare q"))
    return [
        Finding("E", "makes a repository"),
        *roles(git, taken),
        *(git.call.ground.write(w) for w in taken.operands),
    ]


def judge_format_patch(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "o=:write output-directory=:write stdout n s k v= U= start-number= subject-prefix= to= cc= "
            "output=:write"
        ),
    )
    return [*roles(git, taken), Finding("R" if taken.has("stdout") else "E", "writes patches")]


def judge_symbolic_ref(git: GitCall) -> list[Finding]:
    taken = take(git.words, row("m= short q d delete"))
    if len(taken.operands) > 1 or taken.has("d", "delete"):
        return [Finding("E", "moves HEAD")]
    return [Finding("R", "only reads")]


def judge_config(git: GitCall) -> list[Finding]:
    taken = take(
        git.words,
        row(
            "f=:read file=:read get get-all get-regexp l list global system local "
            "worktree show-origin show-scope "
            "type= default= unset unset-all add replace-all e edit name-only z null "
            "remove-section rename-section "
            "get-urlmatch get-color get-colorbool blob= includes"
        ),
    )
    words = taken.operands
    verb = words[0].text if words else ""
    if verb in ("list", "get") or taken.has(
        "get", "get-all", "get-regexp", "l", "list", "get-urlmatch", "get-color", "get-colorbool"
    ):
        return [Finding("R", "reads configuration"), *roles(git, taken)]
    if taken.has("e", "edit") or verb == "edit":
        return [Finding("F", "edits what git runs later")]
    removes = taken.has("unset", "unset-all", "remove-section", "rename-section") or verb in (
        "set",
        "unset",
        "remove-section",
        "rename-section",
    )
    value_is_option = words and git.words[-1] is not words[-1] and git.words[-1].text.startswith("--no-")
    if len(words) <= 1 and not removes and not value_is_option:
        return [Finding("R", "reads configuration")]
    if taken.has("global", "system"):
        return [Finding("F", "changes git's configuration outside the workspace")]
    if taken.has("f", "file"):
        return [Finding("F", "changes a configuration of git")]
    key = words[1].text if verb in ("set", "unset") and len(words) > 1 else verb
    if HARMLESS_KEYS.fullmatch(key):
        return [Finding("E", f"sets {key}")]
    return [Finding("F", f"{key or 'this key'} can start programs or lead elsewhere")]


def judge_files(git: GitCall) -> list[Finding]:
    """What writes the files that it is given: bundles, parts of mails, marks."""
    name = git.command.text if git.command is not None else ""
    known = "o=:write export-marks=:write import-marks=:read in-place export-pack-edges=:write"
    taken = take(git.words, row(known))
    found = [
        *roles(git, taken),
        Finding("R" if name == "interpret-trailers" else "E", f"{name} works on files"),
    ]
    operands = taken.operands
    if not taken.is_sure:
        found.append(Finding("U", "which file is written, only the run will tell"))
    if name == "bundle":
        verb = operands[0].text if operands else ""
        if verb in ("verify", "list-heads"):
            return [Finding("R", "only reads")]
        return [*found, *(git.call.ground.write(word) for word in operands[1:2] if verb == "create")]
    if name == "interpret-trailers" and not taken.has("in-place"):
        return [*found, *(git.call.ground.read(word) for word in operands)]
    if name in ("mailinfo", "interpret-trailers"):
        found += [git.call.ground.write(word) for word in operands]
    return found


_LFS: dict[str, Letter] = {
    "ls-files": "R",
    "status": "R",
    "env": "R",
    "version": "R",
    "track": "E",
    "untrack": "E",
    "checkout": "E",
    "pointer": "R",
    "install": "F",
    "uninstall": "F",
    "update": "F",
    "migrate": "F",
    "prune": "F",
}


def judge_lfs(git: GitCall) -> list[Finding]:
    verb = next((word.text for word in git.words if not word.text.startswith("-")), "version")
    letter = _LFS.get(verb, "N")
    deeds: dict[Letter, str] = {
        "R": "only reads",
        "E": "changes files",
        "F": "changes hooks, history or settings",
        "N": "asks a remote",
    }
    return [Finding(letter, f"lfs {verb} {deeds[letter]}")]
