"""What third parties were promised is still there, as it was: names, signatures, hooks, payloads, and their order."""

import json
from pathlib import Path
from typing import Any

from app.engine.tree.tree_commands import clone, fork, new_session
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS
from app.providers.scripted import call, say
from bayou import ExtensionApi
from tests.extensions.extension_session import ExtensionSession
from tests.extensions.public_surface import FILE, described, handed_out, lost
from tests.extensions.test_every_hook import LONG, is_prompt

KEPT: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_names_signatures_hooks_and_payloads_are_as_they_were() -> None:
    assert lost(KEPT["surface"], described()) == []


async def test_what_an_extension_is_handed_is_as_it_was(tmp_path: Path) -> None:
    assert lost(KEPT["handed out"], await handed_out(tmp_path)) == []


async def test_hooks_come_in_the_order_they_came_in(tmp_path: Path) -> None:
    """One session does one thing after the other; two extensions wait for everything."""
    ext_session = ExtensionSession(
        tmp_path,
        call("read", path="a.txt"),
        say(LONG),
        say("again"),
        say("a summary"),
        say("a summary of the branch"),
    )
    (tmp_path / "a.txt").write_text("hello\n")
    told: dict[str, list[str]] = {}
    now: list[str] = []

    def listens(who: str, api: ExtensionApi) -> None:
        for name in HOOK_DEFINITIONS:
            api.on(name, lambda payload, context, name=name: now.append(f"{who} {name}"))

    def one(api: ExtensionApi) -> None:
        listens("one", api)

    def two(api: ExtensionApi) -> None:
        listens("two", api)

    async def step(title: str, work: Any) -> Any:
        result = await work
        await session.wait_until_idle()
        await session.events.wait_until_delivered()
        told[title], now[:] = list(now), []
        return result

    await ext_session.load(one, two)
    session = ext_session.harness.session
    await step("start", ext_session.extensions.start())
    await step("a prompt with a tool call", session.prompt("read it"))
    await step("a second prompt", session.prompt("once more"))
    await step("a command of the person's", session.shell.run_command("echo hi"))
    await step("another thinking level", session.models.use_thinking_level("low"))
    await step("a compaction", session.compaction.compact("shorter"))
    prompt = next(entry.id for entry in session.log.entries if is_prompt(entry))
    await step("another point of the tree", session.branches.go_to_entry(prompt))
    await step("a fork", fork(session, prompt))
    await step("a prompt in the fork", session.prompt("go on"))
    await step("a copy", clone(session))
    await step("a new session", new_session(session))
    await step("a reload", ext_session.extensions.reload(()))
    assert told == KEPT["order"]


def test_what_is_taken_back_or_changed_would_be_noticed() -> None:
    now = described()
    del now["names"]["View"]
    now["hooks"]["tool_call"]["payload"]["input"] = "str"
    now["session events"].remove("agent_settled")
    assert lost(KEPT["surface"], now) == [
        "/names/View is gone",
        "/hooks/tool_call/payload/input was dict[str, Any] and is str",
        "/session events: agent_settled is gone",
    ]
