"""Without a sandbox only plain lines are safe: whatever a program makes of its words, it reaches nothing else."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from app.engine.sandbox.command_context import CommandPlaceFacts
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import PermissionPolicy, decide_tool_call
from app.permits.permit_rules import PermitRule, parse_permit_rule
from app.permits.shell.command_line import judge_command_line
from app.permits.shell.simple_command import JUDGE_BY_PROGRAM
from tools.git.git_repository import find_repository

PLAIN = [
    "ls",
    "ls -la src 2>/dev/null | head -5",
    "pwd; ls",
    "cat README.md",
    "cat 'README.md' src/a.py 2>&1 | tail -n 5",
    "head -20 src/a.py && wc -l src/a.py || echo 'none'",
    "sed -n 1,3p src/a.py",
    "sed -n '1,3p;7p' src/a.py",
    "grep -n 'def main' src/a.py",
    "grep -A3 -e x src/a.py | sort -rn | uniq -c",
    "sort -t, -k2 README.md | cut -d ' ' -f1",
    "find src -name '*.py' -type f | wc -l",
    "cd ./src && cat a.py",
    "diff -u README.md src/a.py",
    "test -f README.md && echo yes",
    "stat src; file README.md; which git",
    "git status --short",
    "git diff",
    "git diff HEAD~1 -- src/a.py",
    "git log --oneline -5 -- src",
    "git log --format='%h %s' main..HEAD",
    "git show HEAD^ --stat",
    "git branch",
]
HIDDEN_NAMES = [
    "cat .e[[:alpha:]]v",
    "cat ~/.netr[[:alpha:]]",
    "cat ~/.ss[[:alpha:]]/i[[:alpha:]]_rsa",
    r"cat .en[\v]",
    r"cat .en[v\]]",
    "cat .e[[=n=]]v",
    "cat .e[^[:digit:]]v",
    "cat < .e[[:alpha:]]v",
    "echo $(< .e[[:alpha:]]v)",
    "bash -c 'cat .e[[:alpha:]]v'",
    "timeout 5 cat .e[[:alpha:]]v",
]
READ_OTHERWISE = [
    r"find . -name '.e\nv' -exec cat {} +",
    "find . -name '[].]env' -exec cat {} +",
    "find . -name '[[:punct:]]env' -exec cat {} +",
    "find . -name '.en[^]a]' -exec cat {} +",
    r"find . -path './.e\nv' -exec cat {} +",
    "find ~/.config/app/session -exec cat {} +",
    "find . -name .env | xargs cat",
    "grep -d recurse X .",
    "grep -drecurse X .",
    "grep --directories=recurse X .",
    "grep --dir=recurse X .",
    "grep -r X .",
    "git diff ~ /tmp",
    "git diff .. /tmp",
    "git diff src empty",
    "git -c blame.ignoreRevsFile=.env blame README.md",
    "git blame README.md",
    "diff -N . empty",
    "diff README.md empty",
    "echo evil <README.md >/dev/stdin",
    "echo evil <README.md >/dev/fd/0",
    "export",
    "declare",
    "typeset",
    "readonly",
    "set",
    "env",
]
READS_MORE = [
    "cat link",
    "cat inner",
    "cat src/../../.netrc",
    "cat /etc/hostname",
    "cat src",
    "cat pipe",
    "cat -- -v",
    "sort -o README.md src/a.py",
    "sort --files0-from=README.md",
    "wc --files0-from=README.md",
    "grep -f README.md src/a.py",
    "sed 'r .env' README.md",
    "sed -n 'w x' README.md",
    "sed 's,[,X,g;s|],Y,w canary|a|' README.md",
    "awk 1 /inet/tcp/0/host.example/80",
    "LANGUAGE=./loc ls x",
    "sed README.md src/a.py",
    "tail -f README.md",
    "sha256sum -c README.md",
    "find -L . -name x",
    "ls ~",
    "ls outside",
    "cd",
    "cd src && ls",
    "cd ./outside && ls",
    "cd /; cat etc/hostname",
    "x=1; ls",
    "if true; then cat README.md; fi",
    "ls {a,b}",
    "ls *",
    "ls & pwd",
    "(ls)",
    "echo $HOME",
    'echo "$(ls)"',
    "cat <<< a",
    "ls > out",
    "ls # all",
    "git log -p --output=x",
    "git log --format='%GG'",
    "git log --pretty='%+GG'",
    "git log -L1,2:README.md",
    "git --no-pager log",
    "git config -l",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> CommandPlace:
    """A home with keys, and a project with what leads to them."""
    home = tmp_path_factory.mktemp("plain") / "home"
    project = home / "project"
    for name in (".ssh/id_rsa", ".netrc", ".config/app/session", "project/.env"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("key=1\n")
        (home / name).chmod(0o600)
    (project / "src").mkdir()
    (project / "empty").mkdir()
    (project / "README.md").write_text("a\n")
    (project / "src" / "a.py").write_text("a\n")
    commit = (
        "git init -q; git add README.md src; git -c user.name=a -c user.email=a commit -qm a; mkfifo pipe"
    )
    subprocess.run(["sh", "-c", commit], cwd=project, check=True)
    (project / "link").symlink_to(home / ".netrc")
    (project / "inner").symlink_to(".env")
    (project / "-v").symlink_to(home / ".netrc")
    (project / "outside").symlink_to(home)
    return CommandPlaceFacts(home, home / ".bayou" / "agent").describe_command_place(project)


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_is_safe_without_a_sandbox(place: CommandPlace, line: str) -> None:
    verdict = judge_command_line(line, place)
    assert verdict.risk == "safe", verdict.why


@pytest.mark.parametrize("line", [*HIDDEN_NAMES, *READ_OTHERWISE, *READS_MORE])
@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
def test_every_other_line_asks_without_a_sandbox(place: CommandPlace, line: str, mode: str) -> None:
    policy = PermissionPolicy(mode=mode)  # type: ignore[arg-type]
    assert decide_tool_call(judge_command_line(line, place), "bash", policy, place).outcome == "ask"


def test_a_rule_for_one_command_lets_no_other_pass(place: CommandPlace) -> None:
    rule = parse_permit_rule("bash: make **", "allow", "user")
    assert isinstance(rule, PermitRule)
    policy = PermissionPolicy(mode="ask", rules=[rule])
    outcomes = [
        decide_tool_call(judge_command_line(line, place), "bash", policy, place).outcome
        for line in ("make && ls | head -3", "make && cat .e[[:alpha:]]v", "make; diff README.md empty")
    ]
    assert outcomes == ["run", "ask", "ask"]


def test_a_repository_that_is_elsewhere_is_not_read_unasked(place: CommandPlace, tmp_path: Path) -> None:
    for name, prepare in {
        "none": "true",
        "link": f"ln -s {place.workspace}/.git .git",
        "file": f"echo 'gitdir: {place.workspace}/.git' > .git",
        "common": f"git init -q; echo {place.workspace}/.git > .git/commondir",
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["sh", "-c", prepare], cwd=folder, check=True)
        there = CommandPlaceFacts(tmp_path, tmp_path / "agent").describe_command_place(folder)
        assert judge_command_line("git log", there).risk == "contained", name


SHOW_CONTENT = [
    "-p",
    "-u",
    "-m",
    "-U",
    "-U9",
    "-Sa",
    "-Ga",
    "--patch",
    "--check",
    "--unified",
    "--unified=9",
    "--word-diff",
    "--word-diff=color",
    "-c",
    "--cc",
    "--raw",
    "-L1,2:a",
    "--patch-with-stat",
    "--color-words",
    "--remerge-diff",
    "--dd",
    "-3p",
    "--function-context",
]


@pytest.mark.parametrize(
    ("line", "is_safe"),
    [
        ("git diff", False),
        ("git log -p", False),
        ("git show", False),
        ("git show HEAD:README.md HEAD", False),
        ("git diff README.md '*env'", False),
        ("git diff README.md ':/'", False),
        ("git log --oneline", True),
        ("git diff HEAD -- README.md", True),
        ("git diff HEAD~2..HEAD -- README.md", True),
        ("git diff e9e0c24 -- README.md", False),
        ("git diff contents README.md", False),
        ("git diff --format=%B -u e9e0c24 README.md", False),
        ("git show HEAD:README.md", True),
        ("git show HEAD~1:./src/a.py main:README.md", True),
        ("git show ':/a'", False),
        ("git show -- ':(glob)**'", False),
        ("git show ':!README.md'", False),
        ("git show ':*env'", False),
        ("git show 'HEAD@{2040-01-01 00:00:00}'", False),
        ("git show 'HEAD^{/a:}'", False),
        ("git show 'HEAD:*'", False),
        ("git show HEAD --stat", True),
        ("git show v1 --stat", False),
        ("git show HEAD --stat -p", False),
        *((f"git show HEAD --stat {option}", False) for option in SHOW_CONTENT),
        *((f"git log --oneline --all {option}", False) for option in SHOW_CONTENT),
        ("git log --check -- README.md", True),
        ("git diff --cached", False),
        ("git diff HEAD", False),
        ("git log -p -- README.md", True),
        ("git log -p -- README.md gone", False),
        ("git log -p README.md src", False),
        ("git log -p --follow README.md", False),
    ],
)
def test_git_shows_no_tracked_file_with_secrets_without_a_sandbox(
    tmp_path: Path, line: str, is_safe: bool
) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    for name in (".env", "README.md", "src/a.py"):
        (project / name).write_text("a\n")
    subprocess.run(["sh", "-c", "git init -q; git add README.md src"], cwd=project, check=True)

    def risk() -> str:
        there = CommandPlaceFacts(tmp_path, tmp_path / "agent").describe_command_place(project)
        return judge_command_line(line, there).risk

    is_kept = is_safe or line == "git diff"
    assert risk() == ("safe" if is_kept else "contained"), "an earlier commit may have had it"
    subprocess.run(["git", "add", ".env"], cwd=project, check=True)
    assert risk() == ("safe" if is_safe else "contained")
    (project / ".env").unlink()
    assert risk() == ("safe" if is_safe else "contained"), "git shows the file that was removed"


@pytest.mark.parametrize("is_packed", [False, True])
def test_no_object_that_replaces_another_is_shown_without_a_sandbox(tmp_path: Path, is_packed: bool) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("a\n")
    commands = (
        "git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm a",
        "git replace HEAD:README.md $(echo secret | git hash-object -w --stdin)"
        + ("; git pack-refs --all; rm -r .git/refs/replace" if is_packed else ""),
    )
    for command, expected in zip(commands, ("safe", "contained"), strict=True):
        subprocess.run(["sh", "-c", command], cwd=project, check=True)
        there = CommandPlaceFacts(tmp_path, tmp_path / "agent").describe_command_place(project)
        assert judge_command_line("git show HEAD:README.md", there).risk == expected


def test_a_sandbox_that_does_not_know_all_secret_files_lets_git_print_none(place: CommandPlace) -> None:
    partly = structs.replace(
        place, has_sandbox=True, hides_secrets=False, repository_tracks_secrets=lambda root: True
    )
    for line in (
        "git diff",
        "git show HEAD",
        "git log -p",
        "git grep x",
        "git cat-file -p HEAD:x",
        "git stash show -p",
    ):
        assert judge_command_line(line, partly).risk == "contained", line
        assert judge_command_line(line, structs.replace(partly, hides_secrets=True)).risk == "safe", line


PIECES = st.text(st.sampled_from("ae.-/~*?[]{},!\\\"'`$#()<>|&;=: \n\t^@+%é"), max_size=12)


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(sorted(JUDGE_BY_PROGRAM)), st.lists(PIECES, max_size=3))
def test_a_line_whose_characters_mean_more_is_never_safe(
    place: CommandPlace, program: str, pieces: list[str]
) -> None:
    """What is safe is what Python's own reader of plain words reads the same, without any expansion left."""
    line = " ".join([program, *pieces])
    if judge_command_line(line, place).risk != "safe":
        return
    outside, quote = [], ""
    for char in line:
        if char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        elif not quote:
            outside.append(char)
        else:
            assert quote == "'" or char not in "$`\\", line
    assert not quote and not set(outside) & set("*?[]{}!\\`$#()<é"), line


