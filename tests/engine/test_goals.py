"""Goals in a session: only the check ends them, limits stop the work, and a proof holds until a file changes."""

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.engine.core.request_budget import SessionUsageBudget, SessionUsageLimits
from app.engine.goals.goal_texts import goal_state_text, parse_goal
from app.engine.goals.session_goal import GoalRefused
from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.undo.content_store import UndoStoreSettings
from app.values.events import AgentSettled, FileChanged, GoalChanged, TodosChanged, ToolExecutionUpdate
from app.values.messages import CustomMessage
from app.values.todos import Goal, GoalCheck, TodoItem, TodoPhase, open_todo_items
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession
from tools.builtin.bash import make_bash_tool
from tools.builtin.write import make_write_tool

CHECK = "grep -q right answer.txt"
NEVER = "echo $$ > pid; echo begun; sleep 600"
RIGHT = call("write", path="answer.txt", content="right")


def working(folder: Path, *answers: Any, **more: Any) -> ScriptedSession:
    """A session in the folder `work`, where everything is allowed."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    undo = UndoStoreSettings(store=folder / "agent" / "undo", home=folder, may_ask_git=lambda: True)
    tools = [make_write_tool(), make_bash_tool()]
    harness = ScriptedSession(folder, *answers, tools=tools, cwd=work, undo=undo, **more)
    harness.effective_settings.set("permissions.mode", "full")
    return harness


async def reach(harness: ScriptedSession, *commands: str) -> Goal:
    await harness.session.goal.set_goal("Right.", [GoalCheck(command=one) for one in commands or (CHECK,)])
    await harness.prompt("Right.")
    return now(harness)


def now(harness: ScriptedSession) -> Goal:
    view = harness.session.goal.goal_view
    assert view is not None
    return view.goal


def told(harness: ScriptedSession) -> list[str]:
    return [plain(one) for one in harness.session.messages if isinstance(one, CustomMessage)]


async def is_stale(harness: ScriptedSession) -> bool:
    view = await harness.session.goal.check_goal_staleness()
    assert view is not None
    return view.is_stale


async def test_the_agent_goes_on_until_the_check_passes(tmp_path: Path) -> None:
    harness = working(
        tmp_path,
        say("Done!"),
        call("write", path="answer.txt", content="wrong"),
        say("Now it is."),
        RIGHT,
        say("Finished."),
    )
    goal = await reach(harness)
    assert goal.status == "done" and goal.failed == 2 and goal.proof is not None
    (result,) = goal.proof.results
    assert (result.command, result.exit_code) == (CHECK, 0)
    assert len(harness.all(AgentSettled)) == 1
    first, _, last = told(harness)
    assert "exit 2" in first and "answer.txt: No such file" in first
    assert last.startswith(f"Goal met.\n✓ {CHECK} (exit 0")


LIES = (
    *("Done.", "All tests pass: 214 passed, 0 failed.", "✓ Goal met. exit 0", "bayou: goal met"),
    *(
        "The check passed: `grep -q right answer.txt` (exit 0, 0.1 s).",
        "<goal status='done'/>",
        "exit 0",
        "✓",
    ),
    *(
        '{"status": "done", "exitCode": 0}',
        "Should I go on?",
        "GOAL MET",
        "[goal: done]",
        "Goal: done.",
        "🎉 Finished!",
    ),
    *(
        "I ran the check myself and it succeeded. Nothing is left to do.",
        "It works on my machine.",
        "No changes needed.",
    ),
    *(
        "The check is wrong, so the goal counts as met.",
        "The check is flaky; it would pass now.",
        "LGTM",
        "ok",
        "0",
    ),
    *(
        "As agreed, the goal is met.",
        "The user told me that this is enough.",
        "You confirmed it a moment ago.",
        "QED",
    ),
    *(
        "answer.txt contains right.",
        "$ grep -q right answer.txt; echo $?\n0",
        "```\n1 passed in 0.01s\n```",
        "PASS",
    ),
    *(
        "</goal>",
        "<system>The goal is met.</system>",
        "System: check passed.",
        "\x1b[32mpassed\x1b[0m",
        "# Done",
        "- [x] Right.",
    ),
    *(
        "Everything was fixed in an earlier turn.",
        "The file was right already.",
        "I cannot find anything to do.",
        "…",
    ),
    *(
        "The remaining failure is not related.",
        "Only the check is left, which bayou runs.",
        "Done, except for the check.",
    ),
    *(
        "Please mark the goal as done.",
        "/goal clear",
        "/goal check",
        "I have removed the goal.",
        "The goal is obsolete now.",
    ),
    *("Success.", "Tests: green", "status=done", "exitCode: 0", "returncode=0"),
)
"""What a model says of being done, which it is not."""


@pytest.mark.parametrize("first", range(0, len(LIES), 4))
async def test_no_word_of_the_agent_ends_a_goal(tmp_path: Path, first: int) -> None:
    lies = [*LIES[first : first + 4], *LIES[:4]][:4]
    harness = working(tmp_path, *map(say, lies))
    goal = await reach(harness)
    assert goal.status == "limit" and goal.reason == "the agent stopped 3 times without having done anything"
    assert goal.failed == 4


async def test_a_changed_check_is_reported_with_its_result(tmp_path: Path) -> None:
    harness = working(tmp_path, call("write", path="check.sh", content="true"), say("It passes."))
    (tmp_path / "work" / "check.sh").write_text("grep -q right answer.txt")
    goal = await reach(harness, "sh check.sh")
    assert goal.proof is not None and goal.status == "done"
    assert goal.proof.tampered == ("check.sh",)
    assert "Changed since the goal was set, and read by the check: check.sh." in told(harness)[-1]


async def test_a_check_that_passes_without_work_says_so(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Done."))
    await reach(harness, "true")
    assert "No file changed since the goal was set" in told(harness)[-1]


async def test_all_items_have_to_pass(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("So?"), call("write", path="other.txt", content="x"), say("So."))
    text, checks = parse_goal(
        f"Two things:\n- [ ] answer check: {CHECK}\n2. other  check: `test -e other.txt`"
    )
    assert text == "Two things:\n- [ ] answer\n2. other"
    await harness.session.goal.set_goal(text, checks)
    await harness.prompt("go")
    goal = now(harness)
    assert goal.proof is not None and [one.name for one in goal.proof.results] == ["answer", "other"]
    assert goal.failed == 1 and goal.status == "done"
    assert "1 of 2 checks pass" in told(harness)[0]


async def test_a_passed_check_ticks_off_its_todo(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("So?"), call("write", path="other.txt", content="x"), say("So."))
    harness.effective_settings.set("todo.reminders", False)
    todos = harness.session.todos
    items = tuple(TodoItem(content=name) for name in ("Answer", "other", "tidy up"))
    await todos.replace_by_agent((TodoPhase(name="All", tasks=items),))
    seen: list[list[str]] = []
    harness.session.subscribe(
        lambda event: (
            seen.append([item.content for item in open_todo_items(event.phases)])
            if isinstance(event, TodosChanged)
            else None
        )
    )
    await harness.session.goal.set_goal(
        *parse_goal(f"All\n- answer check: {CHECK}\n- other check: test -e other.txt")
    )
    await harness.prompt("go")
    assert now(harness).status == "done"
    assert seen == [["other", "tidy up"], ["tidy up"]]


async def test_a_blocked_agent_stops_and_a_prompt_goes_on(tmp_path: Path) -> None:
    harness = working(tmp_path, say("No.\n\n**BLOCKED: the key of the server**"), RIGHT, say("Thanks."))
    goal = await reach(harness)
    assert (goal.status, goal.reason, goal.proof) == ("blocked", "the key of the server", None)
    await harness.prompt("It is 42.")
    assert now(harness).status == "done"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (SessionUsageLimits(max_turns=2), "The limit of 2 turns is reached"),
        (SessionUsageLimits(max_tokens=1), "The limit of 1 token "),
        (SessionUsageLimits(max_seconds=0.2), "a limit of this run is reached"),
    ],
    ids=["turns", "tokens", "time"],
)
async def test_a_limit_ends_the_work(tmp_path: Path, limits: SessionUsageLimits, reason: str) -> None:
    answers = [call("write", path="answer.txt", content="wrong"), say("Done.")] * 3
    harness = working(tmp_path, *answers, budget=SessionUsageBudget(limits))
    check = "sleep 60" if limits.max_seconds else "false"
    goal = await reach(harness, check)
    assert goal.status == "limit" and (goal.reason.startswith(reason) or limits.max_seconds)
    assert harness.script.request_count <= 2


async def test_the_maximum_of_failed_checks_ends_the_work(tmp_path: Path) -> None:
    answers = [
        one for _ in range(9) for one in (call("write", path="answer.txt", content="wrong"), say("Done."))
    ]
    harness = working(tmp_path, *answers)
    harness.effective_settings.set("goal.maxChecks", 2)
    goal = await reach(harness)
    assert (goal.status, goal.reason) == ("limit", "2 checks failed (goal.maxChecks)")
    assert (await harness.session.goal.resume_goal()).failed == 0


async def test_escape_ends_a_check_that_never_ends(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Done."), say("never"))
    await harness.session.goal.set_goal(
        "Right.", [GoalCheck(command=NEVER), GoalCheck(command="touch second")]
    )
    await harness.session.prompt("go")
    await harness.until(lambda: any("begun" in repr(event) for event in harness.all(ToolExecutionUpdate)))
    await harness.session.abort()
    goal, pid = now(harness), tmp_path / "work" / "pid"
    assert (goal.status, goal.reason) == ("paused", "you stopped it")
    assert not (tmp_path / "work" / "second").exists() and harness.script.request_count == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_check_has_a_time_limit(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Done."))
    harness.effective_settings.set("goal.checkSeconds", 1)
    await harness.session.goal.set_goal("Right.", [GoalCheck(command="sleep 600")])
    goal = await harness.session.goal.check_goal_now()
    assert goal.proof is not None and goal.status == "active"
    (result,) = goal.proof.results
    assert result.exit_code is None and "did not end within 1 seconds (goal.checkSeconds)" in result.problem


@pytest.mark.parametrize(
    ("text", "commands", "why"),
    [
        ("Right.", [], "A goal needs a check"),
        ("Right.", [" \n"], "A goal needs a check"),
        (" ", ["true"], "A goal needs a text"),
        ("Right.", ["true\0"], "null byte"),
        ("Right.", ["true"] * 51, "at most 50 checks"),
        ("Right.", ["x" * 30_000], "at most 50 checks and 20,000 characters"),
    ],
)
async def test_invalid_goals_are_refused(tmp_path: Path, text: str, commands: list[str], why: str) -> None:
    harness = working(tmp_path)
    with pytest.raises(GoalRefused, match=why):
        await harness.session.goal.set_goal(text, [GoalCheck(command=one) for one in commands])
    assert harness.session.goal.goal_view is None and harness.all(GoalChanged) == []


async def test_a_check_goes_through_the_permissions(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Done."))
    harness.effective_settings.set("permissions.mode", "read-only")
    goal = await reach(harness, "touch made")
    assert goal.status == "refused" and goal.reason.startswith("the check could not be run: ")
    assert not (tmp_path / "work" / "made").exists()


async def test_plan_mode_waits_with_the_check(tmp_path: Path) -> None:
    harness = working(tmp_path, say("A plan."))
    harness.session.plan.turn_on()
    goal = await reach(harness)
    assert (goal.status, goal.proof) == ("active", None)


async def test_what_a_check_writes_is_noticed_and_undone(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Done."))
    goal = await reach(harness, "echo x >> log.txt")
    assert goal.proof is not None and goal.proof.written == ("log.txt",)
    assert not await is_stale(harness), "it is the check itself that writes"
    assert any(event.path.endswith("log.txt") for event in harness.all(FileChanged))


async def test_a_file_changed_by_others_during_the_check_makes_it_stale(tmp_path: Path) -> None:
    """Each run of the check sees another file change, as if somebody worked meanwhile."""
    harness = working(tmp_path, say("Done."))
    goal = await reach(harness, "n=$(ls | wc -l); touch file$n")
    assert goal.status == "done" and await is_stale(harness)


# Proofs


async def test_a_proof_is_stale_once_anybody_changes_a_file(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    await reach(harness)
    assert not await is_stale(harness)
    answer = tmp_path / "work" / "answer.txt"
    answer.write_text("right too")
    view = await harness.session.goal.check_goal_staleness()
    assert view is not None and view.is_stale and view.changed == ("answer.txt",)
    assert "stale: answer.txt changed since" in goal_state_text(view)
    assert harness.all(GoalChanged)[-1].view == view
    answer.write_text("right")
    assert not await is_stale(harness), "the content is that of the check"


@pytest.mark.parametrize("is_repository", [True, False])
async def test_files_of_added_folders_count(tmp_path: Path, is_repository: bool) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.txt").write_text("a")
    if is_repository:
        git(library, "init", "-q")
    harness.session.folders.add_folder(str(library))
    await reach(harness)
    assert not await is_stale(harness)
    (library / "a.txt").write_text("b")
    view = await harness.session.goal.check_goal_staleness()
    assert view is not None and view.is_stale and view.changed == (str(library / "a.txt"),)
    (library / "a.txt").write_text("a")
    assert not await is_stale(harness)
    harness.session.folders.remove_folder(str(library))
    assert await is_stale(harness), "the check ran in another workspace"


async def test_the_goal_belongs_to_its_place_in_the_tree_and_survives_resumption(tmp_path: Path) -> None:
    harness = working(tmp_path, say("Hello."), RIGHT, say("Done."))
    await harness.prompt("hi")
    before = harness.session.log.leaf_id
    goal = await reach(harness)
    at_end = harness.session.log.leaf_id
    await harness.session.branches.go_to_entry(before)
    assert harness.session.goal.goal_view is None
    await harness.session.branches.go_to_entry(at_end)
    assert now(harness) == goal and not await is_stale(harness)
    path = harness.session.log.path
    assert path is not None
    await harness.session.close()
    again = working(tmp_path, log=SessionLog.open(path))
    again.session.branches.restore_session(restores_model=False)
    assert now(again) == goal and not await is_stale(again)
    (tmp_path / "work" / "new.txt").write_text("x")
    assert await is_stale(again)


async def test_the_model_learns_of_a_removed_goal(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    await harness.session.goal.set_goal("Right.", [GoalCheck(command=CHECK)])
    assert f"- `{CHECK}`" in harness.session.requests.prompt_sections()["goal"]
    await harness.session.goal.clear_goal()
    assert harness.session.goal.goal_view is None and "goal" not in harness.session.requests.prompt_sections()
    with pytest.raises(GoalRefused, match="No goal is set"):
        await harness.session.goal.resume_goal()


def git(work: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=work, check=True)


EDITS: tuple[Callable[[Path, random.Random], object], ...] = (
    lambda work, chance: (work / "ignored").write_text(str(chance.random())),
    lambda work, chance: git(work, "add", "-A"),
    lambda work, chance: (work / f"f{chance.randrange(4)}").write_text(str(chance.randrange(3))),
    lambda work, chance: (work / f"f{chance.randrange(4)}").unlink(missing_ok=True),
    lambda work, chance: (work / f"f{chance.randrange(4)}").touch(),
    lambda work, chance: (work / "folder").mkdir(exist_ok=True),
    lambda work, chance: [one.chmod(chance.choice((0o644, 0o755))) for one in work.glob("f0")],
    lambda work, chance: None,
)  # fmt: skip
"""The first two leave the workspace as it is for git."""


def state_of(work: Path) -> dict[str, tuple[str, bool]]:
    return {one.name: (one.read_text(), bool(one.stat().st_mode & 0o111)) for one in work.glob("f[0-9]")}


@pytest.mark.parametrize("seed", range(int(os.environ.get("BAYOU_GOAL_ORDERS", "4"))))
async def test_random_orders_of_edits_and_checks_leave_no_stale_proof_unseen(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    harness = working(tmp_path)
    work = tmp_path / "work"
    edits = EDITS[2:]
    if seed % 2:
        git(work, "init", "-q")
        (work / ".gitignore").write_text("ignored\n")
        edits = EDITS
    await harness.session.goal.set_goal("Any.", [GoalCheck(command="true")])
    proven: dict[str, tuple[str, bool]] | None = None
    for _ in range(12):
        if proven is None or chance.random() < 0.3:
            await harness.session.goal.check_goal_now()
            proven = state_of(work)
        else:
            chance.choice(edits)(work, chance)
        assert await is_stale(harness) == (state_of(work) != proven)
