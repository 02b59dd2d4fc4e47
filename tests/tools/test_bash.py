"""`bash` runs real commands, reports their outcome, and leaves no process behind."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import ToolCaller, until
from tools.files.output_artifacts import OutputArtifacts
from tools.running.shell_settings import CommandToSpawn, ShellSettings, split_leading_cd
from tools.session_workspace import SessionWorkspace
from tools.tool_result_values import ToolResult


def alive(marker: str) -> list[int]:
    """Returns the processes with this text in their command line."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_bytes().rsplit(b")", 1)[1].split()[0]
            except OSError:
                continue
            if marker.encode() in words and state != b"Z":
                found.append(int(folder.name))
    return found


def content(path: str) -> tuple[str, int]:
    return Path(path).read_text(), Path(path).stat().st_mode


async def until_gone(marker: str) -> None:
    await until(lambda: not alive(marker))


async def test_both_streams_come_in_order(hands: ToolCaller) -> None:
    result = await hands("bash", command="echo one; echo two >&2; echo three")
    assert result.text == "one\ntwo\nthree"
    assert not result.is_error


async def test_a_failure_keeps_the_output(hands: ToolCaller) -> None:
    result = await hands("bash", command="echo partial; exit 3")
    assert result.text == "partial\n\nCommand exited with code 3"
    assert result.is_error and result.details is not None and result.details["exitCode"] == 3


async def test_no_output_is_said(hands: ToolCaller) -> None:
    assert await hands.text("bash", command="true") == "(no output)"


async def test_a_signal_is_named(hands: ToolCaller) -> None:
    text = await hands.text("bash", command="kill -SEGV $$")
    assert text.endswith("Command exited with code 139 (ended by SIGSEGV)")


async def test_stdin_is_empty(hands: ToolCaller) -> None:
    assert await hands.text("bash", command="cat; echo end") == "end"


