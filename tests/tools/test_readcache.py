"""The cache of the lines that the model last saw."""

from tools.files.files_shown_to_model import FilesShownToModel

OLD, NEW = (1, 1, 10, 1), (1, 1, 10, 2)


def test_pages_of_one_file_add_up() -> None:
    cache = FilesShownToModel()
    cache.record_lines("f", OLD, [(1, "a"), (2, "b")])
    cache.record_lines("f", OLD, [(2, "b"), (3, "c")])
    assert cache.lines("f") == {1: "a", 2: "b", 3: "c"}


def test_a_line_that_contradicts_drops_what_was_known() -> None:
    cache = FilesShownToModel()
    cache.record_lines("f", OLD, [(1, "a"), (2, "b")])
    cache.record_lines("f", NEW, [(2, "B")])
    assert cache.lines("f") == {2: "B"}
    seen = cache.mark_as_recently_seen("f")
    assert seen is not None and seen.version == NEW


def test_lines_that_are_not_any_more_as_seen_are_found() -> None:
    cache = FilesShownToModel()
    cache.record_whole_text("f", OLD, "a\nb\r\nc")
    assert cache.lines_changed_since_shown("f", ["a", "b\r", "c"]) == []
    assert cache.lines_changed_since_shown("f", ["a", "x"]) == [2, 3]


def test_the_least_recently_seen_file_is_forgotten_first() -> None:
    cache = FilesShownToModel(max_paths=2)
    for path in ("a", "b", "a", "c"):
        cache.record_lines(path, OLD, [(1, path)])
    assert [cache.mark_as_recently_seen(path) is not None for path in "abc"] == [True, False, True]
    cache.forget("a")
    assert cache.lines("a") == {}


def test_one_huge_file_does_not_fill_memory() -> None:
    cache = FilesShownToModel()
    for start in range(0, 100_000, 2000):
        cache.record_lines("f", OLD, [(number, "x") for number in range(start, start + 2000)])
    assert len(cache.lines("f")) <= 20_000
