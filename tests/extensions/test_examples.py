"""Every example of the documentation, loaded as a person would load it, and doing what it says."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.widgets import OptionList

from app.engine.core.prompt_intake import PromptInput
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.extension_runner import Extensions
from app.extensions.headless_ui import HeadlessUi
from app.extensions.hooks.payloads import BeforeAgentStart, SessionBeforeCompact
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.extensions.loading.extension_finder import ExtensionSelectionOptions, find_extensions
from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import RequestContext, StreamOptions
from app.resources.paths import BayouPaths
from app.values.content import ToolCall
from app.values.events import AgentSettled, AgentStart, TurnStart
from app.values.messages import AssistantMessage, user_message
from app.values.stream import TextDelta
from bayou.client import RpcClient, RpcError
from tests.extensions.extension_host import AnsweringUi, ExtensionHost
from tools.tool_definition import ToolContext
from tools.tool_result_values import text_result

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "docs" / "examples"
TOLD = str(Path(__file__).parent / "told.py")


@pytest.fixture
def example(paths: BayouPaths, scene: ExtensionHost):
    async def loaded(name: str, **flags: str | bool) -> Extensions:
        extensions = scene.extensions(flags=flags)
        choice = ExtensionSelectionOptions(only_named=True, named=(str(EXAMPLES / f"{name}.py"),))
        await extensions.load(find_extensions(paths, choice).sources)
        assert extensions.hooks.problems == []
        return extensions

    return loaded


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
async def test_every_example_loads_and_says_what_it_is(example, path: Path):
    extensions = await example(path.stem)
    assert len(extensions.hooks.loaded) == 1
    assert path.read_text().startswith('"""')
    await extensions.start()
    await extensions.close()
    assert extensions.hooks.problems == []


def shell(command: str) -> ToolCall:
    return ToolCall(id="c", name="bash", arguments={"command": command})


async def verdict(extensions: Extensions, call: ToolCall):
    return await ExtensionHooks(extensions).before_tool(call, dict(call.arguments))


async def test_permission_gate(example, scene: ExtensionHost):
    extensions = await example("permission_gate")
    scene.ui = AnsweringUi(["Block it", "Run it, and do not ask for this command again"])
    assert not (await verdict(extensions, shell("ls -la"))).is_blocked
    assert "did not allow" in (await verdict(extensions, shell("rm -rf build"))).reason
    assert not (await verdict(extensions, shell("rm -rf build"))).is_blocked
    assert not (await verdict(extensions, shell("rm -rf build"))).is_blocked
    assert len(scene.ui.asked) == 2
    scene.ui = HeadlessUi()
    assert "nobody is here" in (await verdict(extensions, shell("sudo reboot"))).reason


@pytest.mark.parametrize(
    ("path", "is_blocked"),
    [
        (".env", True),
        ("src/.env.local", True),
        ("deploy/key.pem", True),
        (".git/config", True),
        ("sub/.git/hooks/pre-commit", True),
        ("src/../.env", True),
        ("link", True),
        ("locked.txt", True),
        ("src/main.py", False),
        ("environment.py", False),
    ],
)
async def test_protected_paths(example, scene: ExtensionHost, path: str, is_blocked: bool):
    (scene.cwd / "link").symlink_to(scene.cwd / ".env")
    scene.settings = {"protectedPaths": ["locked.*"]}
    call = ToolCall(id="c", name="write", arguments={"path": path, "content": ""})
    assert (await verdict(await example("protected_paths"), call)).is_blocked is is_blocked


async def test_git_checkpoint(example, scene: ExtensionHost):
    def git(*words: str) -> None:
        base = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*base, *words], cwd=scene.cwd, check=True, capture_output=True)

    extensions = await example("git_checkpoint")
    catalogue = ExtensionCatalogue(extensions.hooks)
    start = BeforeAgentStart(prompt="change it")
    await extensions.hooks.emit("before_agent_start", start)
    await catalogue.run_command("undo-run", "")
    assert scene.ui.notes == [("warning", "There is no checkpoint in this session.")]
    file = scene.cwd / "a.txt"
    file.write_text("committed")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    git("config", "user.name", "t")
    git("config", "user.email", "t@t")
    file.write_text("by hand, not committed")
    await extensions.hooks.emit("before_agent_start", start)
    file.write_text("by the agent")
    scene.ui.answers = [True]
    await catalogue.run_command("undo-run", "")
    assert file.read_text() == "by hand, not committed"
    assert extensions.hooks.problems == []


