"""Print and JSON mode as scripts use them: the real process, its output and its exit code."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app.values.events import AgentSettled, Event
from app.values.wire import from_wire
from tests.modes.processes import CALLS, STAGE, write_settings
from tests.modes.test_rpc_extensions import REPORT
from tests.support.warm_bayou import BAYOU


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.split("\n") if line]


async def bayou(*arguments: str, cwd: Path, stdin: bytes = b"", **env: str) -> Done:
    process = await asyncio.create_subprocess_exec(
        *BAYOU, *arguments,
        cwd=cwd, env={**os.environ, "BAYOU_OFFLINE_PACE": "0", **env},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(stdin), 60)
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def test_print_answers_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 41\n")
    done = await bayou("--model", "offline", "-p", "read a.py", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "x = 41" in done.out


async def test_print_shows_the_plan_that_is_proposed(tmp_path: Path) -> None:
    plan = {"title": "Four oars", "plan": "1. Change `a.py`\n2. Run the tests"}
    calls = json.dumps([("propose_plan", plan)])
    done = await bayou("-e", CALLS, "-p", "--plan", calls, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == "# Four oars\n\n1. Change `a.py`\n2. Run the tests\n"


async def test_without_a_key_it_is_told_how_one_is_given(tmp_path: Path) -> None:
    done = await bayou("-p", "help", cwd=tmp_path)
    assert done.out and "bayou auth login" in done.err
    done = await bayou("--model", "anthropic/claude-opus-5-5", "-p", "help", cwd=tmp_path)
    assert (done.code, done.out) == (6, "")
    assert done.err.endswith("bayou auth login anthropic\n")
    own = {"far": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [{"id": "m"}]}}
    (write_settings({"retry": {"enabled": False}}).parent / "models.json").write_text(
        json.dumps({"providers": own})
    )
    done = await bayou("--model", "far/m", "-p", "help", cwd=tmp_path)
    assert done.code == 6
    assert "Is the server at 127.0.0.1:9 running? --model chooses another model." in done.err


async def test_a_models_words_cannot_drive_the_terminal(tmp_path: Path) -> None:
    words = "\x1b[31mred \x1b]0;owned\x07 \x9b2J"
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "-p", "-e", STAGE, words,
        cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=slave, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(slave)
    assert await asyncio.wait_for(process.wait(), 60) == 0
    assert os.read(master, 4096).decode() == "␛[31mred ␛]0;owned␇ \ufffd2J\r\n"
    os.close(master)
    done = await bayou("-p", "-e", STAGE, words, cwd=tmp_path)
    assert done.out == words + "\n"


async def test_events_on_a_terminal_carry_no_control_character_and_the_same_data(tmp_path: Path) -> None:
    words = "\x1b]0;owned\x07 \x9b2J \u202e"
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "--mode", "json", "-e", STAGE, words,
        cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=slave, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(slave)
    pieces: list[bytes] = []
    loop = asyncio.get_running_loop()
    while True:
        try:
            pieces.append(await loop.run_in_executor(None, os.read, master, 65536))
        except OSError:
            break  # the last process that had the terminal has ended
    assert await process.wait() == 0
    os.close(master)
    printed = b"".join(pieces).decode()
    assert not set("\x1b\x07\x9b\u202e") & set(printed)
    ends = [line for line in map(json.loads, printed.splitlines()) if line["type"] == "message_end"]
    assert any(line["message"].get("content") == [{"type": "text", "text": words}] for line in ends)


async def test_piped_input_comes_before_the_message(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "and this", cwd=tmp_path, stdin=b"piped ")
    prompt = next(
        line["message"]
        for line in done.lines
        if line["type"] == "message_end" and line["message"]["role"] == "user"
    )
    assert prompt["content"] == [{"type": "text", "text": "piped and this"}]


async def test_files_are_put_before_the_message(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("remember\n")
    done = await bayou("--mode", "json", "@note.txt", "help", cwd=tmp_path)
    text = next(
        line["message"]["content"][0]["text"]
        for line in done.lines
        if line["type"] == "message_end" and line["message"]["role"] == "user"
    )
    assert text == f'<file name="{tmp_path}/note.txt">\nremember\n\n</file>\nhelp'


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = await bayou("-p", "@nope.txt", "help", cwd=tmp_path)
    assert done.code == 2
    assert done.err == "bayou: @nope.txt: No such file or directory.\n"


async def test_several_messages_are_sent_one_after_the_other(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "help", "list", cwd=tmp_path)
    prompts = [
        line["message"]["content"][0]["text"]
        for line in done.lines
        if line["type"] == "message_end" and line["message"]["role"] == "user"
    ]
    assert prompts == ["help", "list"]
    assert sum(line["type"] == "agent_settled" for line in done.lines) == 2


async def test_json_begins_with_the_header_and_ends_settled(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "help", cwd=tmp_path)
    assert done.lines[0]["type"] == "session"
    assert done.lines[0]["version"] == 3
    assert done.lines[-1] == {"type": "agent_settled", "aborted": False}
    text = "".join(
        line["assistantMessageEvent"]["delta"]
        for line in done.lines
        if line["type"] == "message_update" and line["assistantMessageEvent"]["type"] == "text_delta"
    )
    final = next(line["message"] for line in reversed(done.lines) if line["type"] == "message_end")
    assert final["content"][-1]["text"] == text


async def test_a_text_is_told_as_it_grows_and_once_more_whole(tmp_path: Path) -> None:
    words = "".join(f"word{index:04} " for index in range(4000))
    arguments = ("--mode", "json", "-e", STAGE, "deltas 4000")
    for more, deltas in ((), range(1, 1000)), (("--no-merge-deltas",), [4000]):
        done = await bayou(*arguments, *more, cwd=tmp_path)
        updates = [line["assistantMessageEvent"] for line in done.lines if line["type"] == "message_update"]
        pieces = [update["delta"] for update in updates if update["type"] == "text_delta"]
        assert "".join(pieces) == words
        assert len(pieces) in deltas
        assert len(done.out) < 3 * len(words) + 400 * len(done.lines)
        others = [line for line in done.lines if line["type"] != "message_update"]
        told = [line for line in others if words[:-1] in json.dumps(line)]
        assert [(line["type"], line["message"]["role"]) for line in told] == [("message_end", "assistant")]
        ended = next(line for line in done.lines if line["type"] == "turn_end")
        assert (ended["message"]["stopReason"], ended["message"]["content"]) == ("stop", [])


async def test_json_mode_sends_each_result_in_full_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 41\n")
    done = await bayou("--mode", "json", "read a.py", cwd=tmp_path)
    told = [line for line in done.lines if line["type"] != "message_update" and "x = 41" in json.dumps(line)]
    kinds = [(line["type"], line.get("message", {}).get("role")) for line in told]
    assert kinds == [
        ("tool_execution_end", None), ("message_end", "toolResult"), ("message_end", "assistant"),
    ]  # fmt: skip
    roles = [message["role"] for message in done.lines[-2]["messages"]]
    assert roles == ["system", "user", "assistant", "toolResult", "assistant"]
    events = [from_wire(line, Event) for line in done.lines[1:]]
    assert isinstance(events[-1], AgentSettled)


async def test_json_fails_when_the_provider_fails(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "--model", "nobody/nothing", "help", cwd=tmp_path)
    assert done.code != 0
    assert "nothing" in done.err


async def test_a_session_is_continued(tmp_path: Path) -> None:
    await bayou("-p", "help", cwd=tmp_path)
    done = await bayou("-c", "--mode", "json", "list", cwd=tmp_path)
    path = Path(os.environ["BAYOU_AGENT_DIR"]) / "sessions"
    assert len(list(path.rglob("*.jsonl"))) == 1
    assert done.code == 0


async def test_without_a_session_nothing_is_kept(tmp_path: Path) -> None:
    done = await bayou("-p", "--no-session", "help", cwd=tmp_path)
    assert done.code == 0
    assert not list(Path(os.environ["BAYOU_AGENT_DIR"]).rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frob", "-p", "x"], "Unknown option: --frob"),
        (["-q"], "Unknown option: -q. See bayou --help."),
        (["--model"], "--model needs a value: PATTERN."),
        (
            ["--thinking", "hard", "-p", "x"],
            "--thinking hard: not one of off, minimal, low, medium, high, xhigh, max.",
        ),
        (["--continue", "--no-session"], "--continue and --no-session cannot be used together."),
        (["--session", "x", "--fork", "y"], "--fork and --session cannot be used together."),
        (["--provider", "openai"], "--provider needs --model"),
        (["--cwd", "/nowhere/at/all", "-p", "x"], "--cwd /nowhere/at/all: there is no such folder."),
        (["--session", "no-such-session", "-p", "x"], "no-such-session"),
        (["-p"], "No prompt was given."),
    ],
)
async def test_bad_command_lines_say_what_and_what_to_do(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = await bayou(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


async def test_a_folder_that_is_gone_is_an_error_in_words(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -P -m app -p help'
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()
    assert process.returncode == 2
    assert b"does not exist any more" in err


async def test_a_broken_settings_file_is_named_and_bayou_still_answers(tmp_path: Path) -> None:
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text('{"theme": \n nope}')
    done = await bayou("-p", "help", cwd=tmp_path)
    assert done.code == 0
    assert "settings.json:2" in done.err
    assert (agent / "settings.json").read_text() == '{"theme": \n nope}'


async def test_print_never_loads_textual(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['bayou', '--model', 'offline', '-p', 'help']; sys.stdin = open('/dev/null')\n"
        "from app.cli.main import main\nmain()\n"
        "loaded = [n for n in ('textual', 'anthropic', 'openai', 'tree_sitter', 'pydantic') if n in sys.modules]\n"
        "sys.exit(repr(loaded) if loaded else 0)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", code, cwd=tmp_path,
        env={**os.environ, "BAYOU_OFFLINE_PACE": "0"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")


async def test_an_extensions_command_prints_what_it_leaves_behind(tmp_path: Path) -> None:
    code = write_settings({}).parent / "extensions" / "report.py"
    code.parent.mkdir()
    code.write_text(REPORT)
    done = await bayou("-p", "/report", cwd=tmp_path)
    assert (done.code, done.out) == (0, "report · 2 boats\nboat  oars\nAda   2\n")
    assert done.err == "bayou: made\n"


async def test_only_what_these_prompts_brought_about_is_printed(tmp_path: Path) -> None:
    assert (await bayou("-p", "help", cwd=tmp_path)).out
    code = write_settings({}).parent / "extensions" / "quiet.py"
    code.parent.mkdir()
    code.write_text("def extension(api):\n    api.command('quiet')(lambda arguments, context: None)\n")
    done = await bayou("-c", "-p", "/quiet", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")
