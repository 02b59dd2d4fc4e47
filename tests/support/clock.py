"""A fake clock for applications: its time stands still until a test advances it."""


class Clock:
    """A replacement for `time.monotonic`."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
