"""With random input the process stays alive, answers each line exactly once, and keeps a valid session."""

import json
import os
import re
import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.modes.rpc import reference
from tests.modes.processes import STAGE, write_settings
from tests.support.warm_bayou import BAYOU

SECONDS = 30


class Dialogue:
    """A process, and what it answers to one line."""

    def __init__(self, cwd: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [*BAYOU, "--mode", "rpc", *arguments], cwd=cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._rest = b""
        self._count = 0
        self._frames: list[dict[str, Any]] = []

    def answers(self, line: bytes, count: int = 1) -> list[dict[str, Any]]:
        """The responses to `line`, once as many came; one that comes too much is among them."""
        found: list[dict[str, Any]] = []
        self.write(line)
        while len(found) < count:
            found += self._responses_until("fence")
        return found + self._responses_until("fence")

    def answer_to(self, **command: Any) -> dict[str, Any]:
        """Returns the response to a command with an id, skipping other responses."""
        self.write(json.dumps(command).encode())
        found: list[dict[str, Any]] = []
        while not found:
            found = [frame for frame in self._responses_until("fence") if frame.get("id") == command["id"]]
        found += [frame for frame in self._responses_until("fence") if frame.get("id") == command["id"]]
        [answer] = found
        return answer

    def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def until(self, kind: str) -> None:
        while not any(frame["type"] == kind for frame in self._frames):
            self._frames.append(self._next())
        self._frames.clear()

    def forget(self) -> None:
        """What was told before is not waited for."""
        self._frames.clear()

    def _responses_until(self, fence: str) -> list[dict[str, Any]]:
        self._count += 1
        mark = f"{fence}{self._count}"
        self.write(json.dumps({"type": "get_context_usage", "id": mark}).encode())
        found: list[dict[str, Any]] = []
        while (frame := self._next()).get("id") != mark:
            self._frames.append(frame)
            if frame["type"] == "response":
                found.append(frame)
        return found

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._rest:
            assert self._selector.select(max(0, deadline - time.monotonic())), "it does not answer"
            assert self._process.stdout is not None
            data = os.read(self._process.stdout.fileno(), 2**20)
            assert data, "it has ended"
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def close(self) -> int:
        self._selector.close()
        self._process.communicate()
        return self._process.returncode


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture
def dialogue(_folder: Path) -> Iterator[Dialogue]:
    write_settings({"retry": {"baseDelayMs": 60_000}, "compaction": {"keepRecentTokens": 1}})
    process = Dialogue(_folder, "-e", STAGE, "--no-session")
    process.answers(b"")
    yield process
    assert process.close() == 0


INTERNAL = re.compile(r"\w+(Error|Exception): ")
"""The text of an internal error."""
SAFE = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
TYPES = [command.name for command in reference.documented_rpc_commands()]
UNANSWERED = ("extension_ui_response", "host_tool_update", "host_tool_result")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "off"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
PATHS = ("outputPath", "sessionPath", "parentSession")
FIELDS = sorted(
    {
        name
        for command in reference.documented_rpc_commands()
        for name in (field for field in command.parameters_struct.__struct_encode_fields__)
        if name not in ("id", *PATHS)
    }
)
PATHS_HERE = VALUES | st.text(st.characters(exclude_characters="/~"), max_size=300).map(
    lambda text: f"{text}.html"
)
"""Any name, but none that leads out of the folder."""
SHELL = VALUES | st.text(max_size=50).map(lambda text: f"printf %s {shlex.quote(text)}")
COMMANDS = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(TYPES) | VALUES.filter(lambda v: v not in UNANSWERED),
    st.dictionaries(st.sampled_from([*FIELDS, "id"]), VALUES, max_size=4),
)
PATH_COMMANDS = st.builds(
    lambda kind, path: {"type": kind[0], kind[1]: path, "id": "x"},
    st.sampled_from(
        [("export_html", "outputPath"), ("switch_session", "sessionPath"), ("new_session", "parentSession")]
    ),
    PATHS_HERE,
)
SHELL_COMMANDS = st.builds(
    lambda command, exclude: {"type": "bash", "command": command, "excludeFromContext": exclude, "id": "x"},
    SHELL,
    VALUES,
)


@SAFE
@given(line=st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"")))
@example(line=b"")
@example(line=b"\r")
@example(line=b"[" * 5000)
@example(line=b'{"type":"get_state"')
@example(line=b'{"type":"\xff"}')
@example(line=b'{"type":"\\ud800"}')
@example(line=b'{"type":["get_state"],"id":{"a":[]}}')
def test_any_bytes(dialogue: Dialogue, line: bytes) -> None:
    [answer] = dialogue.answers(line)
    assert answer["success"] is False
    assert answer["error"]


@SAFE
@given(command=COMMANDS)
@example(command={"type": "set_host_tools", "tools": [{"name": ""}]})
@example(command={"type": "prompt", "message": "a", "images": [{"type": "image"}]})
def test_any_fields(dialogue: Dialogue, command: dict[str, Any]) -> None:
    [answer] = dialogue.answers(json.dumps(command).encode())
    assert answer.get("command") == command["type"]
    assert answer.get("id") == command.get("id")
    assert ("error" in answer) is not answer["success"]


