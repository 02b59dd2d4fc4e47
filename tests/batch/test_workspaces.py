"""Folders of runs and results in places that make it hard: inside each other, with pipes, on a full disk."""

import os
from pathlib import Path

import pytest

from app.batch.results import BatchFolder, read_batch_result_lines
from app.batch.run_folders import BatchRunFolders, resolve_task_commits, task_commit_key
from app.batch.tasks import BatchError, BatchRun, BatchTask
from app.resources.paths import BayouPaths
from bayou.batch import BatchResult
from tests.batch.batch_setups import git, make_repository
from tests.hostile.setups import small_disk


def run_in(*, folder: str | None = None, repo: str | None = None, rev: str | None = None) -> BatchRun:
    return BatchRun(
        task=BatchTask(id="one", prompt="x", folder=folder, repo=repo, rev=rev), number=1, hash="0" * 32
    )


async def test_a_copy_leaves_out_the_batch_itself_and_what_cannot_be_copied(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "out" / "runs").mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    (folder / "gone").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe")
    workspaces = BatchRunFolders(
        BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path), folder / "work", folder / "out"
    )
    made = await workspaces.make_run_folder(run_in(folder=str(folder)), None)
    assert sorted(one.name for one in made.path.iterdir()) == ["a.txt", "gone", "work"]
    assert list((made.path / "work").iterdir()) == []
    (made.path / "b.txt").write_text("b\n")
    (made.path / "a.txt").unlink()
    patch = await made.patch()
    assert "+++ b/b.txt" in patch and "--- a/a.txt" in patch
    await made.remove()
    workspaces.close()
    assert list((folder / "work").iterdir()) == []


async def test_a_clone_has_a_commit_that_is_on_no_branch_and_shares_no_refs(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    (repository / "a.txt").write_text("lost\n")
    git(repository, "commit", "-qam", "two")
    lost = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "reset", "-q", "--hard", "HEAD~")
    run = run_in(repo=str(repository), rev=lost)
    commits = await resolve_task_commits((run,), {}, BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path))
    workspaces = BatchRunFolders(
        BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path), tmp_path / "work", tmp_path / "out"
    )
    made = await workspaces.make_run_folder(run, commits[task_commit_key(run.task)])
    assert (made.path / "a.txt").read_text() == "lost\n"
    assert git(made.path, "remote") == "" and git(made.path, "status", "--porcelain") == ""
    git(made.path, "switch", "-qc", "own")
    (made.path / "new.txt").write_text("new\n")
    git(made.path, "add", ".")
    git(made.path, "commit", "-qm", "committed by the agent")
    assert "+++ b/new.txt" in await made.patch()
    workspaces.close()
    assert git(repository, "branch", "--format=%(refname:short)") == "main\n"


def test_a_full_disk_loses_no_earlier_result(tmp_path: Path) -> None:
    def result(id: str) -> BatchResult:
        return BatchResult(id=id, key=id, hash=id, outcome="passed", answer="x" * 5_000)

    with small_disk(tmp_path / "disk") as disk:
        folder = BatchFolder(disk.place / "out")
        folder.open_for_tasks(tmp_path / "t.jsonl", BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path))
        folder.append_result(result("one"))
        disk.fill()
        with pytest.raises(BatchError, match="the result of two cannot be written: No space left"):
            folder.append_result(result("two"))
        disk.make_room()
        folder.append_result(result("three"))
        folder.close()
        assert [one.id for one in read_batch_result_lines(disk.place / "out")] == ["one", "three"]
