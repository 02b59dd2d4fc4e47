"""The time that an application is told: it stands still until a test lets some pass."""


class Clock:
    """Handed over where `time.monotonic` would be."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
