"""All sessions: finding, listing, searching, naming and trashing them."""

import os
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from app.sessions.errors import SessionError, SessionLocked, SessionNotFound
from app.sessions.fork import clone_session_path
from app.sessions.index.background_indexing import index_sessions_in_background
from app.sessions.index.list_values import SessionSearchHit
from app.sessions.index.session_index import SESSION_INDEX_FILE_NAME, SessionIndex
from app.sessions.session_ids import is_session_id, new_session_id, session_sidecar_path
from app.sessions.session_library import (
    arrange_sessions_by_fork,
    find_session,
    latest_session,
    list_sessions,
    newest_sessions,
    rename_session,
    search_indexed_sessions,
    session_folder_of_project,
)
from app.sessions.session_log import SessionLog
from app.sessions.session_trash import move_session_to_trash, trashed_sessions, undo_session_delete
from app.values.codec import encode
from app.values.entries import MessageEntry, SessionHeader
from app.values.wire import now_ms
from tests.sessions.make_entries import assistant_entry, user_entry


def session(root: Path, cwd: Path, *texts: str, session_id: str | None = None) -> Path:
    log = SessionLog.create(session_folder_of_project(root, cwd), cwd, session_id=session_id)
    for number, text in enumerate(texts):
        log.append(assistant_entry(text) if number % 2 else user_entry(text))
    log.close()
    assert log.path is not None
    return log.path


def all_found(index: SessionIndex, query: str, limit: int = 50) -> list[SessionSearchHit]:
    """Searches the texts of all sessions."""
    index.refresh()
    while index.index_text_batch():
        pass
    return index.search(query, limit=limit)


def search_sessions(root: Path, query: str, limit: int = 50) -> list[SessionSearchHit]:
    with closing(SessionIndex(root)) as index:
        return all_found(index, query, limit)


def test_folders_are_named_as_pi_names_them() -> None:
    assert session_folder_of_project(Path("/r"), Path("/home/me/a:b")) == Path("/r/--home-me-a-b--")
    assert len(session_folder_of_project(Path("/r"), Path("/" + "x" * 5000)).name) < 255


def test_ids_sort_by_birth_and_names_tell_them() -> None:
    first, second = new_session_id(), new_session_id()
    assert first[:13] <= second[:13] and first != second and first[14] == "7" and is_session_id(first)
    assert not any(map(is_session_id, ["", "-a", "a-", "a/b", "a b", "a" * 200]))


