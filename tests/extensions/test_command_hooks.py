"""Hooks of settings files in a real session over a scripted model: real programs block, ask, change and add."""

import asyncio
import contextlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from app.engine.context.summariser import SummaryCancelled
from app.engine.core.prompt_intake import SessionRequestRefused
from app.extensions.api import ExtensionApi
from app.extensions.command_hooks.extension import MAX_STOP_CONTINUATIONS, extension
from app.extensions.command_hooks.hook_list import format_hook_table_lines
from app.extensions.headless_ui import HeadlessUi
from app.extensions.packages.package_installer import install_staged_package, plugin_hook_files, stage_package
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.resources.hook_files import find_hooks
from app.resources.paths import BayouPaths
from app.values.content import text_of
from app.values.events import Notice
from app.values.messages import CompactionSummaryMessage, CustomMessage, ToolResultMessage, UserMessage
from tests.box.conftest import skip_below
from tests.compaction.project_session import ProjectSession
from tests.extensions.extension_session import ExtensionSession
from tests.extensions.published_hooks import EVENTS, faults


class HookedSession(ExtensionSession):
    """A session with the hooks of a file in the home."""

    async def with_hooks(
        self, event: str, *commands: str, matcher: str = "", **options: Any
    ) -> "HookedSession":
        entries = [{"type": "command", "command": command, **options} for command in commands]
        write_hooks({event: [{"matcher": matcher, "hooks": entries}]})
        return await self.begin()

    async def begin(self) -> "HookedSession":
        await self.load(extension)
        await self.extensions.start()
        return self

    @property
    def results(self) -> list[str]:
        return [
            text_of(message.content)
            for message in self.harness.session.messages
            if isinstance(message, ToolResultMessage)
        ]

    def text_sent(self, number: int) -> str:
        """What extensions said to the model in a request."""
        messages = self.asked[number].messages
        return "\n".join(text_of(one.content) for one in messages if isinstance(one, CustomMessage))

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.harness.events if isinstance(event, Notice)]


def write_hooks(table: Any) -> None:
    file = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"permissions": {"allow": []}, "hooks": table}))


def decided(decision: str, **more: Any) -> str:
    """The output of a PreToolUse hook."""
    specific = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return json.dumps({"hookSpecificOutput": specific})


def decides(decision: str, **more: Any) -> str:
    """A command that reads its input and prints a decision."""
    return f"cat > /dev/null; printf %s {shlex.quote(decided(decision, **more))}"


def writes(path: str) -> Any:
    return call("write", path=path, content="new")


