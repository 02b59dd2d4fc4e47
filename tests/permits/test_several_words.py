"""A word that becomes several, or none, moves those behind it: where a place decides, nothing is taken for known."""

import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE

BARE = structs.replace(PLACE, hides_secrets=False)

MAY_CHANGE = [
    "uniq f*",
    "uniq $PWD/[fg]",
    "uniq ?",
    "x='f g'; uniq $x",
    "uniq {f,g}",
    "uniq {f,g" + "," * 70 + "}",
    "uniq f{1..2}",
    'set -- f g; uniq "$@"',
    "bash -c 'uniq \"$@\"' x f g",
    "bash -c 'uniq $1' x f*",
    "find . -name '[fg]' -exec uniq {} +",
    "echo f g | xargs uniq",
    "echo f g | xargs -n2 timeout 5 uniq",
    "for x in *; do uniq $x; done",
    "for x in 'f g'; do uniq $x; done",
    "xxd [fg]",
    "test f*",
    "[ f* ]",
    "[ ! f* ]",
    "git config core.*",
    "timeout 5* ls",
    "nice -n 1* ls",
    "stdbuf -o * ls",
    "sort -k * f",
]
READS = [
    "uniq f",
    "uniq -c < f",
    'for x in f*; do uniq "$x"; done',
    "for x in f g; do uniq $x; done",
    r"find . -name '[fg]' -exec uniq {} \;",
    "cat f*",
    "wc -l {f,g}",
    "sort f*",
    "grep -c x f*",
    "[ -f f ]",
    "xxd f",
    "git config user.name",
    "for i in {1..3}; do echo $i; done",
]


@pytest.mark.parametrize("line", MAY_CHANGE)
def test_a_place_that_may_be_another_is_contained(line: str) -> None:
    assert judge_command_line(line, PLACE).risk != "safe"


@pytest.mark.parametrize("line", READS)
def test_words_whose_number_is_known_or_does_not_matter_are_safe(line: str) -> None:
    assert judge_command_line(line, PLACE).risk == "safe"


@pytest.mark.parametrize("line", [*MAY_CHANGE, *READS])
def test_what_is_safe_changes_no_file_of_a_folder_made_for_it(tmp_path: Path, line: str) -> None:
    for name in ("f", "g", "f g", "core.pager", "core.x", "5", "f1", "f2"):
        (tmp_path / name).write_text("a\na\nb\n")
    if judge_command_line(line, PLACE).risk == "safe":
        subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False, timeout=10)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"a\na\nb\n"}


@pytest.mark.parametrize(
    "line", ["grep .en* x", "rg .en*", "grep -e .en* x", "find . -name '*' -exec grep {} +", "git grep .en*"]
)
def test_a_pattern_that_becomes_several_words_is_also_a_file(line: str) -> None:
    assert judge_command_line(line, BARE).risk != "safe"


def test_a_target_that_becomes_several_words_is_also_a_source() -> None:
    assert judge_command_line("cp ~/.ssh/id*", BARE).risk == "forbidden"


@pytest.mark.parametrize(
    "line",
    [
        "_=f; uniq $_ g; cat $_",
        "read _ <<< f; cat $_",
        "export _=f; cat $_",
        "PWD=/tmp; cat $PWD/x",
        "REPLY=/tmp/x; cat $REPLY",
        'for _ in f; do true ~/.ssh/id_rsa; cat "$_"; done',
    ],
)
def test_a_variable_that_bash_sets_itself_is_never_known(line: str) -> None:
    assert judge_command_line(line, BARE).risk == "contained"


@pytest.mark.parametrize(
    "name", ["sh", "dash", "ash", "zsh", "ksh", "mksh", "yash", "fish", "csh", "/bin/sh"]
)
@pytest.mark.parametrize(
    "line",
    [
        "{0} -c 'ls'",
        "{0} -c 'echo a'",
        "env {0} -c ls",
        "busybox {0} -c ls",
        "echo f | xargs {0} -c 'cat f'",
        "find . -name f -exec {0} -c ls \\;",
        "echo ls | {0}",
        "{0} <<< ls",
        "{0} run.sh",
        "bash -c '{0} -c ls'",
    ],
)
def test_a_script_for_another_shell_is_never_safe(name: str, line: str) -> None:
    assert judge_command_line(line.format(name), PLACE).risk == "contained"


@pytest.mark.parametrize(
    "line",
    [
        "sh -c 'cat ~/.ssh/id_rsa'",
        "zsh -c 'cat \"$1\"' x ~/.ssh/id_rsa",
        "ksh -c 'cd ~/.ssh && cat id_rsa'",
        "echo 'cat ~/.ssh/id_rsa' | dash",
        "fish -c 'cat ~/.aws/credentials'",
        "sh -c 'git push --force'",
        "busybox sh -c 'cat ~/.aws/config'",
        "bash -c 'shift; cat \"$1\"' x a ~/.ssh/id_rsa",
        "bash -c 'touch a; cat \"${@:2}\"' x a ~/.ssh/id_rsa",
    ],
)
def test_what_bash_reads_in_a_script_that_is_not_understood_still_counts(line: str) -> None:
    assert judge_command_line(line, BARE).risk == "forbidden"


def test_names_that_another_shell_only_lists_are_no_reading() -> None:
    assert judge_command_line("sh -c 'ls -la ~/.ssh/id_rsa'", BARE).risk == "contained"
