"""Numbers of thousands of digits, pipes in place of files, closed outputs, pages in place of answers: each is named,
and none crashes, hangs or costs anything else.
"""

import os
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import forget_trust_answer, store_trust_answer, trust_question_for
from app.values.user_errors import FileError
from tests.hostile.setups import COLD_BAYOU, MODEL, answer_body, piece, run, use_model_at, write_user_settings
from tests.modes.processes import put, start
from tests.providers.loopback import Loopback, Reply, loopback, sse
from tests.support.terminals import terminal
from tests.support.warm_bayou import BAYOU
from tests.tools.conftest import ToolCaller
from tools.session_workspace import SessionWorkspace

DIGITS = "9" * 5000
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def server():
    async with loopback() as running:
        use_model_at(running)
        write_user_settings(retry={"enabled": False})
        running.reply(Reply(body=answer_body("an answer")))
        yield running


def agent_file(name: str) -> Path:
    path = Path(os.environ["BAYOU_AGENT_DIR"]) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


async def say(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    return await run(*BAYOU, *MODEL, *words, "-p", "Say it", cwd=tmp_path, timeout=30)


async def test_a_number_of_thousands_of_digits_is_reported_with_its_place(server: Loopback, tmp_path: Path):
    agent_file("settings.json").write_text('{\n "retry": {"maxRetries": ' + DIGITS + "}}")
    code, out, err = await say(tmp_path)
    assert (code, out) == (0, "an answer\n")
    assert "settings.json:2: column 26: a number of more than 4,300 digits" in err
    agent_file("settings.json").write_text("{}")
    agent_file("models.json").write_text('{"providers": {"mine": {"x": ' + DIGITS + "}}}")
    code, _, err = await say(tmp_path)
    assert code == 2 and "models.json, line 1, column 30: a number of more than 4,300 digits" in err


async def test_such_a_number_in_a_stream_a_command_and_a_session(server: Loopback, tmp_path: Path):
    usage = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":' + DIGITS.encode() + b"}}\n\n"
    server.reply(Reply(body=sse(piece("so far")) + usage))
    code, _, err = await say(tmp_path)
    assert code == 6 and "The server sent an event that is not JSON" in err and len(err) < 1000
    process = await start(tmp_path, "--no-session")
    put(process, type="get_state", id="1")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b'{"type":"bash","command":"true","n":' + DIGITS.encode() + b"}\n")
    process.stdin.close()
    assert b"out of range" in await process.stdout.read()
    assert await process.wait() == 0


async def test_one_bad_byte_in_a_line_of_a_session_costs_one_character(server: Loopback, tmp_path: Path):
    file = tmp_path / "s" / "one.jsonl"
    await run(*BAYOU, *MODEL, "--session-dir", str(file.parent), "-p", "the first words", cwd=tmp_path)
    (written,) = file.parent.glob("*.jsonl")
    written.write_bytes(written.read_bytes().replace(b"first words", b"first \xff words"))
    code, _, err = await say(tmp_path, "--session", str(written))
    assert (code, err) == (0, "")
    sent = server.requests[-1].json["messages"]
    assert "the first \ufffd words" in str(sent)
    assert not list(file.parent.glob("*.quarantine"))


PROJECT = ["AGENTS.md", ".bayou/settings.json", ".bayou/rules/r.md", ".bayou/skills/a/SKILL.md",
           ".bayou/prompts/p.md", ".bayou/themes/t.json", ".bayou/extensions/e.py", ".bayou/SYSTEM.md"]  # fmt: skip
OWN = ["settings.json", "keybindings.json", "auth.json", "trust.json", "AGENTS.md", "skills/a/SKILL.md",
       "prompts/p.md", "themes/t.json", "extensions/e.py", "rules/r.md"]  # fmt: skip


@pytest.mark.parametrize("places", [PROJECT, OWN], ids=["project", "own"])
async def test_pipes_in_place_of_files_are_not_waited_for(
    server: Loopback, tmp_path: Path, places: list[str]
):
    project = tmp_path / "project"
    project.mkdir()
    for name in places:
        path = agent_file(name) if places is OWN else project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    code, out, err = await say(project, "--approve")
    assert (code, out) == (0, "an answer\n")
    assert "settings.json: is not a regular file" in err
    for name in places:
        if name.endswith(("AGENTS.md", "SYSTEM.md", "trust.json")):
            assert f"{name} is not a regular file" in err


def test_a_pipe_in_place_of_the_keys_is_told_of(tmp_path: Path):
    os.mkfifo(agent_file("keybindings.json"))
    with terminal(tmp_path, "--offline") as page:
        page.until("keybindings.json is not a regular file. The default keys stay in use.")


