"""Settings of the mask, looked at in a session."""

from typing import Any

from app.values.content import text_of
from tests.compaction.project_session import ProjectSession
from tests.masking.examples import SHAPED
from tests.settings.in_sessions import LIVE, result_of
from tools.masking.secret_marks import SecretMarker

TOKEN = SHAPED["github-token"]
KEY = b"k" * 32


async def shown(scene: ProjectSession, text: str) -> str:
    return text_of((await result_of(scene, "bash", command=f"echo {text}")).content)


@LIVE.add("secrets.mask", True, False)
async def masks(scene: ProjectSession) -> Any:
    return await shown(scene, TOKEN)


@LIVE.add("secrets.patterns", [], [r"badge: badge-(\d+)"])
async def own_shapes(scene: ProjectSession) -> Any:
    return await shown(scene, "badge-123456")


@LIVE.add("secrets.ignore", [], [SecretMarker(KEY).digest(TOKEN)])
async def ignored(scene: ProjectSession) -> Any:
    (scene.paths.agent_dir / "secrets.key").write_bytes(KEY)
    return await shown(scene, TOKEN)
