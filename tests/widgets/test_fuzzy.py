"""Fuzzy matching: all words, in order, the better first."""

from hypothesis import example, given
from hypothesis import strategies as st

from widgets.fuzzy_matching import FuzzyQuery, rank_fuzzy_matches


def order(query: str, *texts: str) -> list[str]:
    return [text for text, _ in rank_fuzzy_matches(query, texts, str)]


def test_a_name_that_begins_so_comes_before_one_that_contains_it() -> None:
    assert order("mod", "remodel", "model") == ["model", "remodel"]


def test_characters_may_be_apart_but_in_order() -> None:
    assert order("stv", "settings view", "vest") == ["settings view"]


def test_every_word_must_match() -> None:
    assert order("son high", "claude sonnet high", "claude sonnet", "high") == ["claude sonnet high"]


def test_a_capital_matches_only_itself() -> None:
    assert order("Tree", "tree", "Tree") == ["Tree"]


def test_quotes_make_a_phrase_and_re_an_expression() -> None:
    assert order('"read file"', "read the file", "read file now") == ["read file now"]
    assert order(r"re:v\d+", "v12", "version") == ["v12"]


def test_a_broken_expression_is_named_and_matches_nothing() -> None:
    query = FuzzyQuery("re:(")
    assert "not a regular expression" in query.problem
    assert query.match("(") is None


def test_an_empty_query_keeps_the_order() -> None:
    assert order("", "b", "a") == ["b", "a"]


@given(
    st.text(alphabet="abcAB éß İ-_", min_size=1, max_size=8), st.text(alphabet="abcAB éß İ-_", max_size=20)
)
@example(query="a", text="İA")
def test_the_cheap_question_and_the_full_one_agree(query: str, text: str) -> None:
    asked = FuzzyQuery(query)
    match = asked.match(text)
    assert (match is not None) == asked.is_match(text)
    if match is not None:
        assert all(0 <= place < len(text) for place in match.positions)


def test_letters_are_strewn_only_within_the_name() -> None:
    text = "retry.baseDelayMs Room kept free for the history"
    reach = len("retry.baseDelayMs")
    assert FuzzyQuery("rbd").is_match(text, reach)
    assert FuzzyQuery("history").is_match(text, reach)
    assert not FuzzyQuery("rkf").is_match(text, reach)
    found = FuzzyQuery("kept").match(text, reach)
    assert found is not None and "".join(text[at] for at in found.positions) == "kept"
    assert FuzzyQuery("rkf").match(text, reach) is None
