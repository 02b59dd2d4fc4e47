"""Files that git runs later stay unchanged, even if a command replaces git's folder."""

import asyncio
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.users import USERS, BoxedUser, boxed_user
from tools.box.sandbox_instructions import ConfinementMethod

STEPS: tuple[ConfinementMethod, ...] = ("namespaces", "landlock")

EVIL = "[core]\\n\\tfsmonitor = ./evil.sh\\n"
"""As `printf` writes it."""


@pytest.fixture(params=USERS)
def user(request: pytest.FixtureRequest) -> Iterator[BoxedUser]:
    with boxed_user(request.param) as made:
        made.run("sh", "-c", 'printf "#!/bin/sh\\ntouch %s/ran\\n" "$HOME" > evil.sh; chmod +x evil.sh')
        yield made


def runs_nothing(user: BoxedUser, *folders: str) -> None:
    """What its person does next, in these folders of the project."""
    for folder in ("", *folders):
        place = user.project / folder
        if place.is_dir():
            user.git("status", cwd=place)
            user.git("commit", "--allow-empty", "-qm", "next", cwd=place)
    assert not (user.home / "ran").exists()


def commit(user: BoxedUser, *folder: str) -> None:
    user.git("add", "-A")
    user.git("commit", "-qm", "first")


def test_commits_branches_and_stashes_still_work(user: BoxedUser) -> None:
    text = user.tries(
        "git config user.name; export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x "
        "GIT_COMMITTER_EMAIL=x@y; echo 1 > a; git add -A && git commit -qm one && git checkout -qb two && "
        "echo 2 >> a && git stash -q && git stash pop -q && git commit -qam two && git rebase -q master && "
        "git gc -q && git worktree add -q ../project/tree && git log --oneline | wc -l"
    )
    assert "2" in text.split(), text
    assert not (user.project / ".git" / "commondir").exists()
    assert not (user.project / ".git" / "config.worktree").exists()


def test_moving_the_head_away_and_back_takes_no_guard_away(user: BoxedUser) -> None:
    user.tries("mv .git/HEAD kept-head; mv .git/objects kept-objects")
    user.tries("cp evil.sh .git/hooks/pre-commit; " + f"printf '{EVIL}' >> .git/config; rm -rf .git/hooks")
    user.tries("mv kept-head .git/HEAD; mv kept-objects .git/objects")
    runs_nothing(user)


def test_no_command_names_another_common_folder(user: BoxedUser) -> None:
    commit(user)
    user.tries(
        "cp -r .git other; chmod -R u+w other; "
        f"printf '{EVIL}' >> other/config; echo ../other > .git/commondir; "
        "echo ../other > c; mv c .git/commondir; ln -sf ../other .git/commondir"
    )
    runs_nothing(user)
    assert not (user.project / ".git" / "commondir").exists()


def test_two_sessions_hold_the_name_together(user: BoxedUser) -> None:
    name = user.project / ".git" / "commondir"
    text = user.tries("cat .git/commondir; echo x > .git/commondir")
    assert text.splitlines()[0] == "."
    assert not name.exists()
    name.write_text(".\n")  # one that was killed left it
    user.run("chmod", "666", str(name))
    user.tries("true")
    assert not name.exists()


def test_configuration_of_a_work_tree_is_held(user: BoxedUser) -> None:
    commit(user)
    user.git("config", "extensions.worktreeConfig", "true")
    user.git("worktree", "add", "-q", str(user.home / "second"))
    user.git("config", "--worktree", "core.abbrev", "9", cwd=user.home / "second")
    user.tries(
        f"printf '{EVIL}' >> .git/worktrees/second/config.worktree; cp evil.sh ../second; "
        "cp -r .git evil.git; chmod -R u+w evil.git; "
        f"printf '{EVIL}' >> evil.git/config; echo ../../../evil.git > .git/worktrees/second/commondir; "
        "mv .git/worktrees w; mkdir -p .git/worktrees; cp -r w/second .git/worktrees/second"
    )
    user.git("status", cwd=user.home / "second")
    runs_nothing(user)


