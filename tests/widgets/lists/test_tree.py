"""The lines of a session tree: what hangs on what, what is folded, what a filter passes over."""

from hypothesis import given
from hypothesis import strategies as st

from widgets.lists.tree_rows import TREE_FILTERS, SessionEntryTree, SessionTreeEntry, SessionTreeRows


def chain(*pairs: tuple[str, str | None], kind: str = "assistant") -> list[SessionTreeEntry]:
    return [
        SessionTreeEntry(id=name, parent=parent, text=name, kind="user" if name.startswith("u") else kind)  # type: ignore[arg-type]
        for name, parent in pairs
    ]


FORKED = chain(("u1", None), ("a1", "u1"), ("u2", "a1"), ("a2", "u2"), ("u3", "a1"), ("a3", "u3"))


def drawn(tree: SessionEntryTree, **options: object) -> list[str]:
    return [line.prefix + line.entry.id for line in tree.visible_lines(**options)]  # type: ignore[arg-type]


def test_only_forks_are_indented() -> None:
    assert drawn(SessionEntryTree(FORKED)) == ["u1", "a1", "├─ u2", "│  a2", "└─ u3", "   a3"]


def test_the_path_to_where_one_stands_is_marked() -> None:
    tree = SessionEntryTree(FORKED, "a2")
    assert tree.path_entry_ids == {"u1", "a1", "u2", "a2"}
    rows = SessionTreeRows(tree, tree.visible_lines(), shows_time=False)
    assert "← here" in [badge.text for badge in rows[3].row.badges]


def test_a_folded_branch_tells_how_much_it_hides() -> None:
    tree = SessionEntryTree(FORKED)
    assert drawn(tree, folded=frozenset({"u2"})) == ["u1", "a1", "├─ u2", "└─ u3", "   a3"]
    assert [line.hidden_count for line in tree.visible_lines(folded=frozenset({"a1"}))] == [0, 4]


def test_what_a_filter_leaves_out_is_passed_over() -> None:
    assert drawn(SessionEntryTree(FORKED), kind="user-only") == ["u1", "├─ u2", "└─ u3"]


def test_a_search_keeps_only_what_matches_with_labels_among_the_words() -> None:
    entries = [*FORKED, SessionTreeEntry(id="x", parent="a3", text="done", label="release")]
    assert drawn(SessionEntryTree(entries), query="rele") == ["x"]
    assert drawn(SessionEntryTree(entries), query="re:^u[23]") == ["├─ u2", "└─ u3"]


def test_labelled_only_and_minor_entries() -> None:
    entries = [
        SessionTreeEntry(id="a", kind="user", label="here"),
        SessionTreeEntry(id="b", parent="a", is_minor=True),
        SessionTreeEntry(id="c", parent="b", kind="change"),
    ]
    assert drawn(SessionEntryTree(entries)) == ["a"]
    assert drawn(SessionEntryTree(entries), kind="all") == ["a", "b", "c"]
    assert drawn(SessionEntryTree(entries, "c"), kind="labeled-only") == ["a"]


@given(st.lists(st.integers(0, 30), max_size=30), st.sampled_from(TREE_FILTERS), st.sets(st.integers(0, 30)))
def test_nothing_shows_twice_and_all_shows_everything(
    parents: list[int], kind: str, folded: set[int]
) -> None:
    entries = [
        SessionTreeEntry(id=str(number), parent=str(parent) if parent < number else None, kind="user")
        for number, parent in enumerate(parents)
    ]
    tree = SessionEntryTree(entries, "0")
    lines = tree.visible_lines(kind, folded=frozenset(map(str, folded)))  # type: ignore[arg-type]
    ids = [line.entry.id for line in lines]
    assert len(set(ids)) == len(ids)
    assert all(line.parent < at for at, line in enumerate(lines))
    if kind == "all":
        assert len(ids) + sum(line.hidden_count for line in lines) == len(entries)


def test_a_conversation_may_be_as_deep_as_it_likes() -> None:
    entries = [
        SessionTreeEntry(id=str(n), parent=str(n - 1) if n else None, kind="user") for n in range(20_000)
    ]
    assert len(SessionEntryTree(entries, "19999").visible_lines()) == 20_000


def test_an_entry_whose_parent_is_missing_is_a_root() -> None:
    assert drawn(SessionEntryTree([SessionTreeEntry(id="a", parent="gone", kind="user")])) == ["a"]
