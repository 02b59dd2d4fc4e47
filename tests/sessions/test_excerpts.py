"""Words of a query in a text, as a person reads them."""

import pytest

from app.sessions.index.excerpts import (
    make_excerpt_without_sqlite_search,
    make_search_excerpt,
    parse_search_query,
)


@pytest.mark.parametrize(
    ("query", "text", "shown"),
    [
        ("quick", "The quick fox", "The [quick] fox"),
        ("qui FOX", "The quick fox", "The [quick] [fox]"),
        ('"quick fox"', "The quick fox", "The [quick] [fox]"),
        ('"fox quick"', "The quick fox", None),
        ('"quic"', "The quick fox", None),
        ("fox missing", "The quick fox", None),
        ("foo-bar", "a foo-bar, foo", "a [foo]-[bar], foo"),
        ("grosse", "große Bäume", "[große] Bäume"),
        ("baume", "große Ba\u0308ume", "große [Bäume]"),
        ("加法", "修复加法器的错误", "修复[加][法]器的错误"),
        ("法加", "修复加法器的错误", None),
        ("snake", "my_snake_case", "my_[snake]_case"),
        ("e", "q w e r t y u i o p a s d f g h j k l z", "q w [e] r t y u i o p a s d f g h…"),
        ("l", "q w e r t y u i o p a s d f g h j k l z", "…g h j k [l] z"),
    ],
)  # fmt: skip
def test_what_is_shown(query: str, text: str, shown: str | None):
    found = make_search_excerpt(text, parse_search_query(query))
    assert (found and found.replace("\x01", "[").replace("\x02", "]")) == shown


@pytest.mark.parametrize("query", ["", '"', "*", "--", '""', "\u200b"])
def test_nothing_is_asked_for(query: str):
    assert parse_search_query(query) == []


def test_a_part_of_a_word_is_found_where_there_are_no_words():
    assert (
        make_excerpt_without_sqlite_search("harbourmaster", parse_search_query("BOURMAS")) == "harbourmaster"
    )
    assert make_excerpt_without_sqlite_search("harbourmaster", parse_search_query("sail")) is None
