"""Random bytes in RPC lines, streams, sessions, settings, trust, git's configuration, arguments of tools, Markdown
and terminal output.

Kept seeds are tried always; with BAYOU_LONG=1 new ones are made up for BAYOU_FUZZ_SECONDS (20) a subject, from
BAYOU_FUZZ_SEED on. What breaks something is written to `seeds/`, to be kept.
"""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from app.resources.paths import BayouPaths
from app.resources.settings.settings_reader import read_settings_layer
from app.resources.trust.project_trust import (
    decide_project_trust,
    store_trust_answer,
    trust_file_problem,
    trust_question_for,
)
from app.sessions.errors import SessionError
from app.sessions.session_log import SessionLog
from app.values.json_comments import JsonSyntaxError
from app.values.json_comments import parse_json_with_comments as parse_json
from app.values.user_errors import FileError
from tests.conftest import OUTSIDE
from tests.hostile.fuzzing import keep, kept, mutations, seeds_of
from tests.modes.test_rpc_fuzz import Dialogue
from tests.providers.loopback import Reply, loopback
from tests.providers.wire_formats import ANSWERS, ask, model_for
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry
from tests.tools.conftest import HARMFUL, ToolCaller
from tools.git.git_config import read_git_configuration
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError
from widgets.emulator.emulator import TerminalEmulator
from widgets.transcript.leaves import ansi_text
from widgets.transcript.markdown.markdown_leaves import parse_markdown

SECONDS = float(OUTSIDE.get("BAYOU_FUZZ_SECONDS", "20"))
SEED = int(OUTSIDE.get("BAYOU_FUZZ_SEED", "1"))
LANES = [pytest.param(False, id="kept"), pytest.param(True, id="new", marks=pytest.mark.long)]


def cases(subject: str, sound: list[bytes], is_new: bool, share: int = 1) -> Iterator[bytes]:
    return (
        mutations(sound, seconds=SECONDS / share, seed=SEED) if is_new else iter([*sound, *seeds_of(subject)])
    )


def try_all(subject: str, sound: list[bytes], is_new: bool, attempt: Callable[[bytes], object]) -> None:
    for data in cases(subject, sound, is_new):
        kept(subject, data, lambda data=data: attempt(data))


def a_session(folder: Path) -> bytes:
    log = SessionLog.create(folder, folder)
    for entry in (
        user_entry("hello"),
        assistant_entry("one", "a", "b"),
        tool_result_entry("b"),
        tool_result_entry("a"),
        assistant_entry("done"),
    ):
        log.append(entry)
    log.set_label(log.entries[0].id, "start")
    log.rename("a name")
    log.close()
    assert log.path is not None
    return log.path.read_bytes()