def test_submodules_in_submodules_are_held(user: BoxedUser) -> None:
    for name in ("inner", "outer"):
        user.git("init", "-q", str(user.home / name))
        user.git("commit", "--allow-empty", "-qm", "first", cwd=user.home / name)
    user.git("submodule", "add", "-q", str(user.home / "inner"), "deep/inner", cwd=user.home / "outer")
    user.git("commit", "-qm", "with inner", cwd=user.home / "outer")
    user.git("submodule", "add", "-q", str(user.home / "outer"), "libs/outer")
    user.git("submodule", "update", "--init", "--recursive", "-q")
    commit(user)
    modules = user.project / ".git" / "modules" / "libs" / "outer"
    assert (modules / "modules" / "deep" / "inner" / "HEAD").exists()
    inner = ".git/modules/libs/outer/modules/deep/inner"
    for git in (".git/modules/libs/outer", inner):
        user.tries(
            f"mv {git}/HEAD h; cp evil.sh {git}/hooks/pre-commit; printf '{EVIL}' >> {git}/config; mv h {git}/HEAD"
        )
    user.tries(f"mv .git/modules m; cp -r m .git/modules; printf '{EVIL}' >> {inner}/config")
    user.tries(
        f"cp -r .git evil.git; printf '{EVIL}' >> evil.git/config; echo 'gitdir: ../../evil.git' > libs/outer/.git"
    )
    user.tries("mv libs old; mkdir -p libs/outer; cp -r evil.git libs/outer/.git")
    for folder in ("libs/outer", "libs/outer/deep/inner"):
        user.run("cp", "evil.sh", folder)
    runs_nothing(user, "libs/outer", "libs/outer/deep/inner")


def test_linked_hooks_and_configuration_are_held_with_their_targets(user: BoxedUser) -> None:
    commit(user)
    user.run(
        "sh",
        "-c",
        "mkdir -p tools/hooks tools/git; printf '#!/bin/sh\\n' > tools/check; chmod +x tools/check; "
        "rm -rf .git/hooks; ln -s ../tools/hooks .git/hooks; ln -s ../check tools/hooks/pre-commit; "
        "mv .git/config tools/git/config; ln -s ../tools/git/config .git/config",
    )
    for attack in (
        "cp evil.sh tools/check",
        "cp evil.sh tools/hooks/post-commit; rm tools/hooks/pre-commit; cp evil.sh tools/hooks/pre-commit",
        "rm .git/hooks; mkdir .git/hooks; cp evil.sh .git/hooks/pre-commit",
        f"printf '{EVIL}' >> tools/git/config; rm .git/config; printf '{EVIL}' > .git/config",
        "mv tools away; mkdir -p tools/hooks; cp evil.sh tools/hooks/pre-commit",
    ):
        user.tries(attack)
    runs_nothing(user)


def test_folders_of_hooks_and_included_files_are_held(user: BoxedUser) -> None:
    commit(user)
    user.run("sh", "-c", "mkdir -p ci/hooks ci/git; touch ci/git/shared")
    user.git("config", "core.hooksPath", "ci/hooks")
    user.git("config", "include.path", "../ci/git/shared")
    for attack in (
        "cp evil.sh ci/hooks/pre-commit",
        f"printf '{EVIL}' >> ci/git/shared",
        f"printf '{EVIL}' > new; mv new ci/git/shared",
        "mv ci old; mkdir -p ci/hooks; cp evil.sh ci/hooks/pre-commit",
    ):
        user.tries(attack)
    runs_nothing(user)


def test_programs_that_the_configuration_names_are_held(user: BoxedUser) -> None:
    user.run(
        "sh",
        "-c",
        "mkdir tools; for n in watch edit.sh; do printf '#!/bin/sh\\n' > tools/$n; done; chmod +x tools/watch",
    )
    user.run("sh", "-c", "printf 'exit 0\\n' > clean.sh; echo text > notes.md")
    commit(user)
    user.git("config", "core.fsmonitor", "./tools/watch")
    user.git("config", "alias.tidy", "!sh tools/edit.sh ./notes.md && true")
    user.git("config", "filter.tidy.clean", "sh ./clean.sh %f")
    for attack in (
        "cp evil.sh tools/watch; cp evil.sh tools/edit.sh; cat evil.sh > clean.sh",
        "cp evil.sh new; mv new tools/watch",
        "mv tools away; mkdir tools; cp evil.sh tools/watch; cp evil.sh tools/edit.sh",
    ):
        user.tries(attack)
    user.tries("echo more >> notes.md")
    assert (user.project / "notes.md").read_text() == "text\nmore\n"
    user.git("tidy")
    runs_nothing(user)


