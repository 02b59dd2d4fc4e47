"""What would be lost by a crash and is not: drafts, queues, half an answer."""

import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from app.sessions.drafts import Attachment, Draft, DraftFile, Waiting, abandoned_drafts
from app.sessions.ids import sidecar
from app.sessions.log import SessionLog
from app.sessions.partial import PartialFile, left_behind
from app.values.codec import encode
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage
from tests.sessions.say import say

DRAFT = Draft(
    text="half a th\u2028ought \ud83d",
    attachments=(Attachment(name="a.png", image=Image(data="QQ==", mime_type="image/png")),),
    waiting=(Waiting(text="then this", deliver_as="followUp"),),
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
    drafts.save(Draft())
    assert list(tmp_path.iterdir()) == [] and drafts.load() is None


def test_a_draft_is_kept_before_its_session_has_a_file(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    DraftFile(log.path).save(Draft(text="never sent"))
    assert [draft.text for _, draft in abandoned_drafts(tmp_path)] == ["never sent"]
    log.append(say("sent"))
    assert abandoned_drafts(tmp_path) == []


def test_a_draft_that_somebody_is_still_writing_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        sidecar(path, "draft").write_bytes(encode(Draft(text="theirs", process=other.pid)))
        assert abandoned_drafts(tmp_path) == []
        other.communicate(b"\n")
    assert [draft.text for _, draft in abandoned_drafts(tmp_path)] == ["theirs"]


def test_a_damaged_draft_is_no_draft(tmp_path: Path) -> None:
    sidecar(tmp_path / "s.jsonl", "draft").write_bytes(b'{"text":')
    assert DraftFile(tmp_path / "s.jsonl").load() is None
    DraftFile(None).save(DRAFT)
    assert DraftFile(None).load() is None


def talk(folder: Path) -> SessionLog:
    log = SessionLog.create(folder, folder)
    log.append(say("hello"))
    return log


def test_half_an_answer_is_offered_after_a_crash_as_an_aborted_one(tmp_path: Path) -> None:
    log = talk(tmp_path)
    PartialFile(log).update(ANSWER, log.leaf_id)
    found = left_behind(log)
    assert found is not None and found.leaf_id == log.leaf_id
    recovered = found.recovered()
    assert recovered.stop_reason == "aborted" and recovered.text == "so far"
    assert recovered.tool_calls == ()
    assert [b.thinking_signature for b in recovered.content if isinstance(b, Thinking)] == [None]


def test_updates_in_between_are_written_when_the_interval_is_over_without_another(tmp_path: Path) -> None:
    log = talk(tmp_path)
    written = threading.Event()

    class Watched(PartialFile):
        def flush(self) -> None:
            super().flush()
            written.set()

    partial = Watched(log, interval=0.05)
    partial.update(ANSWER, log.leaf_id)
    longer = msgspec.structs.replace(ANSWER, content=(Text(text="so far and more"),))
    partial.update(longer, log.leaf_id)
    assert written.wait(10)
    found = left_behind(log)
    assert found is not None and found.message.text == "so far and more"


def test_an_answer_that_was_recorded_is_not_offered_again(tmp_path: Path) -> None:
    log = talk(tmp_path)
    partial = PartialFile(log)
    leaf = log.leaf_id
    partial.update(ANSWER, leaf)
    log.append(MessageEntry(parent_id=None, message=msgspec.structs.replace(ANSWER, stop_reason="stop")))
    assert left_behind(log) is None
    partial.discard()
    assert not sidecar(log.path or Path(), "partial").exists()


def test_what_belongs_to_another_session_or_place_is_not_offered(tmp_path: Path) -> None:
    log = talk(tmp_path)
    PartialFile(log).update(ANSWER, "no-such-entry")
    assert left_behind(log) is None
    sidecar(log.path or Path(), "partial").write_bytes(b"junk")
    assert left_behind(log) is None
    PartialFile(SessionLog.in_memory(tmp_path)).update(ANSWER, None)