async def test_exit_code_two_blocks_a_call_and_the_model_reads_why(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", "echo 'a.txt is generated' >&2; exit 2", matcher="Edit|Write")
    await session.prompt("go")
    assert session.results == ["Blocked by a hook: a.txt is generated"]
    assert not (tmp_path / "a.txt").exists()


async def test_a_hook_reads_the_call_in_the_names_of_claude_code(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", 'cat > "$CLAUDE_PROJECT_DIR/seen.json"', matcher="Write")
    await session.prompt("go")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert {"session_id", "transcript_path", "tool_use_id"} <= seen.keys()
    assert (seen["hook_event_name"], seen["cwd"]) == ("PreToolUse", str(tmp_path))
    assert seen["tool_name"] == "Write"
    assert seen["tool_input"] == {
        "path": "a.txt",
        "content": "new",
        "file_path": str(tmp_path / "a.txt"),
    }
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("matcher", "is_asked"),
    [("write", True), ("*", True), ("Wr.*", True), ("Bash|Read", False), ("Writ", False), ("(", True)],
)
async def test_matchers_name_tools_of_both_kinds(tmp_path: Path, matcher: str, is_asked: bool) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", "exit 2", matcher=matcher)
    await session.prompt("go")
    assert (tmp_path / "a.txt").exists() is not is_asked


GUARDS_GENERATED = f"{shlex.quote(sys.executable)} -c " + shlex.quote(
    "import json, sys; path = json.load(sys.stdin)['tool_input']['file_path']\n"
    "if '/generated/' in path: sys.exit(2)"
)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (
            "edit",
            {
                "path": "a.py",
                "edits": [
                    {"oldText": "alpha", "newText": "A"},
                    {"path": "generated/api.py", "oldText": "one", "newText": "ONE"},
                ],
            },
        ),
        (
            "apply_patch",
            {"input": "*** Update File: a.py\n-alpha\n+A\n*** Update File: generated/api.py\n-one\n+ONE"},
        ),
        ("apply_patch", {"input": "*** Update File: a.py\n*** Move to: generated/new.py\n-alpha\n+A"}),
        ("apply_patch", {"input": "*** Add File: b.py\n+x\n*** Delete File: generated/api.py"}),
    ],
)
async def test_a_hook_guards_every_file_of_a_call(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    if "input" in arguments:
        arguments = {"input": f"*** Begin Patch\n{arguments['input']}\n*** End Patch"}
    (tmp_path / "generated").mkdir()
    (tmp_path / "a.py").write_text("alpha\n")
    (tmp_path / "generated" / "api.py").write_text("one\n")
    session = HookedSession(tmp_path, call(tool, **arguments), say("ok"))
    if tool == "apply_patch":
        session.harness.effective_settings.set("edit.mode", "patch")
    await session.with_hooks("PreToolUse", GUARDS_GENERATED, matcher="Edit|Write")
    await session.prompt("go")
    assert "Blocked by a hook" in session.results[0]
    assert (tmp_path / "a.py").read_text() == "alpha\n"
    assert {file.name: file.read_text() for file in (tmp_path / "generated").iterdir()} == {"api.py": "one\n"}


async def test_a_hook_guards_the_files_of_staged_changes_when_they_are_applied(tmp_path: Path) -> None:
    (tmp_path / "generated").mkdir()
    for name in ("a.py", "generated/api.py"):
        (tmp_path / name).write_text("call(1)\n")
    rewrites = [{"pattern": "call($X)", "replacement": "other($X)"}]
    session = HookedSession(
        tmp_path,
        call("ast_edit", rewrites=rewrites, language="python"),
        call("resolve", action="apply", reason="wanted"),
        say("ok"),
    )
    await session.with_hooks("PreToolUse", GUARDS_GENERATED, matcher="Edit|Write")
    await session.prompt("go")
    assert "Blocked by a hook" not in session.results[0]
    assert "Blocked by a hook" in session.results[1]
    assert (tmp_path / "a.py").read_text() == (tmp_path / "generated" / "api.py").read_text() == "call(1)\n"


async def test_a_hook_after_a_call_runs_for_each_of_its_files_and_changes_of_each_count(
    tmp_path: Path,
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("old\n")
    edits = [{"oldText": "old", "newText": "new"}, {"path": "b.py", "oldText": "old", "newText": "new"}]
    session = HookedSession(tmp_path, call("edit", path="a.py", edits=edits), say("ok"))
    await session.with_hooks("PostToolUse", "cat >> seen.jsonl; echo same >&2; exit 2", matcher="Edit")
    await session.prompt("go")
    seen = [
        json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().replace("}{", "}\n{").splitlines()
    ]
    assert [one["tool_input"]["file_path"] for one in seen] == [
        str(tmp_path / "a.py"),
        str(tmp_path / "b.py"),
    ]
    assert session.results[0].count("same") == 1


async def test_a_hook_can_not_give_one_of_several_files_another_path(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("old\n")
    edits = [{"oldText": "old", "newText": "new"}, {"path": "b.py", "oldText": "old", "newText": "new"}]
    session = HookedSession(tmp_path, call("edit", path="a.py", edits=edits), say("ok"))
    await session.with_hooks(
        "PreToolUse", decides("allow", updatedInput={"file_path": "c.py"}), matcher="Edit"
    )
    await session.prompt("go")
    assert "file_path" in session.results[0]
    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text() == "old\n"


async def test_a_changed_input_is_judged_by_the_gate_in_any_case(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), writes("b.txt"), say("ok"))
    runs_later = tmp_path / ".git" / "hooks" / "pre-commit"
    command = (
        "case $(cat) in *a.txt*) printf %s "
        + shlex.quote(decided("allow", updatedInput={"file_path": str(runs_later)}))
        + ";; *) printf %s "
        + shlex.quote(decided("allow", updatedInput={"content": "changed"}))
        + ";; esac"
    )
    await session.with_hooks("PreToolUse", command)
    session.harness.effective_settings.set("permissions.mode", "auto-edit")
    await session.prompt("go")
    assert "Needs approval" in session.results[0]
    assert not runs_later.exists()
    assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "b.txt").read_text() == "changed"


async def test_what_a_hook_asks_about_is_refused_without_a_person(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    reason = decides("ask", permissionDecisionReason="is this file meant?")
    await session.with_hooks("PreToolUse", reason)
    await session.prompt("go")
    assert "is this file meant?" in session.results[0]
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo broken >&2; exit 1", "exit code 1: broken"),
        ("kill -9 $$", "failed ("),
        ("kill -9 0", "failed ("),
        ("kill -9 -1", "failed ("),
        ("sleep 60", "took longer than 1 seconds"),
        ("printf '{oops'", "cannot be read"),
        (decides("maybe"), "cannot be read"),
        ("head -c 3000000 /dev/zero", "wrote more than 1 MB"),
    ],
)
async def test_a_failing_hook_blocks_what_it_guards(tmp_path: Path, command: str, why: str) -> None:
    if command == "kill -9 -1":
        skip_below("namespaces")  # it would end every process of this user
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", command, timeout=1)
    await session.prompt("go")
    assert why in session.results[0]
    assert not (tmp_path / "a.txt").exists()