@pytest.mark.parametrize(
    "command",
    [
        'cd "a b" && pwd',
        "cd a && pwd || echo no",
        "cd nowhere && pwd || echo no",
        "cd nowhere 2>/dev/null && pwd; echo after",
        "cd a && sleep 0 & wait; pwd",
        'cd a && echo "$OLDPWD" "$PWD"',
        "cd a && cd - && pwd",
        "cd a && cd ../'a b' && pwd && echo $OLDPWD",
        "cd a && pwd\npwd",
        "cd link && pwd && pwd -P",
        "cd a && (cd .. && pwd) && pwd",
    ],
)
async def test_a_leading_cd_means_what_it_means_to_the_shell(
    hands: ToolCaller, project: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a b").mkdir()
    (project / "a").mkdir()
    (project / "link").symlink_to("a")
    monkeypatch.setenv("SHELL", "/bin/bash")
    asked = await asyncio.create_subprocess_exec(
        "/bin/bash", "-c", command, cwd=project, env={"PATH": os.environ["PATH"], "PWD": str(project)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await asked.communicate()
    result = await hands("bash", {"command": command})
    assert result.text.split("\n\nCommand exited")[0] == said.decode().rstrip("\n")
    assert result.is_error is bool(asked.returncode)


async def test_a_folder_beside_the_command_is_honoured(hands: ToolCaller, project: Path) -> None:
    (project / "a b").mkdir()
    for name in ("cwd", "workdir", "working_directory"):
        assert await hands.text("bash", {"command": "pwd", name: "a b"}) == str(project / "a b")
    assert "Working directory does not exist" in await hands.error("bash", command="pwd", cwd="nowhere")
    (project / "file").touch()
    assert "is not a directory" in await hands.error("bash", command="pwd", cwd="file")


async def test_the_first_or_last_lines_of_an_output_are_enough(hands: ToolCaller) -> None:
    text = await hands.text("bash", command="seq 300", tail=2)
    assert text == "299\n300\n\n[Showing the last 2 of 300 lines]"
    text = await hands.text("bash", command="seq 300", head=2)
    assert text == "1\n2\n\n[Showing the first 2 of 300 lines]"
    long = await hands.text("bash", command="seq 30000", head=3)
    assert long.startswith("1\n2\n3\n\n[Showing the first 3 of 30000 lines. Full output: ")
    assert await hands.text("bash", command="seq 3", head=9) == "1\n2\n3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"cmd": "echo hi"}, "hi"),
        ({"command": ["echo", "a b", "$HOME"]}, "a b $HOME"),
        ({"command": "echo hi", "description": "Says hi", "timeout_ms": 5000}, "hi"),
        ({"command": "echo $X", "environment": {"X": "1"}}, "1"),
    ],
)
async def test_argument_names_of_other_agents_are_accepted(
    hands: ToolCaller, arguments: dict[str, Any], said: str
) -> None:
    assert await hands.text("bash", arguments) == said


async def test_what_is_not_plain_is_refused_by_name(hands: ToolCaller, project: Path) -> None:
    said = await hands.error("bash", command="touch made", sandbox=False)
    assert "sandbox: is not an argument of this tool; there are command, timeout" in said
    said = await hands.error("bash", command="touch made", timeot=5)
    assert 'timeot: is not an argument of this tool; did you mean "timeout"?' in said
    assert not (project / "made").exists()


@pytest.mark.parametrize(
    ("command", "folder", "rest"),
    [
        ("cd a && ls", "a", "ls"),
        ("cd 'a b' && ls && pwd", "a b", "ls && pwd"),
        ("  cd ~/x   &&   ls\nls", "~/x", "ls\nls"),
        ("cd $HOME && ls", None, "cd $HOME && ls"),
        ("cd a || ls", None, "cd a || ls"),
        ("cd - && ls", None, "cd - && ls"),
        ("cd a; ls", None, "cd a; ls"),
        ("cd a &&", None, "cd a &&"),
        ('cd "$X" && ls', None, 'cd "$X" && ls'),
    ],
)
def test_only_a_plain_cd_is_taken_out(command: str, folder: str | None, rest: str) -> None:
    assert split_leading_cd(command) == (folder, rest)


async def test_the_environment_asks_nothing_and_tells_no_secret(
    hands: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "QWEN_TOKEN_PLAN_CN_API_KEY",
    ):
        monkeypatch.setenv(name, "planted-key")
    monkeypatch.setenv("GITHUB_USER", "kept")
    text = await hands.text("bash", command="env", env={"EXTRA": "given"})
    assert "planted-key" not in text
    variables = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    expected = {
        "PAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    assert expected.items() <= variables.items()
    assert (variables["EXTRA"], variables["GITHUB_USER"]) == ("given", "kept")


async def test_env_names_are_checked(hands: ToolCaller) -> None:
    words = await hands.error("bash", command="true", env={"BAD-NAME": "x"})
    assert words == "Invalid bash env name: BAD-NAME"


async def test_settings_shape_the_command(
    hands: ToolCaller, workspace: SessionWorkspace, project: Path
) -> None:
    async def hook(plan: CommandToSpawn) -> CommandToSpawn:
        return CommandToSpawn(
            command=plan.command + "; echo hooked", cwd=plan.cwd, environment={**plan.environment, "H": "1"}
        )

    workspace.shell_settings = lambda: ShellSettings(
        shell_path="/bin/sh",
        command_prefix="P=prefixed;",
    )
    workspace.spawn_hook = hook
    assert await hands.text("bash", command="echo $P $H $0") == "prefixed 1 /bin/sh\nhooked"
    workspace.shell_settings = lambda: ShellSettings(shell_path="/no/such/shell")
    assert "Correct the shellPath setting" in await hands.error("bash", command="true")


async def test_a_timeout_is_clamped_and_told(hands: ToolCaller) -> None:
    text = await hands.text("bash", command="echo fast", timeout=5000)
    assert text == "fast\n\n[Timeout clamped to 3600s (requested 5000s; allowed range 1-3600).]"


@pytest.mark.parametrize(
    ("asked", "notice"), [(0, ""), (-5, "Timeout clamped to 1s (requested -5s"), (1.5, "")]
)
async def test_no_time_limit_is_no_limit_and_less_is_clamped(
    hands: ToolCaller, asked: float, notice: str
) -> None:
    text = await hands.text("bash", command="sleep 0.05; echo slept", timeout=asked)
    assert text.startswith("slept") and notice in text and ("clamped" in text) == bool(notice)


async def test_a_timeout_keeps_the_output(hands: ToolCaller) -> None:
    result = await hands("bash", command="echo before; sleep 600.111", timeout=1)
    assert result.text == "before\n\nCommand timed out after 1 seconds"
    assert result.is_error
    assert not alive("600.111")


async def test_a_default_timeout_is_a_setting(hands: ToolCaller, workspace: SessionWorkspace) -> None:
    workspace.shell_settings = lambda: ShellSettings(default_timeout=1)
    assert "Command timed out after 1 seconds" in await hands.text("bash", command="sleep 600.112")
    assert not alive("600.112")


ESCAPES = {
    "child": "sleep {mark}",
    "background": "sleep {mark} & wait",
    "setsid": "setsid sleep {mark} & wait",
    "double fork": "(setsid sh -c 'sleep {mark} & sleep {mark} & exit' &) ; sleep {mark}",
    "nohup": "nohup sleep {mark} >/dev/null 2>&1 & disown; sleep {mark}",
    "ignores term": "trap '' TERM; sleep {mark}; sleep {mark}",
    "own group": "set -m; sleep {mark} & wait",
    "cleared environment": "env -i sleep {mark} & wait",
    "new session and cleared environment": "(setsid env -i sleep {mark} &); sleep {mark}",
    "all of it, and its parents gone": "(setsid env -i sh -c '(sleep {mark} &) ; sleep {mark} &' &); sleep {mark}",
    "keeps forking": "while :; do sleep {mark} & sleep 0.01; done",
}


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_an_abort_ends_the_whole_tree(
    hands: ToolCaller, command: str, request: pytest.FixtureRequest
) -> None:
    mark = f"600.{abs(hash(request.node.name)) % 10**8 + 10**8}"
    script = f"echo started; {command.format(mark=mark)}"
    call = asyncio.create_task(hands("bash", command=script))
    await until(lambda: bool(hands.progress and alive(mark)))
    call.cancel()
    result = await call
    assert result.is_error
    assert result.text.startswith("started\n") and result.text.endswith("\n\nCommand aborted")
    await until_gone(mark)


async def test_what_a_command_leaves_running_ends_with_the_session(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    text = await hands.text("bash", command="sleep 600.222 & echo started")
    assert text.startswith("started\n\n[Processes started by this command still run")
    assert alive("600.222")
    workspace.close()
    await until_gone("600.222")


async def test_updates_come_while_it_runs(hands: ToolCaller, project: Path) -> None:
    os.mkfifo(project / "gate")
    call = asyncio.create_task(hands("bash", command="echo first; cat gate"))
    await until(lambda: bool(hands.progress))
    assert hands.progress[0].text == "first\n"
    gate = await asyncio.to_thread((project / "gate").open, "w")
    gate.write("second\n")
    gate.close()
    assert (await call).text == "first\nsecond"


async def test_updates_come_at_most_ten_times_a_second(hands: ToolCaller) -> None:
    began = time.monotonic()
    await hands("bash", command="for i in $(seq 40); do echo $i; sleep 0.02; done")
    assert len(hands.progress) <= (time.monotonic() - began) * 10 + 1


async def test_long_output_shows_its_end_and_keeps_all(hands: ToolCaller) -> None:
    result = await hands("bash", command="seq 5000")
    assert result.text.startswith("3001\n3002\n")
    assert "[Showing lines 3001-5000 of 5000. Full output: " in result.text
    assert result.details is not None and result.details["artifact"] == "artifact://0"
    text, mode = content(result.details["fullOutputPath"])
    assert text == "".join(f"{number}\n" for number in range(1, 5001))
    assert mode & 0o077 == 0
    part = await hands.text("read", path="artifact://0:17-18")
    assert part.split("\n")[:2] == ["17", "18"]
    assert (await hands.text("read", path="artifact://0", offset=4999)).startswith("4999\n5000")


async def test_artifact_numbers_go_on_in_a_resumed_session(
    hands: ToolCaller, tmp_path: Path, project: Path
) -> None:
    await hands("bash", command="seq 3000")
    again = ToolCaller(SessionWorkspace(project, artifacts=OutputArtifacts(tmp_path / "session")))
    result = await again("bash", command="seq 3000")
    assert result.details is not None and result.details["artifact"] == "artifact://1"
    assert "1\n2" in await again.text("read", path="artifact://0:1-2")
    assert "There is no artifact://7" in await again.error("read", path="artifact://7")


async def test_one_enormous_line_shows_its_end_with_its_size(hands: ToolCaller) -> None:
    text = await hands.text(
        "bash", command="head -c 300000 /dev/zero | tr '\\0' x; printf '\\nlast é\\n' | tr -d '\\n'"
    )
    assert text.split("\n")[0].endswith("last é") or "last é" in text
    text = await hands.text("bash", command="head -c 300000 /dev/zero | tr '\\0' x")
    assert "[Showing last 50.0KB of line 1 (line is 293.0KB). Full output: " in text


async def test_characters_are_never_cut(hands: ToolCaller) -> None:
    result = await hands("bash", command="for i in $(seq 30000); do printf '漢字😀'; done")
    shown = result.text.split("\n")[0]
    assert "\ufffd" not in shown and set(shown) <= set("漢字😀")


async def test_escape_sequences_do_not_get_through(hands: ToolCaller) -> None:
    link = r"\033]8;;http://x\033\\link\033]8;;\033\\"
    command = rf"printf '\033]52;c;ZXZpbA==\007{link} \033[2J\033[31mred\033[0m \033[201~\n10%%\r99%%\n'"
    assert await hands.text("bash", command=command) == "link red \n99%"


async def test_bytes_that_are_no_text_do_no_harm(hands: ToolCaller) -> None:
    text = await hands.text("bash", command="head -c 100000 /dev/urandom")
    text.encode("utf-8")
    assert not {"\x1b", "\x00", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("cat a.txt", "read"),
        ("cd x && head -n 5 a.txt", "read"),
        ("rg foo src", "grep"),
        ("grep -rn foo .", "grep"),
        ("find . -name '*.py'", "find"),
        ("sed -i s/a/b/ x", "edit"),
        ("perl -pi -e s/a/b/ x", "edit"),
        ("echo hi > a.txt", "write"),
        ("cat > a.txt <<'EOF'\nx\nEOF", "write"),
    ],
)
async def test_the_interceptor_points_to_the_better_tool(
    hands: ToolCaller, workspace: SessionWorkspace, command: str, tool: str
) -> None:
    workspace.shell_settings = lambda: ShellSettings(intercepts_commands=True)
    workspace.active_tools = lambda: (tool,)
    words = await hands.error("bash", command=command)
    assert words.startswith(f"Blocked: Use the {tool} tool") and words.endswith(
        f"Original command: {command}"
    )
    workspace.active_tools = lambda: ("bash",)
    assert isinstance(await hands("bash", command="true"), ToolResult)


@pytest.mark.parametrize(
    "command",
    [
        "git log | head",
        "cat a | wc -l",
        "echo hi",
        "ls > /dev/null",
        "echo x 2>&1",
        "make grep",
        "tail -f log & true",
    ],
)
async def test_the_interceptor_leaves_the_rest_alone(
    hands: ToolCaller, workspace: SessionWorkspace, command: str
) -> None:
    workspace.shell_settings = lambda: ShellSettings(intercepts_commands=True)
    workspace.active_tools = lambda: ("read", "grep", "find", "edit", "write")
    assert "Blocked" not in await hands.text("bash", command=command)


async def test_empty_and_impossible_commands_are_refused(hands: ToolCaller) -> None:
    assert "The command is empty" in await hands.error("bash", command="  ")
    assert "null byte" in await hands.error("bash", command="echo \0")


async def test_the_output_of_a_full_disk_says_so(
    hands: ToolCaller, workspace: SessionWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tool: str) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace.artifacts, "create", full)
    text = await hands.text("bash", command="seq 5000")
    assert "The full output could not be kept: No space left on device" in text


async def test_progress_comes_out_as_it_looks_in_the_end(hands: ToolCaller) -> None:
    command = (
        r"printf 'a: 1%%\nb: 1%%\n'; for n in 2 50 100; do printf '\033[2A\r\033[Ka: %d%%\n\033[2Kb: %d%%\n' $n $n;"
        r" done; printf 'Working...\rDone\033[K\n'; printf '50%%\r100%%\n'"
    )
    assert await hands.text("bash", command=command) == "a: 100%\nb: 100%\nDone\n100%"


async def test_lines_that_were_written_over_are_not_counted_as_hidden(hands: ToolCaller) -> None:
    command = r"printf 'x\n'; for n in $(seq 3000); do printf '\033[1A\033[2Kat %d\n' $n; done"
    assert await hands.text("bash", command=command) == "at 3000"


@pytest.mark.parametrize("is_persistent", [False, True], ids=["a shell each", "one shell"])
@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("no-such-tests 2>&1 | tail -20", "`no-such-tests` failed with 127"),
        ("cd a && (exit 3) | cat", "part 1 of 2 of the pipeline failed with 3"),
        (
            "echo a | cat\nX=1 sh -c 'exit 4' x y 2>&1 |\n  cat | tail -1  # the end",
            "`sh -c 'exit 4'` failed with 4",
        ),
        ("set -e; sh -c 'exit 2' '|' | cat", "`sh -c 'exit 2'` failed with 2"),
        ("set -x; sh -c 'exit 2' | cat", "`sh -c 'exit 2'` failed with 2"),
        ("yes | head -1", ""),
        ("echo b | grep a | cat", ""),
        ("git diff --no-index --exit-code a.txt b.txt | cat", ""),
        ("grep x missing | cat", "`grep x missing` failed with 2"),
        ("false | true; echo after", ""),
        ("trap 'echo bye' EXIT; true", ""),
        ("true || false", ""),
    ],
)
async def test_a_pipeline_whose_earlier_part_failed_says_so(
    hands: ToolCaller,
    workspace: SessionWorkspace,
    project: Path,
    command: str,
    part: str,
    is_persistent: bool,
) -> None:
    (project / "a").mkdir()
    (project / "a.txt").write_text("a")
    (project / "b.txt").write_text("b")
    workspace.shell_settings = lambda: ShellSettings(shell_path="/bin/bash", is_persistent=is_persistent)
    result = await hands("bash", command=command)
    assert not result.is_error
    noted = f"exit 0, but {part}" if part else None
    assert result.details is not None and result.details.get("failedPart") == noted
    assert ("[exit 0, but" in result.text) is bool(part)


