"""Keys in a row."""

from widgets.chords import Chords, ChordStep


def chords() -> Chords:
    return Chords({"tree": ["ctrl+x t"], "theme": ["ctrl+x h d"], "plain": ["ctrl+s"]})


def test_a_chord_is_complete_with_its_last_key() -> None:
    keys = chords()
    assert keys.press("ctrl+x") == ChordStep(is_waiting=True)
    assert keys.pending_keys == "ctrl+x"
    assert keys.choices() == {"t": "tree", "h": "theme"}
    assert keys.press("t") == ChordStep(action="tree")
    assert keys.pending_keys == ""


def test_single_keys_are_not_touched() -> None:
    keys = chords()
    assert not keys.press("ctrl+s").is_used
    assert not keys.press("t").is_used
    assert not keys.press("escape").is_used


def test_a_key_that_leads_nowhere_ends_the_chord_and_is_used_up() -> None:
    keys = chords()
    keys.press("ctrl+x")
    assert keys.press("q") == ChordStep(is_cancelled=True)
    assert not keys.press("t").is_used


def test_escape_drops_it() -> None:
    keys = chords()
    keys.press("ctrl+x")
    keys.press("h")
    assert keys.press("escape") == ChordStep(is_cancelled=True)
    assert keys.pending_keys == ""


def test_a_chord_that_hides_another_is_reported() -> None:
    keys = Chords({"a": ["ctrl+x t"], "b": ["ctrl+x t"], "c": ["ctrl+x t u"]})
    assert keys.conflicts == [("ctrl+x t", "a", "b"), ("ctrl+x t u", "a", "c")]