async def test_fail_open_lets_pass_with_a_warning(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", "echo broken >&2; exit 1", failOpen=True)
    await session.prompt("go")
    assert (tmp_path / "a.txt").exists()
    assert any("exit code 1: broken" in text for text in session.notices)


async def test_children_that_a_hook_leaves_behind_are_ended(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", "(setsid sleep 300 & echo $! > child); exit 0", timeout=20)
    await session.prompt("go")
    child = int((tmp_path / "child").read_text())
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]


async def test_files_of_many_hooks_that_run_later_are_moved_and_named_once(tmp_path: Path) -> None:
    skip_below("namespaces")
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PreToolUse", *["echo x >> .envrc"] * 20)
    await session.prompt("go")
    assert len([text for text in session.notices if ".envrc" in text]) == 1
    assert not (tmp_path / ".envrc").exists()


async def test_a_program_in_a_sandbox_is_kept_from_what_an_earlier_one_made(tmp_path: Path) -> None:
    skip_below("namespaces")
    codes: list[int] = []

    def extends(api: ExtensionApi) -> None:
        @api.on("session_start")
        async def start(event: Any, context: Any) -> None:
            async with api.sandbox() as sandbox:
                for command in ("git init -q", "touch .git/a", "touch .git/hooks/post-commit"):
                    codes.append((await sandbox.exec("sh", ["-c", command])).code)

    session = HookedSession(tmp_path)
    await session.load(extends)
    await session.extensions.start()
    assert codes[:2] == [0, 0] and codes[2] != 0


async def test_output_after_a_call_is_added_to_its_result(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, writes("a.txt"), say("ok"))
    await session.with_hooks("PostToolUse", "echo 'run the formatter' >&2; exit 2", matcher="Write")
    await session.prompt("go")
    assert "A hook after this call says: run the formatter" in session.results[0]
    assert (tmp_path / "a.txt").exists()


async def test_a_prompt_gets_context_or_is_refused(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, say("ok"))
    command = f"{sys.executable} -c " + shlex.quote(
        "import json, sys\n"
        "prompt = json.load(sys.stdin)['prompt']\n"
        "if 'secret' in prompt: sys.exit('no secrets') or 1\n"
        "print('The branch is main.')"
    )
    await session.with_hooks("UserPromptSubmit", command)
    await session.prompt("go")
    assert "A UserPromptSubmit hook says: The branch is main." in session.text_sent(0)
    with pytest.raises(SessionRequestRefused, match=r"A hook blocked this prompt.*no secrets"):
        await session.prompt("the secret")


async def test_the_first_prompt_waits_for_hooks_of_the_start(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, say("ok"))
    await session.with_hooks("SessionStart", "sleep 0.3; echo 'Use tabs.'", matcher="startup")
    await session.prompt("go")
    assert "Use tabs." in session.text_sent(0)


async def test_stop_hooks_send_the_agent_on_but_not_for_ever(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, *[say("done")] * (MAX_STOP_CONTINUATIONS + 1))
    await session.with_hooks("Stop", "cat >> stops; echo >> stops; echo 'the tests fail' >&2; exit 2")
    await session.prompt("go")
    stops = [json.loads(line) for line in (tmp_path / "stops").read_text().splitlines()]
    assert [one["stop_hook_active"] for one in stops] == [False] + [True] * MAX_STOP_CONTINUATIONS
    assert "the tests fail" in session.text_sent(1)
    assert any("it stops now all the same" in text for text in session.notices)


async def test_a_session_without_hooks_registers_none(tmp_path: Path) -> None:
    session = await HookedSession(tmp_path, say("ok")).begin()
    assert session.extensions.hooks.handlers.keys() == {"session_start"}


@pytest.mark.parametrize("is_blocked", [True, False])
async def test_a_hook_before_a_compaction_may_cancel_it(tmp_path: Path, is_blocked: bool) -> None:
    session = HookedSession(tmp_path, say("word " * 20_000), say("ok"), say("a summary"))
    script = f"cat > seen.json; echo 'not now' >&2; exit {2 if is_blocked else 0}"
    await session.with_hooks("PreCompact", script, matcher="manual")
    await session.prompt("go")
    await session.prompt("go on")
    with contextlib.suppress(SummaryCancelled):
        await session.harness.session.compaction.compact("keep names")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["trigger"], seen["custom_instructions"]) == ("manual", "keep names")
    summaries = [one for one in session.harness.session.messages if isinstance(one, CompactionSummaryMessage)]
    assert bool(summaries) is not is_blocked
    assert any("A hook blocked the compaction: not now" in text for text in session.notices) is is_blocked