def test_with_a_sandbox_such_lines_stay_safe(place: CommandPlace) -> None:
    boxed = structs.replace(place, has_sandbox=True, hides_secrets=True)
    for line in ("ls *", "grep -r X .", "diff -r src empty", 'cat "$f"', "timeout 5 ls"):
        assert judge_command_line(line, boxed).risk == "safe", line


def test_the_names_in_an_index_are_those_that_git_lists(tmp_path: Path) -> None:
    names = [
        "a",
        ".env",
        "deep/folder/" + "x" * 200 + "/" + "y" * 200,
        *(f"f{number}" * (number % 7 + 1) for number in range(40)),
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for prepare in ("git init -q; git add -A", "git add -N a; git update-index --skip-worktree a"):
        subprocess.run(["sh", "-c", prepare], cwd=tmp_path, check=True)
        repository = find_repository(tmp_path)
        assert repository is not None
        assert set(repository.tracked_paths() or ()) == {f"{tmp_path.resolve()}/{name}" for name in names}
    subprocess.run(["git", "update-index", "--index-version", "4"], cwd=tmp_path, check=True)
    assert repository.tracked_paths() is None
    subprocess.run(
        "rm -rf .git; git init -q --object-format=sha256; git add -A", shell=True, cwd=tmp_path, check=True
    )
    repository = find_repository(tmp_path)
    assert repository is not None and repository.tracked_paths() is None