SPELLINGS = {
    "a/1.sh": ("core.pager", "$HOME/{name}/a/1.sh"),
    "a/2.sh": ("filter.f.clean", '"$(git rev-parse --show-toplevel)"/a/2.sh %f'),
    "a/3.sh": ("filter.f.smudge", "sh -c './a/3.sh %f'"),
    "a/5.sh": ("alias.five", "!x=./a/5.sh; $x"),
    "a/6.sh": ("sequence.editor", "${{GIT_PREFIX:-./}}a/6.sh"),
    "pkg/__main__.py": ("core.fsmonitor", "python3 -m pkg"),
    "tool.py": ("gpg.program", "python3 -m tool"),
    "a/unbuffered.py": ("merge.m.driver", "python3 -u a/unbuffered.py %A"),
    "pkg/deep/inner.py": ("diff.d.textconv", "python3 -W ignore -m pkg.deep.inner"),
    "a/two words (1),#=.sh": ("diff.e.command", "sh 'a/two words (1),#=.sh'"),
    "a/quoted.sh": ("alias.quoted", "!sh a/qu''ot\\ed.sh"),
    "a/late.sh": ("alias.late", "!" + "true; " * 60 + "sh a/late.sh"),
    "a/through.sh": ("alias.through", "-c core.pager=a/through.sh log"),
    "a/unsaid.sh": ("alias.unsaid", '!for f in "$PWD"/$where/unsaid.*; do $f; done'),
    "a/braces,x.sh": ("alias.braces", "!./a/{{braces,x}}*"),
    "a/present.sh": ("alias.here", "!`pwd`/a/present.sh"),
    "node_modules/.bin/lint": ("merge.n.driver", "node_modules/.bin/lint %A"),
    "link/linked.sh": ("merge.l.driver", "link/linked.sh"),
    ".git/watch.sh": ("core.askPass", "sh .git/watch.sh"),
}


def test_programs_are_held_however_the_configuration_spells_them(user: BoxedUser) -> None:
    commit(user)
    user.run("sh", "-c", "mkdir a; ln -s a link")
    for path, (key, value) in SPELLINGS.items():
        user.run("sh", "-c", f"mkdir -p '{Path(path).parent}'; touch '{path}'; chmod +x '{path}'")
        user.git("config", key, value.format(name=user.project.name))
    user.run("sh", "-c", "touch free.py a/free.sh")
    names = " ".join(f"'{path}'" for path in (*SPELLINGS, "free.py", "a/free.sh"))
    user.tries(f'for f in {names}; do echo evil > "$f"; done; mv a b; cp -r b a; rm link; echo evil > a/1.sh')
    for path in SPELLINGS:
        assert (user.project / path).read_text() == "", path
    for path in ("free.py", "a/free.sh"):
        assert (user.project / path).read_text() == "evil\n", path


LATE_SPELLINGS = {
    "a/1.sh": ("core.pager", "less -R | a/1.sh"),
    "a/2.sh": ("filter.f.clean", 'sh -c "./a/2.sh"'),
    "new/deep/4": ("alias.four", "!x=./new/deep/4; $x"),
    "pkg/__main__.py": ("core.fsmonitor", "python3 -m pkg"),
    "node_modules/.bin/lint": ("merge.n.driver", "node_modules/.bin/lint %A"),
    "a/link.sh": ("alias.link", "!a/link.sh"),
    "../{tmp}/outside.sh": ("alias.outside", "!sh {tmp}/outside.sh"),
}


