"""What hooks are told besides: where a session came from, what a compaction would drop, which request it is."""

from pathlib import Path
from typing import Any

from app.providers.scripted import call, say
from app.values.entries import CompactionEntry
from app.values.events import CompactionEnd, ProviderRequestDelivered
from bayou import CompactionText, ExtensionApi
from tests.engine.stage import Play
from tests.extensions.theatre import Theatre

LONG = "many words " * 3000


async def test_a_session_that_begins_knows_the_one_before(tmp_path: Path) -> None:
    told: list[tuple[str, Path | None]] = []

    def listens(api: ExtensionApi) -> None:
        api.on(
            "session_start", lambda event, context: told.append((event.reason, event.previous_session_file))
        )

    theatre = Theatre(tmp_path, say("one"), say("two"))
    await theatre.load(listens)
    await theatre.extensions.start()
    session = theatre.play.session
    await theatre.prompt("go")
    first = session.log.path
    await session.branches.begin()
    await session.events.drain()
    second = session.log.path
    await session.branches.switch_to(str(first))
    await session.events.drain()
    prompt = session.entries[-1].id
    await session.branches.fork(prompt, "at")
    await session.events.drain()
    assert told == [("startup", None), ("new", first), ("resume", second), ("fork", first)]


async def test_a_compaction_says_which_files_it_drops_and_takes_a_count(tmp_path: Path) -> None:
    told: list[Any] = []

    def summarises(api: ExtensionApi) -> None:
        @api.on("session_before_compact")
        async def instead(event: Any, context: Any) -> Any:
            told.append(event.file_ops)
            return {"compaction": CompactionText(summary="short", tokens_before=4242)}

    (tmp_path / "a.txt").write_text("a\n")
    theatre = Theatre(
        tmp_path, call("read", path="a.txt") + call("write", path="b.txt", content="b"), say(LONG), say(LONG)
    )
    theatre.play.effective_settings.set("compaction.keepRecentTokens", 100)
    await theatre.load(summarises)
    await theatre.prompt("one")
    await theatre.prompt("two")
    result = await theatre.play.session.compaction.run()
    assert result.tokens_before == 4242
    assert [
        tuple(Path(name).name for name in names) for names in (told[0].read_files, told[0].modified_files)
    ] == [
        ("a.txt",),
        ("b.txt",),
    ]
    entry = next(entry for entry in theatre.play.session.entries if isinstance(entry, CompactionEntry))
    assert entry.tokens_before == 4242
    assert theatre.play.all(CompactionEnd)[0].result.tokens_before == 4242


async def test_a_dictionary_may_say_so_too(tmp_path: Path) -> None:
    def summarises(api: ExtensionApi) -> None:
        api.on(
            "session_before_compact",
            lambda event, context: {"compaction": {"summary": "short", "tokens_before": 7}},
        )

    theatre = Theatre(tmp_path, say(LONG), say(LONG))
    theatre.play.effective_settings.set("compaction.keepRecentTokens", 100)
    await theatre.load(summarises)
    await theatre.prompt("one")
    await theatre.prompt("two")
    assert (await theatre.play.session.compaction.run()).tokens_before == 7
    assert theatre.extensions.hooked.problems == []


async def test_a_response_says_to_which_request_with_which_messages(tmp_path: Path) -> None:
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        api.on("after_provider_response", lambda event, context: told.append(event))

    theatre = Theatre(tmp_path, say("one"), say("two"))
    await theatre.load(listens)
    await theatre.prompt("first")
    await theatre.prompt("second")
    requests = [event.request_id for event in theatre.play.all(ProviderRequestDelivered)]
    assert [event.request_id for event in told] == requests
    assert told[0].message_ids == said(theatre.play)[:1]
    assert told[1].message_ids == said(theatre.play)[:3]


def said(play: Play) -> tuple[str, ...]:
    """Of the messages behind the system's."""
    return tuple(message.id for message in play.session.messages[1:])
