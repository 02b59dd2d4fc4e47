"""What hooks are told besides: where a session came from, what a compaction would drop, which request it is."""

from pathlib import Path
from typing import Any

from app.providers.scripted import call, say
from app.values.entries import CompactionEntry
from app.values.events import CompactionEnd, ProviderRequestDelivered
from bayou import CompactionText, ExtensionApi
from tests.engine.scripted_session import ScriptedSession
from tests.extensions.extension_session import ExtensionSession

LONG = "many words " * 3000


async def test_session_start_names_the_previous_session(tmp_path: Path) -> None:
    told: list[tuple[str, Path | None]] = []

    def listens(api: ExtensionApi) -> None:
        api.on(
            "session_start", lambda event, context: told.append((event.reason, event.previous_session_file))
        )

    ext_session = ExtensionSession(tmp_path, say("one"), say("two"))
    await ext_session.load(listens)
    await ext_session.extensions.start()
    session = ext_session.harness.session
    await ext_session.prompt("go")
    first = session.log.path
    await session.branches.start_new_session()
    await session.events.wait_until_delivered()
    second = session.log.path
    await session.branches.switch_to(str(first))
    await session.events.wait_until_delivered()
    prompt = session.log.entries[-1].id
    await session.branches.fork(prompt, "at")
    await session.events.wait_until_delivered()
    assert told == [("startup", None), ("new", first), ("resume", second), ("fork", first)]


async def test_a_compaction_says_which_files_it_drops_and_takes_a_count(tmp_path: Path) -> None:
    told: list[Any] = []

    def summarises(api: ExtensionApi) -> None:
        @api.on("session_before_compact")
        async def instead(event: Any, context: Any) -> Any:
            told.append(event.file_ops)
            return {"compaction": CompactionText(summary="short", tokens_before=4242)}

    (tmp_path / "a.txt").write_text("a\n")
    ext_session = ExtensionSession(
        tmp_path, call("read", path="a.txt") + call("write", path="b.txt", content="b"), say(LONG), say(LONG)
    )
    ext_session.harness.effective_settings.set("compaction.keepRecentTokens", 100)
    await ext_session.load(summarises)
    await ext_session.prompt("one")
    await ext_session.prompt("two")
    result = await ext_session.harness.session.compaction.compact()
    assert result.tokens_before == 4242
    assert [
        tuple(Path(name).name for name in names) for names in (told[0].read_files, told[0].modified_files)
    ] == [
        ("a.txt",),
        ("b.txt",),
    ]
    entry = next(
        entry for entry in ext_session.harness.session.log.entries if isinstance(entry, CompactionEntry)
    )
    assert entry.tokens_before == 4242
    assert ext_session.harness.all(CompactionEnd)[0].result.tokens_before == 4242


async def test_a_dictionary_may_say_so_too(tmp_path: Path) -> None:
    def summarises(api: ExtensionApi) -> None:
        api.on(
            "session_before_compact",
            lambda event, context: {"compaction": {"summary": "short", "tokens_before": 7}},
        )

    ext_session = ExtensionSession(tmp_path, say(LONG), say(LONG))
    ext_session.harness.effective_settings.set("compaction.keepRecentTokens", 100)
    await ext_session.load(summarises)
    await ext_session.prompt("one")
    await ext_session.prompt("two")
    assert (await ext_session.harness.session.compaction.compact()).tokens_before == 7
    assert ext_session.extensions.hooks.problems == []


async def test_a_response_says_to_which_request_with_which_messages(tmp_path: Path) -> None:
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        api.on("after_provider_response", lambda event, context: told.append(event))

    ext_session = ExtensionSession(tmp_path, say("one"), say("two"))
    await ext_session.load(listens)
    await ext_session.prompt("first")
    await ext_session.prompt("second")
    requests = [event.request_id for event in ext_session.harness.all(ProviderRequestDelivered)]
    assert [event.request_id for event in told] == requests
    assert told[0].message_ids == said(ext_session.harness)[:1]
    assert told[1].message_ids == said(ext_session.harness)[:3]


def said(harness: ScriptedSession) -> tuple[str, ...]:
    """Of the messages behind the system's."""
    return tuple(message.id for message in harness.session.messages[1:])