@pytest.mark.parametrize("is_new", LANES)
def test_session_files(tmp_path: Path, is_new: bool):
    def attempt(data: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as name:
            path = Path(name) / "s.jsonl"
            path.write_bytes(data)
            try:
                log = SessionLog.open(path, cwd=tmp_path)
            except SessionError:
                assert path.read_bytes() == data
                return
            log.project_context()
            added = log.append(user_entry("more"))
            kinds = [
                type(entry) for entry in log.entries
            ]  # an entry whose id is damaged gets another each time
            log.close()
            again = SessionLog.open(path)
            assert [type(entry) for entry in again.entries] == kinds and again.leaf_id == added.id
            again.close()

    try_all("sessions", [a_session(tmp_path / "sound")], is_new, attempt)


@pytest.mark.parametrize("is_new", LANES)
def test_settings(tmp_path: Path, is_new: bool):
    sound = Path("docs/settings.schema.json").read_bytes()[:3000]
    own = b'{ // words\n "theme": "bayou-dark", "retry": {"maxRetries": 3,}, "extensions": ["a"], "x": [1, 2]\n}'
    file = tmp_path / "settings.json"

    def attempt(data: bytes) -> None:
        file.write_bytes(data)
        assert all(str(problem) for problem in read_settings_layer(file, is_project=True)[1])

    try_all("settings", [own, sound], is_new, attempt)


@pytest.mark.parametrize("is_new", LANES)
def test_trust_files(tmp_path: Path, is_new: bool):
    """A folder is trusted only if the complete file says so; later answers keep earlier ones."""
    paths = BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path / "project")
    (paths.cwd / ".bayou").mkdir(parents=True)
    (paths.cwd / ".bayou" / "settings.json").write_text('{"shellPath": "/tmp/x"}')
    paths.trust_file.parent.mkdir(parents=True)
    here, other = str(paths.cwd), str(tmp_path / "elsewhere")
    sound = [
        {here: {"trusted": False, "fingerprint": "f" * 32, "at": "2026-01-01"}, other: True},
        {here: {"trusted": True, "fingerprint": "f" * 32, "at": "2026-01-01"}, other: {"trusted": False}},
        {other: {"trusted": True}, str(tmp_path): {"trusted": True, "fingerprint": "f" * 32}},
    ]

    def attempt(data: bytes) -> None:
        paths.trust_file.write_bytes(data)
        said = _said_of(data, paths.cwd, tmp_path)
        assert decide_project_trust(paths).is_trusted == said, said
        problem, before = trust_file_problem(paths.trust_file), paths.trust_file.read_bytes()
        try:
            store_trust_answer(paths, trust_question_for(paths), is_trusted=False)
        except FileError:
            assert problem and paths.trust_file.read_bytes() == before
            return
        assert not problem and not decide_project_trust(paths).is_trusted

    try_all("trust", [json.dumps(one).encode() for one in sound], is_new, attempt)


