"""Git: which of its commands reads, and where the others are judged."""

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Feed, Table, Usual, table
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.programs import git_history as history
from app.permits.programs.finders import as_glob
from app.permits.programs.git_calls import (
    CHECKOUT_HOOKS,
    COMMIT_HOOKS,
    GitCall,
    GitJudge,
    always,
    changes,
    looks,
    reads,
    roles,
)
from app.permits.programs.verbs import nobody_knows
from app.permits.words import DEEP, literal


def _git(call: Call) -> list[Finding]:
    git = GitCall(call)
    if git.command is None:
        return [*git.findings, SAYS_WHAT_IT_IS]
    name = git.command.text
    before = call.scope.folders
    try:
        for folder in git.folders:
            call.scope.folders = call.ground.enter(folder)
        judge = COMMANDS.get(name)
        if judge is None:
            found = [nobody_knows("git", name)]  # an alias, or a program of that name
        else:
            found = judge(git)
    finally:
        call.scope.folders = before
    return [*git.findings, *found]


def _files(git: GitCall) -> list[Finding]:
    if not any(word.text.startswith("-") and word.text not in ("-z", "--") for word in git.words):
        named = (word.text for word in git.words if word.text != "--")
        patterns = tuple(f"./{DEEP}/{as_glob(text)}" if "*" in text else text for text in named)
        git.call.output = Feed(
            names=patterns or (f"./{DEEP}",), is_exact=any(w.text == "-z" for w in git.words)
        )
    elif not any(word.is_unknown for word in git.words):
        git.call.output = Feed(names=(f"./{DEEP}",))
    return [Finding("R", "lists names")]


def _grep(git: GitCall) -> list[Finding]:
    known = row(
        "O:X open-files-in-pager:X e= f=:read A= B= C= m= max-depth= threads= no-index l name-only "
        "files-with-matches L"
    )
    taken = take(git.words, known)
    found = [Finding("R", "only reads"), *roles(git, taken)]
    if taken.has("no-index", "untracked"):
        roots = taken.operands[0 if taken.has("e", "f") else 1 :] or [literal(".")]
        found += [git.call.ground.read(word, deeply=True) for word in roots]
    if taken.has("l", "name-only", "files-with-matches", "L"):
        git.call.output = Feed(names=(f"./{DEEP}",))
    return found


_ROWS = (
    (
        "status log show diff blame annotate shortlog cat-file whatchanged range-diff diff-tree diff-index diff-files "
        "verify-commit verify-tag var help merge-tree fmt-merge-msg",
        reads(),
    ),
    (
        "rev-parse rev-list describe ls-tree merge-base check-ignore check-attr show-ref for-each-ref name-rev cherry "
        "count-objects verify-pack version patch-id show-branch stripspace column get-tar-commit-id check-ref-format "
        "show-index",
        looks,
    ),
    ("ls-files", _files),
    ("grep", _grep),
    (
        "add rm mv restore reset read-tree update-index write-tree commit-tree notes replace sparse-checkout "
        "rerere pack-refs repack unpack-objects index-pack mktag mktree stage maintenance",
        changes("changes files or the index", options="pathspec-from-file=:read"),
    ),
    (
        "checkout switch",
        changes(
            "checks out",
            hooks=CHECKOUT_HOOKS,
            options="b= B= c= C= orphan= conflict= pathspec-from-file=:read",
        ),
    ),
    (
        "merge cherry-pick revert am",
        changes("changes files and commits", hooks=COMMIT_HOOKS, options="m= F=:read s= X= S:X e:X edit:X"),
    ),
    ("bundle mailinfo mailsplit interpret-trailers fast-export fast-import", history.judge_files),
    ("fsck", reads("lost-found:E")),
    ("lfs", history.judge_lfs),
    ("merge-file update-server-info bugreport diagnose", changes("changes files")),
    ("last-modified", looks),
    ("receive-pack upload-pack upload-archive http-backend shell", always("X", "serves a repository")),
    ("subtree", history.judge_subtree),
    ("commit", history.judge_commit),
    ("push", history.judge_push),
    ("branch", history.judge_branch),
    ("tag", history.judge_tag),
    ("stash", history.judge_stash),
    ("remote", history.judge_remote),
    ("config", history.judge_config),
    ("clean", history.judge_clean),
    ("clone", history.judge_clone),
    ("submodule", history.judge_submodule),
    ("rebase", history.judge_rebase),
    ("worktree", history.judge_worktree),
    ("reflog", history.judge_reflog),
    ("gc", history.judge_gc),
    ("update-ref", history.judge_update_ref),
    ("bisect", history.judge_bisect),
    ("archive", history.judge_archive),
    ("apply", history.judge_apply),
    ("hash-object", history.judge_hash_object),
    ("checkout-index", history.judge_checkout_index),
    ("init", history.judge_init),
    ("format-patch", history.judge_format_patch),
    ("symbolic-ref", history.judge_symbolic_ref),
    ("fetch pull ls-remote fetch-pack send-pack", history.judge_fetch),
    (
        "svn p4 daemon http-fetch remote-http annex sync pr mr scp rscp ignore-io create-branch "
        "rename-branch magic subrepo "
        "fork force-clone bug cvsimport",
        always("N", "uses the network"),
    ),
    (
        "delete-branch delete-tag delete-merged-branches delete-squashed-branches obliterate clear "
        "rename-tag release "
        "pull-request paste",
        always("F", "removes or publishes what nothing else holds"),
    ),
    ("prune", always("F", "throws away objects that nothing else holds")),
    ("filter-branch filter-repo", always("F", "rewrites history")),
    ("credential credential-store credential-cache", always("F", "says passwords")),
    ("send-email request-pull imap-send", always("F", "writes to others")),
    ("difftool mergetool gui gitk instaweb citool web--browse", always("X", "starts a program")),
)
COMMANDS: dict[str, GitJudge] = {name: judge for names, judge in _ROWS for name in names.split()}

GIT: Table = table(
    ("git", _git), ("tig gitui lazygit", Usual(letter="X", why="starts a program", operands="text"))
)
