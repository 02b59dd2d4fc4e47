"""Files that run later which a cell makes are moved away, as behind a command."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.box.boxed_commands import BoxedCommands
from tools.kernel.eval_results import make_eval_result
from tools.kernel.eval_run import EvalRequest, EvalRun
from tools.session_workspace import SessionWorkspace


async def result(workspace: SessionWorkspace, code: str) -> str:
    evaluation = EvalRun(EvalRequest(code=code), workspace, call_id="c", caller=None)
    return make_eval_result(await evaluation.run_all_cells(), workspace).text


async def test_files_that_run_later_are_moved_away_behind_the_cell_that_made_them(
    boxed: Callable[..., BoxedCommands], project: Path
) -> None:
    workspace = boxed().workspace
    try:
        assert "decides what may run" not in await result(workspace, "open('notes.txt', 'w').write('1')")
        text = await result(
            workspace, "import os; os.makedirs('a/.vscode'); open('a/.vscode/tasks.json', 'w').write('{}')"
        )
        assert "it was moved to" in text and "a/.vscode" in text
        assert "decides what may run" not in await result(workspace, "1 + 1")
    finally:
        workspace.end_kernel()


async def test_a_kernel_begins_anew_where_keys_came_after_it(
    boxed: Callable[..., BoxedCommands], project: Path, home: Path
) -> None:
    workspace = boxed().workspace
    try:
        text = await result(workspace, "x = 1")
        (home / ".aws").mkdir()
        (home / ".aws/credentials").write_text("a key of aws")
        text = await result(workspace, f"print(open('{home}/.aws/credentials').read())")
        assert "The sandbox hides" in text and ".aws now" in text and "a key of aws" not in text
    finally:
        workspace.end_kernel()


async def test_what_a_cell_changes_that_came_after_the_kernel_is_named(
    boxed: Callable[..., BoxedCommands], project: Path
) -> None:
    workspace = boxed().workspace
    try:
        await result(workspace, "x = 1")
        await asyncio.to_thread(workspace.guard.changes_between_calls)
        (project / ".envrc").write_text("mine")
        text = await result(workspace, "open('.envrc', 'w').write('evil')")
        assert "this cell made or changed" in text and ".envrc" in text and (project / ".envrc").exists()
        assert "x is 1" in await result(workspace, "print('x is', x)")
    finally:
        workspace.end_kernel()


async def test_a_shell_that_lasts_begins_anew_where_keys_came_after_it(
    home: Path, project: Path, boxed: Callable[..., BoxedCommands]
) -> None:
    boxed()
    hands = BoxedCommands(home, project, "namespaces", is_persistent=True)
    try:
        await hands.outcome("x=1")
        assert "x is 1" in await hands.text("echo x is $x")
        (home / ".netrc").write_text("machine a password hunter2hunter2")
        assert "hunter2" not in await hands.text("cat ~/.netrc")
        await asyncio.to_thread(hands.workspace.guard.changes_between_calls)
        (project / ".envrc").write_text("mine")
        outcome = await hands.outcome("echo evil >> .envrc")
        assert outcome.new_autorun_files == (str(project / ".envrc"),)
    finally:
        hands.close()


async def test_what_a_cell_writes_by_a_hard_link_that_came_after_the_kernel_is_named(
    boxed: Callable[..., BoxedCommands], project: Path, home: Path
) -> None:
    workspace = boxed().workspace
    try:
        await result(workspace, "x = 1")
        for name in ("kept", "written"):
            (home / name).write_text("old")
            (project / name).hardlink_to(home / name)
        text = await result(workspace, "open('written', 'r+').write('new')")
        assert "this cell wrote" in text and "project/written" in text and "hard links" in text
        assert "project/kept" not in text and "x is 1" in await result(workspace, "print('x is', x)")
        assert "hard links" not in await result(workspace, "2")
    finally:
        workspace.end_kernel()
