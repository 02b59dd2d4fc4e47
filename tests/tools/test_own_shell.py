"""Commands get the definitions of the user's shell, if its start-up files finish in time, without secrets."""

import shutil
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE
from tests.tools.conftest import ToolCaller
from tools.running.command_interceptor import (
    CommandInterceptRule,
    find_intercept_pattern_error,
    find_tool_instead_of_command,
)
from tools.running.shell_settings import ShellSettings
from tools.running.user_shell import shell_snapshot as own_shell
from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache, get_user_shell_snapshot
from tools.running.user_shell.startup_scripts import SHELL_REPORT_SECTION_MARK
from tools.session_workspace import SessionWorkspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "own-home"
    folder.mkdir()
    return folder


@pytest.fixture
def own(workspace: SessionWorkspace, home: Path, tmp_path: Path) -> UserShellSnapshotCache:
    made = UserShellSnapshotCache(tmp_path / "kept", home)
    settings = ShellSettings(shell_path="/bin/bash", user_shell=made)
    workspace.shell_settings = lambda: settings
    return made


async def test_aliases_functions_and_options_are_there(
    hands: ToolCaller, own: UserShellSnapshotCache, home: Path
) -> None:
    (home / ".bashrc").write_text(
        "case $- in *i*) ;; *) return;; esac\n"
        "alias ll='ls -l' quoted='echo \"it'\\''s\"'\n"
        'greet() { echo "hello $1"; }\n'
        "shopt -s extglob nullglob\n"
        "set -e -u\n"
        "echo printed; PS1=mine; export CHATTY=1\n"
    )
    assert await hands.text("bash", command="greet you; quoted") == "hello you\nit's"
    assert (
        await hands.text("bash", command="echo nothing-*; [[ ab == +(a|b) ]] && echo matched") == "\nmatched"
    )
    assert await hands.text("bash", command='false; echo "$NOBODY,${CHATTY-not}"') == ",not"
    assert own.last_snapshot is not None and own.last_snapshot.aliases["quoted"] == 'echo "it\'s"'
    place = Path(own.last_snapshot.file)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and [one.name for one in place.parent.iterdir()] == [
        place.name
    ]


