"""Settings of what is kept of files, in a running session."""

import asyncio
import os
import threading
import time
from typing import Any

from app.providers.scripted import call, say
from app.tui.features.tree.feature import SESSION_TREE_FEATURE
from app.undo.change_records import file_changes_data_of_entry
from app.undo.content_store import GARBAGE_COLLECTION_TIME_FILE, BlobStore, ContentReferences
from tests.compaction.project_session import ProjectSession
from tests.settings.cases import Cases
from tests.settings.in_sessions import result_of
from tests.settings.on_screen import Seat

OF_UNDO = Cases()
TREE_MOVES = Cases()


@TREE_MOVES.add("undo.onTreeMove", "keep", "ask", {"branchSummary.skipPrompt": True})
async def files_of_a_move(seat: Seat) -> Any:
    """Whether going elsewhere asks what becomes of files."""
    await seat.prompt("one")
    first = seat.app.session.log.entries[-1].id
    await seat.prompt("write", call("write", path=f"{time.time()}.txt", content="x"), say("done"))
    work = asyncio.ensure_future(seat.app.feature_register.page(SESSION_TREE_FEATURE).move_to_entry(first))
    async with asyncio.timeout(10):
        while not work.done() and len(seat.app.screen_stack) == 1:
            await seat.pilot.pause()
    is_asked = not work.done()
    if is_asked:
        await seat.pilot.press("escape")
        await asyncio.wait([work], timeout=5)
    return is_asked


def kept_of(scene: ProjectSession) -> list[Any]:
    """What the session knows of what its calls did to files."""
    return [
        files
        for entry in scene.session.log.entries
        if (files := file_changes_data_of_entry(entry)) is not None
    ]


@OF_UNDO.add("undo.enabled", True, False)
async def undoable(scene: ProjectSession) -> Any:
    before = len(kept_of(scene))
    await result_of(scene, "write", path=f"{before}.txt", content="x")
    return len(kept_of(scene)) > before


@OF_UNDO.add("undo.commands", True, False)
async def undoable_commands(scene: ProjectSession) -> Any:
    before = len(kept_of(scene))
    await result_of(scene, "bash", command="date +%N >> made-by-a-command")
    return len(kept_of(scene)) > before


@OF_UNDO.add("undo.maxFileMb", 1, 8)
async def largest_that_is_held(scene: ProjectSession) -> Any:
    scene.write("large.txt", "x" * (2 << 20))
    await result_of(scene, "write", path="large.txt", content="small")
    return [one.why for one in kept_of(scene)[-1].uncovered]


@OF_UNDO.add("undo.days", 30, 5)
async def days_that_are_kept(scene: ProjectSession) -> Any:
    return await is_kept_after(scene, days=10, size=10)


@OF_UNDO.add("undo.maxStoreMb", 1024, 16)
async def room_that_there_is(scene: ProjectSession) -> Any:
    return await is_kept_after(scene, days=1, size=17 << 20)


async def is_kept_after(scene: ProjectSession, *, days: float, size: int) -> bool:
    """Whether what another session held is still there when this one begins to hold something."""
    store = BlobStore(scene.paths.agent_dir / "blobs")
    then = time.time() - days * 86_400
    name = store.put(os.urandom(size))
    for entry in store.blobs():
        if entry.name.startswith(name):
            os.utime(entry.path, (then, then))
    other = ContentReferences(store.folder, "another")
    other.open(tuple)
    other.add([name])
    other.close()
    os.utime(other.path, (then, then))
    (store.folder / GARBAGE_COLLECTION_TIME_FILE).unlink(missing_ok=True)
    await scene.session.branches.start_new_session()
    await result_of(scene, "write", path="a.txt", content=str(time.time()))
    for thread in threading.enumerate():
        if thread.name == "bayou-collect":
            await asyncio.to_thread(thread.join)
    return store.has(name)