async def test_the_session_end_hook_gets_the_reason(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, say("ok"))
    await session.with_hooks("SessionEnd", "cat > seen.json", matcher="prompt_input_exit")
    await session.prompt("go")
    await session.harness.session.announce_end()
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["hook_event_name"], seen["reason"]) == ("SessionEnd", "prompt_input_exit")


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "Stop"])
async def test_continue_false_ends_the_run(tmp_path: Path, event: str) -> None:
    answer = json.dumps({"continue": False, "stopReason": "budget used up", "decision": "block"})
    session = HookedSession(tmp_path, writes("a.txt"), say("not reached by hooks of calls"), say("never"))
    await session.with_hooks(event, f"printf %s {shlex.quote(answer)}")
    await session.prompt("go")
    assert len(session.asked) == (2 if event == "Stop" else 1)
    assert (tmp_path / "a.txt").exists() is (event != "PreToolUse")


async def test_continue_false_refuses_a_prompt(tmp_path: Path) -> None:
    session = HookedSession(tmp_path, say("ok"))
    await session.with_hooks("UserPromptSubmit", 'echo \'{"continue": false, "stopReason": "closed"}\'')
    with pytest.raises(SessionRequestRefused, match="closed"):
        await session.prompt("go")


async def test_a_hook_sends_a_helper_on_and_reads_its_kind(tmp_path: Path) -> None:
    def answer(context: RequestContext, count: int) -> ScriptedAnswer:
        if "You are the helper" in context.system_prompt:
            told = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
            return say(f"answer {len(told)}: {told[-1]}")
        has_result = any(isinstance(one, ToolResultMessage) for one in context.messages)
        return say("ok") if has_result else call("task", prompt="look", agent="scout")

    scene = ProjectSession(tmp_path, [answer] * 10)
    command = "cat >> seen; echo >> seen; [ $(wc -l < seen) -gt 1 ] || { echo 'name the lines' >&2; exit 2; }"
    hook = {"matcher": "scout", "hooks": [{"type": "command", "command": command}]}
    write_hooks({"SubagentStop": [hook]})
    await scene.open()
    await scene.prompt("go")
    seen = [json.loads(line) for line in (scene.project / "seen").read_text().splitlines()]
    [result] = [text_of(one.content) for one in scene.session.messages if isinstance(one, ToolResultMessage)]
    await scene.session.close()
    assert result.startswith("answer 2: A SubagentStop hook says: you are not done: name the lines")
    assert [one["stop_hook_active"] for one in seen] == [False, True]
    assert {one["agent_type"] for one in seen} == {"scout"}
    assert [fault for one in seen for fault in faults(one)] == []
    assert seen[0]["last_assistant_message"] == "answer 1: look"


