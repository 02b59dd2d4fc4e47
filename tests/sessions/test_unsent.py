"""Drafts, queues and half an answer survive a crash."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec

from app.sessions.drafts import DraftAttachment, DraftFile, DraftQueuedMessage, SavedDraft, abandoned_drafts
from app.sessions.file.partial_answer import PartialAnswerFile, read_unrecorded_answer
from app.sessions.session_ids import session_sidecar_path
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage
from tests.sessions.make_entries import user_entry

DRAFT = SavedDraft(
    text="half a th\u2028ought \ud83d",
    attachments=(DraftAttachment(name="a.png", image=Image(data="QQ==", mime_type="image/png")),),
    waiting=(DraftQueuedMessage(text="then this", deliver_as="followUp"),),
)
ANSWER = AssistantMessage(
    content=(
        Thinking(thinking="hm", thinking_signature="sig"),
        Text(text="so far"),
        ToolCall(id="1", name="bash", arguments={}),
    ),
    provider="p",
    model="m",
    stop_reason="pending",
)


def test_a_draft_comes_back_whole(tmp_path: Path) -> None:
    DraftFile(tmp_path / "s.jsonl").save(DRAFT)
    found = DraftFile(tmp_path / "s.jsonl").load()
    assert found is not None and found.saved > 0
    assert msgspec.structs.replace(found, saved=0, process=0) == DRAFT


def test_sent_drafts_leave_nothing_behind(tmp_path: Path) -> None:
    drafts = DraftFile(tmp_path / "s.jsonl")
    drafts.save(DRAFT)
    drafts.save(SavedDraft())
    assert list(tmp_path.iterdir()) == [] and drafts.load() is None


def test_a_draft_is_kept_before_its_session_has_a_file(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    DraftFile(log.path).save(SavedDraft(text="never sent"))
    assert [draft.text for _, draft in abandoned_drafts(tmp_path)] == ["never sent"]
    log.append(user_entry("sent"))
    assert abandoned_drafts(tmp_path) == []


def test_a_draft_of_a_running_process_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        session_sidecar_path(path, "draft").write_bytes(encode(SavedDraft(text="theirs", process=other.pid)))
        assert abandoned_drafts(tmp_path) == []
        other.communicate(b"\n")
    assert [draft.text for _, draft in abandoned_drafts(tmp_path)] == ["theirs"]


def test_a_damaged_draft_is_no_draft(tmp_path: Path) -> None:
    session_sidecar_path(tmp_path / "s.jsonl", "draft").write_bytes(b'{"text":')
    assert DraftFile(tmp_path / "s.jsonl").load() is None
    DraftFile(None).save(DRAFT)
    assert DraftFile(None).load() is None


def talk(folder: Path) -> SessionLog:
    log = SessionLog.create(folder, folder)
    log.append(user_entry("hello"))
    return log


def test_half_an_answer_is_offered_after_a_crash_as_an_aborted_one(tmp_path: Path) -> None:
    log = talk(tmp_path)
    PartialAnswerFile(log).write_now(ANSWER, log.leaf_id)
    found = read_unrecorded_answer(log)
    assert found is not None and found.leaf_id == log.leaf_id
    recovered = found.recovered_message()
    assert recovered.stop_reason == "aborted" and recovered.text == "so far"
    assert recovered.tool_calls == ()
    assert [b.thinking_signature for b in recovered.content if isinstance(b, Thinking)] == [None]


async def test_an_answer_that_grows_is_looked_at_when_it_is_time_and_not_for_each_piece(
    tmp_path: Path,
) -> None:
    log = talk(tmp_path)
    partial = PartialAnswerFile(log, interval=0.05)
    looks: list[str] = []

    def answer() -> AssistantMessage:
        looks.append("so far" + " and more" * len(looks))
        return msgspec.structs.replace(ANSWER, content=(Text(text=looks[-1]),))

    def written() -> str:
        found = read_unrecorded_answer(log)
        return found.message.text if found is not None else ""

    async with asyncio.timeout(10):
        for words in ("so far", "so far and more"):
            for _ in range(1000):
                partial.schedule_write(answer, log.leaf_id)
            while written() != words:  # noqa: ASYNC110  (a thread writes without a notification)
                await asyncio.sleep(0.005)
    assert len(looks) == 2
    partial.schedule_write(answer, log.leaf_id)
    partial.discard()
    await asyncio.sleep(0.1)
    assert len(looks) == 2 and read_unrecorded_answer(log) is None


def test_an_answer_that_was_recorded_is_not_offered_again(tmp_path: Path) -> None:
    log = talk(tmp_path)
    partial = PartialAnswerFile(log)
    leaf = log.leaf_id
    partial.write_now(ANSWER, leaf)
    log.append(MessageEntry(parent_id=None, message=msgspec.structs.replace(ANSWER, stop_reason="stop")))
    assert read_unrecorded_answer(log) is None
    partial.discard()
    assert not session_sidecar_path(log.path or Path(), "partial").exists()


def test_what_belongs_to_another_session_or_place_is_not_offered(tmp_path: Path) -> None:
    log = talk(tmp_path)
    PartialAnswerFile(log).write_now(ANSWER, "no-such-entry")
    assert read_unrecorded_answer(log) is None
    session_sidecar_path(log.path or Path(), "partial").write_bytes(b"junk")
    assert read_unrecorded_answer(log) is None
    PartialAnswerFile(SessionLog.in_memory(tmp_path)).write_now(ANSWER, None)