def test_programs_that_a_command_makes_are_moved_away_however_they_are_spelled(user: BoxedUser) -> None:
    commit(user)
    user.run("mkdir", "a")
    with tempfile.TemporaryDirectory() as tmp:
        Path(tmp).chmod(0o777)
        made = {path.replace("../{tmp}", tmp): setting for path, setting in LATE_SPELLINGS.items()}
        for key, value in made.values():
            user.git("config", key, value.replace("{tmp}", tmp))
        text = user.tries(
            "ln -s ../evil.sh a/link.sh; for f in "
            + " ".join(path for path in made if not path.endswith("link.sh"))
            + "; do mkdir -p $(dirname $f); cp evil.sh $f; done; cp evil.sh new/other.sh; cp evil.sh a/free.py; "
            + f"ls {tmp}"
        )
        for path in made:
            assert not (user.project / path).exists(), path
    for path in ("new/other.sh", "a/free.py", "evil.sh"):
        assert (user.project / path).exists(), path
    assert "outside.sh" in text.split() and "moved to" in text, text


NAMED = {
    "1": "sh -c 'sh 1'",
    "2": "bash -o pipefail 2",
    "3": "nodejs 3",
    "4": "b=4; ./$b",
    "5.awk": "awk -f 5.awk",
    "6": "BASH_ENV=6 bash -c :",
    "a/7": "cd a && ./7",
    "a/8.sh": "PATH=$PWD/a:$PATH 8.sh",
    "9": 'eval "$(cat 9)"',
    "10": "./{10,x}",
    "a/eleven-x": "sh eleve*",
}


async def test_files_whose_names_are_words_of_a_command_are_only_named_and_once(
    boxed: Callable[..., BoxedCommands], project: Path
) -> None:
    settings = [
        ["git", "config", f"alias.a{number}", f"!{value}"] for number, value in enumerate(NAMED.values())
    ]
    for words in (["mkdir", "a"], ["git", "config", "alias.log", "log -- own"], *settings):
        await asyncio.to_thread(subprocess.run, words, cwd=project, check=True)
    hands, names = boxed(), " ".join(NAMED)
    first = await hands.outcome(f"for f in {names} other own; do echo x > $f; chmod +x $f; done")
    assert set(first.new_autorun_files) == {f"{project}/{name}" for name in NAMED}
    again = await hands.outcome(f"for f in {names}; do echo y > $f; done")
    assert again.new_autorun_files == () and first.moved_autorun_files == again.moved_autorun_files == ()
    assert all((project / name).read_text() == "y\n" for name in NAMED)
    others = await boxed().outcome(f"for f in {names}; do echo z > $f; done; chmod -x 3; touch 3")
    assert set(others.new_autorun_files) == {
        f"{project}/{name}" for name in NAMED if name not in ("3", "a/eleven-x")
    }


ORDINARY = {
    "who": "!sh -c 'git log --author=$1' -",
    "json": "!python3 -m json.tool",
    "serve": "!python3 -m http.server",
    "d": "diff -- . ':!package-lock.json'",
    "cl": "!git log > CHANGELOG.md",
    "todo": "!grep -rn TODO --include=*.py .",
    "v": "!node -p 'require(\"./package.json\").version'",
}


async def test_ordinary_work_is_neither_kept_from_nor_named(
    boxed: Callable[..., BoxedCommands], project: Path
) -> None:
    files = "src/git.ts server.js json.hpp package.json package-lock.json CHANGELOG.md tool.py git.rs"
    settings = [["git", "config", f"alias.{name}", value] for name, value in ORDINARY.items()]
    for words in (["mkdir", "src"], *settings):
        await asyncio.to_thread(subprocess.run, words, cwd=project, check=True)
    hands = boxed()
    for text in ("made", "changed"):
        outcome = await hands.outcome(f"for f in {files}; do echo {text} > $f; done")
        assert outcome.new_autorun_files == () and outcome.moved_autorun_files == ()
        assert all((project / name).read_text() == f"{text}\n" for name in files.split())


