"""Settings of the box that commands run in: what it would be made of, on a system that can do everything."""

from typing import Any

from tests.compaction.project_session import ProjectSession
from tests.settings.in_sessions import LIVE
from tests.support.sessions import parts_of
from tools.box.sandbox_instructions import SandboxFeatures
from tools.box.sandbox_policy import SandboxPolicy

EVERYTHING = SandboxFeatures(has_mounts=True, has_networks=True, has_filter=True, landlock=7)
_BASE = {"permissions.mode": "auto-edit"}


async def box_of(scene: ProjectSession) -> SandboxPolicy | None:
    scene.assembled.workspace.abilities = lambda: EVERYTHING
    return await parts_of(scene.session).permission_gate.boxes.box_for_call("call")


@LIVE.add("sandbox.mode", "auto", "off", _BASE)
async def sandbox_mode(scene: ProjectSession) -> Any:
    return await box_of(scene) is not None


@LIVE.add("sandbox.network", "off", "open", _BASE)
async def sandbox_network(scene: ProjectSession) -> Any:
    box = await box_of(scene)
    return box and box.network


@LIVE.add("sandbox.write", [], ["/usr/share"], _BASE)
async def sandbox_write(scene: ProjectSession) -> Any:
    box = await box_of(scene)
    return box and box.may_write("/usr/share/notes")


@LIVE.add("sandbox.hide", [], ["~/private"], _BASE)
async def sandbox_hide(scene: ProjectSession) -> Any:
    private = scene.home / "private"
    private.mkdir(exist_ok=True)
    box = await box_of(scene)
    return box and box.may_read(f"{private}/diary")