async def test_todo(example, scene: ExtensionHost):
    extensions = await example("todo")
    tool = scene.tools["todo"]
    assert tool.arguments is not None
    items = [{"text": "read", "state": "done"}, {"text": "write"}]
    arguments = msgspec.convert({"items": items}, tool.arguments)
    result = await tool.run(arguments, ToolContext(call_id="c", cwd=scene.cwd))
    assert result.text == "Noted: 2 items, 1 left."
    assert scene.ui.widgets["todo"].summary == "1/2"
    await ExtensionCatalogue(extensions.hooks).run_command("todos", "")
    assert scene.ui.notes == [("info", "☑ read\n☐ write")]
    done = msgspec.convert({"items": [{"text": "read", "state": "done"}]}, tool.arguments)
    await tool.run(done, ToolContext(call_id="c", cwd=scene.cwd))
    assert scene.ui.widgets["todo"] is None
    assert extensions.hooks.problems == []


async def test_custom_provider(example, scene: ExtensionHost):
    extensions = await example("custom_provider")
    spec = extensions.hooks.loaded[0].providers["echo"]
    registry = AdapterRegistry()
    registry.register_adapter("echo", spec.adapter, owner="test")
    context = RequestContext(messages=(user_message("polly wants a cracker"),))
    stream = registry.stream_answer(spec.models[0], context, StreamOptions())
    deltas = [event.delta async for event in stream if isinstance(event, TextDelta)]
    assert "".join(deltas) == "polly wants a cracker"
    message = await stream.final_message()
    assert (message.text, message.stop_reason) == ("polly wants a cracker", "stop")


async def test_custom_compaction(example):
    extensions = await example("custom_compaction")
    call = ToolCall(id="c", name="edit", arguments={"path": "a.py"})
    messages = (user_message("fix it"), AssistantMessage(content=(call,)), user_message("and test"))
    event = SessionBeforeCompact(reason="manual", messages=messages, previous_summary="Before.")
    answer = await extensions.hooks.emit("session_before_compact", event)
    assert answer.compaction.summary == (
        "Before.\nThe person said, in this order:\n- fix it\n- and test\n\nFiles that were changed: a.py"
    )
    full = SessionBeforeCompact(reason="manual", messages=messages, custom_instructions="full")
    assert await extensions.hooks.emit("session_before_compact", full) is None


async def test_status_line(example, scene: ExtensionHost):
    extensions = await example("status_line")
    for event in (AgentStart(), TurnStart(), TurnStart()):
        await extensions.handle_event(event)
    assert scene.ui.statuses == {"status-line": "turn 2 · 0 calls · window 0%"}
    await extensions.handle_event(AgentSettled(aborted=False))
    assert scene.ui.statuses == {"status-line": None}


async def test_notify_done(example, scene: ExtensionHost):
    told = scene.cwd / "told"
    program = scene.cwd / "tell"
    program.write_text(f'#!/bin/sh\necho "$@" > {told}\n')
    program.chmod(0o755)
    scene.settings = {"notifyDone": {"command": [str(program), "bayou"], "seconds": 0}}
    extensions = await example("notify_done")
    await extensions.handle_event(AgentStart())
    await extensions.handle_event(AgentSettled(aborted=True))
    assert told.read_text() == "bayou project: stopped\n"
    scene.settings = {"notifyDone": {"command": ["/no/such"], "seconds": 0}}
    await extensions.handle_event(AgentSettled(aborted=False))
    assert "there is no program /no/such" in scene.ui.notes[0][1]


STAND_IN = """#!/bin/sh
[ "$1" = -o ] && shift 2
[ "$1" = -tt ] && shift
[ "$1" = -- ] && [ "$2" = me@box ] || { echo "no such machine" >&2; exit 255; }
cd / && exec sh -c "$3"
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the machine that a stand-in for ssh reaches: it runs the command here."""
    stand_in = tmp_path / "bin" / "ssh"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