def _said_of(data: bytes, *folders: Path) -> bool:
    """Whether the file trusts the nearest of these folders that it mentions, with all later contents."""
    try:
        table = parse_json(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except (UnicodeDecodeError, JsonSyntaxError):
        return False
    if not isinstance(table, dict):
        return False
    for folder in (*folders, *folders[-1].parents):
        entry = table.get(str(folder))
        entry = {"trusted": entry} if isinstance(entry, bool) else entry
        if isinstance(entry, dict) and isinstance(entry.get("trusted"), bool):
            return entry["trusted"] and entry.get("fingerprint") is None
    return False


GIT_CONFIGURATION = b"""
[core]
\trepositoryformatversion = 0
\tfsmonitor = ./run.sh ; why not
[filter "it"]\n\tclean = cat %f\n\trequired
[remote "origin"] url = "ext::sh -c \\"x\\"" # end
[alias] go = !sh -c 'x' \\
  more
[Include] Path = ../other
[diff.Tool] TextConv=strings
[credential "https://example.org"] helper = "!f() { x; }; f"
"""


def _in_words(value: str | None) -> str | None:
    """Which blanks a value keeps differs between versions of git."""
    return None if value is None else " ".join(value.split())


@pytest.mark.parametrize("is_new", LANES)
def test_git_configurations(tmp_path: Path, is_new: bool):
    """What git would go by, bayou has seen, or it says that it does not understand the file. Git is the judge."""
    file = tmp_path / "config"

    def attempt(data: bytes) -> None:
        file.write_bytes(data)
        found = read_git_configuration(file, home=tmp_path)
        if found.unreadable_files:
            return
        told = subprocess.run(
            ["git", "config", "--file", str(file), "--no-includes", "--null", "--list"],
            capture_output=True, check=False, cwd="/",
        )  # fmt: skip
        if told.returncode:
            return  # git does not start with such a file
        seen = {(entry.name, _in_words(entry.value)) for entry in found.entries if entry.file == file}
        for line in told.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            name, separator, value = line.partition("\n")
            assert (name, _in_words(value if separator else None)) in seen, line

    try_all("git", [GIT_CONFIGURATION], is_new, attempt)


@pytest.mark.parametrize("is_new", LANES)
def test_markdown_and_terminal_output(is_new: bool):
    sound = [
        Path("README.md").read_bytes()[:2500],
        b"| a | b |\n|---|--:|\n| `x` | **y** |\n\n1. one\n   - two\n\n```python\nx = 1\n```\n> [l](http://x) $a^2$\n",
        b"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\r\n10%\r20%\x1b[2K\x1b[?1049h\x1b[5;5Hx",
    ]

    def attempt(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        parse_markdown(text)
        shown, _ = ansi_text.parse_ansi(text)
        assert not HARMFUL.search(shown.replace("\t", "").replace("\n", ""))
        emulator = TerminalEmulator(40, 10, reply=lambda answer: None)
        emulator.feed(data)
        emulator.resize(7, 3)
        emulator.feed(data)
        assert not HARMFUL.search(emulator.full_text().replace("\n", ""))

    try_all("drawing", sound, is_new, attempt)


CALLS = [
    {"tool": "read", "arguments": {"path": "a.txt", "offset": 1, "limit": 10}},
    {"tool": "write", "arguments": {"path": "b.txt", "content": "text"}},
    {"tool": "edit", "arguments": {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}},
    {"tool": "grep", "arguments": {"pattern": "o(n)e", "path": ".", "context": 2, "limit": 5}},
    {"tool": "find", "arguments": {"pattern": "**/*.txt", "limit": 5}},
    {"tool": "ls", "arguments": {"path": ".", "limit": 5}},
]


@pytest.mark.parametrize("is_new", LANES)
async def test_tool_arguments(tmp_path: Path, is_new: bool):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    project = tmp_path / "in" / "deep" / "project"
    project.mkdir()
    hands = ToolCaller(SessionWorkspace(project))
    for data in cases("arguments", [json.dumps(call).encode() for call in CALLS], is_new):
        (project / "a.txt").write_text("one\n" * 20)
        try:
            call = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        tools = {known["tool"] for known in CALLS}
        if (
            not isinstance(call, dict)
            or call.get("tool") not in tools
            or not isinstance(call.get("arguments"), dict)
        ):
            continue
        if any(
            ".." in str(value) or str(value).startswith(("/", "~")) for value in call["arguments"].values()
        ):
            continue
        try:
            async with asyncio.timeout(20):
                await hands(call["tool"], call["arguments"])
        except ToolError as problem:
            assert str(problem)
        except BaseException:
            keep("arguments", data)
            raise


@pytest.mark.parametrize("is_new", LANES)
async def test_streams(is_new: bool):
    apis = ["openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai"]
    async with loopback() as server:
        for api in apis:
            for data in cases(f"streams-{api}", [ANSWERS[api]()], is_new, share=len(apis)):
                server.reply(Reply(body=data))
                try:
                    async with asyncio.timeout(20):
                        message = await ask(model_for(api, server.url))
                    assert message.stop_reason in ("stop", "toolUse", "length", "error")
                    assert message.stop_reason != "error" or message.error_message
                    msgspec.json.encode(message)
                except UnicodeEncodeError:
                    pass  # a lone surrogate; `codec.encode` writes it as an escape
                except Exception:
                    keep(f"streams-{api}", data)
                    raise


@pytest.mark.parametrize("is_new", LANES)
def test_rpc_lines(tmp_path: Path, is_new: bool):
    sound = [
        json.dumps(line).encode()
        for line in (
            {"type": "get_state", "id": "1"},
            {"type": "set_session_name", "name": "x"},
            {"type": "get_messages"},
            {"type": "set_thinking_level", "level": "high"},
            {"type": "steer", "message": "x"},
            {"type": "set_auto_retry", "enabled": True},
        )
    ]
    dialogue = Dialogue(tmp_path, "--no-session", "--offline")
    try:
        for data in cases("rpc", sound, is_new):
            line = data.replace(b"\n", b" ").replace(b"\r", b" ")
            if b"_ui_response" in line or b"host_tool" in line or not line.strip():
                continue
            kept("rpc", data, lambda line=line: _answered_once(dialogue, line))
    finally:
        dialogue.close()


def _answered_once(dialogue: Dialogue, line: bytes) -> None:
    assert len(dialogue.answers(line)) == 1