async def test_what_holds_a_secret_is_left_out(
    hands: ToolCaller, own: UserShellSnapshotCache, home: Path
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (home / ".bashrc").write_text(f"alias pull='git -c x={token} pull'\nalias fine='echo fine'\nT={token}\n")
    assert await hands.text("bash", command="fine") == "fine"
    assert own.last_snapshot is not None and token not in Path(own.last_snapshot.file).read_text()
    assert own.last_snapshot.problem == "1 of its definitions holds something like a secret and is left out"


async def test_secrets_by_name_and_aliases_of_several_lines(
    hands: ToolCaller, own: UserShellSnapshotCache, home: Path
) -> None:
    (home / ".bashrc").write_text(
        "alias dep='API_TOKEN=hunter2-and-more deploy'\n"
        "send() { PASSWORD=swordfish-9 curl x; }\n"
        "alias two='echo one\necho two'\nalias zz='echo last'\nprintf() { :; }\n"
    )
    assert await hands.text("bash", command="two; zz") == "one\ntwo\nlast"
    assert own.last_snapshot is not None
    kept = Path(own.last_snapshot.file).read_text()
    assert "hunter2" not in kept and "swordfish" not in kept
    assert own.last_snapshot.aliases == {"two": "echo one\necho two", "zz": "echo last"}


SHELLS = [
    "bash",
    pytest.param("zsh", marks=pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")),
]


@pytest.fixture
def own_of(shell: str, own: UserShellSnapshotCache, workspace: SessionWorkspace) -> UserShellSnapshotCache:
    settings = ShellSettings(shell_path=shutil.which(shell), user_shell=own)
    workspace.shell_settings = lambda: settings
    return own


def _start_up(home: Path, shell: str, rest: str) -> None:
    (home / f".{shell}rc").write_text(f"alias early='echo early'\ngreet() {{ echo hello; }}\n{rest}\n")


ENDS = {
    "exit": "exit 3",
    "exec": "exec true",
    "a failure": "set -e\nfalse",
    "a trap of its own": "trap 'true' EXIT\nexit 3",
    "return": "return 1",
    "return in a function": "done_with() { return 1; }\ndone_with || return",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("rest", ENDS.values(), ids=ENDS)
async def test_definitions_survive_every_end_of_start_up_files(
    rest: str, shell: str, hands: ToolCaller, own_of: UserShellSnapshotCache, home: Path
) -> None:
    _start_up(home, shell, rest)
    assert await hands.text("bash", command="early; greet") == "early\nhello"
    assert own_of.last_snapshot is not None and own_of.last_snapshot.problem == ""
    assert own_of.last_snapshot.aliases["early"] == "echo early" and "greet" in own_of.last_snapshot.functions


GOES_ON = {
    "asks": "read -p 'who? ' who; echo $who",
    "asks in zsh": "read 'who?who? '",
    "prints": "yes | head -c 9000000",
    "leaves a child": "(sleep 60 &)",
    "ends a subshell": "(exit 3); x=$(exec true); [ $? -eq 0 ] && alias code='echo kept'",
    "is broken": "if (((",
    "noclobber": "set -o noclobber",
    "odd separators": "IFS=,",
    "bold options": "set -f; set -u",
    "covers words": "printf() { :; }; read() { :; }; trap() { :; }",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("rest", GOES_ON.values(), ids=GOES_ON)
async def test_start_up_files_may_do_what_they_like(
    rest: str, shell: str, hands: ToolCaller, own_of: UserShellSnapshotCache, home: Path
) -> None:
    _start_up(home, shell, rest)
    assert (await hands.text("bash", command="early; greet")).split() == ["early", "hello"]
    assert own_of.last_snapshot is not None and own_of.last_snapshot.problem == ""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("rest", ["while true; do sleep 1; done", "while :; do :; done", "sleep 99"])
async def test_start_up_files_that_hang_say_what_they_had(
    rest: str,
    shell: str,
    hands: ToolCaller,
    own_of: UserShellSnapshotCache,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_shell, "SHELL_SNAPSHOT_TIMEOUT", 0.5)
    monkeypatch.setattr(own_shell, "_INTERRUPT_GRACE_SECONDS", 20.0)
    _start_up(home, shell, rest)
    assert await hands.text("bash", command="early; greet") == "early\nhello"
    assert own_of.last_snapshot is not None
    assert own_of.last_snapshot.problem == "its start-up files took longer than 0.5 s"


async def test_without_a_word_commands_run_without(
    hands: ToolCaller, own: UserShellSnapshotCache, home: Path
) -> None:
    (home / ".bashrc").write_text("kill -9 $$")
    assert await hands.text("bash", command="echo runs") == "runs"
    assert own.last_snapshot is not None and not own.last_snapshot.file
    assert own.last_snapshot.problem == "its start-up files ended it before it could say anything"


async def test_a_half_word_is_left_out() -> None:
    text, found = own_shell._parse_report(
        f"set -o pipefail\n{SHELL_REPORT_SECTION_MARK}alias\nalias a='1'\n"
        f"{SHELL_REPORT_SECTION_MARK}alias\nalias b='echo ",
        "bash",
    )
    assert found.aliases == {"a": "1"} and "alias b" not in text and found.options == ("pipefail",)
    assert found.problem == "it did not come to the end of what it has"


async def test_taken_anew_it_is_what_the_files_say_now(
    hands: ToolCaller, own: UserShellSnapshotCache, home: Path
) -> None:
    (home / ".bashrc").write_text("alias early='echo early'")
    assert await hands.text("bash", command="early") == "early"
    before = own.last_snapshot
    (home / ".bashrc").write_text("alias early='echo changed'\nshopt -s extglob")
    assert await hands.text("bash", command="early") == "early"
    found = await get_user_shell_snapshot(hands.workspace, hands.workspace.shell_settings(), is_anew=True)
    assert before is not None and found is not None and found.file != before.file
    assert found.options == ("extglob",) and found.taken_at >= before.taken_at
    assert await hands.text("bash", command="early") == "changed"
    assert Path(before.file).exists()  # another session may still go by it


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
async def test_zsh_has_its_own(
    hands: ToolCaller, workspace: SessionWorkspace, home: Path, tmp_path: Path
) -> None:
    zsh = shutil.which("zsh")
    settings = ShellSettings(shell_path=zsh, user_shell=UserShellSnapshotCache(tmp_path / "kept", home))
    workspace.shell_settings = lambda: settings
    (home / ".zshenv").write_text("ZDOTDIR=$HOME/elsewhere\n")
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / ".zshrc").write_text(
        "alias ll='echo listed'\ngreet() { echo \"hello $1\" }\nsetopt extendedglob ksharrays\n"
    )
    assert await hands.text("bash", command="ll; greet 'a b'") == "listed\nhello a b"
    assert settings.user_shell is not None and settings.user_shell.last_snapshot is not None
    assert settings.user_shell.last_snapshot.options == ("extendedglob", "ksharrays")


def test_the_gate_knows_what_names_mean() -> None:
    place = msgspec.structs.replace(
        PLACE, shell_aliases={"ls": "rm -rf ~", "gst": "git status"}, shell_functions=frozenset({"deploy_it"})
    )
    found: dict[str, Any] = {
        text: judge_command_line(text, place).risk
        for text in ("ls", "gst", "gst | head", "deploy_it", "cat a")
    }
    assert found == {
        "ls": "forbidden",
        "gst": "safe",
        "gst | head": "safe",
        "deploy_it": "contained",
        "cat a": "safe",
    }


@pytest.mark.parametrize(
    "text",
    [r"\rm -rf ~", "'rm' -rf ~", "command rm -rf ~", "xargs rm -rf ~", "bash -c 'rm -rf ~'", "rm -rf ~"],
)
def test_a_name_that_hides_a_program_is_judged_as_the_program_too(text: str) -> None:
    place = msgspec.structs.replace(PLACE, shell_aliases={"rm": "echo"}, shell_functions=frozenset({"rm"}))
    assert judge_command_line(text, place).risk == "forbidden"


def test_rules_of_one_s_own_go_first_and_broken_ones_are_named() -> None:
    rules = (
        CommandInterceptRule(pattern="(", tool="read", message="never"),
        CommandInterceptRule(pattern=r"cat\b", tool="bash", message="Use bat."),
    )
    assert find_intercept_pattern_error(rules[0].pattern) and not find_intercept_pattern_error(
        rules[1].pattern
    )
    refused = find_tool_instead_of_command("cat a", "cat a", ("bash", "read"), rules)
    assert refused == "Blocked: Use bat.\n\nOriginal command: cat a"
    assert find_tool_instead_of_command("cat a", "cat a", ("edit",), rules) is None
    slow = CommandInterceptRule(pattern=r"(a+)+$", tool="read", message="never")
    assert find_tool_instead_of_command("a" * 40 + "!", "", ("read",), (slow,)) is None


async def test_without_terminals_a_command_runs_and_says_so(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    workspace.shell_settings = lambda: ShellSettings(has_terminals=False)
    text = await hands.text("bash", command="echo ran", pty=True)
    assert text == "ran\n\n[This ran without a terminal: the setting bash.pty is off.]"
