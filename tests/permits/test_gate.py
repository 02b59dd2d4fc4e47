"""The gate in a session: what runs, what is asked, what comes of the answers, what is written down."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.agent.hooks import ToolCallVerdict
from app.engine.core.hooks import Hooks
from app.engine.core.user_questions import ApprovalReply
from app.engine.permissions.permission_context import PermissionContext
from app.permits.permission_decisions import PermissionMode
from app.providers.scripted import call, say
from app.values.content import ToolCall, text_of
from app.values.entries import CustomEntry
from app.values.events import QuestionAsked, ToolExecutionEnd
from app.values.messages import ToolResultMessage
from tests.engine.scripted_session import ScriptedSession
from tools.box.sandbox_instructions import SandboxFeatures
from tools.running.shell_settings import CommandToSpawn
from tools.tool_registry import builtin_tools


def gated_session(
    folder: Path, *responses: Any, asks: Any = "person", mode: str | None = None, **more: Any
) -> ScriptedSession:
    home = folder / "home"
    project = home / "project"
    project.mkdir(parents=True, exist_ok=True)
    standing = PermissionContext(approver=asks, home=home, agent_dir=home / ".bayou" / "agent")
    harness = ScriptedSession(
        folder, *responses, tools=builtin_tools(), standing=standing, cwd=project, **more
    )
    if mode is not None:
        harness.session.permissions.rules.set_mode(mode)  # type: ignore[arg-type]
    return harness


def results(harness: ScriptedSession) -> list[str]:
    return [text_of(one.content) for one in harness.session.messages if isinstance(one, ToolResultMessage)]


def decisions(harness: ScriptedSession) -> list[dict[str, Any]]:
    return [
        entry.data
        for entry in harness.session.log.entries
        if isinstance(entry, CustomEntry) and entry.custom_type == "bayou.permit"
    ]


async def questions_asked(harness: ScriptedSession, *replies: Any) -> list[QuestionAsked]:
    """Sends a prompt, and answers each question with the next reply."""
    asked: list[QuestionAsked] = []
    waiting = list(replies)

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked) and event.approval is not None:
            asked.append(event)
            event.answer.set_result(waiting.pop(0))

    leave = harness.session.subscribe(answer)
    await harness.prompt("go")
    leave()
    return asked


async def test_in_ask_a_read_runs_and_a_change_waits_for_a_yes(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path, call("bash", command="ls"), call("bash", command="touch there"), say("ok")
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True))
    assert [event.approval.letter for event in asked if event.approval] == ["contained"]
    assert (harness.session.cwd / "there").exists()
    assert [(one["letter"], one["decision"], one["by"]) for one in decisions(harness)] == [
        ("contained", "run", "person")
    ]


async def test_a_no_tells_the_model_why(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("write", path="a.txt", content="x"), say("ok"))
    await questions_asked(harness, ApprovalReply(is_allowed=False, reason="use b.txt instead"))
    assert not (harness.session.cwd / "a.txt").exists()
    assert "use b.txt instead" in results(harness)[0]
    assert decisions(harness)[0]["decision"] == "refused"


async def test_what_a_person_changes_is_judged_anew(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("bash", command="touch one"), say("ok"))
    asked = await questions_asked(
        harness,
        ApprovalReply(is_allowed=True, arguments={"command": "rm -rf ~"}),
        ApprovalReply(is_allowed=True, arguments={"command": "touch two"}),
        ApprovalReply(is_allowed=True),
    )
    assert [event.approval.letter for event in asked if event.approval] == [
        "contained",
        "forbidden",
        "contained",
    ]
    assert (harness.session.cwd / "two").exists() and not (harness.session.cwd / "one").exists()


async def test_several_calls_of_one_answer_are_asked_one_after_the_other(tmp_path: Path) -> None:
    both = call("bash", command="touch one") + call("bash", command="ls") + call("bash", command="touch two")
    harness = gated_session(tmp_path, both, say("ok"))
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True), ApprovalReply(is_allowed=False))
    assert [(one.approval.number, one.approval.of) for one in asked if one.approval] == [(1, 2), (2, 2)]
    assert (harness.session.cwd / "one").exists() and not (harness.session.cwd / "two").exists()


@pytest.mark.parametrize("mode", ["read-only", "ask", "auto-edit", "full"])
async def test_dangerous_commands_are_refused_in_every_mode_without_a_user(tmp_path: Path, mode: str) -> None:
    harness = gated_session(tmp_path, call("bash", command="rm -rf ~"), say("ok"), asks="none", mode=mode)
    (tmp_path / "home" / "kept").write_text("x")
    await harness.prompt("go")
    assert (tmp_path / "home" / "kept").exists()
    assert "rm -rf ~" in results(harness)[0]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": ".git/hooks/pre-commit", "content": "x"}),
        ("write", {"path": "../outside.txt", "content": "x"}),
        ("write", {"path": "~/.bashrc", "content": "x"}),
        ("write", {"path": "link/x", "content": "x"}),
        ("write", {"path": "hard", "content": "x"}),
        ("write", {"path": "sub/../.bayou/settings.json", "content": "{}"}),
        ("edit", {"path": ".envrc", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("edit", {"path": "a.txt", "edits": [{"path": ".envrc", "oldText": "a", "newText": "b"}]}),
        ("edit", {"changes": [{"path": ".envrc", "from": "start", "lines": ["x"]}]}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: .envrc\n+x\n*** End Patch"}),
        ("apply_patch", {"input": "*** Update File: a.txt\n*** Move to: .git/hooks/pre-commit\n-a\n+b"}),
        ("read", {"path": ".env"}),
        ("read", {"path": "@.env"}),
        ("read", {"path": "'.env'"}),
        ("read", {"path": "key"}),
        ("read", {"path": "~/.ssh/id_rsa"}),
        ("read", {"path": "/proc/self/environ"}),
        ("read", {"path": "/proc/self/root/etc/shadow"}),
        ("grep", {"pattern": "x", "path": ".env"}),
        ("grep", {"pattern": "x", "glob": ".env*"}),
        (
            "bash",
            {
                "command": "apply_patch <<'EOF'\n*** Add File: .envrc2\n+x\n*** Update File: .envrc\n-a\n+b\nEOF"
            },
        ),
        ("bash", {"command": "cat key"}),
        ("bash", {"command": "echo x > link/.bashrc"}),
    ],
    ids=str,
)
async def test_no_way_leads_round_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    harness = gated_session(tmp_path, call(tool, **arguments), say("ok"), asks="none", mode="full")
    home, cwd = tmp_path / "home", harness.session.cwd
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("SECRET x")
    (home / ".bashrc").write_text("# mine\n")
    (cwd / ".env").write_text("SECRET=x\n")
    (cwd / ".envrc").write_text("a")
    (cwd / "link").symlink_to(home)
    (cwd / "key").symlink_to(home / ".ssh" / "id_rsa")
    (cwd / "hard").hardlink_to(home / ".bashrc")
    await harness.prompt("go")
    assert "no user can give it" in results(harness)[0]
    assert "SECRET" not in results(harness)[0]
    assert (home / ".bashrc").read_text() == "# mine\n"


@pytest.mark.parametrize("mode", ["read-only", "ask"])
async def test_a_call_that_waits_for_another_begins_only_as_the_present_mode_allows(
    tmp_path: Path, mode: PermissionMode
) -> None:
    first = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)"
    cells = call("eval", code=first) + call("eval", code="open('two', 'w')")
    harness = gated_session(tmp_path, cells, say("ok"), mode="full")
    project = harness.session.cwd

    async def change_mode() -> None:
        while not (project / "begun").exists():  # noqa: ASYNC110  (the cell can tell only by a file)
            await asyncio.sleep(0.01)
        harness.session.permissions.rules.set_mode(mode)
        (project / "go").touch()

    await asyncio.gather(harness.prompt("go"), change_mode())
    assert not (project / "two").exists()
    assert "mode or the rules changed before this call began" in results(harness)[1]


async def test_an_abort_answers_a_call_that_waits_as_aborted(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("bash", command="touch there"), say("ok"))
    await harness.session.prompt("go")
    await harness.until(lambda: bool(harness.all(QuestionAsked)))
    await harness.session.abort()
    (end,) = harness.all(ToolExecutionEnd)
    assert end.is_error and not (harness.session.cwd / "there").exists()
    assert harness.all(QuestionAsked)[0].answer.cancelled()


async def test_a_program_that_stays_silent_is_refused_after_its_time(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("bash", command="git stash clear"), say("ok"), asks="program")
    harness.effective_settings.set("permissions.timeoutSeconds", 1)
    async with asyncio.timeout(8):
        await harness.prompt("go")
    assert "no answer came" in results(harness)[0]
    assert harness.all(QuestionAsked)[0].timeout == 1000


async def test_the_offered_rule_answers_the_very_command_that_was_asked(tmp_path: Path) -> None:
    commands = ["touch a", "npm test", "git push origin topic", "make -j4 all", "cargo build --release"]
    for number, command in enumerate(commands):
        script = [call("bash", command=command), call("bash", command=command), say("ok")]
        harness = gated_session(tmp_path / str(number), *script)
        seen: list[Any] = []

        def answer(event: Any, seen: list[Any] = seen) -> None:
            if isinstance(event, QuestionAsked) and event.approval is not None:
                seen.append(event.approval)
                event.answer.set_result(ApprovalReply(is_allowed=False, rule=event.approval.rules[-1].text))

        harness.session.subscribe(answer)
        await harness.prompt("go")
        assert len(seen) == 1, command
        assert seen[0].rules[0].answers == 0


async def test_a_rule_for_a_session_allows_nothing_in_the_next_one(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("bash", command="touch one"), say("ok"), mode="ask")
    rules = harness.session.permissions.rules
    rules.add_allow_rule("bash: touch **")
    rules.add_deny_rule("bash: rm **")
    assert await questions_asked(harness) == []
    await harness.session.branches.start_new_session()
    assert [rule.text for rule in rules.session_rules] == ["bash: rm **"]


async def test_a_rule_tells_how_many_questions_it_would_have_answered(tmp_path: Path) -> None:
    script = [call("bash", command=f"touch t{number}") for number in range(3)]
    harness = gated_session(tmp_path, *script, say("ok"))
    asked = await questions_asked(harness, *[ApprovalReply(is_allowed=False)] * 3)
    last = asked[-1].approval
    assert last is not None and last.asked == 2
    assert {rule.text: rule.answers for rule in last.rules} == {
        "bash: touch t2": 0,
        "bash: touch **": 2,
    }


async def test_deny_goes_over_ask_over_allow_and_says_which_rule_it_was(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path,
        call("bash", command="ls && touch a"),
        call("bash", command="touch b"),
        say("ok"),
        mode="full",
    )
    harness.effective_settings.set("permissions.allow", ["bash: touch **"])
    harness.effective_settings.set("permissions.ask", ["bash: touch b"])
    harness.effective_settings.set("permissions.deny", ["bash: touch a"])
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert "deny “bash: touch a” (session)" in results(harness)[0]
    assert [event.approval.decided_by for event in asked if event.approval] == [
        "ask “bash: touch b” (session)"
    ]


async def test_a_rule_lets_no_floor_run(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path, call("bash", command="git stash clear"), say("ok"), asks="none", mode="full"
    )
    harness.effective_settings.set("permissions.allow", ["bash: git stash clear", "tool: bash"])
    await harness.prompt("go")
    assert "no user can give it" in results(harness)[0]


async def test_a_rule_that_cannot_be_read_is_named_and_nothing_is_allowed_beside_it(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, call("bash", command="touch a"), say("ok"), asks="none", mode="ask")
    harness.effective_settings.set("permissions.allow", ["bash: touch **"])
    harness.effective_settings.set("permissions.deny", ["rm everything"])
    await harness.prompt("go")
    assert "no user can give it" in results(harness)[0]
    view = harness.session.permissions.gate_state()
    assert "rm everything" in str(view.rules.problems[0])
    assert view.rules.ignored_origins == ("session",)


async def test_read_only_describes_and_does_nothing(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path,
        call("write", path="a", content="x"),
        call("bash", command="ls"),
        say("ok"),
        mode="read-only",
    )
    await harness.prompt("go")
    first, second = results(harness)
    assert "mode read-only" in first and not (harness.session.cwd / "a").exists()
    assert "mode read-only" not in second


async def test_calls_within_a_call_pass_the_same_gate(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, asks="none", mode="ask")
    result = await harness.session.calls.run("write", {"path": "a", "content": "x"}, "outer")
    assert result.is_error and not (harness.session.cwd / "a").exists()


async def test_an_extension_tightens_and_never_loosens(tmp_path: Path) -> None:
    class Loose(Hooks):
        async def before_tool(
            self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
        ) -> ToolCallVerdict:
            return ToolCallVerdict(arguments={"command": "git stash clear"})

    harness = gated_session(
        tmp_path, call("bash", command="ls"), say("ok"), asks="none", mode="full", hooks=Loose()
    )
    await harness.prompt("go")
    assert "git stash clear" in results(harness)[0]
    assert "no user can give it" in results(harness)[0]


async def test_a_command_is_judged_where_it_begins(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path, call("bash", command="rm there", cwd=".."), say("ok"), asks="none", mode="full"
    )
    await harness.prompt("go")
    assert "outside the workspace" in results(harness)[0]


async def test_in_a_persistent_shell_the_folder_is_unknown(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path, call("bash", command="rm -rf build"), say("ok"), asks="none", mode="full"
    )
    harness.effective_settings.set("bash.persistentShell", True)
    await harness.prompt("go")
    assert "no user can give it" in results(harness)[0]


@pytest.mark.parametrize("mode", ["read-only", "ask"])
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("cat() { command touch made; }", "cat a.txt"),
        ("trap 'command touch made' DEBUG", "cat a.txt"),
        ("hash -p /bin/touch cat", "cat made"),
    ],
)
async def test_in_a_persistent_shell_an_earlier_command_lets_no_later_one_run_unasked(
    tmp_path: Path, earlier: str, later: str, mode: PermissionMode
) -> None:
    harness = gated_session(
        tmp_path,
        call("bash", command=earlier),
        say("ok"),
        call("bash", command=later),
        say("ok"),
        asks="none",
        mode="auto-edit",
    )
    harness.effective_settings.set("bash.persistentShell", True)
    await harness.prompt("go")
    made = Path(harness.session.log.cwd) / "made"
    made.unlink(missing_ok=True)
    harness.session.permissions.rules.set_mode(mode)
    await harness.prompt("more")
    assert not made.exists(), results(harness)


async def test_what_a_spawn_hook_makes_of_a_command_is_judged_too(tmp_path: Path) -> None:
    class Another(Hooks):
        async def before_process_spawn(self, plan: CommandToSpawn) -> CommandToSpawn:
            return msgspec.structs.replace(plan, command="git stash clear")

    harness = gated_session(
        tmp_path, call("bash", command="ls"), say("ok"), asks="none", mode="full", hooks=Another()
    )
    await harness.prompt("go")
    assert "An extension changed this command" in results(harness)[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "rm there"},
        {"command": "rm there", "workdir": ".."},
        {"command": ["rm", "there"], "cwd": ".."},
    ],
)
async def test_other_names_of_arguments_are_no_way_around(tmp_path: Path, arguments: dict[str, Any]) -> None:
    harness = gated_session(tmp_path, call("bash", "", **arguments), say("ok"))
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    letters = [event.approval.letter for event in asked if event.approval]
    elsewhere = "cmd" not in arguments
    assert letters != [] and (letters != ["contained"]) is elsewhere
    assert not list(tmp_path.rglob("there"))


async def test_a_file_by_another_name_of_its_argument_is_judged_as_it_is(tmp_path: Path) -> None:
    target = str(tmp_path / "home" / ".bashrc")
    harness = gated_session(
        tmp_path, call("write", filePath=target, contents="x"), say("ok"), mode="auto-edit"
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert len(asked) == 1
    assert not (tmp_path / "home" / ".bashrc").exists()


async def test_the_words_of_a_no_have_their_secrets_masked(tmp_path: Path):
    key = "ghp_" + "Ab3d" * 9
    harness = gated_session(tmp_path, call("bash", command="make"), say("ok"), mode="ask")
    await questions_asked(harness, ApprovalReply(is_allowed=False, reason=f"take {key}"))
    assert "take [secret:github-token:" in results(harness)[0]
    assert key not in str(harness.session.messages)


@pytest.mark.parametrize("key", [".config/rclone/rclone.conf", ".codex/auth.json", ".bayou/agent/other.json"])
async def test_a_hard_link_to_any_place_of_keys_is_asked_about_like_the_key(tmp_path: Path, key: str) -> None:
    harness = gated_session(tmp_path, call("read", path="notes"), say("ok"), mode="full")
    kept = tmp_path / "home" / key
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("a key")
    (harness.session.cwd / "notes").hardlink_to(kept)
    (asked,) = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert asked.approval is not None and asked.approval.confirmation_word is not None
    assert "a key" not in results(harness)[0]


@pytest.mark.parametrize(
    "arguments", [{"command": "runner='touch ran' make"}, {"command": "make", "env": {"runner": "touch ran"}}]
)
async def test_a_rule_for_make_lets_no_variable_choose_what_it_runs(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    harness = gated_session(tmp_path, call("bash", **arguments), say("ok"), mode="auto-edit")
    harness.effective_settings.set("sandbox.mode", "off")
    harness.session.permissions.rules.add_allow_rule("bash: make")
    (harness.session.cwd / "Makefile").write_text("all:\n\t@$(runner)\n")
    assert len(await questions_asked(harness, ApprovalReply(is_allowed=False))) == 1
    assert not (harness.session.cwd / "ran").exists()


@pytest.mark.parametrize(("has_sandbox", "count"), [(True, 0), (False, 1)])
async def test_without_a_sandbox_a_shell_that_is_not_bash_makes_no_command_safe(
    tmp_path: Path, has_sandbox: bool, count: int
) -> None:
    harness = gated_session(tmp_path, call("bash", command="ls"), say("ok"), mode="ask")
    harness.effective_settings.set("shellPath", "/bin/sh")
    if not has_sandbox:
        harness.session.tools.workspace.abilities = lambda: SandboxFeatures()
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    assert len(asked) == count


@pytest.mark.parametrize("name", ["Deny", "no", "cancel"])
async def test_the_word_that_allows_a_dangerous_call_is_none_that_refuses(tmp_path: Path, name: str) -> None:
    harness = gated_session(tmp_path, call("bash", command=f"rm -rf ~/{name}"), say("ok"), mode="full")
    folder = tmp_path / "home" / name
    folder.mkdir(parents=True)
    (asked,) = await questions_asked(harness, "Deny")
    assert asked.approval is not None and asked.approval.confirmation_word == "rm"
    assert folder.exists()
