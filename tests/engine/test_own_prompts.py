"""The prompts of `/init` and `/review`."""

import subprocess
from pathlib import Path

import pytest

from app.engine.commands.prompt_commands import init_context, review
from app.engine.commands.review_texts import review_command_of_prompt
from app.providers.scripted import say
from app.undo.content_store import UndoStoreSettings
from app.values.user_errors import UserError
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=me", "-c", "user.email=me@example.test", *words],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "pyproject.toml").write_text("[project]\n")
    (folder / "boats.py").write_text("oars = 2\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "boats")
    return folder


async def asked(harness: ScriptedSession) -> str:
    await harness.session.wait_until_idle()
    return plain(harness.script.received_contexts[-1].messages[-1])


async def test_a_draft_of_the_context_file_is_asked_for_with_what_is_there(
    tmp_path: Path, project: Path
) -> None:
    harness = ScriptedSession(tmp_path, say("Written."), say("Better."), cwd=project)
    await init_context(harness.session)
    text = await asked(harness)
    assert text.startswith("Write AGENTS.md for this project") and "Its folder has pyproject.toml." in text
    (project / "AGENTS.md").write_text("# Rules\n")
    await init_context(harness.session)
    assert (await asked(harness)).startswith("Check whether AGENTS.md still describes")


async def test_what_is_reviewed_is_named_by_what_it_touches(tmp_path: Path, project: Path) -> None:
    boats = project / "boats.py"
    boats.write_text(
        "class Boat:\n    def row(self):\n        return 2\n\n    def stop(self):\n        return 0\n"
    )
    git(project, "commit", "-qam", "a class")
    place = UndoStoreSettings(store=tmp_path / "blobs", home=tmp_path, may_ask_git=lambda: True)
    harness = ScriptedSession(tmp_path, say("Fine."), cwd=project, undo=place)
    boats.write_text(boats.read_text().replace("return 2", "return 4"))
    (project / "new.py").write_text("def anchor():\n    pass\n")
    await review(harness.session)
    text = await asked(harness)
    assert (
        "- boats.py (changed, +1 -1): Boat.row\n" in text
        and "- new.py (new, not in git, +2 -0): anchor\n" in text
    )


async def test_what_is_not_committed_is_reviewed_by_its_files(tmp_path: Path, project: Path) -> None:
    place = UndoStoreSettings(store=tmp_path / "blobs", home=tmp_path, may_ask_git=lambda: True)
    harness = ScriptedSession(tmp_path, say("Fine."), cwd=project, undo=place)
    with pytest.raises(UserError, match="No uncommitted changes to review"):
        await review(harness.session)
    (project / "boats.py").write_text("oars = 4\n")
    (project / "new.py").write_text("a\nb\n")
    await review(harness.session)
    text = await asked(harness)
    assert "- boats.py (changed, +1 -1)" in text and "- new.py (new, not in git, +2 -0)" in text
    assert "change nothing" in text and review_command_of_prompt(text) == "/review"


async def test_a_branch_or_commit_is_reviewed_by_its_name_with_what_it_touches(
    tmp_path: Path, project: Path
) -> None:
    boats = project / "boats.py"
    git(project, "branch", "old")
    boats.write_text("def row():\n    return 2\n")
    git(project, "commit", "-qam", "row")
    boats.write_text("def row():\n    return 2\n\n\ndef stop():\n    return 0\n")
    git(project, "commit", "-qam", "stop")
    place = UndoStoreSettings(store=tmp_path / "blobs", home=tmp_path, may_ask_git=lambda: True)
    harness = ScriptedSession(tmp_path, *[say("Fine.")] * 4, cwd=project, undo=place)

    async def told(name: str) -> str:
        await review(harness.session, name)
        text = await asked(harness)
        assert review_command_of_prompt(text) == f"/review {name}"
        assert review_command_of_prompt(f"{text} And more.") == ""
        return text.partition("Read the changed code")[0]

    row = "- boats.py (changed, +2 -1): row\n\n"
    by = "Review what was changed by HEAD~1 (`git show HEAD~1`):"
    assert await told("HEAD~1") == f"Review of HEAD~1\n\n{by}\n\n{row}"
    since = "Review what was changed since old (`git diff old...HEAD`):\n\n- boats.py (changed, +6 -1): row, stop\n\n"
    assert await told("old") == f"Review of old\n\n{since}"
    git(project, "checkout", "-q", "-b", "other", "old")
    (project / "new.py").write_text("def anchor(): pass\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "anchor")
    assert "- new.py (new, +1 -0): anchor\n" in await told("HEAD")
    git(project, "checkout", "-q", "-")
    assert "row, stop" in await told("other"), "since they parted"
    for name, why in (
        ("nowhere", "nowhere is not a branch or commit here"),
        ("--output=x", "not the name of a branch or commit"),
        ("a; rm b", "not the name of a branch or commit"),
        ("$(x)", "not the name of a branch or commit"),
    ):
        with pytest.raises(UserError, match=why):
            await review(harness.session, name)
