"""Settings of the gate, looked at in a session."""

from typing import Any

from app.values.content import text_of
from app.values.events import Event, QuestionAsked
from app.values.messages import ToolResultMessage
from tests.compaction.project_session import ProjectSession
from tests.settings.in_sessions import LIVE, result_of

ASKING = {"permissions.mode": "ask", "permissions.timeoutSeconds": 1}


async def ran(scene: ProjectSession, command: str) -> bool:
    return not (await result_of(scene, "bash", command=command)).is_error


@LIVE.add("permissions.mode", "full", "read-only")
async def permission_mode(scene: ProjectSession) -> Any:
    return await ran(scene, "touch there")


@LIVE.add(
    "permissions.allow",
    [],
    ["bash: touch **"],
    {"permissions.mode": "ask", "permissions.timeoutSeconds": 1},
)
async def allowed(scene: ProjectSession) -> Any:
    scene.session.subscribe(no_to_all)
    return await ran(scene, "touch there")


@LIVE.add(
    "permissions.allowIn",
    {},
    {"HERE": ["bash: touch **"]},
    {"permissions.mode": "ask", "permissions.timeoutSeconds": 1},
)
async def allowed_here(scene: ProjectSession) -> Any:
    given = scene.assembled.effective_settings.settings.permissions.allow_in
    if given:
        scene.assembled.effective_settings.set("permissions.allowIn", {str(scene.paths.cwd): given["HERE"]})
    scene.session.subscribe(no_to_all)
    return await ran(scene, "touch there")


@LIVE.add("permissions.ask", [], ["bash: touch **"])
async def asked_about(scene: ProjectSession) -> Any:
    scene.session.subscribe(no_to_all)
    return await ran(scene, "touch there")


@LIVE.add("permissions.deny", [], ["bash: touch **"])
async def denied(scene: ProjectSession) -> Any:
    return await ran(scene, "touch there")


@LIVE.add("permissions.floorExceptions", [], ["git stash clear"])
async def floor_exceptions(scene: ProjectSession) -> Any:
    scene.session.subscribe(no_to_all)
    return "Needs approval" not in said(scene, await result_of(scene, "bash", command="git stash clear"))


@LIVE.add("permissions.timeoutSeconds", 1, 900)
async def approval_timeout(scene: ProjectSession) -> Any:
    limits: list[int | None] = []

    def note(event: Event) -> None:
        if isinstance(event, QuestionAsked):
            limits.append(event.timeout)
            no_to_all(event)

    scene.session.subscribe(note)
    await ran(scene, "git stash clear")
    return limits[-1]


def no_to_all(event: Event) -> None:
    if isinstance(event, QuestionAsked) and event.answer is not None and not event.answer.done():
        event.answer.set_result("Deny")


def said(scene: ProjectSession, result: ToolResultMessage) -> str:
    return text_of(result.content).replace("The user denied it", "Needs approval")