async def test_ssh_works_in_the_other_place(tmp_path: Path, there: Path):
    """Through the whole program: bayou's own tools and the person's commands, none of which touches this place."""
    here = tmp_path / "here"
    here.mkdir()
    (there / "it's.txt").write_text("one\ntwo\nthree\n")
    arguments = ["-e", str(EXAMPLES / "ssh.py"), "-e", TOLD, "--ssh", f"me@box:{there}"]
    async with RpcClient(cwd=here, arguments=arguments) as client:

        async def done(name: str, **arguments: object) -> str:
            await client.prompt_and_wait(json.dumps([name, arguments]))
            return await client.get_last_assistant_text() or ""

        assert "two" in await done("read", path="it's.txt")
        assert "Successfully" in await done(
            "edit", path="it's.txt", edits=[{"oldText": "two", "newText": "2"}]
        )
        await done("write", path="deep/new.txt", content="made\n")
        assert "deep/" in await done("ls")
        told = await done("bash", command="pwd; cat deep/new.txt; exit 3")
        assert str(there) in told and "made" in told and "Command exited with code 3" in told
        shell = await client.bash("pwd")
        assert shell["output"].strip() == str(there)
    assert (there / "it's.txt").read_text() == "one\n2\nthree\n"
    assert (there / "deep" / "new.txt").read_text() == "made\n"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("flag", [[], ["--ssh", ":/folder"]])
async def test_ssh_without_a_host_runs_nothing(tmp_path: Path, there: Path, flag: list[str]):
    arguments = ["-e", str(EXAMPLES / "ssh.py"), "-e", TOLD, *flag]
    async with RpcClient(cwd=tmp_path, arguments=arguments) as client:
        await client.prompt_and_wait(json.dumps(["bash", {"command": "touch here"}]))
        assert "No machine is named" in (await client.get_last_assistant_text() or "")
        with pytest.raises(RpcError, match="No machine is named"):
            await client.bash("touch here")
    assert not (tmp_path / "here").exists()


async def test_custom_screen(example, scene: ExtensionHost):
    extensions = await example("custom_screen")
    catalogue = ExtensionCatalogue(extensions.hooks)
    await catalogue.run_command("pick-prompt", "")
    assert scene.ui.notes == [("info", "There is no prompt yet.")]
    for text in ("first [red]", "second"):
        await scene.harness.prompt(text)
    chosen: list[str] = []

    class Face(App):
        def pick(self, make):
            waiting = asyncio.get_running_loop().create_future()

            def done(value):
                self.pop_screen()
                waiting.set_result(value)

            self.push_screen(make(done))
            return waiting

    app = Face()

    class FullScreenExtensionUi(AnsweringUi):
        async def custom(self, make, *, overlay=False):
            return await app.pick(make)

        def set_editor_text(self, text):
            chosen.append(text)

    scene.ui = FullScreenExtensionUi()
    async with app.run_test() as pilot:
        running = asyncio.create_task(catalogue.run_command("pick-prompt", ""))
        await pilot.pause()
        app.screen.query_one(OptionList).focus()
        await pilot.press("end", "enter")
        await running
        assert len(app.screen_stack) == 1
    assert chosen == ["second"]
    scene.bound.mode, scene.ui = "rpc", AnsweringUi(["first [red]"])
    await catalogue.run_command("pick-prompt", "")
    assert scene.ui.asked[0][0] == "select"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("API_KEY=abcdefgh1234", "API_KEY=[hidden]"),
        ('"password": "hunter2hunter2"', '"password": "hunter2hunter2"'),
        ('password = "hunter2hunter2"', "password = [hidden]"),
        ("use sk-aaaaaaaaaaaaaaaaaaaa here", "use [hidden] here"),
        ("tokens: 12", "tokens: 12"),
    ],
)
async def test_redact_secrets(example, text: str, hidden: str):
    result = await ExtensionHooks(await example("redact_secrets")).after_tool(
        shell("env"), {}, text_result(text)
    )
    assert result.text == hidden


async def test_long_task(example, scene: ExtensionHost):
    extensions = await example("long_task")
    await ExtensionCatalogue(extensions.hooks).run_command("watch", "echo 'it works'")
    await scene.harness.until(lambda: scene.ui.statuses_shown[-1:] == [None])
    assert scene.ui.statuses_shown[-2:] == ["echo: result on its way", None]
    sent = scene.sent[0]
    assert (sent.deliver_as, sent.trigger) == ("follow_up", True)
    assert sent.message.content == "echo 'it works' ended with code 0.\n\nit works"
    assert scene.ui.statuses == {"watch echo": None}


async def test_prompt_macros(example):
    extensions = await example("prompt_macros")
    hooks = ExtensionHooks(extensions)
    changed = await hooks.change_prompt(PromptInput(text="?why does it fail"))
    assert changed == PromptInput(text="Explain, without changing anything: does it fail")
    assert await hooks.change_prompt(PromptInput(text="why")) == PromptInput(text="why")
    assert [item.value for item in await ExtensionCatalogue(extensions.hooks).complete_text("?w", 2)] == [
        "?why"
    ]
