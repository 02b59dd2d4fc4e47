"""How often one looks at what runs."""

from tools.running.pace import SILENT_SECONDS, UPDATE_SECONDS, Pace


def test_what_is_silent_is_looked_at_less_and_less_until_it_speaks() -> None:
    pace = Pace()
    waits = []
    for _ in range(20):
        waits.append(pace.seconds)
        pace.saw(False)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (UPDATE_SECONDS, SILENT_SECONDS)
    pace.saw(True)
    assert pace.seconds == UPDATE_SECONDS
