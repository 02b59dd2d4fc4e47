"""Settings of maps, in a running session."""

import asyncio
from typing import Any

from app.providers.scripted import say
from app.values.content import text_of
from app.values.messages import CustomMessage
from tests.compaction.project_session import ProjectSession
from tests.settings.cases import Cases
from tests.settings.in_sessions import python_file, result_of
from tools.repomap.likely_places import MIN_FILES_FOR_LIKELY_PLACES

OF_MAPS = Cases()


async def map_of(scene: ProjectSession, functions: int) -> CustomMessage | None:
    before = len(scene.session.messages)
    path = python_file(scene, functions)
    await result_of(scene, "read", path=str(path))
    maps = (one for one in scene.session.messages[before:] if isinstance(one, CustomMessage))
    return next(maps, None)


@OF_MAPS.add("fileMaps.enabled", True, False)
async def maps(scene: ProjectSession) -> Any:
    return await map_of(scene, 1_500) is None


@OF_MAPS.add("fileMaps.maxBytes", 1_024, 8_192)
async def size_of_maps(scene: ProjectSession) -> Any:
    found = await map_of(scene, 1_501)
    return found and len(text_of(found.content)) > 2_000


@OF_MAPS.add("fileMaps.timeLimitMs", 50, 60_000)
async def time_of_maps(scene: ProjectSession) -> Any:
    found = await map_of(scene, 40_000)
    return found and (found.details or {}).get("parser")


@OF_MAPS.add("repositoryMaps.enabled", True, False)
async def repository_maps(scene: ProjectSession) -> Any:
    found = await result_of(scene, "locate", about="capstan")
    return found.is_error


@OF_MAPS.add("repositoryMaps.firstQuestion", "off", "auto")
async def first_question(scene: ProjectSession) -> Any:
    first = scene.session.cwd / "fleet" / "part0.py"
    if not first.exists():
        first.parent.mkdir()
        for number in range(MIN_FILES_FOR_LIKELY_PLACES + 1):
            (first.parent / f"part{number}.py").write_text(f"def sail_{number}():\n    pass\n")
    hands = scene.assembled.workspace
    repository = await asyncio.to_thread(hands.repository)
    assert repository is not None
    await asyncio.to_thread(repository.complete_index, workers=0)
    scene.script.responses[:] = [say("ok")]
    await scene.session.branches.start_new_session()
    await scene.prompt("`sail_7` turns the whole boat too slowly against heavy wind")
    return any(getattr(one, "custom_type", "") == "repository-map" for one in scene.session.messages)