def test_words_of_git_itself_are_no_programs(user: BoxedUser) -> None:
    commit(user)
    user.git("commit", "--allow-empty", "-qm", "first")
    for name, value in (
        ("last", "log -1 HEAD"),
        ("send", "push origin HEAD:refs/heads/master"),
        ("new", "log origin/HEAD.."),
        ("all", "!git fetch && git log origin/main && make test"),
        ("odd", "!npx merge-driver merge --to=main"),
    ):
        user.git("config", f"alias.{name}", value)
    user.run("touch", "fetch")
    identity = "git -c user.name=x -c user.email=x@y"
    text = user.tries(
        f"{identity} commit --allow-empty -qm two; git checkout -qb more; {identity} commit --allow-empty -qm three; "
        "git log --oneline | wc -l; echo 1 > log; echo 2 > fetch; mkdir push; echo 3 > push/HEAD; "
        "for f in main test make rebase.sh merge.js; do cp evil.sh $f; done"
    )
    assert "4" in text.split(), text
    assert "moved to" not in text
    assert (user.project / "log").read_text() == "1\n" and (user.project / "fetch").read_text() == "2\n"


def test_a_file_that_the_users_new_configuration_names_stays(user: BoxedUser) -> None:
    commit(user)
    user.run("sh", "-c", "mkfifo made gate; touch run.sh")
    user.git("config", "alias.old", "!./old.sh")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(user.tries, "echo >made; read -r x <gate; touch old.sh")
        user.run("sh", "-c", "read -r x <made; git config alias.new '!sh run.sh'; echo >gate")
        running.result()
    assert (user.project / "run.sh").exists() and not (user.project / "old.sh").exists()


def test_a_program_below_many_files_is_held(user: BoxedUser) -> None:
    commit(user)
    user.run("sh", "-c", "mkdir -p z/deep a; cd a; seq 25000 | xargs touch; cd ..; touch z/deep/watch.sh")
    user.git("config", "core.fsmonitor", "sh z/deep/watch.sh")
    user.tries("echo evil > z/deep/watch.sh; echo evil > a/1")
    assert (user.project / "z" / "deep" / "watch.sh").read_text() == ""
    assert (user.project / "a" / "1").read_text() == "evil\n"


def test_a_git_file_that_leads_elsewhere_in_the_project_is_held(user: BoxedUser) -> None:
    commit(user)
    user.run("sh", "-c", "mv .git store && echo 'gitdir: store' > .git")
    user.tries(
        f"cp evil.sh store/hooks/pre-commit; printf '{EVIL}' >> store/config; mv store s2; cp -r s2 store"
    )
    user.tries(
        "cp -r store evil.git; " + f"printf '{EVIL}' >> evil.git/config; echo 'gitdir: evil.git' > .git"
    )
    runs_nothing(user)


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        (f"git init -q lib; printf '{EVIL}' >> lib/.git/config", "lib/.git/config"),
        (
            "git init -q lib; git -C lib config alias.lg '-c core.fsmonitor=./evil.sh status'",
            "lib/.git/config",
        ),
        ("git init -q lib; git -C lib config alias.lg '\"--exec-path=.\" status'", "lib/.git/config"),
        ("git init -q lib; cp evil.sh lib/.git/hooks/pre-commit", "lib/.git/hooks/pre-commit"),
        ("mkdir bare; cd bare; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD", "bare/HEAD"),
    ],
)
async def test_a_new_repository_that_starts_programs_is_named(
    boxed: Callable[..., BoxedCommands], project: Path, attack: str, named: str
) -> None:
    (project / "evil.sh").write_text("#!/bin/sh\n")
    (project / "evil.sh").chmod(0o755)
    outcome = await boxed().outcome(attack)
    assert [path for path in outcome.new_autorun_files if f"{project}/{named}" in path] != []


