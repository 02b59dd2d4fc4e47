"""Helpers in separate copies of the repository: what they change is staged, merged, and never lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.engine.core.user_questions import ApprovalReply
from app.engine.files.file_restorer import UndoFilesOfLastPrompts
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.values.events import Event, QuestionAsked
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tests.batch.batch_setups import git
from tests.compaction.project_session import ProjectSession
from tests.engine.test_helpers import Answer, helped, results, turns_of, until

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"


def writes(path: str, content: str) -> Answer:
    """A helper that writes a file and ends."""
    return lambda context: (
        call("write", path=path, content=content) if turns_of(context) == 0 else say("Done.")
    )


@asynccontextmanager
async def isolated(
    folder: Path, helper: Answer, *tasks: dict[str, Any], **options: Any
) -> AsyncIterator[ProjectSession]:
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    if not (project / ".git").exists():
        git(project, "init", "-q", "-b", "main")
        (project / "a.txt").write_text(TEXT)
        git(project, "add", ".")
        git(project, "commit", "-qm", "one")
    given = [{"prompt": "go", **task, "isolated": True} for task in tasks or ({},)]
    async with helped(folder, given, helper, **{"permissions": "full", **options}) as scene:
        yield scene


def left(scene: ProjectSession) -> int:
    """How many copies are on the disk."""
    return len(list((scene.home / ".local/state/bayou/copies").glob("*")))


async def test_its_changes_are_staged_and_written_when_they_are_applied(tmp_path: Path) -> None:
    seen: list[RequestContext] = []

    def helper(context: RequestContext) -> ScriptedAnswer:
        seen.append(context)
        if turns_of(context) == 0:
            return call("edit", path="a.txt", edits=[{"oldText": "two", "newText": "TWO"}]) + call(
                "bash", command="cat new.txt; echo made > made.sh; chmod +x made.sh"
            )
        return say("Done.")

    async with isolated(tmp_path, helper) as scene:
        scene.write("new.txt", "not committed")
        await scene.prompt("go")
        [result] = results(scene)
        assert "p1, 2 files: a.txt +1 −1, made.sh +1" in result
        assert "not committed" in str(seen[1].messages)
        assert (scene.project / "a.txt").read_text() == TEXT and left(scene) == 1
        resolved = await scene.session.pending.apply_or_discard(None, "apply", "")
        assert resolved.is_done
        assert (scene.project / "a.txt").read_text() == TEXT.replace("two", "TWO")
        assert (scene.project / "made.sh").stat().st_mode & 0o111 and left(scene) == 0
        restoring = scene.session.file_restorer
        await restoring.carry_out_restore(await restoring.plan_restore(UndoFilesOfLastPrompts(count=1)))
        assert (scene.project / "a.txt").read_text() == TEXT and not (scene.project / "made.sh").exists()


async def test_two_helpers_and_the_person_change_one_file(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context):
            return say("Done.")
        is_first = "first" in str(context.messages[-1])
        text = TEXT.replace("two", "2") if is_first else TEXT.replace("two", "II").replace("four", "IV")
        return call("write", path="a.txt", content=text)

    async with isolated(tmp_path, helper, {"prompt": "first"}, {"prompt": "second"}) as scene:
        await scene.prompt("go")
        (scene.project / "a.txt").write_text(TEXT.replace("six", "6"))
        ids = {one.label: one.id for one in scene.session.pending.waiting_actions}
        first, second = ids["general: first"], ids["general: second"]
        assert (await scene.session.pending.apply_or_discard(first, "apply", "")).is_done
        mine = TEXT.replace("six", "6").replace("two", "2")
        assert (scene.project / "a.txt").read_text() == mine
        conflict = await scene.session.pending.apply_or_discard(second, "apply", "")
        assert not conflict.is_done and "<<<<<<< here\n2\n=======\nII\n>>>>>>> staged" in conflict.text
        assert (scene.project / "a.txt").read_text() == mine and left(scene) == 1
        [waits] = scene.session.pending.waiting_actions
        assert waits.id == second and "IV" in waits.files[0].conflict_text
        await scene.session.pending.apply_or_discard(second, "discard", "merged by hand")
        assert left(scene) == 0 and not scene.session.pending.waiting_actions


async def test_files_are_applied_one_by_one(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context):
            return say("Done.")
        names = ("a.txt", "b.txt", "c.txt")
        made = [call("write", path=name, content=f"{name}\n") for name in names]
        return made[0] + made[1] + made[2]

    async with isolated(tmp_path, helper) as scene:
        await scene.prompt("go")
        pending, project = scene.session.pending, scene.project
        done = await pending.apply_or_discard(None, "apply", "", files=("b.txt",))
        assert done.is_done and done.text == "Applied: b.txt, of general: go."
        assert (project / "b.txt").read_text() == "b.txt\n" and not (project / "c.txt").exists()
        with pytest.raises(UserError, match=r"p1 has no file b\.txt\. Its files: a\.txt, c\.txt\."):
            await pending.apply_or_discard("p1", "apply", "", files=("b.txt",))
        (project / "a.txt").unlink()
        conflict = await pending.apply_or_discard("p1", "apply", "", files=("a.txt",))
        assert not conflict.is_done and "<<<<<<< here" in conflict.text
        [waits] = pending.waiting_actions
        assert [(one.display_path, bool(one.conflict_text)) for one in waits.files] == [
            ("a.txt", True),
            ("c.txt", False),
        ]
        assert not (project / "a.txt").exists() and left(scene) == 1
        await pending.apply_or_discard("p1", "discard", "", files=("a.txt",))
        assert left(scene) == 1
        await pending.apply_or_discard("p1", "apply", "", files=("c.txt",))  # the last one ends it
        assert (project / "c.txt").exists() and not pending.waiting_actions and left(scene) == 0


async def test_a_file_in_conflict_does_not_hold_up_the_others(tmp_path: Path) -> None:
    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context):
            return say("Done.")
        return call("write", path="a.txt", content="mine\n") + call("write", path="b.txt", content="b\n")

    async with isolated(tmp_path, helper) as scene:
        await scene.prompt("go")
        (scene.project / "a.txt").unlink()
        resolved = await scene.session.pending.apply_or_discard(None, "apply", "")
        assert (
            "Applied: general: go in 1 file." in resolved.text and "in the same lines: a.txt" in resolved.text
        )
        assert (scene.project / "b.txt").read_text() == "b\n" and not (scene.project / "a.txt").exists()
        assert left(scene) == 1, "what was not written is still there"


async def test_without_changes_or_a_repository_nothing_is_left(tmp_path: Path) -> None:
    async with isolated(tmp_path, lambda context: say("Nothing to do.")) as scene:
        await scene.prompt("go")
        assert "[The helper changed no file.]" in results(scene)[0] and left(scene) == 0
    async with helped(tmp_path / "plain", [{"prompt": "go", "isolated": True}], lambda _: say("x")) as scene:
        await scene.prompt("go")
        [refused] = results(scene)
        assert "is not in a git repository" in refused and "without isolated" in refused
        assert scene.script.request_count == 2


async def test_what_was_changed_before_a_stop_is_staged(tmp_path: Path) -> None:
    never, wrote = asyncio.Event(), asyncio.Event()

    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context) == 0:
            return call("write", path="b.txt", content="b\n")
        wrote.set()
        return say("…", gate=never)

    async with isolated(tmp_path, helper) as scene:
        await scene.session.prompt("go")
        await wrote.wait()
        await scene.session.abort()
        await until(lambda: bool(scene.session.pending.waiting_actions))
        await scene.prompt("and now")
        told = [one for one in scene.session.messages if isinstance(one, CustomMessage)]
        assert "was stopped. Its changes are staged, not written: p1, 1 file: b.txt" in str(told)


async def test_what_an_ended_session_left_is_staged_when_it_is_opened_again(tmp_path: Path) -> None:
    async with isolated(tmp_path, writes("b.txt", "b\n")) as scene:
        await scene.prompt("go")
        file = scene.session.log.path
    assert left(scene) == 1
    for copy in (scene.home / ".local/state/bayou/copies").glob("*"):
        (copy / "index.lock").touch()  # of a git that was killed with bayou
    async with isolated(tmp_path, writes("c.txt", "c\n")) as other:
        told = await other.session.helpers.offer_leftover_helper_changes()
        assert "Changes of 1 helper wait in other sessions: “general: go”. Continue " in told
        assert not other.session.pending.waiting_actions
    async with isolated(tmp_path, writes("c.txt", "c\n"), session=str(file)) as again:
        [waits] = again.session.pending.waiting_actions
        assert [one.display_path for one in waits.files] == ["b.txt"]
        await again.session.pending.apply_or_discard(None, "apply", "")
        assert (again.project / "b.txt").read_text() == "b\n" and left(again) == 0


async def test_the_copy_is_the_helpers_workspace(tmp_path: Path) -> None:
    """Rules for paths of the project hold for the same paths of the copy, and nothing reaches the project."""

    def helper(context: RequestContext) -> ScriptedAnswer:
        if turns_of(context):
            return say("Done.")
        return call("write", path="secret/x", content="x") + call("write", path="b.txt", content="b")

    async with isolated(tmp_path, helper) as scene:
        scene.session.permissions.rules.add_deny_rule(f"write: {scene.project}/secret/**")
        await scene.prompt("go")
        [waits] = scene.session.pending.waiting_actions
        assert [file.display_path for file in waits.files] == ["b.txt"]
        assert git(scene.project, "status", "--porcelain") == ""


async def test_an_answer_for_this_session_counts_for_all_its_helpers(tmp_path: Path) -> None:
    asked: list[QuestionAsked] = []
    async with helped(
        tmp_path, [{"prompt": "go"}, {"prompt": "again"}], writes("new.txt", "x"), permissions="ask"
    ) as scene:
        scene.settings({"task": {"width": 1}})

        def answer(event: Event) -> None:
            if isinstance(event, QuestionAsked):
                asked.append(event)
                event.answer.set_result(
                    ApprovalReply(is_allowed=True, rule="write: new.txt", rule_scope="session")
                )

        scene.session.subscribe(answer)
        await scene.prompt("go")
        assert len(asked) == 1, "the second helper was not asked again"
        assert [rule.text for rule in scene.session.permissions.rules.session_rules] == ["write: new.txt"]
