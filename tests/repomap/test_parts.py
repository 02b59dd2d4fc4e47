"""How words are taken apart, and what of a question says something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.repomap.index.word_parts import (
    count_word_emphasis,
    count_word_parts,
    find_code_names,
    find_question_words,
    split_into_word_parts,
    stem_word,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("smoothSeries", ["smooth", "sery", "smoothseries"]),
        ("HTTPServer2", ["http", "serv", "httpserver2"]),
        ("read_cache", ["read", "cach", "readcache"]),
        ("x = 1", []),
        ("größe 漢字かな", ["größe", "漢字", "字か", "かな"]),
    ],
)
def test_names_are_split_where_their_case_changes(text: str, parts: list[str]):
    assert split_into_word_parts(text) == parts


@pytest.mark.parametrize(
    "forms",
    [
        ["cache", "caches", "cached", "caching"],
        ["run", "runs", "running"],
        ["key", "keys"],
        ["class", "classes"],
        ["validate", "validates", "validated", "validating", "validation"],
        ["entry", "entries"],
    ],
)
def test_forms_of_a_word_are_one(forms: list[str]):
    assert len({stem_word(form) for form in forms}) == 1


def test_a_word_counts_only_so_often():
    assert count_word_parts("cache " * 50) == {"cach": 6}


def test_words_that_stand_for_no_place_are_left_out():
    assert list(
        find_question_words("Fix the issue where the cache directory should not be used").values()
    ) == [
        "cache",
        "directory",
    ]


def test_names_of_code_are_seen_in_a_question():
    asked = "Why does `Cache.get` call read_text, and not FooBar or self._inner? Plain words are none."
    assert set(find_code_names(asked)) >= {"Cache.get", "get", "read_text", "FooBar", "_inner"}
    assert "Plain" not in find_code_names(asked)


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_a_text_of_one_script_is_counted_as_any_other(text: str):
    plain, other = count_word_parts(text), count_word_parts(f"{text} é")
    other.pop("é", None)
    assert plain == other


def test_what_is_said_again_and_what_is_said_first_counts_more():
    asked = count_word_emphasis("Rope is too short\n\nThe rope of the boat; rope, rope, and the anchor.")
    assert asked["rope"] > asked["short"] > asked["boat"] == asked["anchor"] == 1
    assert set(count_word_emphasis("one line about boats").values()) == {1}
    assert count_word_emphasis("rope " * 90)["rope"] == 3
