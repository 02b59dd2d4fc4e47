"""The store of contents, who needs them, what is collected; and the ledger that a crash leaves."""

import os
import time
from pathlib import Path

import pytest

from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine
from app.undo.change_records import RecordedFileChange, StoredFileState
from app.undo.content_store import (
    GARBAGE_GRACE_SECONDS,
    GIT_INDEX_COPIES_FOLDER,
    BlobStore,
    ContentReferences,
    StoredContentDamaged,
    StoredContentMissing,
    blob_hash,
    collect_content_garbage,
    is_garbage_collection_due,
    read_content_references,
)

LATER = time.time() + 2 * GARBAGE_GRACE_SECONDS


def stored(store: BlobStore) -> set[str]:
    return {entry.name.removesuffix(".z") for entry in store.blobs()}


def test_equal_content_is_stored_once_and_private(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    large = os.urandom(100) * 100
    names = [store.put(large), store.put(large), store.put(b"small"), store.put(b"")]
    assert len(store.blobs()) == 3
    assert [store.get(name) for name in names] == [large, large, b"small", b""]
    for entry in store.blobs():
        assert entry.stat().st_mode & 0o077 == 0
        assert Path(entry.path).parent.stat().st_mode & 0o077 == 0
    assert sum(entry.stat().st_size for entry in store.blobs()) < 1000


def test_damaged_or_missing_content_is_reported(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    name = store.put(b"x" * 5000)
    (entry,) = store.blobs()
    Path(entry.path).write_bytes(b"torn")
    with pytest.raises(StoredContentDamaged):
        store.get(name)
    with pytest.raises(StoredContentMissing):
        store.get(blob_hash(b"never"))
    with pytest.raises(StoredContentMissing):
        store.get("../../etc/passwd")


def test_collecting_keeps_what_a_session_needs(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    kept, dropped = store.put(b"kept"), store.put(b"dropped")
    (tmp_path / dropped[:2] / f"{dropped}.1234.tmp").write_bytes(b"half")
    needed = ContentReferences(tmp_path, "session")
    needed.open(tuple)
    needed.add([kept])
    assert collect_content_garbage(store, days=30, max_bytes=1 << 30).removed_blobs == 0  # all of it is new
    assert is_garbage_collection_due(store, LATER) is False
    done = collect_content_garbage(store, days=30, max_bytes=1 << 30, now=LATER)
    assert stored(store) == {kept} and done.removed_blobs == 2
    much_later = time.time() + 90 * 86_400
    collect_content_garbage(store, days=30, max_bytes=1 << 30, now=much_later)
    assert stored(store) == {kept}, "the session is open"
    collect_content_garbage(store, days=30, max_bytes=1, now=LATER)
    assert stored(store) == {kept}, "not for room either"
    needed.close()
    collect_content_garbage(store, days=30, max_bytes=1 << 30, now=much_later)
    assert stored(store) == set()


def test_copies_of_an_index_that_were_left_behind_go(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    copy = store.folder / GIT_INDEX_COPIES_FOLDER / "1-abc"
    copy.parent.mkdir(parents=True)
    copy.write_text("an index")
    os.utime(copy, (0, 0))
    collect_content_garbage(store, days=30, max_bytes=1 << 30)
    assert copy.exists()  # whose it is may run
    collect_content_garbage(store, days=30, max_bytes=1 << 30, now=time.time() + 100_000)
    assert not copy.exists()


def test_the_oldest_sessions_go_first_when_the_store_is_full(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    blobs = {name: store.put(os.urandom(1000)) for name in ("old", "new")}
    for age, name in enumerate(("new", "old")):
        needed = ContentReferences(tmp_path, name)
        needed.open(lambda name=name: [blobs[name]])
        needed.close()
        when = time.time() - age * 1000
        os.utime(needed.path, (when, when))
    done = collect_content_garbage(store, days=30, max_bytes=1500, now=LATER)
    assert done.failures == ("old",) and stored(store) == {blobs["new"]}


def test_a_torn_line_names_nothing(tmp_path: Path) -> None:
    needed = ContentReferences(tmp_path, "one")
    needed.open(tuple)
    needed.add([blob_hash(b"1"), blob_hash(b"2"), blob_hash(b"1")])
    needed.close()
    assert len(list(read_content_references(needed.path))) == 2
    needed.path.write_bytes(needed.path.read_bytes()[:-20])
    assert list(read_content_references(needed.path)) == [blob_hash(b"1")]


def a_line(key: str) -> UndoLedgerLine:
    return UndoLedgerLine(
        kind="change",
        id=key,
        change=RecordedFileChange(path=key, after=StoredFileState(hash=blob_hash(b"x"))),
    )


def test_what_was_never_told_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.files"
    ledger = FileChangeLedger(path)
    assert ledger.unfinished_operations().lines == ()
    ledger.append_operation_begin(a_line("1"))
    ledger.append_operation_begin(a_line("2"))
    ledger.mark_recorded("1")
    assert [line.id for line in FileChangeLedger(path).unfinished_operations().lines] == ["2"]
    ledger.mark_recorded("2")
    assert FileChangeLedger(path).unfinished_operations().lines == ()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_ledger_that_ends_in_the_middle_of_a_line_is_read_and_gone_on_with(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "session.jsonl.files"
    ledger = FileChangeLedger(path)
    ledger.append_operation_begin(a_line("1"))
    ledger.append_operation_begin(a_line("2"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [line.id for line in FileChangeLedger(path).unfinished_operations().lines] == (
        ["1", "2"] if cut == 1 else ["1"]
    )
    after = FileChangeLedger(path)
    after.append_operation_begin(a_line("3"))
    assert "3" in [line.id for line in FileChangeLedger(path).unfinished_operations().lines]


def test_a_long_ledger_costs_nothing_to_open_when_all_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.files"
    ledger = FileChangeLedger(path)
    ledger.append_operation_begin(a_line("1"))
    ledger.mark_recorded("1")
    path.write_bytes(b"not json\n" * 100_000 + path.read_bytes())
    assert FileChangeLedger(path).unfinished_operations().lines == ()