@pytest.mark.parametrize(
    "command",
    [
        "false | true; exit 3",
        "set -e; false | true; false; echo never",
        "cat <<E | tr a-z A-Z\nhello\nE",
        "cat <<E | cat\nwithout an end",
        "echo 'a | b",
        "echo | | cat",
        "set -o pipefail; false | true",
        "sleep 0 | cat & wait; echo done",
        "trap 'echo mine' EXIT; false | true",
        "echo a | cat; exec echo b",
        "set -x; echo a | cat",
        "env | grep ^BASH_ENV",
        "printf x | sh -c 'bash -c \"echo \\$BASH_ENV; cat\"'",
        "echo a | cat; echo $LINENO $_ ${PIPESTATUS[@]} $BASH_EXECUTION_STRING",
        "echo a | cat; kill -TERM $$",
    ],
)
async def test_the_report_of_a_pipeline_changes_nothing(
    hands: ToolCaller, project: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.delenv("BASH_ENV", raising=False)
    asked = await asyncio.create_subprocess_exec(
        "/bin/bash", "-c", command, cwd=project, env={"PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await asked.communicate()
    result = await hands("bash", command=command)
    # The parts of a pipeline run at the same time, so that the order of their lines is by chance.
    lines = result.structured_content["output"].rstrip("\n").split("\n")
    assert sorted(lines) == sorted(said.decode().rstrip("\n").split("\n"))
    code = result.structured_content["exit_code"]
    assert asked.returncode is not None
    assert (
        code % 256 == (128 - asked.returncode if asked.returncode < 0 else asked.returncode)
        or code == asked.returncode
    )


async def test_a_start_file_of_the_person_is_read_all_the_same(
    hands: ToolCaller, workspace: SessionWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "start").write_text("hello() { echo hello; }\n")
    monkeypatch.setenv("BASH_ENV", str(project / "start"))
    workspace.shell_settings = lambda: ShellSettings(shell_path="/bin/bash")
    result = await hands(
        "bash",
        command="(hello; exit 2) | cat; bash -c hello | cat; (exit 2) | cat; echo $BASH_ENV | (cat; exit 0)",
    )
    assert result.text.startswith(f"hello\nhello\n{project / 'start'}")