async def test_a_hook_guards_helpers_in_the_names_of_claude_code(tmp_path: Path) -> None:
    def answer(context: RequestContext, _: int) -> ScriptedAnswer:
        has_result = any(isinstance(one, ToolResultMessage) for one in context.messages)
        return say("ok") if has_result else call("task", prompt="look", agent="scout", title="Find it")

    scene = ProjectSession(tmp_path, [answer] * 4)
    hook = {"matcher": "Task", "hooks": [{"type": "command", "command": "cat > seen; exit 2"}]}
    write_hooks({"PreToolUse": [hook]})
    await scene.open()
    await scene.prompt("go")
    [result] = [one for one in scene.session.messages if isinstance(one, ToolResultMessage)]
    await scene.session.close()
    seen = json.loads((scene.project / "seen").read_text())
    assert result.is_error
    assert seen["tool_name"] == "Task"
    assert seen["tool_input"]["subagent_type"] == "scout"
    assert seen["tool_input"]["description"] == "Find it"


class _Footer(HeadlessUi):
    """Notes the lines of the status line."""

    def __init__(self) -> None:
        super().__init__(lambda event: None)
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.told: list[str] = []

    def set_status(self, key: str, text: str | None) -> None:
        self.lines.put_nowait(text)

    def notify(self, text: str, level: Any = "info") -> None:
        self.told.append(text)


async def status_line_of(tmp_path: Path, command: str) -> tuple[_Footer, HookedSession]:
    session, footer = HookedSession(tmp_path, *[say("ok")] * 20), _Footer()
    file = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"statusLine": {"type": "command", "command": command, "padding": 0}}))
    await session.load(extension, mode="tui", ui=footer)
    await session.extensions.start()
    return footer, session


async def test_the_first_line_of_a_script_is_shown_and_it_reads_the_session(tmp_path: Path) -> None:
    command = "tee -a seen.json > /dev/null; echo >> seen.json; printf '\\033[31mmain\\033[0m\\nsecond'"
    footer, session = await status_line_of(tmp_path, command)
    async with asyncio.timeout(20):
        assert await footer.lines.get() == "\x1b[31mmain\x1b[0m"
        await session.prompt("go")
        await footer.lines.get()
    seen = json.loads((tmp_path / "seen.json").read_text().splitlines()[-1])
    assert seen["workspace"]["current_dir"] == seen["cwd"] == str(tmp_path)
    assert seen["model"]["id"] and seen["model"]["display_name"]
    assert seen["cost"].keys() >= {"total_cost_usd", "total_duration_ms"}
    assert seen["context_window"]["context_window_size"] > 0
    await session.extensions.close()


