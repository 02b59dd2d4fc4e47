"""Extensions stage changes like tools: the exact content is written once it is accepted."""

from pathlib import Path
from typing import Any

from app.providers.scripted import say
from bayou import ExtensionApi
from tests.extensions.extension_session import ExtensionSession


async def test_an_extension_stages_files_and_deeds(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("ok"), say("ok"))
    (tmp_path / "a.txt").write_text("old\n")
    ids: list[str] = []
    told: list[str] = []

    async def discarded(reason: str) -> str:
        told.append(reason)
        return "Cleaned up."

    async def applied(reason: str) -> str:
        return f"Sent: {reason}"

    def stages(api: ExtensionApi) -> None:
        @api.on("agent_start")
        async def begin(event: Any, context: Any) -> None:
            if not ids:
                ids.append(await context.stage("files", {"a.txt": "new\n", "b.txt": "b\n"}))
                ids.append(
                    await context.stage("a deed", apply=applied, reject=discarded, source_tool_name="mine")
                )

    await ext_session.load(stages)
    await ext_session.extensions.start()
    await ext_session.prompt("go")
    session = ext_session.harness.session
    assert [(one.id, one.source_tool) for one in session.pending.waiting_actions] == [
        (ids[0], "custom_tool"),
        (ids[1], "mine"),
    ]
    await session.pending.apply_or_discard(ids[0], "apply", "yes")
    folder = session.cwd
    assert (folder / "a.txt").read_text() == "new\n" and (folder / "b.txt").read_text() == "b\n"
    resolved = await session.pending.apply_or_discard(ids[1], "discard", "no need")
    assert (resolved.text, told) == ("Cleaned up.", ["no need"])
