"""The polling interval of running processes."""

from tools.running.poll_interval import (
    MAX_POLL_INTERVAL_WITHOUT_OUTPUT,
    POLL_INTERVAL_DURING_OUTPUT,
    PollInterval,
)


def test_what_is_silent_is_looked_at_less_and_less_until_it_speaks() -> None:
    pace = PollInterval()
    waits = []
    for _ in range(20):
        waits.append(pace.seconds)
        pace.update_interval(False)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (POLL_INTERVAL_DURING_OUTPUT, MAX_POLL_INTERVAL_WITHOUT_OUTPUT)
    pace.update_interval(True)
    assert pace.seconds == POLL_INTERVAL_DURING_OUTPUT