async def test_many_changes_rerun_the_script_once_and_report_its_failure_once(tmp_path: Path) -> None:
    footer, session = await status_line_of(tmp_path, "echo run >> runs; echo broken >&2; exit 3")
    async with asyncio.timeout(20):
        await footer.lines.get()
        for _ in range(5):
            await session.prompt("go")
        await footer.lines.get()
    assert len((tmp_path / "runs").read_text().splitlines()) < 10
    assert [text for text in footer.told if "statusLine" in text] == [
        "The statusLine command failed: exit code 3 broken."
    ]
    await session.extensions.close()


async def test_a_script_that_hangs_does_not_hold_the_end(tmp_path: Path) -> None:
    _footer, session = await status_line_of(tmp_path, "echo $$ > pid; sleep 300")
    async with asyncio.timeout(20):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await session.extensions.close()


async def test_a_hook_of_a_plugin_runs_with_its_folder_and_is_listed(tmp_path: Path) -> None:
    plugin = tmp_path / "guarding"
    script = '#!/bin/sh\necho "from $CLAUDE_PLUGIN_ROOT and $BAYOU_PLUGIN_ROOT" >&2\nexit 2\n'
    entry = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/no.sh"'}
    exec_form = {
        "type": "command",
        "command": "${BAYOU_PLUGIN_ROOT}/no.sh",
        "args": ["${CLAUDE_PLUGIN_ROOT}"],
    }
    hooks = {"PreToolUse": [{"matcher": "Write", "hooks": [entry, exec_form]}]}
    for name, text in (
        (".claude-plugin/plugin.json", '{"name": "guard"}'),
        ("hooks/hooks.json", json.dumps({"hooks": hooks})),
        ("no.sh", script),
    ):
        file = plugin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (plugin / "no.sh").chmod(0o755)
    paths = BayouPaths.from_env(os.environ, tmp_path)
    install_staged_package(paths, stage_package(paths, str(plugin)))
    session = await HookedSession(tmp_path, writes("a.txt"), say("ok")).begin()
    await session.prompt("go")
    folder = paths.packages_dir / "guard"
    assert session.results[0].count(f"from {folder} and {folder}") == 2
    listed = format_hook_table_lines(
        find_hooks(paths, is_trusted=False, plugins=plugin_hook_files(paths)).hooks, {}, paths
    )
    heads, *rows = listed
    assert heads.split() == ["hook", "last", "run", "from", "command"]
    assert rows and all(line.index("plugin guard") == heads.index("from") for line in rows)


async def test_payloads_are_valid_by_the_published_types(tmp_path: Path) -> None:
    entry = {"type": "command", "command": "(cat; echo) >> seen"}
    write_hooks({event: [{"hooks": [entry]}] for event in EVENTS})
    session = await HookedSession(
        tmp_path, say("word " * 20_000), writes("a.txt"), say("ok"), say("a summary")
    ).begin()
    await session.prompt("go")
    await session.prompt("go on")
    await session.harness.session.compaction.compact("keep names")
    await session.harness.session.announce_end()
    await session.extensions.close()
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines() if line.strip()]
    assert [fault for payload in seen for fault in faults(payload)] == []
    assert {payload["hook_event_name"] for payload in seen} == EVENTS.keys() - {
        "Notification",
        "SubagentStop",
    }


def test_the_shape_finds_what_is_wrong() -> None:
    base = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "SessionEnd"}
    assert faults({**base, "reason": "other"}) == []
    assert faults({**base, "reason": "gone", "more": 1, "cwd": 3}) == [
        "more is unknown",
        "cwd is 3",
        "reason is 'gone'",
    ]
    assert faults(base) == ["reason is missing"]