@pytest.mark.parametrize("step", STEPS)
async def test_what_git_would_start_later_is_moved_away_also_without_mounts(
    boxed: Callable[..., BoxedCommands], project: Path, step: ConfinementMethod
) -> None:
    identity = "git -c user.name=x -c user.email=x@y"
    await asyncio.to_thread(
        subprocess.run,
        f"{identity} commit --allow-empty -qm first; git config core.hooksPath hooks; mkdir hooks; touch hooks/old; "
        "git config core.pager 'less -R | ./page.sh'",
        shell=True,
        cwd=project,
        check=True,
    )
    outcome = await boxed(step).outcome(
        "echo evil > page.sh; echo evil > hooks/pre-commit; git worktree add -q wt; mkdir wt/hooks; "
        "echo > wt/hooks/new; git init -q lib; ln -s ~/x lib/.git/COMMIT_EDITMSG; echo > other.sh"
    )
    moved = {str(Path(one.path).relative_to(project)) for one in outcome.moved_autorun_files}
    hook = {"hooks/pre-commit"} if step == "landlock" else set()
    assert moved == {"page.sh", "wt/hooks", "lib/.git/COMMIT_EDITMSG", *hook}, outcome.new_autorun_files


async def test_a_new_repository_as_git_makes_it_is_not_named(boxed: Callable[..., BoxedCommands]) -> None:
    commands = "git init -q lib; echo 1 > lib/a; git -C lib config alias.lg 'log --oneline -5'"
    assert (await boxed().outcome(commands)).new_autorun_files == ()


async def test_commands_that_a_waiting_rebase_would_run_are_named(
    boxed: Callable[..., BoxedCommands], project: Path
) -> None:
    hands = boxed()
    state = project / ".git" / "rebase-merge"
    todo = ".git/rebase-merge/git-rebase-todo"
    await hands.outcome(f"git init -q .; mkdir -p .git/rebase-merge; echo 'pick 1234567 one' > {todo}")
    quiet = await hands.outcome(f"echo 'pick 2345678 two' >> {todo}")
    assert not [path for path in quiet.new_autorun_files if "rebase" in path]
    loud = await hands.outcome(f"echo 'exec ./evil.sh' >> {todo}")
    assert str(state / "git-rebase-todo") in loud.new_autorun_files
    ended = await hands.outcome("rm -r .git/rebase-merge")
    assert not [path for path in ended.new_autorun_files if "rebase" in path]


def test_a_missing_configuration_of_a_work_tree_is_held(user: BoxedUser) -> None:
    commit(user)
    user.git("worktree", "add", "-q", "second")
    user.git("config", "extensions.worktreeConfig", "true")
    for folder in (".git", ".git/worktrees/second"):
        user.tries(f"printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD > {folder}/config.worktree")
    runs_nothing(user, "second")


def test_a_work_tree_in_the_project_leads_to_no_other_folder(user: BoxedUser) -> None:
    commit(user)
    user.git("worktree", "add", "-q", "second")
    user.tries(
        "git init -q --bare g2; printf '[core]\\n\\tbare = false\\n\\tfsmonitor = %s/evil.sh\\n' $PWD >> g2/config; "
        "rm -f second/.git; echo 'gitdir: ../g2' > second/.git"
    )
    runs_nothing(user, "second")


@pytest.mark.parametrize("value", ["up/real", "%(prefix)/..{project}/up/real"])
def test_hooks_behind_a_link_on_the_way_are_held(user: BoxedUser, value: str) -> None:
    user.run("sh", "-c", "mkdir -p d/real; ln -s d up")
    user.git("config", "core.hooksPath", value.format(project=user.project))
    user.tries("rm up; mkdir -p up/real; cp evil.sh up/real/pre-commit; cp evil.sh d/real/pre-commit")
    runs_nothing(user)


@pytest.mark.parametrize("value", ["../up/i", "%(prefix)/..{project}/up/i"])
def test_included_files_behind_a_link_on_the_way_are_held(user: BoxedUser, value: str) -> None:
    user.run("sh", "-c", "mkdir d; touch d/i; ln -s d up")
    user.git("config", "include.path", value.format(project=user.project))
    evil = "printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD"
    user.tries(f"rm up; mkdir up; {evil} > up/i; {evil} > d/i")
    runs_nothing(user)


HOOK = "#!/bin/sh\\ntouch $HOME/ran\\n"


