"""Keys in a row."""

from widgets.key_chords import ChordKeyResult, KeyChordMatcher


def chords() -> KeyChordMatcher:
    return KeyChordMatcher({"tree": ["ctrl+x t"], "theme": ["ctrl+x h d"], "plain": ["ctrl+s"]})


def test_a_chord_is_complete_with_its_last_key() -> None:
    keys = chords()
    assert keys.press("ctrl+x") == ChordKeyResult(is_waiting=True)
    assert keys.pending_chord_keys == "ctrl+x"
    assert keys.choices() == {"t": "tree", "h": "theme"}
    assert keys.press("t") == ChordKeyResult(action="tree")
    assert keys.pending_chord_keys == ""


def test_single_keys_are_not_touched() -> None:
    keys = chords()
    assert not keys.press("ctrl+s").was_key_consumed
    assert not keys.press("t").was_key_consumed
    assert not keys.press("escape").was_key_consumed


def test_a_key_that_leads_nowhere_ends_the_chord_and_is_used_up() -> None:
    keys = chords()
    keys.press("ctrl+x")
    assert keys.press("q") == ChordKeyResult(is_cancelled=True)
    assert not keys.press("t").was_key_consumed


def test_escape_drops_it() -> None:
    keys = chords()
    keys.press("ctrl+x")
    keys.press("h")
    assert keys.press("escape") == ChordKeyResult(is_cancelled=True)
    assert keys.pending_chord_keys == ""


def test_a_chord_that_hides_another_is_reported() -> None:
    keys = KeyChordMatcher({"a": ["ctrl+x t"], "b": ["ctrl+x t"], "c": ["ctrl+x t u"]})
    assert keys.conflicts == [("ctrl+x t", "a", "b"), ("ctrl+x t u", "a", "c")]
