"""Commands have what the person's shell has, as far as its start-up files say it in time and without secrets."""

import shutil
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.permits.shell import judge_command
from tests.permits.lists import PLACE
from tests.tools.conftest import Hands
from tools.running import own_shell
from tools.running.interceptor import InterceptRule, better_tool, broken
from tools.running.own_shell import OwnShell
from tools.running.shell import ShellSettings
from tools.workspace import Workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "own-home"
    folder.mkdir()
    return folder


@pytest.fixture
def own(workspace: Workspace, home: Path, tmp_path: Path) -> OwnShell:
    made = OwnShell(tmp_path / "kept", home)
    settings = ShellSettings(path="/bin/bash", own=made)
    workspace.shell = lambda: settings
    return made


async def test_aliases_functions_and_options_are_there(hands: Hands, own: OwnShell, home: Path) -> None:
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
    assert own.known is not None and own.known.aliases["quoted"] == 'echo "it\'s"'
    place = Path(own.known.file)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and [one.name for one in place.parent.iterdir()] == [
        place.name
    ]


async def test_what_holds_a_secret_is_left_out(hands: Hands, own: OwnShell, home: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (home / ".bashrc").write_text(f"alias pull='git -c x={token} pull'\nalias fine='echo fine'\nT={token}\n")
    assert await hands.text("bash", command="fine") == "fine"
    assert own.known is not None and token not in Path(own.known.file).read_text()
    assert own.known.problem == "1 of its definitions hold something like a secret and are left out"


async def test_secrets_by_name_and_aliases_of_several_lines(hands: Hands, own: OwnShell, home: Path) -> None:
    (home / ".bashrc").write_text(
        "alias dep='API_TOKEN=hunter2-and-more deploy'\n"
        "send() { PASSWORD=swordfish-9 curl x; }\n"
        "alias two='echo one\necho two'\nalias zz='echo last'\nprintf() { :; }\n"
    )
    assert await hands.text("bash", command="two; zz") == "one\ntwo\nlast"
    assert own.known is not None
    kept = Path(own.known.file).read_text()
    assert "hunter2" not in kept and "swordfish" not in kept
    assert own.known.aliases == {"two": "echo one\necho two", "zz": "echo last"}


@pytest.mark.parametrize(
    ("rc", "why"),
    [
        ("exit 3", "its start-up files ended it before it could say anything"),
        ("exec true", "its start-up files ended it before it could say anything"),
        ("while true; do sleep 1; done", "its start-up files took longer"),
        ("sleep 99", "its start-up files took longer"),
    ],
)
async def test_start_up_files_that_end_or_hang(
    rc: str, why: str, hands: Hands, own: OwnShell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_shell, "MOST_SECONDS", 0.5)
    (home / ".bashrc").write_text(rc)
    assert await hands.text("bash", command="echo runs") == "runs"
    assert own.known is not None and own.known.problem.startswith(why) and not own.known.file


@pytest.mark.parametrize(
    "rc", ["read -p 'who? ' who; echo $who", "yes | head -c 9000000", "(sleep 60 &)", "if ((("]
)
async def test_start_up_files_that_ask_print_fork_or_are_broken(
    rc: str, hands: Hands, own: OwnShell, home: Path
) -> None:
    (home / ".bashrc").write_text(f"alias early='echo early'\n{rc}\n")
    assert await hands.text("bash", command="echo runs; early") in ("runs\nearly", "runs\nearly\n")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
async def test_zsh_has_its_own(hands: Hands, workspace: Workspace, home: Path, tmp_path: Path) -> None:
    zsh = shutil.which("zsh")
    settings = ShellSettings(path=zsh, own=OwnShell(tmp_path / "kept", home))
    workspace.shell = lambda: settings
    (home / ".zshrc").write_text("alias ll='echo listed'\ngreet() { echo \"hello $1\" }\n")
    assert await hands.text("bash", command="ll; greet 'a b'") == "listed\nhello a b"


def test_the_gate_knows_what_names_mean() -> None:
    place = msgspec.structs.replace(
        PLACE, aliases={"ls": "rm -rf ~", "gs": "git status"}, functions=frozenset({"deploy_it"})
    )
    found: dict[str, Any] = {
        text: judge_command(text, place).letter for text in ("ls", "gs", "gs | head", "deploy_it", "cat a")
    }
    assert found == {"ls": "F", "gs": "R", "gs | head": "R", "deploy_it": "X", "cat a": "R"}


@pytest.mark.parametrize(
    "text",
    [r"\rm -rf ~", "'rm' -rf ~", "command rm -rf ~", "xargs rm -rf ~", "bash -c 'rm -rf ~'", "rm -rf ~"],
)
def test_a_name_that_hides_a_program_is_judged_as_the_program_too(text: str) -> None:
    place = msgspec.structs.replace(PLACE, aliases={"rm": "echo"}, functions=frozenset({"rm"}))
    assert judge_command(text, place).letter == "F"


def test_rules_of_one_s_own_go_first_and_broken_ones_are_named() -> None:
    rules = (
        InterceptRule(pattern="(", tool="read", message="never"),
        InterceptRule(pattern=r"cat\b", tool="bash", message="Use bat."),
    )
    assert broken(rules[0]) and not broken(rules[1])
    refused = better_tool("cat a", "cat a", ("bash", "read"), rules)
    assert refused == "Blocked: Use bat.\n\nOriginal command: cat a"
    assert better_tool("cat a", "cat a", ("edit",), rules) is None
    slow = InterceptRule(pattern=r"(a+)+$", tool="read", message="never")
    assert better_tool("a" * 40 + "!", "", ("read",), (slow,)) is None


async def test_without_terminals_a_command_is_told_so(hands: Hands, workspace: Workspace) -> None:
    workspace.shell = lambda: ShellSettings(has_terminals=False)
    assert "bash.pty is off" in await hands.error("bash", command="true", pty=True)