@pytest.mark.parametrize(
    "attack",
    [
        "git worktree add -q wt; mkdir -p wt/hooks; cp evil.sh wt/hooks/pre-commit",
        "mkdir -p wt .git/worktrees/wt; cp .git/HEAD .git/worktrees/wt; echo ../.. > .git/worktrees/wt/commondir; "
        "echo $PWD/wt/.git > .git/worktrees/wt/gitdir; echo gitdir: $PWD/.git/worktrees/wt > wt/.git",
    ],
    ids=["added", "written by hand around hooks that were there"],
)
def test_hooks_of_a_work_tree_that_the_command_adds_are_moved_away(user: BoxedUser, attack: str) -> None:
    commit(user)
    user.git("config", "core.hooksPath", "hooks")
    if "worktree add" not in attack:
        user.tries("mkdir -p wt/hooks; cp evil.sh wt/hooks/pre-commit")
        assert (user.project / "wt/hooks/pre-commit").exists()
    text = user.tries(attack)
    assert "wt/hooks" in text and "moved to" in text, text
    runs_nothing(user, "wt")


@pytest.mark.parametrize("where", ["wt", "sub", "lib", "deps/10/17"])
def test_links_in_each_git_folder_are_moved_away(user: BoxedUser, where: str) -> None:
    commit(user)
    user.run("sh", "-c", "echo mine > ~/precious; git init -q ~/source; git clone -q --bare . ~/source.git")
    for number in range(22 if where.startswith("deps") else 0):
        user.git("submodule", "add", "-q", str(user.home / "source.git"), f"deps/10/{number}")
    identity = "git -c user.name=x -c user.email=x@y -c protocol.file.allow=always"
    made = {
        "wt": "git worktree add -q wt; git=.git/worktrees/wt",
        "sub": f"{identity} submodule add -q ~/source.git sub; git=.git/modules/sub",
        "lib": "git init -q lib; git=lib/.git",
        "deps/10/17": "git=.git/modules/deps/10/17",
    }[where]
    text = user.tries(f"{made}; ln -sf ~/precious $git/COMMIT_EDITMSG; ls -l $git")
    assert "-> " in text and "COMMIT_EDITMSG" in text and "moved to" in text, text
    user.git("commit", "--allow-empty", "-qm", "evil", cwd=user.project / where)
    assert (user.home / "precious").read_text() == "mine\n"


@pytest.mark.parametrize("is_there", [True, False], ids=["hooks there", "hooks missing"])
@pytest.mark.parametrize("where", ["wt", "deps/sub"])
def test_a_relative_folder_of_hooks_is_looked_for_in_each_work_tree(
    user: BoxedUser, where: str, is_there: bool
) -> None:
    if is_there:
        user.run(
            "sh", "-c", "mkdir hooks; printf '#!/bin/sh\\n' > hooks/pre-commit; chmod +x hooks/pre-commit"
        )
    commit(user)
    user.git("worktree", "add", "-q", "wt", "-b", "other")
    user.git("init", "-q", "../source")
    if is_there:
        user.run("cp", "-r", "hooks", "../source/")
    user.git("add", "-A", cwd=user.home / "source")
    user.git("commit", "-qm", "first", "--allow-empty", cwd=user.home / "source")
    user.git("submodule", "add", "-q", "../source", "deps/sub")
    user.git("config", "core.hooksPath", "hooks")
    user.git("config", "core.hooksPath", "hooks", cwd=user.project / "deps" / "sub")
    hook = f"{where}/hooks/pre-commit"
    text = user.tries(f"mkdir -p {where}/hooks; printf '{HOOK}' > {hook}; chmod +x {hook}; echo done")
    assert "done" in text
    runs_nothing(user, "wt", "deps/sub")


def test_hooks_for_new_repositories_are_protected(user: BoxedUser) -> None:
    user.run("mkdir", "-p", "tpl/hooks")
    user.run("git", "config", "--global", "init.templateDir", "~/project/tpl")
    user.tries(
        f"printf '{HOOK}' > tpl/hooks/pre-commit; chmod +x tpl/hooks/pre-commit; printf '{EVIL}' > tpl/config"
    )
    user.git("init", "-q", "../later")
    user.git("commit", "--allow-empty", "-qm", "first", cwd=user.home / "later")
    assert not (user.home / "ran").exists() and (user.home / "later" / ".git").is_dir()