@SAFE
@given(command=PATH_COMMANDS)
@example(command={"type": "switch_session", "sessionPath": "a\0b"})
@example(command={"type": "export_html", "outputPath": "a\0b.html"})
@example(command={"type": "export_html", "outputPath": "\ud800.html"})
@example(command={"type": "switch_session", "sessionPath": "x" * 300})
@example(command={"type": "switch_session", "sessionPath": "."})
def test_any_path(dialogue: Dialogue, command: dict[str, Any]) -> None:
    [answer] = dialogue.answers(json.dumps(command).encode())
    assert answer["command"] == command["type"]
    assert not INTERNAL.match(answer.get("error", "")), answer


@settings(SAFE, max_examples=40)
@given(command=SHELL_COMMANDS)
@example(command={"type": "bash", "command": "a\0b"})
@example(command={"type": "bash", "command": "printf '\ud800'"})
@example(command={"type": "bash", "command": "kill -9 $$"})
@example(command={"type": "bash", "command": "head -c 300000 /dev/zero"})
@example(command={"type": "bash", "command": "cat"})
def test_any_command_of_the_person(dialogue: Dialogue, command: dict[str, Any]) -> None:
    [answer] = dialogue.answers(json.dumps(command).encode())
    assert answer["command"] == "bash"
    assert not INTERNAL.match(answer.get("error", "")), answer


@pytest.mark.parametrize("kind", sorted(UNANSWERED))
@pytest.mark.parametrize(
    "fields", [{}, {"id": 5}, {"id": "no", "result": 7, "partialResult": [], "value": {}}]
)
def test_unexpected_answers_are_ignored(dialogue: Dialogue, kind: str, fields: dict[str, Any]) -> None:
    assert dialogue.answers(json.dumps({"type": kind, **fields}).encode(), count=0) == []


STATES = {
    "new": ([], ""),
    "streaming": ([{"type": "prompt", "message": "hang"}], "message_update"),
    "retrying": ([{"type": "prompt", "message": "fail"}], "auto_retry_start"),
    "settled": ([{"type": "prompt", "message": "words 3"}], "agent_settled"),
    "compacting": ([{"type": "compact", "customInstructions": "stall-here"}], "compaction_start"),
    "without a key": ([], ""),
}
"""How each is come by, and the event that tells it has been reached."""
FILLED = {
    "message": "hello", "level": "low", "name": "n", "command": "true", "enabled": True, "entryId": "none",
    "jobId": "none", "provider": "p", "modelId": "m", "sessionPath": "new.jsonl", "tools": [],
    "customInstructions": "",
}  # fmt: skip


def bring_about(dialogue: Dialogue, state: str) -> None:
    dialogue.answer_to(type="abort", id="1")
    dialogue.answer_to(type="clear_queue", id="2")
    dialogue.answer_to(type="set_auto_retry", enabled=True, id="3")
    dialogue.answer_to(type="set_model", provider="scripted", modelId="script", id="4")
    if state == "compacting":
        for words in ("words 3", "words 4"):
            dialogue.forget()
            dialogue.write(json.dumps({"type": "prompt", "message": words}).encode())
            dialogue.until("agent_settled")
    lines, reached = STATES[state]
    for line in lines:
        dialogue.forget()
        dialogue.write(json.dumps(line).encode())
        dialogue.until(reached)


@pytest.mark.parametrize("state", STATES)
def test_every_command_in_every_state(state: str, _folder: Path) -> None:
    write_settings({"retry": {"baseDelayMs": 60_000}, "compaction": {"keepRecentTokens": 1}})
    model = ["--model", "anthropic/claude-sonnet-4-5"] if state == "without a key" else ["-e", STAGE]
    dialogue = Dialogue(_folder, *model, "--no-session")
    dialogue.answers(b"")
    for command in reference.documented_rpc_commands():
        if STATES[state][0]:
            bring_about(dialogue, state)
        fields = FILLED | {"mode": "wait" if command.name == "set_interrupt_mode" else "all"}
        line = {
            key: value
            for key, value in fields.items()
            if key in command.parameters_struct.__struct_encode_fields__
        }
        answer = dialogue.answer_to(type=command.name, id="x", **line)
        assert answer["command"] == command.name
        assert not INTERNAL.match(answer.get("error", "")), answer
    assert dialogue.answer_to(type="get_messages", id="m")["success"] is True
    assert dialogue.close() == 0


def test_compaction_refuses_prompts_and_can_be_aborted(dialogue: Dialogue) -> None:
    for words in ("words 3", "words 4"):
        dialogue.answers(json.dumps({"type": "prompt", "message": words}).encode())
        dialogue.until("agent_settled")
    dialogue.write(b'{"type":"compact","id":"c","customInstructions":"stall-here"}')
    dialogue.until("compaction_start")
    [prompt] = dialogue.answers(b'{"type":"prompt","message":"hello"}')
    assert prompt["error"].startswith("Cannot submit a prompt while compaction is in progress.")
    [again] = dialogue.answers(b'{"type":"compact"}')
    assert again["error"] == "Compaction is already in progress"
    [state] = dialogue.answers(b'{"type":"get_state"}')
    assert state["data"]["isCompacting"] is True
    dialogue.write(b'{"type":"abort","id":"a"}')
    ended = {answer["id"]: answer for answer in dialogue.answers(b"", count=3) if "id" in answer}
    assert ended["a"]["success"] is True
    assert ended["c"]["error"] == "Compaction cancelled"