def test_a_session_is_found_by_path_id_and_beginning(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    mine = session(tmp_path, here, "a", session_id="abc-1")
    other = session(tmp_path, there, "b", session_id="abc-2")
    assert find_session(str(mine), tmp_path, here) == mine
    assert find_session(os.path.relpath(mine, tmp_path), tmp_path, tmp_path) == mine
    assert find_session("abc-2", tmp_path, here) == other
    assert find_session("abc", tmp_path, here) == mine  # this folder's first
    with pytest.raises(SessionError, match=r"2 sessions match 'abc'.*Give more"):
        find_session("abc", tmp_path, tmp_path / "elsewhere")
    for wrong in ("zzz", "", "../x", str(tmp_path / "none.jsonl")):
        with pytest.raises(SessionNotFound):
            find_session(wrong, tmp_path, here)


def test_a_renamed_file_is_found_by_the_id_in_it(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path, "a", session_id="abc")
    moved = path.rename(path.with_name("holiday.jsonl"))
    assert find_session("abc", tmp_path, tmp_path) == moved


def test_the_latest_is_the_one_written_last_that_opens(tmp_path: Path) -> None:
    cwd = tmp_path / "p"
    folder = session_folder_of_project(tmp_path, cwd)
    assert latest_session(folder, cwd) is None
    old, new = session(tmp_path, cwd, "old"), session(tmp_path, cwd, "new")
    os.utime(old, (1, 1))
    (folder / "broken.jsonl").write_bytes(b"nonsense\n")
    assert latest_session(folder, cwd) == new


def test_the_list_has_this_folder_first_and_says_what_each_is_about(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    session(tmp_path, here, "hi", "hello", "fix the adder", "done")
    named = session(tmp_path, there, "something else")
    rename_session(named, "my name")
    (session_folder_of_project(tmp_path, here) / "junk.jsonl").write_bytes(b"junk")
    first, second = list_sessions(tmp_path, here)
    assert (first.title, first.message_count, first.cwd) == ("fix the adder", 4, str(here))
    assert (second.title, second.first_prompt) == ("my name", "something else")
    assert {one.title for one in list_sessions(tmp_path)} == {"my name", "fix the adder"}


def test_the_list_follows_every_change_of_the_files(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path, "one", "answer")
    index = SessionIndex(tmp_path)
    assert [one.message_count for one in index.sessions()] == [2]
    log = SessionLog.open(path)
    log.append(user_entry("grown later"))
    log.rename("named")
    assert [(one.message_count, one.name) for one in index.sessions()] == [(3, "named")]
    assert [hit.session.path for hit in all_found(index, "grown")] == [path]
    log.close()
    path.write_bytes(path.read_bytes().replace(b"grown", b"shrunk"))
    assert all_found(index, "grown") == [] and len(all_found(index, "shrunk")) == 1
    path.unlink()
    assert index.sessions() == [] and all_found(index, "shrunk") == []
    index.close()


def test_a_lost_or_damaged_index_is_built_again(tmp_path: Path) -> None:
    session(tmp_path, tmp_path, "one")
    place = tmp_path / SESSION_INDEX_FILE_NAME
    assert len(list_sessions(tmp_path)) == 1
    for damage in (b"", b"no database at all" * 500, place.read_bytes()[:5000]):
        place.write_bytes(damage)
        assert [one.title for one in list_sessions(tmp_path)] == ["one"]
    place.unlink()
    assert [one.title for one in list_sessions(tmp_path)] == ["one"]


def test_without_a_place_to_write_the_list_still_comes(tmp_path: Path) -> None:
    session(tmp_path, tmp_path, "one")
    index = SessionIndex(tmp_path, tmp_path / "no" / "such" / "folder")
    assert [one.title for one in index.sessions()] == ["one"]


def test_search_finds_words_beginnings_phrases_and_scripts_without_spaces(tmp_path: Path) -> None:
    session(tmp_path, tmp_path, "The quick brown Föx", "jumps over it", "修复加法器的错误")
    found = {
        query: len(search_sessions(tmp_path, query))
        for query in (
            "quick fox",
            "jum",
            '"quick brown"',
            '"brown quick"',
            "加法",
            "missing",
            '"',
            "*",
            "a AND (",
            "quick OR",
            "",
        )
    }
    assert found == {
        "quick fox": 1,
        "jum": 1,
        '"quick brown"': 1,
        '"brown quick"': 0,
        "加法": 1,
        "missing": 0,
        '"': 0,
        "*": 0,
        "a AND (": 0,
        "quick OR": 0,
        "": 0,
    }
    hit = search_sessions(tmp_path, "quick")[0]
    assert hit.excerpt == "The \x01quick\x02 brown Föx" and hit.role == "user"
    assert hit.entry_id == SessionLog.open(hit.session.path).entries[0].id


def test_search_answers_at_once_from_what_is_read_and_tells_how_much_is_not(tmp_path: Path) -> None:
    for number in range(25):
        path = session(tmp_path, tmp_path, f"word number{number}")
        os.utime(path, ns=(number, number))
    index = SessionIndex(tmp_path)
    index.refresh()
    index.index_text_batch()
    index.close()
    assert len(search_indexed_sessions(tmp_path, "number24")[0]) == 1, "the newest are read first"
    assert search_indexed_sessions(tmp_path, "number0") == ([], 5)
    index_sessions_in_background(tmp_path).join()
    hits, unread = search_indexed_sessions(tmp_path, "word", limit=100)
    assert len(hits) == 25 and unread == 0


def until_the_clock_moves() -> None:
    """Waits for the next millisecond, since entries within one have the same time."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now:
        pass


def test_what_was_said_last_comes_first_whenever_it_was_read(tmp_path: Path) -> None:
    old = session(tmp_path, tmp_path, "word one")
    until_the_clock_moves()
    between = session(tmp_path, tmp_path, "word two")
    until_the_clock_moves()
    assert len(search_sessions(tmp_path, "word")) == 2
    log = SessionLog.open(old)
    log.append(user_entry("word three"))
    log.close()
    found = [hit.session.path for hit in search_sessions(tmp_path, "word", limit=2)]
    assert found == [old, between]


def test_text_that_no_database_takes_spoils_neither_list_nor_search(tmp_path: Path) -> None:
    odd = "odd \ud800 \0 text"
    entry = MessageEntry(id="\udfff", parent_id=None, message=user_entry(odd).message)
    lines = [SessionHeader(id="\ud800", cwd=odd, parent_session=odd), entry]
    name = os.fsdecode(b"not-utf-8-\xff.jsonl")
    (tmp_path / name).write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    (one,) = list_sessions(tmp_path, Path("/"))
    assert one.path.name == name and one.title == "odd ?   text"
    one.path.write_bytes(one.path.read_bytes().replace(rb'"id":"\ud800"', b'"id":"known"'))
    rename_session(one.path, odd)
    assert [one.name for one in list_sessions(tmp_path)] == ["odd ?   text"]
    assert {hit.role for hit in search_sessions(tmp_path, "text \ud800")} == {"user", "name"}
    assert latest_session(tmp_path, tmp_path) is None


def test_search_works_without_the_search_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.sessions.index import session_index as module

    session(tmp_path, tmp_path, "before")
    assert len(search_sessions(tmp_path, "before")) == 1
    monkeypatch.setattr(module, "_SQLITE_SEARCH_MODULE", "no_such_module")
    session(tmp_path, tmp_path, "100% sure", "no")
    assert len(search_sessions(tmp_path, "100% SURE")) == 1
    assert search_sessions(tmp_path, "1_0") == []


def test_forks_stand_under_their_parents(tmp_path: Path) -> None:
    log = SessionLog.open(session(tmp_path, tmp_path, "parent"))
    other = session(tmp_path, tmp_path, "between")
    child = clone_session_path(log, session_folder_of_project(tmp_path, tmp_path))
    late = msgspec.structs.replace(assistant_entry("of the child").message, timestamp=now_ms() + 1000)
    child.append(MessageEntry(parent_id=None, message=late))
    grandchild = clone_session_path(child, session_folder_of_project(tmp_path, tmp_path))
    rows = [(row.summary.path, row.depth) for row in arrange_sessions_by_fork(list_sessions(tmp_path))]
    assert rows == [(log.path, 0), (child.path, 1), (grandchild.path, 2), (other, 0)]


def test_headers_that_name_each_other_as_parents_make_no_circle(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for path, parent in ((one, other), (other, one)):
        log = SessionLog.create(tmp_path, tmp_path, parent_session=str(parent), name=path.name)
        log.append(user_entry("x"))
        log.close()
    assert sorted(row.summary.path for row in arrange_sessions_by_fork(list_sessions(tmp_path))) == [
        one,
        other,
    ]


def test_deleting_goes_to_the_trash_with_all_that_belongs_to_it_and_back(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path, "one")
    session_sidecar_path(path, "draft").write_text("{}")
    before = path.read_bytes()
    trashed = move_session_to_trash(path, tmp_path)
    assert not path.exists() and not session_sidecar_path(path, "draft").exists()
    assert list_sessions(tmp_path) == []
    assert trashed_sessions(tmp_path) == [trashed]
    assert undo_session_delete(trashed) == path
    assert path.read_bytes() == before and session_sidecar_path(path, "draft").exists()
    assert trashed_sessions(tmp_path) == []
    with pytest.raises(SessionError, match="not in the trash"):
        undo_session_delete(trashed)


def test_undoing_never_overwrites(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path, "one")
    trashed = move_session_to_trash(path, tmp_path)
    path.write_bytes(b"new")
    with pytest.raises(SessionError, match="another file"):
        undo_session_delete(trashed)
    assert path.read_bytes() == b"new"
    assert trashed_sessions(tmp_path) == [trashed]


def test_a_session_that_is_being_written_is_not_deleted_or_renamed(tmp_path: Path) -> None:
    log = SessionLog.open(session(tmp_path, tmp_path, "one"))
    assert log.path is not None
    with pytest.raises(SessionLocked):
        move_session_to_trash(log.path, tmp_path)
    with pytest.raises(SessionLocked):
        rename_session(log.path, "x")
    assert log.path.exists()


def test_the_newest_are_told_from_their_files_alone(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    paths = [session(tmp_path, here, f"question {number}", "fine") for number in range(5)]
    session(tmp_path, there, "elsewhere")
    for number, path in enumerate(paths):
        os.utime(path, (1_000 + number, 1_000 + number))
    paths[1].write_bytes(b"no session\n")
    os.utime(paths[1], (5_000, 5_000))
    found = newest_sessions(tmp_path, here, most=4)
    assert [one.path for one in found] == [paths[4], paths[3], paths[2]]
    known = {one.path: one for one in list_sessions(tmp_path, here) if one.path in paths[2:]}
    assert {one.path: one for one in found} == known
    assert not (tmp_path / "other").exists()


def test_only_the_beginning_of_a_long_session_is_read(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path, "first of all", *("x" * 60_000 for _ in range(8)))
    (told,) = newest_sessions(tmp_path, tmp_path)
    assert (told.path, told.title, told.message_count) == (path, "first of all", -1)
    (known,) = list_sessions(tmp_path, tmp_path)
    assert known.message_count == 9


def test_who_lists_while_another_thread_reads_them_for_the_first_time_waits_for_it(tmp_path: Path) -> None:
    for number in range(60):
        session(tmp_path, tmp_path, f"number {number}", "fine")
    reading = index_sessions_in_background(tmp_path)
    assert len(list_sessions(tmp_path)) == 60
    reading.join()


def test_the_index_holds_no_text_and_what_is_found_is_read_where_it_stands(tmp_path: Path) -> None:
    text = " ".join(f"harbour{number}" for number in range(400))
    paths = [session(tmp_path, tmp_path, f"{text} number{number}", "fine") for number in range(20)]
    (hit,) = search_sessions(tmp_path, '"harbour399 number7"')
    assert hit.session.path == paths[7] and hit.excerpt.endswith("\x01harbour399\x02 \x01number7\x02")
    assert search_sessions(tmp_path, '"number7 harbour399"') == []
    kept = b"".join(path.read_bytes() for path in tmp_path.glob(f"{SESSION_INDEX_FILE_NAME}*"))
    assert b"harbour398 harbour399" not in kept
    paths[7].write_bytes(paths[7].read_bytes().replace(b"number7", b"number_"))
    assert search_indexed_sessions(tmp_path, "number7") == ([], 0), "the file does not exist any more"


def test_sessions_that_are_gone_are_found_no_more_and_what_is_lost_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.sessions.index import session_index as module

    monkeypatch.setattr(module, "_COMPACT_INDEX_AFTER_ROWS", 5)
    paths = [session(tmp_path, tmp_path, f"word number{number}", "fine") for number in range(8)]
    assert len(search_sessions(tmp_path, "word")) == 8
    for path in paths[:6]:
        path.unlink()
    index = SessionIndex(tmp_path)
    assert [hit.excerpt for hit in all_found(index, "number7")] == ["word \x01number7\x02"]
    assert len(all_found(index, "word")) == 2
    index.compact_database()
    assert len(all_found(index, "word")) == 2
    index.close()