def test_an_answer_about_a_folder_does_not_overwrite_what_cannot_be_read(tmp_path: Path):
    paths = BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path / "project")
    paths.trust_file.parent.mkdir(parents=True)
    paths.trust_file.write_text('{"/elsewhere": {"trusted": false, "fingerprint": "f"')
    with pytest.raises(FileError, match=r"trust\.json, line 1"):
        store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    with pytest.raises(FileError):
        forget_trust_answer(paths, paths.cwd)
    assert "/elsewhere" in paths.trust_file.read_text()


async def test_models_that_are_a_pipe_are_named(server: Loopback, tmp_path: Path):
    os.mkfifo(agent_file("models.json"))
    code, _, err = await say(tmp_path)
    assert code == 2 and "models.json cannot be read: It is not a regular file" in err


async def test_pipes_in_place_of_sessions_and_what_lies_beside_them(server: Loopback, tmp_path: Path):
    folder = tmp_path / "s"
    os.mkfifo(tmp_path / "pipe.jsonl")
    code, _, err = await say(tmp_path, "--session", str(tmp_path / "pipe.jsonl"))
    assert code == 2 and "is not a regular file" in err
    await say(tmp_path, "--session-dir", str(folder))
    (session,) = folder.glob("*.jsonl")
    for ending in ("partial", "draft", "quarantine"):
        os.mkfifo(f"{session}.{ending}")
    os.mkfifo(folder / "2026-01-01T00-00-00-000Z_aaaa.jsonl")
    code, out, _ = await say(tmp_path, "--session-dir", str(folder), "--continue")
    assert (code, out) == (0, "an answer\n")


async def test_a_named_pipe_with_a_writer_is_read(server: Loopback, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = await say(tmp_path, "@pipe")
    assert code == 2 and "@pipe: It is a pipe without a writer." in err
    words = " ".join([*COLD_BAYOU, *MODEL, "-p", "@<(sleep 0.3; echo substituted)", "look"])
    code, out, _ = await run("bash", "-c", words, cwd=tmp_path)
    assert (code, out) == (0, "an answer\n")
    assert "substituted" in str(server.requests[-1].json["messages"])


@pytest.mark.parametrize("tool", ["read", "write", "edit", "grep", "find"])
async def test_tools_do_not_wait_for_pipes(tmp_path: Path, tool: str):
    os.mkfifo(tmp_path / "pipe")
    hands = ToolCaller(SessionWorkspace(tmp_path))
    more = {"write": {"content": "x"}, "edit": {"oldText": "a", "newText": "b"}, "grep": {"pattern": "x"},
            "find": {"pattern": "*"}}.get(tool, {})  # fmt: skip
    assert "pipe" in await hands.error(tool, path="pipe", **more)


@pytest.mark.parametrize("words", [["-p", "x"], ["--mode", "rpc"], ["--version"], ["--help"]], ids=" ".join)
async def test_a_closed_standard_output_is_reported(server: Loopback, tmp_path: Path, words: list[str]):
    code, _, err = await run("sh", "-c", '"$@" >&-', "sh", *COLD_BAYOU, *words, cwd=tmp_path)
    assert (code, err) == (
        1,
        "bayou: standard output is closed, so no answer can be written. Open it or redirect it to a file.\n",
    )


async def test_closed_input_and_errors_keep_no_answer_back(server: Loopback, tmp_path: Path):
    command = ("sh", "-c", '"$@" <&- 2>&-', "sh", *COLD_BAYOU, *MODEL, "-p", "x")
    code, out, _ = await run(*command, cwd=tmp_path)
    assert (code, out) == (0, "an answer\n")


async def test_of_an_error_of_300_megabytes_a_few_kilobytes_are_read(server: Loopback, tmp_path: Path):
    server.reply(Reply(status=500, headers=JSON, body=(b'{"error":{"message":"', *[b"x" * 1_000_000] * 300)))
    code, _, err = await say(tmp_path)
    assert code == 6 and len(err) < 20_000 and not server.body_sent.is_set()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<!doctype html><title>Sign in</title>Please", "Sign in"),
        (b'{"error":{"message":"nope"}}', "nope"),
        (b"\xef\xbb\xbf\n" + b" \r\n\t" * 20_000 + b"<html><title>Sign in</title>Please", "Sign in"),
        (b"\n" * 20_000 + b'{"error":{"message":"nope"}}', "nope"),
    ],
    ids=["page", "json", "page behind blanks", "json behind blanks"],
)
async def test_what_is_no_stream_is_reported_at_once_though_the_connection_stays_open(
    server: Loopback, tmp_path: Path, body: bytes, told: str
):
    server.reply(Reply(headers={"Content-Type": "text/html"}, body=(body,), then_hang=True))
    code, _, err = await say(tmp_path)
    assert code == 6 and "did not answer with an event stream" in err and told in err
